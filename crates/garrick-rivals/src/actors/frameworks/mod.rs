//! Implementations of the trait `Framework` for the actor libraries, and for tasks and threads
//! without a library. Each implementation follows the documentation of its library. Mailboxes are
//! unbounded, except where a scenario needs bounded ones. Features that are not needed but take
//! time are disabled: tracing, and spans that are passed along with messages.

pub(crate) mod actix;
mod kameo;
mod ractor;
mod tasks;
mod threads;
mod xtra;

pub(crate) use actix::Actix;
pub(crate) use kameo::Kameo;
pub(crate) use ractor::{Letter, Ractor};
pub(crate) use tasks::Tasks;
pub(crate) use threads::Threads;
pub(crate) use xtra::Xtra;
