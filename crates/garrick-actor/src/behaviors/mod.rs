//! Small standard actors, to be put together like pieces of pipe.
//!
//! They are the behaviors of seed 004, in typed form. Two shapes of address occur:
//!
//! ```text
//!   relays     Address<M>          a message goes in and comes out elsewhere
//!   services   Service<Q, R>       a question goes in with the Reply that it is to be answered by
//! ```
//!
//! What wraps a service is a service again, so that they nest: a [`serializer`] around a [`timeout`] around an
//! actor of yours is one address, and whoever asks it cannot tell. An actor whose messages are of another type is
//! seen as a service through an [`adapter`].
//!
//! # Doors and actors
//!
//! Those without state are *doors* (the seed's `SAFE-BEH`): the constructor returns an address, with nothing behind
//! it that would have to be spawned. Whoever sends to it runs it at once, several at a time, as a part of its
//! own turn: [`constant`], [`forward`], [`label`], [`adapter`], [`tag`], [`sink`], [`tee`], [`broadcast`] and
//! [`demux`]. So are [`race`], [`fork`], [`par`], [`seq`], [`pipe`], [`timer`] and [`timeout`], which make an actor for
//! each question and are told on which system.
//!
//! Those that change from message to message are actors, to be spawned: [`once`], [`join`], [`serializer`],
//! [`gatekeeper`], [`sequencer`], [`mux`], [`subject`], [`counter`], [`delay`], [`retry`], [`breaker`] and
//! [`limiter`].
//!
//! # What they do when something fails
//!
//! - A **door** gives a message back that it cannot pass on, as if it had been sent to the target itself.
//! - A **relay** with state counts such a message as a dead letter and stops, so that whoever sends to it learns of
//!   it. Those that are several actors behind one address learn of it a message later: that one is a dead letter
//!   too.
//! - A **service** that cannot answer drops the [`Reply`](crate::Reply), and the asker hears
//!   [`NoReply::Dropped`](crate::NoReply::Dropped). It cannot hang on an actor that stops or panics, because that
//!   drops its replies. It can hang on one that keeps a reply for ever: [`timeout`] is the remedy.
//! - What they do is staged like everything else. A turn of yours that is undone has asked and sent nothing.
//!
//! # Examples
//! A resource that must not be used twice at once, behind a serializer:
//! ```
//! use garrick_actor::{Local, behaviors};
//!
//! let local = Local::new()?;
//! let resource = behaviors::adapter(behaviors::constant(42), |((), reply)| reply);
//! let one_at_a_time = local.spawn(behaviors::serializer(resource));
//! let answer = one_at_a_time.ask(|reply| ((), reply));
//! local.run();
//! assert_eq!(answer.wait(), Ok(42));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub use relay::{Tag, adapter, constant, forward, label, once, sink, tag};
pub use retry::{Retry, retry};
pub use service::{Request, Service};
pub use timing::{delay, timeout, timer};
