//! Implementations for the libraries, and for their substitutes. Each is written as its
//! documentation writes actors. Mailboxes are unbounded unless a scenario asks for bounded ones.
//! Features that cost time and are not needed are off: tracing, and spans carried along with
//! messages.

pub(crate) mod actix;
mod kameo;
mod ractor;
mod tasks;
mod threads;
mod xtra;

pub(crate) use actix::Actix;
pub(crate) use kameo::Kameo;
pub(crate) use ractor::Ractor;
pub(crate) use tasks::Tasks;
pub(crate) use threads::Threads;
pub(crate) use xtra::Xtra;
