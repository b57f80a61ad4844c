//! Events of journals.

/// The type of an event, and the version of the event's encoding. The user chooses both numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct EventKind {
    /// Number that identifies the type of the event or of the saved state.
    pub tag: u16,
    /// Version of the encoding.
    pub version: u16,
}

/// An event of a journal, with its number, its type and its encoded content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Event<'a> {
    /// Sequence number of the event in its journal. The first event of a journal has the number 1.
    pub number: u64,
    /// Type and version of the event.
    pub kind: EventKind,
    /// True if the event contains the whole state, so that the events before it are not needed.
    pub is_whole: bool,
    /// Content of the event.
    pub payload: &'a [u8],
}
