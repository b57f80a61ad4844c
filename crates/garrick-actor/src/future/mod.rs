//! Async actors: futures as actors, without any other executor.
//!
//! The task of an async actor is one future. A message is put into a queue that the future receives
//! from, and the future is polled. Its waker sends the task a message like any other, so the
//! scheduler wakes, moves, stops and counts the task by its ordinary paths. Each poll is a turn.
//! `README.md` in this folder has the states of a body and its invariants.
//!
//! ```text
//!   Address<M>: a door ---> Word::Message ---> Body: arrived ---> queue ---> Incoming::recv, or Hand ---> handlers
//!                                               ^                              |
//!   Waker, from any thread ---> Bell: one ring -+---------- polls -------- future, Sleep
//!                                               ^
//!   timing wheel: the earliest sleep -----------+
//! ```
//!
//! **Budget.** A poll may receive a limited number of messages. Then the receiving end returns
//! `Pending`, and the task sends itself a ring and goes to the end of the run queue. Nothing else
//! is ever held back. So a ready future inside the actor is not refused and polled again for
//! nothing, unlike leaf futures of tokio once their budget is spent.
//!
//! **Ends.** A waker keeps only the shared part alive. The actor keeps itself alive, until its
//! future ends or it is stopped. When the last address is gone, [`Incoming::recv`] returns `None`.
//!
//! **Beside an actor.** A future piped to an actor, and a stream attached to one, also run as such
//! a body, which receives only wakes. `crate::beside::pipes` keeps track of them.
//!
//! **Supervision.** A supervisor's seat runs the body as an actor that receives words, and creates
//! another one at a restart. Messages that the last one had not received are handed on.

mod sleepers;

mod sleep;

mod queue;
mod shared;

mod gate;

mod context;
mod hand;
mod incoming;

mod body;

mod actor;
mod spawn;

mod resident;

mod piped;

mod attach;
mod pipe;

pub use actor::AsyncActor;
pub use attach::{Attachment, Streamed, Ticket};
pub(crate) use body::Body;
pub use context::AsyncContext;
pub(crate) use gate::address_of_kept;
pub use incoming::Incoming;
pub use piped::PipeError;
pub(crate) use resident::{AnyFuture, House, Resident, make_of_actor};
pub(crate) use shared::Receives;
pub use sleep::Sleep;
pub(crate) use spawn::{NameOfFuture, of_actor, of_function};
