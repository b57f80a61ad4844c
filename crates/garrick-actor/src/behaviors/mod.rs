//! Small standard actors, to be combined like pieces of pipe.
//!
//! They are typed versions of the actors of the Lisp TActors library. There are two shapes of
//! address:
//!
//! ```text
//!   relays     Address<M>          a message goes in and comes out elsewhere
//!   services   Service<Q, R>       a question goes in with the Reply for its answer
//! ```
//!
//! A wrapper of a service is a service again, so wrappers nest. A [`serializer`] around a
//! [`timeout`] around your own actor is one address, and its users see no difference.
//! [`contramap`] turns the address of an actor with messages of another type into a service.
//!
//! # Doors and actors
//!
//! Behaviors without state are *doors*: the constructor returns an address, and there is no actor
//! behind it to be spawned. Every sender runs the door's code immediately, several senders at a
//! time, as a part of its own turn: [`constant`], [`forward`], [`label`], [`tag`], [`sink`],
//! [`tee`], [`broadcast`] and [`demux`]. An address mapped by [`contramap`] leads to a door, too.
//! [`race`], [`fork`], [`par`], [`seq`], [`pipe`], [`timer`] and [`timeout`] are doors that create
//! an actor for each question, on a given system.
//!
//! Behaviors that change from message to message are actors, to be spawned: [`once`], [`join`],
//! [`serializer`], [`gatekeeper`], [`sequencer`], [`mux`], [`subject`], [`counter`], [`delay`],
//! [`retry`], [`breaker`] and [`limiter`].
//!
//! # When something fails
//!
//! - A **door** returns a message that it cannot pass on, as if it had been sent to the target
//!   itself.
//! - A **relay** with state counts such a message as a dead letter and stops, so that its senders
//!   notice. If the relay is several actors behind one address, senders notice one message later.
//!   That message is a dead letter too.
//! - A **service** that cannot answer drops the [`Reply`](crate::Reply), and the asker gets
//!   [`NoReply::Dropped`](crate::NoReply::Dropped). The asker cannot hang on an actor that stops or
//!   panics, because that drops its replies. It can hang on an actor that keeps a reply forever:
//!   [`timeout`] is the remedy.
//! - Their effects are staged like all others. A turn of yours that is undone asks and sends
//!   nothing.
//!
//! # Examples
//! A resource that must not be used twice at once, behind a serializer:
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
