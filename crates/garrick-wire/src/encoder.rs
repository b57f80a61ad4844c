//! Writes values to a buffer.
//!
//! The buffer is longer than the written part of the message: it ends with zeros, which are
//! overwritten or removed later. So the encoder can always copy a fixed number of bytes, even if
//! the value to be written has fewer bytes. Such a copy needs a single bounds check and no function
//! call.
//!
//! ```text
//!   | before | written | zeros |
//!            ^ start   ^ at    ^ out.len()
//! ```

use std::fmt;

use crate::error::{Reason, WireError};
use crate::limits::Limits;
use crate::shape::{self, Shape};
use crate::varint;

/// Number of zeros by which a new encoder extends its buffer, and minimum for each later extension.
/// The encoded bytes overwrite the zeros.
const SMALL: usize = 64;

/// Maximum number of zeros by which the encoder extends its buffer in advance, in addition to the
/// bytes that it must write next.
const LARGE: usize = 4096;

/// Writes a message. `C` is the type of the context, a value that implementations of
/// [`Wire`](crate::Wire) can use during encoding.
///
/// [`Limits::encode_with`] creates an encoder.
pub struct Encoder<'a, C: ?Sized = ()> {
    out: &'a mut Vec<u8>,
    /// Number of bytes in the buffer before the message.
    start: usize,
    /// Position in the buffer at which the next byte is written.
    at: usize,
    /// Position in the buffer at which the message has reached its maximum length.
    at_max: usize,
    /// Length to which the buffer is truncated when the encoder is dropped.
    keep: usize,
    depth_left: u32,
    /// Number of bytes of memory that the receiver will allocate to decode the values written so
    /// far.
    memory: usize,
    limits: &'a Limits,
    context: &'a mut C,
}

impl<'a, C: ?Sized> Encoder<'a, C> {
    #[inline]
    pub(crate) fn new(out: &'a mut Vec<u8>, limits: &'a Limits, context: &'a mut C) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; SMALL]);
        Self {
            out,
            start,
            at: start,
            at_max: start.saturating_add(limits.message_bytes),
            keep: start,
            depth_left: limits.depth,
            memory: 0,
            limits,
            context,
        }
    }

    /// Ends the message, and keeps its bytes in the buffer. An encoder that is dropped without this
    /// call removes its bytes from the buffer.
    #[inline]
    pub(crate) fn finish(mut self) -> Result<(), WireError> {
        if self.at > self.at_max {
            return Err(self.too_large());
        }
        let max = self.limits.memory(self.position());
        if self.memory > max {
            return Err(WireError::new(Reason::Memory { max }, self.position()));
        }
        self.keep = self.at;
        Ok(())
    }

    /// Returns the context that was lent to the encoder.
    #[inline]
    pub fn context(&mut self) -> &mut C {
        self.context
    }

    /// Returns the number of bytes of the message that have been written.
    #[inline]
    pub fn position(&self) -> usize {
        self.at - self.start
    }

    /// Counts memory that the receiver will allocate for the value. `bytes` is the size of this
    /// memory, which the receiver counts by [`Decoder::charge`]. So the sender already detects a
    /// message that needs more memory than is allowed for its length.
    ///
    /// [`Decoder::charge`]: crate::Decoder::charge
    #[inline]
    pub fn charge(&mut self, bytes: usize) {
        self.memory = self.memory.saturating_add(bytes);
    }

    /// Returns the error for a value that cannot be encoded. `why` is the reason.
    pub fn refused(&self, why: impl Into<Box<str>>) -> WireError {
        let why = why.into();
        WireError::new(Reason::Refused { why }, self.position())
    }

    /// Writes a number with a variable length of 1 to 9 bytes.
    ///
    /// # Errors
    /// Returns an error if the message has too many bytes.
    #[inline]
    pub fn varint(&mut self, value: u64) -> Result<(), WireError> {
        if value < 1 << 7 {
            self.put([(value as u8) << 1 | 1], 1)
        } else if value < varint::LONG {
            self.put(varint::word(value), varint::len(value))
        } else {
            let mut bytes = [0; varint::LEN_MAX];
            bytes[1..].copy_from_slice(&value.to_le_bytes());
            self.put(bytes, varint::LEN_MAX)
        }
    }

    /// Writes a fixed number of bytes.
    ///
    /// # Errors
    /// Returns an error if the message has too many bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), WireError> {
        self.put(bytes, N)
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// Returns an error if the message has too many bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let end = self.at.saturating_add(bytes.len());
        match self.out.get_mut(self.at..end) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.at = end;
                Ok(())
            }
            None => self.append(bytes.len(), |out| out.extend_from_slice(bytes)),
        }
    }

    /// Writes all bytes that an iterator returns.
    #[inline]
    pub(crate) fn bytes_of(
        &mut self,
        bytes: impl ExactSizeIterator<Item = u8>,
    ) -> Result<(), WireError> {
        self.append(bytes.len(), |out| out.extend(bytes))
    }

    /// Writes the key of a field, which consists of its number and its shape.
    #[inline]
    pub(crate) fn key(&mut self, number: u32, shape: Shape) -> Result<(), WireError> {
        self.varint(shape::key(number, shape))
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
            None => Err(self.too_deep()),
        }
    }

    /// Ends the message that [`enter`](Self::enter) has begun.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.depth_left += 1;
    }

    /// Begins a value whose length is not known yet, and reserves one byte for the length. Returns
    /// the position of this byte, which must be passed to [`end`](Self::end).
    #[inline]
    pub(crate) fn begin(&mut self) -> Result<usize, WireError> {
        let place = self.at;
        self.put([0], 1)?;
        Ok(place)
    }

    /// Ends the value that [`begin`](Self::begin) began, and writes its length at the position
    /// `place`.
    #[inline]
    pub(crate) fn end(&mut self, place: usize) -> Result<(), WireError> {
        let len = self.at - place - 1;
        if len < 1 << 7 {
            self.out[place] = (len as u8) << 1 | 1;
            return Ok(());
        }
        self.end_long(place, len)
    }

    /// Moves the last `len` bytes to make room for a length of several bytes, and writes the length
    /// at `place`. In the whole message, a byte is moved at most once for each level of nesting.
    fn end_long(&mut self, place: usize, len: usize) -> Result<(), WireError> {
        let more = varint::len(len as u64) - 1;
        self.put([0; varint::LEN_MAX], more)?;
        let content = place + 1;
        self.out.copy_within(content..content + len, content + more);
        // A length in memory is below `varint::LONG`.
        self.out[place..content + more].copy_from_slice(&varint::word(len as u64)[..=more]);
        Ok(())
    }

    /// Writes the first `len` bytes of `bytes`. Copies all of `bytes` into the buffer, but the next
    /// write overwrites the bytes after the first `len`.
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N], len: usize) -> Result<(), WireError> {
        match self
            .out
            .get_mut(self.at..)
            .and_then(<[u8]>::first_chunk_mut)
        {
            Some(place) => *place = bytes,
            None => self.put_at_end(&bytes)?,
        }
        self.at += len;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn put_at_end(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        // Bytes may be written beyond the limit, and are then refused at the end.
        if self.at > self.at_max {
            return Err(self.too_large());
        }
        let more = self.position().clamp(SMALL, LARGE) + bytes.len();
        self.out.resize(self.at + more, 0);
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Appends `len` bytes to the message. The function `write` writes these bytes to the buffer.
    /// Before that, removes the unused zeros at the end of the buffer.
    fn append(&mut self, len: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), WireError> {
        if len > self.at_max.saturating_sub(self.at) {
            return Err(self.too_large());
        }
        self.out.truncate(self.at);
        write(self.out);
        self.at = self.out.len();
        Ok(())
    }

    #[cold]
    fn too_large(&self) -> WireError {
        let max = self.limits.message_bytes;
        WireError::new(Reason::MessageBytes { max }, self.position())
    }

    #[cold]
    fn too_deep(&self) -> WireError {
        let max = self.limits.depth;
        WireError::new(Reason::Depth { max }, self.position())
    }
}

impl<C: ?Sized> Drop for Encoder<'_, C> {
    /// Removes the zeros at the end of the buffer. If the message was not finished, for example
    /// because encoding panicked, its bytes are removed as well.
    #[inline]
    fn drop(&mut self) {
        self.out.truncate(self.keep);
    }
}

impl<C: ?Sized> fmt::Debug for Encoder<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("position", &self.position())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_all_sizes_precede_their_content() {
        let limits = Limits::new();
        for len in [0, 1, 127, 128, 16_383, 16_384, 300_000] {
            let mut out = vec![9];
            let mut context = ();
            let mut encoder = Encoder::new(&mut out, &limits, &mut context);
            let place = encoder.begin().unwrap();
            for index in 0..len {
                encoder.array([index as u8]).unwrap();
            }
            encoder.end(place).unwrap();
            encoder.finish().unwrap();
            let prefix = varint::len(len as u64);
            assert_eq!(out.len(), 1 + prefix + len);
            assert_eq!(out[1..=prefix], varint::word(len as u64)[..prefix]);
            let content = out[1 + prefix..].iter().enumerate();
            assert!(
                content
                    .into_iter()
                    .all(|(index, byte)| *byte == index as u8)
            );
        }
    }

    #[test]
    fn a_message_of_the_largest_length_passes() {
        for max in [0, 1, 63, 64, 65, 1_000] {
            let limits = Limits::new().message_bytes(max);
            for len in [max, max + 1] {
                let mut out = vec![1, 2, 3];
                let mut context = ();
                let mut encoder = Encoder::new(&mut out, &limits, &mut context);
                let written = (0..len).try_for_each(|_| encoder.varint(1));
                let finished = written.and_then(|()| encoder.finish());
                assert_eq!(finished.is_ok(), len == max, "{len} of {max}");
                let kept = if len == max { len } else { 0 };
                assert_eq!(out.len(), 3 + kept);
            }
        }
    }
}
