//! Small standard actors, to be put together like pieces of pipe.
//!
//! They are the behaviors of seed 004, in typed form. Each constructor returns an actor that is not yet spawned;
//! what it is to talk to is given as an [`Address`](crate::Address). Two shapes of address occur:
//!
//! ```text
//!   relays     Address<M>          a message goes in and comes out elsewhere
//!   services   Service<Q, R>       a question goes in with the Reply that it is to be answered by
//! ```
//!
//! What wraps a service is a service again, so that they nest: a [`serializer`] around a [`timeout`] around an
//! actor of yours is one address, and whoever asks it cannot tell. An actor whose messages are of another type is
//! seen as a service through [`contramap`](crate::Contramap::contramap).
//!
//! # What they do when something fails
//!
//! - A **relay** whose target has stopped counts the message as a dead letter and stops itself, so that whoever
//!   sends to it learns of it in the same way.
//! - A **service** that cannot answer drops the [`Reply`](crate::Reply), and the asker hears
//!   [`NoReply::Dropped`](crate::NoReply::Dropped). It cannot hang on an actor that stops or panics, because that
//!   drops its replies. It can hang on one that keeps a reply for ever: [`timeout`] is the remedy.
//! - What an actor here does in a turn is staged like everything else, so nothing happens by halves.
//!
//! # Those without state
//!
//! [`constant`], [`forward`], [`label`], [`tag`], [`sink`], [`tee`], [`broadcast`], [`demux`], [`delay`], [`race`],
//! [`fork`], [`par`], [`seq`], [`pipe`], [`timer`] and [`timeout`] are functions of the message alone (the
//! seed's `SAFE-BEH`); the latter seven make an actor for each question. The others change from message to message.
//!
//! # Examples
//! A resource that must not be used twice at once, behind a serializer:
//! ```
//! use garrick_actor::{Local, Next, behaviors};
//!
//! let local = Local::new()?;
//! let length = local.spawn(behaviors::constant(42));
//! // A service answers a question; this one takes none.
//! let resource = local.spawn(garrick_actor::Contramap::contramap(&length, |((), reply)| reply));
//! let one_at_a_time = local.spawn(behaviors::serializer(resource));
//! let answer = one_at_a_time.ask(|reply| ((), reply));
//! local.run();
//! assert_eq!(answer.wait(), Ok(42));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod random;
mod service;

mod front;
mod stateless;

mod relay;

mod choice;
mod collect;

mod exclusion;
mod gatekeeper;
mod order;

mod fanout;
mod mux;

mod counter;
mod timing;

mod breaker;
mod limiter;
mod retry;

pub use breaker::{Breaker, Circuit, breaker};
pub use choice::race;
pub use collect::{Side, fork, join, par, pipe, seq};
pub use counter::{Count, counter};
pub use exclusion::serializer;
pub use fanout::{Subject, broadcast, demux, subject, tee};
pub use gatekeeper::{Gate, gatekeeper};
pub use limiter::{Limiter, limiter};
pub use mux::{Mux, mux};
pub use order::sequencer;
pub use relay::{constant, forward, label, once, sink, tag};
pub use retry::{Retry, retry};
pub use service::{Request, Service};
pub use timing::{delay, timeout, timer};
