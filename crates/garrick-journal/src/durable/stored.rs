//! The encoding of events.

use std::error::Error;

use crate::event::EventKind;

/// The error of a value that cannot be decoded.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Implemented by the events of durable actors, which are stored as bytes.
///
/// The log stores the kind of an event forever. New code must be able to read old events. So never
/// give the tag of one type to another type, and increase the version when the encoding changes.
///
/// # Examples
/// The second version of this event has a currency:
/// ```
/// use garrick_journal::{BoxError, EventKind, Stored};
///
/// struct PaidIn {
///     cents: u64,
///     currency: [u8; 3],
/// }
///
/// impl Stored for PaidIn {
///     fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
///         bytes.extend(self.cents.to_le_bytes());
///         bytes.extend(self.currency);
///         EventKind { tag: 1, version: 2 }
///     }
///
///     fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
///         let (cents, rest) = bytes.split_first_chunk().ok_or("no amount")?;
///         let currency = match (kind.tag, kind.version) {
///             (1, 1) => *b"EUR",
///             (1, 2) => rest.try_into()?,
///             _ => return Err("an unknown event".into()),
///         };
///         Ok(Self { cents: u64::from_le_bytes(*cents), currency })
///     }
/// }
/// # let old = PaidIn::decode(EventKind { tag: 1, version: 1 }, &7_u64.to_le_bytes()).unwrap();
/// # assert_eq!((old.cents, old.currency), (7, *b"EUR"));
/// ```
pub trait Stored: Sized {
    /// Appends the encoding of this value to `bytes`, and returns its kind.
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind;

    /// Decodes a value of any kind that was ever stored.
    ///
    /// # Errors
    /// Returns an error if the kind is unknown, or if the bytes are not an encoding of that kind.
    fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError>;
}

/// The encoding of an empty answer, which only confirms that a letter (durable message) has
/// arrived.
impl Stored for () {
    fn encode(&self, _: &mut Vec<u8>) -> EventKind {
        EventKind::default()
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        if bytes.is_empty() {
            return Ok(());
        }
        Err("more bytes than an answer without content has".into())
    }
}
