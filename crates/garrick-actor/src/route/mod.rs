//! Routers and pools: many actors behind one address.
//!
//! ```text
//!                     policy                       RoundRobin      each routee in turn
//!   Router<M> --> [ router actor ] --> routee      Random          a random routee
//!      Address<M> ----^      \-------> routee      LeastLoaded     the least loaded routee
//!                             \------> routee      ConsistentHash  the same routee for equal keys
//!                                                  Broadcast       all routees
//!   Pool<T, R> --> [ dispatcher ] <--> worker      FirstCompleted  all; the first answer wins
//! ```
//!
//! A [`Router`] sends each message to one of its routees, or to all of them, according to its
//! [`Policy`]. Routees can be added and removed at any time. If a routee has stopped, sending to it
//! fails: the router then removes the routee and sends the message to another one. If a routee
//! refuses a message for another reason, for example because its mailbox is full, the router keeps
//! the routee, and tries the other routees, except for policies that choose a routee by a key. If
//! no routee takes the message, the router drops the message and counts it. If
//! [`Router::post_dead_letters_to`] was called, the router also posts a dead letter. If the message
//! contained a [`Reply`](crate::Reply), the asker gets
//! [`NoReply::Dropped`](crate::NoReply::Dropped). Messages that are already in the mailbox of a
//! routee when it stops become dead letters of the system. The router cannot send them to another
//! routee.
//!
//! A [`Pool`] has workers and a queue. Each worker runs one task at a time. Tasks wait in the queue
//! until a worker is free. The queue can be bounded. Use a pool for short tasks with results.
//! Running a task spawns no actor.
//!
//! A [`Router`] or [`Pool`] is a handle to an actor. If an actor calls an operation on such a
//! handle during a turn, the operation is staged, like all effects of a turn.

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
