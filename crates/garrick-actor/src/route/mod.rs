//! Many actors behind one address.
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
//! A [`Router`] sends each message to one of its routees, or to all, according to its [`Policy`].
//! Routees come and go at run time. A routee that has stopped is removed when a message comes back
//! from it, and the message goes to another routee. If no routee is left, the asker is notified,
//! and the message is counted and posted as a dead letter. The router cannot send messages in a
//! stopped routee's mailbox to another routee: they are dead letters of the system.
//!
//! A [`Pool`] has workers that take tasks one at a time, and a queue, bounded or not, for tasks
//! that wait for a worker. Use it for short tasks with results: a task spawns nothing.
//!
//! Both are actors behind a handle, so operations on a handle inside a turn are staged.

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
