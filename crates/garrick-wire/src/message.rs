//! Encodes structs and enums, whose fields and variants have numbers.
//!
//! A message is a sequence of fields. Each field consists of a key and a value. The key contains
//! the number of the field and the shape of the value. The field numbers ascend, so no field occurs
//! twice. An encoded enum begins with the number of its variant. The fields of the variant follow.

use std::fmt;

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::{Reason, WireError};
use crate::shape::{self, NUMBER_MAX, Shape};
use crate::wire::Wire;

/// Reads the fields of a message. Code that the derive macro generates uses this type.
pub struct FieldReader<'d, 'a, C: ?Sized = ()> {
    input: &'d mut Decoder<'a, C>,
    /// Name of the message type, for errors.
    of: &'static str,
    /// Field number of the field that was read or skipped last. Before the first field, the value
    /// is 0, which is not a field number.
    last: u32,
}

impl<C: ?Sized> Encoder<'_, C> {
    /// Writes the fields of a message. Calls `write`, which must call [`field`](Self::field) for
    /// each field, in ascending order of the field numbers.
    ///
    /// # Errors
    /// Returns the errors of `write`. Also returns an error if messages are nested too deeply.
    #[inline]
    pub fn message(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        self.enter()?;
        write(self)?;
        self.leave();
        Ok(())
    }

    /// Writes the number of an enum's variant, and then the fields of the variant, like
    /// [`message`](Self::message).
    ///
    /// # Errors
    /// Returns the errors of `write`. Also returns an error if messages are nested too deeply.
    #[inline]
    pub fn variant(
        &mut self,
        number: u32,
        write: impl FnOnce(&mut Self) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        self.varint(u64::from(number))?;
        self.message(write)
    }

    /// Writes a field with its number.
    ///
    /// # Errors
    /// Returns the errors of [`Wire::encode`].
    #[inline]
    pub fn field<T: Wire<C>>(&mut self, number: u32, value: T) -> Result<(), WireError> {
        debug_assert!((1..=NUMBER_MAX).contains(&number), "a number of a field");
        value.encode_field(number, self)
    }
}

impl<'a, C: ?Sized> Decoder<'a, C> {
    /// Reads the fields of a message. `of` is the name of the message type. Calls `read`, which
    /// must request the fields in ascending order of the field numbers. Skips the fields that
    /// `read` does not request.
    ///
    /// # Errors
    /// Returns the errors of `read`. Also returns an error if messages are nested too deeply, or if
    /// a skipped field is malformed.
    #[inline]
    pub fn message<T>(
        &mut self,
        of: &'static str,
        read: impl FnOnce(&mut FieldReader<'_, 'a, C>) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        if let Err(error) = self.enter() {
            return Err(error.within(of, ""));
        }
        let mut fields = FieldReader {
            input: self,
            of,
            last: 0,
        };
        let value = read(&mut fields)?;
        fields.end()?;
        self.leave();
        Ok(value)
    }

    /// Reads the number and the fields of a variant, like [`message`](Self::message). `of` is the
    /// name of the enum. Calls `read` with the number of the variant. If `read` does not know this
    /// number, it must return the error of [`FieldReader::unknown_variant`].
    ///
    /// # Errors
    /// Returns the errors of `read`. Also returns an error if messages are nested too deeply, or if
    /// a skipped field is malformed.
    #[inline]
    pub fn variant<T>(
        &mut self,
        of: &'static str,
        read: impl FnOnce(u64, &mut FieldReader<'_, 'a, C>) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        match self.varint() {
            Ok(number) => self.message(of, |fields| read(number, fields)),
            Err(error) => Err(error.within(of, "")),
        }
    }
}

impl<C: ?Sized> FieldReader<'_, '_, C> {
    /// Reads a field that has no default.
    ///
    /// # Errors
    /// Returns an error if the field is missing, unless the type of the field is an option. Also
    /// returns the errors of [`Wire::decode`].
    #[inline]
    pub fn required<T: Wire<C>>(
        &mut self,
        number: u32,
        name: &'static str,
    ) -> Result<T, WireError> {
        if self.find(number, T::FIELD_SHAPE, name)? {
            return self.read(name);
        }
        match T::absent(self.input) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(self.error(Reason::MissingField { number }, name)),
            Err(error) => Err(error.within(self.of, name)),
        }
    }

    /// Reads a field. If the field is missing, returns the result of `default`.
    ///
    /// # Errors
    /// Returns the errors of [`Wire::decode`].
    #[inline]
    pub fn optional<T: Wire<C>>(
        &mut self,
        number: u32,
        name: &'static str,
        default: impl FnOnce() -> T,
    ) -> Result<T, WireError> {
        if self.find(number, T::FIELD_SHAPE, name)? {
            return self.read(name);
        }
        Ok(default())
    }

    /// Returns the error for a variant that the reader does not know.
    #[cold]
    pub fn unknown_variant(&self, number: u64) -> WireError {
        self.error(Reason::UnknownVariant { number }, "")
    }

    #[cold]
    fn error(&self, reason: Reason, field: &'static str) -> WireError {
        self.input.error(reason).within(self.of, field)
    }

    #[inline]
    fn read<T: Wire<C>>(&mut self, name: &'static str) -> Result<T, WireError> {
        match T::decode_field(self.input) {
            Ok(value) => Ok(value),
            Err(error) => Err(error.within(self.of, name)),
        }
    }

    /// Finds the field `number`, and reads its key. Returns false if the field is missing.
    #[inline]
    fn find(&mut self, number: u32, shape: Shape, name: &'static str) -> Result<bool, WireError> {
        debug_assert!(
            number > self.last,
            "fields are read in the order of their numbers"
        );
        let key = shape::key(number, shape);
        match self.input.peek() {
            // The next field is the right one, as in all messages of this version.
            [first, rest @ ..] if key < 1 << 7 && *first == (key as u8) << 1 | 1 => {
                self.input.seek(rest);
                self.last = number;
                Ok(true)
            }
            [] => Ok(false),
            _ => self.search(number, shape, name),
        }
    }

    /// Skips all fields with smaller numbers than `number`, and reads the key of the field
    /// `number`. Returns false if this field is missing.
    fn search(
        &mut self,
        number: u32,
        expected: Shape,
        name: &'static str,
    ) -> Result<bool, WireError> {
        loop {
            let before = self.input.peek();
            let Some((next, found)) = self.next_key()? else {
                return Ok(false);
            };
            if next > number {
                self.input.seek(before);
                return Ok(false);
            }
            if next == number && found != expected {
                let reason = Reason::Shape {
                    number,
                    expected,
                    found,
                };
                return Err(self.error(reason, name));
            }
            self.last = next;
            if next == number {
                return Ok(true);
            }
            self.skip(found)?;
        }
    }

    /// Skips all remaining fields of the message.
    #[inline]
    fn end(mut self) -> Result<(), WireError> {
        if self.input.peek().is_empty() {
            return Ok(());
        }
        while let Some((next, found)) = self.next_key()? {
            self.last = next;
            self.skip(found)?;
        }
        Ok(())
    }

    fn skip(&mut self, shape: Shape) -> Result<(), WireError> {
        let skipped = self.input.skip(shape);
        skipped.map_err(|error| error.within(self.of, ""))
    }

    /// Reads the key of the next field, and checks that its number is greater than the number of
    /// the previous field. Returns `None` at the end of the message.
    fn next_key(&mut self) -> Result<Option<(u32, Shape)>, WireError> {
        if self.input.peek().is_empty() {
            return Ok(None);
        }
        let key = self.input.varint();
        let key = key.map_err(|error| error.within(self.of, ""))?;
        let (number, shape) = shape::unpack(key);
        let number = match u32::try_from(number) {
            Ok(number) if (1..=NUMBER_MAX).contains(&number) => number,
            _ => return Err(self.error(Reason::FieldNumber { number }, "")),
        };
        if number <= self.last {
            let after = self.last;
            return Err(self.error(Reason::FieldOrder { number, after }, ""));
        }
        Ok(Some((number, shape)))
    }
}

impl<C: ?Sized> fmt::Debug for FieldReader<'_, '_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FieldReader")
            .field("of", &self.of)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}
