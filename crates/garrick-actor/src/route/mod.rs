//! Many actors behind one address.
//!
//! ```text
//!                     policy                       RoundRobin      every routee in its turn
//!   Router<M> --> [ router actor ] --> routee      Random          any routee
//!      Address<M> ----^      \-------> routee      LeastLoaded     the one with the fewest messages
//!                             \------> routee      ConsistentHash  one for each key
//!                                                  Broadcast       all of them
//!   Pool<T, R> --> [ dispatcher ] <--> worker      FirstCompleted  all, and the first answer wins
//! ```
//!
//! A [`Router`] hands each message to one of its routees, or to all, as its [`Policy`] says. Routees come and
//! go at run time. One that has stopped is taken out when a message comes back from it, and the message
//! goes to another; if none is left, whoever asked is told, and the message is counted and posted as a
//! dead letter. What lies in a routee's mailbox when it stops is not the router's to give to another: it is
//! a dead letter of the system.
//!
//! A [`Pool`] has workers that take tasks one at a time, and a queue, with a bound or without, for tasks that
//! wait for a worker. It is what to use for short tasks with results: nothing is spawned for a task.
//!
//! Both are actors with a handle in front, so what is done through a handle inside of a turn is staged.

mod load;
mod pool;
mod routees;

mod policy;
mod router;

mod gather;
mod random;

mod hash;

pub use gather::FirstCompleted;
pub use hash::ConsistentHash;
pub use load::{Load, Measured};
pub use policy::{Broadcast, LeastLoaded, Policy, RoundRobin};
pub use pool::{Pool, PoolError};
pub use random::Random;
pub use routees::Routees;
pub use router::{Router, RouterMsg, Status};
