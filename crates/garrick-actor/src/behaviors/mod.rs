//! Small standard actors that can be combined.
//!
//! In this module, such an actor is called a *behavior*. The behaviors are typed versions of the
//! actors in the Lisp library TActors. The address of a behavior is of one of two kinds:
//!
//! ```text
//!   relays     Address<M>          a message goes in and comes out elsewhere
//!   services   Service<Q, R>       a question goes in with the Reply for its answer
//! ```
//!
//! A service that wraps another service can itself be wrapped. For example, you can wrap your own
//! actor in a [`timeout`] and the result in a [`serializer`]. Code that uses the serializer's
//! address does not depend on what the serializer wraps. If the message type of an actor is not a
//! [`Request`], [`contramap`] creates a service from the actor's address.
//!
//! # Doors and actors
//!
//! Behaviors without state are *doors*. The constructor of a door returns an address, and no actor
//! needs to be spawned. Each sender runs the code of the door as a part of the sender's own turn,
//! so several senders can run this code concurrently. The doors are [`constant`], [`forward`],
//! [`label`], [`tag`], [`sink`], [`tee`], [`broadcast`] and [`demux`]. The address returned by
//! [`contramap`] leads to a door too. [`race`], [`fork`], [`par`], [`seq`], [`pipe`], [`timer`] and
//! [`timeout`] are doors that create an actor for each question. Their first argument determines
//! the system that runs this actor.
//!
//! All other behaviors are actors, which must be spawned: [`once`], [`join`], [`serializer`],
//! [`gatekeeper`], [`sequencer`], [`mux`], [`subject`], [`counter`], [`delay`], [`retry`],
//! [`breaker`] and [`limiter`].
//!
//! # When something fails
//!
//! - If a **door** cannot forward a message, the send fails and returns the message, as if it had
//!   been sent directly to the target. A door to several targets fails if all of them refuse the
//!   message. [`broadcast`] tells what becomes of a copy that only some of them refuse.
//! - If a **relay** that is an actor cannot forward a message, it counts the message as a dead
//!   letter and stops. Later sends to the relay then fail. The [`limiter`] consists of two actors,
//!   so the next message that is sent to the limiter is a dead letter too, and only later sends
//!   fail.
//! - If a **service** cannot answer, it drops the [`Reply`](crate::Reply), and the asker gets
//!   [`NoReply::Dropped`](crate::NoReply::Dropped). An actor that stops or panics drops its replies
//!   too. So an asker waits forever only if an actor keeps the reply forever. To limit the time,
//!   use a [`timeout`].
//! - Messages that an actor sends through a door are staged, like all effects of a turn. If the
//!   turn is undone, these messages are discarded.
//!
//! # Examples
//! This serializer protects a resource that must not be used concurrently:
//! ```
//! use garrick_actor::{Local, behaviors};
//!
//! let local = Local::new()?;
//! let resource = behaviors::constant(42).contramap(|((), reply)| reply);
//! let one_at_a_time = local.spawn(behaviors::serializer(resource));
//! let answer = one_at_a_time.ask(|reply| ((), reply));
//! local.run();
//! assert_eq!(answer.wait(), Ok(42));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`contramap`]: garrick_sched::Address::contramap

mod random;
mod service;

mod front;
mod passage;

mod relay;

mod choice;
mod collect;

mod exclusion;
mod gatekeeper;
mod order;

mod fanout;
mod mux;

mod counter;
mod timing;

mod breaker;
mod limiter;
mod retry;

pub use crate::model::behavior::BehaviorContext;
pub use breaker::{Breaker, Circuit, breaker};
pub use choice::race;
pub use collect::{Side, fork, join, par, pipe, seq};
pub use counter::{Count, counter};
pub use exclusion::serializer;
pub use fanout::{Subject, broadcast, demux, subject, tee};
pub use gatekeeper::{Gate, gatekeeper};
pub use limiter::{Limiter, limiter};
pub use mux::{Mux, mux};
pub use order::sequencer;
pub use relay::{Tag, constant, forward, label, once, sink, tag};
pub use retry::{Retry, retry};
pub use service::{Request, Service};
pub use timing::{delay, timeout, timer};
