//! Async actors: actors that are futures. Async actors need no other async runtime.
//!
//! The task of an async actor contains a future. When a message arrives, the task adds it to a
//! queue and polls the future, which receives messages from the queue. The future's waker sends an
//! ordinary message to the task. So the scheduler needs no special case for async actors. Each poll
//! is a turn. `README.md` in this folder explains the words in the diagram, and lists the states
//! and the invariants of a task.
//!
//! ```text
//!   Address<M>: a door ---> Word::Message ---> Body: arrived ---> queue ---> Incoming::recv, or Hand ---> handlers
//!                                               ^                              |
//!   Waker, from any thread ---> Bell: one ring -+---------- polls -------- future, Sleep
//!                                               ^
//!   timing wheel: the earliest sleep -----------+
//! ```
//!
//! **Budget.** A poll can receive only a limited number of messages. After that, receiving returns
//! `Pending`, and the task sends itself a message and moves to the end of the run queue. The budget
//! applies only to receiving messages. In contrast, tokio's budget applies to all leaf futures:
//! once it is spent, futures that are ready return `Pending` and are polled again later.
//!
//! **Lifetime.** An async actor keeps itself alive until its future completes or the actor is
//! stopped. When the last address is dropped, [`Incoming::recv`] returns `None`. Wakers do not keep
//! the actor alive.
//!
//! **Pipes.** A future that is piped to an actor runs in a separate task of the same kind, which
//! receives only wakes. A stream that is attached to an actor runs in a separate task too.
//! `crate::beside::pipes` keeps track of these tasks.
//!
//! **Supervision.** A supervisor runs an async actor like any other actor. Each restart creates a
//! new future, which receives the messages that the previous future has not received.

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
pub(crate) use actor::NameOf;
pub use attach::{Attachment, Streamed, Ticket};
pub(crate) use body::{Body, Named};
pub use context::AsyncContext;
pub(crate) use gate::address_of_kept;
pub use incoming::Incoming;
pub use piped::PipeError;
pub(crate) use resident::{AnyFuture, House, Resident, make_of_actor};
pub(crate) use shared::Receives;
pub use sleep::Sleep;
pub(crate) use spawn::{NameOfFuture, of_actor, of_function};
