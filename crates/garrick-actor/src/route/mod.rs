//! Routers and pools: many actors behind one address.
//!
//! ```text
//!                     policy                       RoundRobin      every routee in its turn
//!   Router<M> --> [ router actor ] --> routee      Random          a random routee
//!      Address<M> ----^      \-------> routee      LeastLoaded     the one with the fewest messages
//!                             \------> routee      ConsistentHash  one for each key
//!                                                  Broadcast       all of them
//!   Pool<T, R> --> [ dispatcher ] <--> worker      FirstCompleted  all, and the first answer wins
//! ```
//!
//! A [`Router`] sends each message to one of its routees, or to all of them, according to its
//! [`Policy`]. Routees can be added and removed at any time. If a routee has stopped, sending to it
//! fails: the router then removes the routee and sends the message to another one. If no routee is
//! left, the message is dropped, counted, and posted as a dead letter. If the message contained a
//! [`Reply`](crate::Reply), the asker is notified. Messages that are already in the mailbox of a
//! routee when it stops become dead letters of the system. The router cannot send them to another
//! routee.
//!
//! A [`Pool`] has workers, each of which runs one task at a time, and a queue for tasks that wait
//! for a worker. The queue can be bounded. Use a pool for short tasks with results. Running a task
//! spawns no actor.
//!
//! A [`Router`] or [`Pool`] is a handle of an actor. So operations on it are staged if they are
//! called during a turn.

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
