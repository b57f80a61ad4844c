//! Finding actors by name or protocol, and publishing messages to subscribers.
//!
//! ```text
//!   Registry       "printer" -> Address<Print>     one actor has one name, of one message type
//!   Receptionist   Key<Print> -> [Address<Print>]  the servers of a protocol; subscribers get changes
//!   Topic<M>       publish(M) -> every subscriber  each message once, in order per publisher
//!   EventStream    publish(E) -> subscribers to E  one topic for each type
//!   DeadLetters    undeliverable messages, as a topic
//! ```
//!
//! Each of them is an actor behind a handle. Operations on a handle inside a turn are staged like
//! any message: they take effect when the turn commits, or not at all. The operations of one
//! sender, such as registering, subscribing and publishing, take effect in order. There is no
//! global state: give a handle to the code that is to use it. When the last handle is gone, the
//! actor behind it ends.
//!
//! A mailbox has no bound unless its actor asks for one, and a slow subscriber is not cut off. A
//! subscriber gets every published message until it unsubscribes or stops.
//!
//! Registered actors, servers and subscribers are held by their addresses, which keep them alive.
//! An actor that has stopped is removed. The receptionist does so at once, and notifies its
//! subscribers. The others do so when they next come across it, or when their collection has
//! doubled.

pub(crate) mod front;
mod sweep;

mod subscribers;
mod topic;

mod dead_letters;
mod events;
mod receptionist;
mod registry;

pub use dead_letters::{DeadLetter, DeadLetters};
pub use events::EventStream;
pub use receptionist::{Key, Listing, Receptionist};
pub use registry::{LookupError, RegisterError, Registry};
pub use topic::{Topic, TopicMsg};
