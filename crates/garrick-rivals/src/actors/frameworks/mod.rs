//! The libraries, and what stands in for one: each as its documentation writes actors, with unbounded mailboxes
//! where a scenario does not ask for bounded ones, and without the features that cost time and are not needed
//! (tracing, spans carried along with messages).

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
