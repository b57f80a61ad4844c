//! Errors of encoding and decoding.

use std::error::Error;
use std::fmt;

use crate::shape::Shape;

/// An error of encoding or decoding.
///
/// The text states what is wrong, where the error is, and what is allowed. The text can contain
/// field numbers, variant numbers, lengths, and the names of types and fields, but never the value
/// of a field.
///
/// # Examples
/// ```
/// use garrick_wire::{Wire, from_slice};
///
/// #[derive(Wire, Debug)]
/// #[wire(name = "bank.Deposit")]
/// struct Deposit {
///     account: u64,
///     cents: u64,
/// }
///
/// let error = from_slice::<Deposit>(&[]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`bank.Deposit`, field `account`, at byte 0: the field 1 is missing, and has no default",
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct WireError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    reason: Reason,
    /// Position of the byte at which the error was found.
    at: usize,
    /// Path to the error, outermost type last. Each entry contains the name of a type, and the name
    /// of the field with the error. The name of the field is empty if the error is not in a known
    /// field.
    path: Vec<(&'static str, &'static str)>,
}

/// The reason for a [`WireError`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The input ends within a value.
    Ended {
        /// Minimum number of bytes that the value needs.
        needed: usize,
        /// Number of bytes that are left in the input.
        left: usize,
    },
    /// A length, or the number of items of a list, is larger than the number of bytes that follow.
    /// Each item has at least one byte.
    Length {
        /// The length, or the number of items, in the message.
        length: u64,
        /// Number of bytes that follow in the input.
        left: usize,
    },
    /// Bytes are left after the end of a value.
    Trailing {
        /// Number of bytes after the end of the value.
        bytes: usize,
    },
    /// A number is encoded in more bytes than necessary.
    NotShortest,
    /// A number is too large or too small for its type.
    Range {
        /// Name of the number's type.
        of: &'static str,
    },
    /// The shape of a field in the message differs from the shape that the reader expects. A shape
    /// is a kind of encoding, such as four bytes.
    Shape {
        /// Number of the field.
        number: u32,
        /// The shape that the type of the field has.
        expected: Shape,
        /// The shape of the field in the message.
        found: Shape,
    },
    /// The message contains a field number that is out of bounds.
    FieldNumber {
        /// The field number that is out of bounds.
        number: u64,
    },
    /// A field occurs twice, or comes after a field with a larger number.
    FieldOrder {
        /// Number of the field.
        number: u32,
        /// Number of the previous field in the message.
        after: u32,
    },
    /// A field without a default is missing.
    MissingField {
        /// Number of the missing field.
        number: u32,
    },
    /// An enum has a variant that the reader does not know. The message may come from a newer
    /// version of the program.
    UnknownVariant {
        /// Number of the unknown variant.
        number: u64,
    },
    /// The bytes do not encode a value of the expected type.
    Invalid {
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// Messages are nested too deeply.
    Depth {
        /// Maximum number of levels of nested messages.
        max: u32,
    },
    /// The message has too many bytes.
    MessageBytes {
        /// Maximum number of bytes of a message.
        max: usize,
    },
    /// The decoded value would need too much memory.
    Memory {
        /// Maximum memory in bytes for a message of this length.
        max: usize,
    },
    /// The context, or a type that implements `Wire` by hand, has refused the value.
    Refused {
        /// The reason for the refusal.
        why: Box<str>,
    },
}

impl WireError {
    #[cold]
    pub(crate) fn new(reason: Reason, at: usize) -> Self {
        Self(Box::new(Inner {
            reason,
            at,
            path: Vec::new(),
        }))
    }

    /// Adds an entry to the error's path: the field `field` of the type `of`, in which the error
    /// occurred.
    #[cold]
    #[must_use]
    pub(crate) fn within(mut self, of: &'static str, field: &'static str) -> Self {
        self.0.path.push((of, field));
        self
    }

    /// Returns the reason for the error.
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// Returns the position of the byte at which the error was found. For an error of encoding,
    /// this is the number of bytes that were written before the error.
    pub fn position(&self) -> usize {
        self.0.at
    }

    /// Returns the path to the error, outermost type first. Each item contains the name of a type,
    /// and the name of the field with the error. The name of the field is empty if the error is not
    /// in a known field.
    pub fn path(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.path.iter().rev().copied()
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (of, field) in self.path() {
            write!(f, "`{of}`, ")?;
            if !field.is_empty() {
                write!(f, "field `{field}`, ")?;
            }
        }
        write!(f, "at byte {}: {}", self.0.at, self.0.reason)
    }
}

impl fmt::Debug for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WireError({self})")
    }
}

impl Error for WireError {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { needed, left } => {
                write!(f, "{needed} more bytes are needed, but {left} are left")
            }
            Self::Length { length, left } => {
                write!(f, "a length of {length}, but only {left} bytes are left")
            }
            Self::Trailing { bytes } => {
                write!(f, "{bytes} bytes are left after the end of the value")
            }
            Self::NotShortest => f.write_str("a number has more bytes than it needs"),
            Self::Range { of } => write!(f, "a number does not fit into `{of}`"),
            Self::Shape {
                number,
                expected,
                found,
            } => write!(
                f,
                "the field {number} has the shape `{found}`, but its type has the shape `{expected}`"
            ),
            Self::FieldNumber { number } => write!(
                f,
                "{number} is no number of a field; the numbers are 1 to {}",
                crate::shape::NUMBER_MAX
            ),
            Self::FieldOrder { number, after } => write!(
                f,
                "the field {number} comes after the field {after}; the numbers of fields ascend"
            ),
            Self::MissingField { number } => {
                write!(f, "the field {number} is missing, and has no default")
            }
            Self::UnknownVariant { number } => write!(
                f,
                "the variant {number} is unknown; the writer may be of a newer version"
            ),
            Self::Invalid { allowed } => write!(f, "a value is not valid; allowed is {allowed}"),
            Self::Depth { max } => write!(
                f,
                "messages are nested too deeply; at most {max} levels are allowed"
            ),
            Self::MessageBytes { max } => write!(
                f,
                "the message is too large; at most {max} bytes are allowed"
            ),
            Self::Memory { max } => write!(
                f,
                "the value needs too much memory; at most {max} bytes are allowed for this message"
            ),
            Self::Refused { why } => f.write_str(why),
        }
    }
}
