//! Async actors: futures as actors, without any other executor.
//!
//! The task of an async actor is one future. A message is put into a queue that the future receives from, and the future
//! is polled; its waker sends the task a message like any other, so it is woken, moved, stopped and counted by the
//! ordinary paths of the scheduler. Each poll is a turn. `README.md` in this folder has the states of a body and its invariants.
//!
//! ```text
//!   Address<M>: a door ---> Word::Message ---> Body: arrived ---> queue ---> Incoming::recv, or Hand ---> handlers
//!                                               ^                              |
//!   Waker, from any thread ---> Bell: one ring -+---------- polls -------- future, Sleep
//!                                               ^
//!   timing wheel: the earliest sleep -----------+
//! ```
//!
//! **Budget.** A poll may receive a share of messages, and then the receiving end says `Pending`, while the task sends
//! itself a ring and stands at the end of the line. Nothing else is ever held back, so a ready future inside of the actor is
//! not refused and polled again for nothing, as leaf futures of tokio are once its budget is spent.
//!
//! **Ends.** A waker keeps nothing but the shared part alive; the actor keeps itself alive, until its future ends or it is
//! stopped. When the last address is gone, [`Incoming::recv`] says that nothing more will come.
//!
//! **Beside an actor.** A future that is piped to an actor, and a stream that is attached to one, are such a body as well, which
//! receives nothing but wakes. What becomes of them is told by `crate::pipes`.
//!
//! **In care.** A supervisor's seat runs the body as an actor that receives words, and makes another one at a restart; what the
//! last one had not received is handed on.

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
pub use context::AsyncContext;
pub(crate) use gate::address_of_kept;
pub use incoming::Incoming;
pub use piped::PipeError;
pub(crate) use resident::{House, Make, Resident, make_of_actor};
pub(crate) use shared::Receives;
pub use sleep::Sleep;
