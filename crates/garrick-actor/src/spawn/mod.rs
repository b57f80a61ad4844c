//! Spawning of all kinds of actors, with or without options.
//!
//! ```text
//!   system.spawn(actor)                                      an actor without options
//!   system.actor(actor).named("x").stash(64).spawn()         an actor with options
//!   system.actor(|| actor).supervised_by(&tree).spawn()      a child of a supervisor
//! ```
//!
//! | choice | values |
//! | --- | --- |
//! | [place](Place) | [`System`](crate::System), [`Handle`](crate::Handle), [`Local`](crate::Local), [`Context`](crate::Context) |
//! | [actor](Spawnable) | [`Actor`](crate::Actor), [`behavior`](crate::behavior()), [`AsyncActor`](crate::AsyncActor), an async function |
//! | [option](Spawn) | `named`, `on`, `mailbox`, `stash`, `receive_timeout`, `pipe_limit`, `supervised_by` |
//!
//! An actor without options is not wrapped, so options cost nothing if they are not used.

mod place;

mod options;

mod kind;

pub(crate) mod internal;

mod builder;

mod supervised;

pub use crate::model::cyclic::{Cyclic, cyclic};
pub use builder::Spawn;
pub use kind::{Handles, OfActor, OfAsync, OfFactory, OfFunction, SpawnAt, Spawnable};
pub use options::{Own, Plain, Set};
pub use place::{InTurn, InTurnOn, Place};
pub use supervised::{Restartable, Supervised};
