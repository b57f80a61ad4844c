//! The libraries, and what stands in for one: each as its documentation writes actors, with unbounded mailboxes
//! where a scenario does not ask for bounded ones, and without the features that cost time and are not needed
//! (tracing, spans carried along with messages).

mod actix;
mod kameo;
mod ractor;
mod tasks;
mod threads;
mod xtra;

pub(super) use actix::Actix;
pub(super) use kameo::Kameo;
pub(super) use ractor::Ractor;
pub(super) use tasks::Tasks;
pub(super) use threads::Threads;
pub(super) use xtra::Xtra;
