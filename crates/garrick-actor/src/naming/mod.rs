//! Who is there, and what is said to whom it may concern.
//!
//! ```text
//!   Registry       "printer" -> Address<Print>     one actor has one name, of one message type
//!   Receptionist   Key<Print> -> [Address<Print>]  who serves a protocol; subscribers hear of changes
//!   Topic<M>       publish(M) -> every subscriber  each message once, in order per publisher
//!   EventStream    publish(E) -> subscribers to E  one topic for each type
//!   DeadLetters    what could not be delivered, as a topic
//! ```
//!
//! Each of them is an actor with a handle in front. So what is done through a handle inside of a turn is
//! staged like any message: it happens when the turn commits, or not at all; and what one sender does,
//! whether it registers, subscribes or publishes, is done in that order. There is nothing global: whoever
//! is to use one of them is given a handle. When the last handle is gone, so is the actor behind it.
//!
//! A mailbox has no bound unless its actor asks for one, and nobody is cut off for being slow: a subscriber
//! gets everything that is published until it unsubscribes or stops.
//!
//! Registered actors, those who serve and those who subscribe are held by their addresses, which keep them
//! alive. One that has stopped is taken out: at once by the receptionist, which tells its subscribers; by the
//! others when it is next come across, or when what they hold has doubled.

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
