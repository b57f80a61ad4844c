//! Reads values from bytes.

use std::fmt;

use crate::error::{Reason, WireError};
use crate::limits::Limits;
use crate::shape::Shape;
use crate::varint;

/// Reads a message. `C` is the type of the context, a value that implementations of
/// [`Wire`](crate::Wire) can use during decoding.
///
/// [`Limits::decode_with`] creates a decoder. A decoder must not be used after an error.
pub struct Decoder<'a, C: ?Sized = ()> {
    /// The unread bytes of the innermost value that is being read.
    rest: &'a [u8],
    /// Address of the first byte of the message, from which positions are computed.
    base: usize,
    memory_left: usize,
    memory_max: usize,
    depth_left: u32,
    depth_max: u32,
    context: &'a mut C,
}

impl<'a, C: ?Sized> Decoder<'a, C> {
    /// Creates a decoder for a message. The caller has checked the length of the message.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], limits: &Limits, context: &'a mut C) -> Self {
        let memory = limits.memory(bytes.len());
        Self {
            rest: bytes,
            base: bytes.as_ptr().addr(),
            memory_left: memory,
            memory_max: memory,
            depth_left: limits.depth,
            depth_max: limits.depth,
            context,
        }
    }

    /// Returns an error if unread bytes are left.
    #[inline]
    pub(crate) fn finish(&self) -> Result<(), WireError> {
        match self.rest.len() {
            0 => Ok(()),
            bytes => Err(self.error(Reason::Trailing { bytes })),
        }
    }

    /// Returns the context that was lent to the decoder.
    #[inline]
    pub fn context(&mut self) -> &mut C {
        self.context
    }

    /// Returns the number of unread bytes of the innermost value that is being read.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Returns the position of the next byte within the message.
    #[inline]
    pub fn position(&self) -> usize {
        self.rest.as_ptr().addr() - self.base
    }

    /// Returns the error for an invalid value. `allowed` describes the allowed values.
    #[cold]
    pub fn invalid(&self, allowed: &'static str) -> WireError {
        self.error(Reason::Invalid { allowed })
    }

    /// Returns the error for a value that the caller refuses. `why` is the reason, which must not
    /// contain the value.
    #[cold]
    pub fn refused(&self, why: impl Into<Box<str>>) -> WireError {
        self.error(Reason::Refused { why: why.into() })
    }

    #[cold]
    pub(crate) fn error(&self, reason: Reason) -> WireError {
        WireError::new(reason, self.position())
    }

    /// Reads a number whose encoding has a variable length of 1 to 9 bytes.
    ///
    /// # Errors
    /// Returns an error if the input ends within the number, or if a shorter encoding of the number
    /// exists.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, WireError> {
        match varint::read(self.rest) {
            Some((value, rest)) => {
                self.rest = rest;
                Ok(value)
            }
            None => Err(self.wrong_varint()),
        }
    }

    /// Returns the error for input that does not begin with a valid number of variable length.
    #[cold]
    pub(crate) fn wrong_varint(&self) -> WireError {
        let needed = self.rest.first().map_or(1, |first| varint::len_of(*first));
        if needed > self.rest.len() {
            return self.ended(needed);
        }
        self.error(Reason::NotShortest)
    }

    /// Reads a fixed number of bytes.
    ///
    /// # Errors
    /// Returns an error if fewer bytes are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        match self.rest.split_first_chunk() {
            Some((array, rest)) => {
                self.rest = rest;
                Ok(*array)
            }
            None => Err(self.ended(N)),
        }
    }

    /// Reads `len` bytes.
    ///
    /// # Errors
    /// Returns an error if fewer bytes are left.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        match self.rest.split_at_checked(len) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(self.ended(len)),
        }
    }

    /// Reads all remaining bytes of the innermost value that is being read.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        let (rest, end) = self.rest.split_at(self.rest.len());
        self.rest = end;
        rest
    }

    /// Counts memory that the caller will allocate for the decoded value. `bytes` is the size of
    /// this memory.
    ///
    /// # Errors
    /// Returns an error if the message would need more memory than is allowed for a message of its
    /// length.
    #[inline]
    pub fn charge(&mut self, bytes: usize) -> Result<(), WireError> {
        match self.memory_left.checked_sub(bytes) {
            Some(left) => {
                self.memory_left = left;
                Ok(())
            }
            None => {
                let max = self.memory_max;
                Err(self.error(Reason::Memory { max }))
            }
        }
    }

    /// Returns how many more bytes of memory may be allocated for the rest of the message.
    #[cfg(all(test, feature = "serde"))]
    pub(crate) fn memory_left(&self) -> usize {
        self.memory_left
    }

    /// Reads the length of a value, or the number of items of a list. The encoding of each item
    /// must have at least one byte.
    ///
    /// # Errors
    /// Returns an error if the length is larger than the number of bytes that follow it.
    #[inline]
    pub fn length(&mut self) -> Result<usize, WireError> {
        let length = self.varint()?;
        let left = self.rest.len();
        match usize::try_from(length) {
            Ok(length) if length <= left => Ok(length),
            _ => Err(self.error(Reason::Length { length, left })),
        }
    }

    /// Reads the number of items of a list of `T`, and counts the memory that the items will need.
    #[inline]
    pub(crate) fn count<T>(&mut self) -> Result<usize, WireError> {
        let count = self.length()?;
        self.charge(count.saturating_mul(size_of::<T>()))?;
        Ok(count)
    }

    /// Reads a length `n`, and restricts the decoder to the next `n` bytes. Returns the bytes after
    /// these `n` bytes. Pass the returned bytes to [`widen`](Self::widen), which ends the
    /// restriction.
    #[inline]
    pub(crate) fn narrow(&mut self) -> Result<&'a [u8], WireError> {
        let len = self.length()?;
        let (content, after) = self.rest.split_at(len);
        self.rest = content;
        Ok(after)
    }

    /// Ends the restriction that [`narrow`](Self::narrow) began: checks that all bytes in the
    /// restriction were read, and continues with the bytes in `after`.
    #[inline]
    pub(crate) fn widen(&mut self, after: &'a [u8]) -> Result<(), WireError> {
        self.finish()?;
        self.rest = after;
        Ok(())
    }

    /// Skips a value of the given shape.
    pub(crate) fn skip(&mut self, shape: Shape) -> Result<(), WireError> {
        match shape {
            Shape::Varint => self.varint().map(drop),
            Shape::Four => self.bytes(4).map(drop),
            Shape::Eight => self.bytes(8).map(drop),
            Shape::Bytes => {
                let len = self.length()?;
                self.bytes(len).map(drop)
            }
        }
    }

    /// Returns the bytes that were not read yet. Does not read them.
    #[inline]
    pub(crate) fn peek(&self) -> &'a [u8] {
        self.rest
    }

    /// Sets the unread bytes to `rest`, which must be a suffix of the bytes that
    /// [`peek`](Self::peek) has returned.
    #[inline]
    pub(crate) fn seek(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Begins a message that is nested in another message. Returns an error if messages are nested
    /// too deeply.
    #[inline]
    pub(crate) fn enter(&mut self) -> Result<(), WireError> {
        match self.depth_left.checked_sub(1) {
            Some(left) => {
                self.depth_left = left;
                Ok(())
            }
            None => {
                let max = self.depth_max;
                Err(self.error(Reason::Depth { max }))
            }
        }
    }

    /// Ends the message that [`enter`](Self::enter) has begun.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.depth_left += 1;
    }

    #[cold]
    fn ended(&self, needed: usize) -> WireError {
        let left = self.rest.len();
        self.error(Reason::Ended { needed, left })
    }
}

impl<C: ?Sized> fmt::Debug for Decoder<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("position", &self.position())
            .field("remaining", &self.remaining())
            .field("memory_left", &self.memory_left)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::Encoder;

    fn varint(bytes: &[u8]) -> Result<u64, WireError> {
        let mut context = ();
        let mut decoder = Decoder::new(bytes, &Limits::new(), &mut context);
        let value = decoder.varint()?;
        decoder.finish()?;
        Ok(value)
    }

    #[test]
    fn numbers_come_back_and_prefixes_do_not() {
        for bits in 0..64 {
            for number in [(1_u64 << bits) - 1, 1 << bits, u64::MAX >> bits] {
                let mut bytes = Vec::new();
                let (limits, mut context) = (Limits::new(), ());
                let mut encoder = Encoder::new(&mut bytes, &limits, &mut context);
                encoder.varint(number).unwrap();
                encoder.finish().unwrap();
                assert_eq!(bytes.len(), varint::len(number));
                assert_eq!(varint(&bytes), Ok(number));
                for len in 0..bytes.len() {
                    let error = varint(&bytes[..len]).unwrap_err();
                    assert!(matches!(error.reason(), Reason::Ended { .. }), "{error}");
                }
                // More bytes behind the number are not read as a part of it.
                bytes.extend([0xff; 9]);
                let error = varint(&bytes).unwrap_err();
                assert_eq!(*error.reason(), Reason::Trailing { bytes: 9 });
            }
        }
    }

    #[test]
    fn a_number_has_one_encoding() {
        for bytes in [&[0x02, 0][..], &[0b100, 0xff, 0x00], &[0; 9]] {
            assert_eq!(*varint(bytes).unwrap_err().reason(), Reason::NotShortest);
        }
    }
}
