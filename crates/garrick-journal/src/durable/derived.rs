//! The encoding of types with `#[derive(Stored)]`. The generated code uses it.
//!
//! Each field is serialized separately, in the wire format of postcard, which is specified and
//! stable. An encoding contains no names, and no index of the variant, because the tag of the event
//! identifies the variant. So variants, structs and tuples with the same fields have the same
//! encoding.

use std::fmt;

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::stored::BoxError;
use crate::error::describe;
use crate::event::EventKind;

/// A variant or a struct that can be stored as an event, as the generated code describes it.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Name of the variant or struct, such as `Event::PaidIn`.
    pub name: &'static str,
    /// Number (tag) that identifies the type in the log.
    pub tag: u16,
    /// All versions that can be decoded, newest first.
    pub versions: &'static [u16],
}

/// Bytes to which a serializer appends.
struct Appended<'a>(&'a mut Vec<u8>);

impl Flavor for Appended<'_> {
    type Output = ();

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    #[inline]
    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Implemented by all types that a field of a stored event can have.
pub trait Value: Serialize + DeserializeOwned {}

impl<T: Serialize + DeserializeOwned> Value for T {}

/// Appends the encoding of a field.
///
/// # Panics
/// Panics if the value cannot be serialized. The turn that has recorded the value then fails.
pub fn put<T: Serialize + ?Sized>(of: &str, field: &str, value: &T, bytes: &mut Vec<u8>) {
    if let Err(error) = postcard::serialize_with_flavor(value, Appended(bytes)) {
        panic!("the field `{field}` of `{of}` cannot be serialized: {error}");
    }
}

/// The encoded fields of a value, in order.
#[derive(Debug)]
pub struct Fields<'a> {
    /// Name of the type that has these fields.
    of: &'static str,
    known: &'static [Known],
    kind: EventKind,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Begins to decode a value of the type with the name `of`.
    #[must_use]
    pub fn new(
        of: &'static str,
        known: &'static [Known],
        kind: EventKind,
        bytes: &'a [u8],
    ) -> Self {
        Self {
            of,
            known,
            kind,
            rest: bytes,
        }
    }

    /// Decodes the next field.
    ///
    /// # Errors
    /// Returns an error if the remaining bytes do not begin with an encoding of `T`.
    pub fn next<T: DeserializeOwned>(&mut self, field: &str) -> Result<T, BoxError> {
        let taken = self.take();
        taken.map_err(|error| self.wrong(format_args!("the field `{field}`: {error}")))
    }

    /// Ends the decoding, and returns the decoded value `value`.
    ///
    /// # Errors
    /// Returns an error if some bytes were not decoded.
    pub fn end<T>(&self, value: T) -> Result<T, BoxError> {
        match self.rest.len() {
            0 => Ok(value),
            1 => Err(self.wrong(format_args!("1 byte is left over"))),
            count => Err(self.wrong(format_args!("{count} bytes are left over"))),
        }
    }

    /// Decodes a value of an older type, and converts it.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of the older type, or if the decoded value
    /// cannot be converted.
    pub fn upcast<T, Old, R>(mut self, convert: impl FnOnce(Old) -> R) -> Result<T, BoxError>
    where
        Old: DeserializeOwned,
        R: Upcast<T>,
    {
        let old = self
            .take()
            .map_err(|error| self.wrong(format_args!("{error}")))?;
        let old = self.end(old)?;
        let converted = convert(old).into_new();
        converted.map_err(|error| self.wrong(format_args!("{}", describe(&*error))))
    }

    fn take<T: DeserializeOwned>(&mut self) -> postcard::Result<T> {
        let (value, rest) = postcard::take_from_bytes(self.rest)?;
        self.rest = rest;
        Ok(value)
    }

    /// Returns the error for an event with an unknown kind (tag and version).
    #[must_use]
    pub fn unknown(&self) -> BoxError {
        let EventKind { tag, version } = self.kind;
        let text = match self.known.iter().find(|known| known.tag == tag) {
            Some(Known { name, versions, .. }) => {
                let versions = list(versions.iter().map(ToString::to_string));
                format!("`{name}` (tag {tag}) has no version {version}; known versions: {versions}")
            }
            None => {
                let known = self.known.iter();
                let tags = list(known.map(|known| format!("{} (`{}`)", known.tag, known.name)));
                let of = self.of;
                format!("`{of}` has no tag {tag} (version {version}); known tags: {tags}")
            }
        };
        text.into()
    }

    fn wrong(&self, why: fmt::Arguments<'_>) -> BoxError {
        let EventKind { tag, version } = self.kind;
        let known = self.known.iter().find(|known| known.tag == tag);
        let name = known.map_or(self.of, |known| known.name);
        format!("`{name}` (tag {tag}, version {version}) cannot be decoded: {why}").into()
    }
}

/// Returns the words, separated by commas.
fn list(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.as_slice() {
        [] => "none".to_owned(),
        words => words.join(", "),
    }
}

/// Implemented by the possible results of a function that converts an older type: the new value, or
/// a `Result` with it.
#[diagnostic::on_unimplemented(
    message = "a function that converts an older version must return `{T}` or a `Result` of it",
    label = "this function returns `{Self}`"
)]
pub trait Upcast<T> {
    /// Returns the new value.
    ///
    /// # Errors
    /// Returns the error of the function.
    fn into_new(self) -> Result<T, BoxError>;
}

impl<T> Upcast<T> for T {
    fn into_new(self) -> Result<T, BoxError> {
        Ok(self)
    }
}

impl<T, E: Into<BoxError>> Upcast<T> for Result<T, E> {
    fn into_new(self) -> Result<T, BoxError> {
        self.map_err(Into::into)
    }
}
