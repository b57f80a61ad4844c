//! Actors that find other actors by name or protocol, and actors that publish messages to
//! subscribers.
//!
//! ```text
//!   Registry       "printer" -> Address<Print>     each name belongs to one actor
//!   Receptionist   Key<Print> -> [Address<Print>]  the servers of a protocol; subscribers get changes
//!   Topic<M>       publish(M) -> every subscriber  each message once, in order per publisher
//!   EventStream    publish(E) -> subscribers to E  one topic for each type
//!   DeadLetters    undeliverable messages, as a topic
//! ```
//!
//! Each of these types is the handle of an actor. Operations on a handle send messages to this
//! actor. During a turn, these messages are staged: they are sent when the turn commits, and
//! discarded if the turn is undone. The operations of one sender, such as registering, subscribing
//! and publishing, take effect in order. There is no global state, so pass a clone of the handle to
//! all code that needs it. When the last handle is dropped, the actor is dropped too.
//!
//! A subscriber receives every published message until it unsubscribes or stops, even if it handles
//! the messages slowly. The messages then wait in its mailbox, which is unbounded by default. A
//! subscriber with a bounded mailbox can miss messages while the mailbox is full.
//!
//! Registered actors, servers and subscribers are stored as addresses, which keep the actors alive.
//! Actors that have stopped are removed. When an actor that serves a protocol stops, the
//! receptionist removes the actor immediately and notifies the subscribers of the protocol. The
//! other types remove a stopped actor when they next use its address, or when their collection has
//! doubled in size.

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
