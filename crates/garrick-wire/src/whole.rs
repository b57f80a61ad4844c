//! Encoding and decoding of whole messages.

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::{Reason, WireError};
use crate::limits::Limits;
use crate::wire::Wire;

impl Limits {
    /// Appends the encoding of `value` to `out`.
    ///
    /// The encoding does not contain its length, so the receiver must know where the encoding ends.
    ///
    /// # Errors
    /// Returns an error if the message has too many bytes or too many nested levels, or if a type
    /// refuses the value. After an error, `out` contains the same bytes as before the call, and the
    /// value is dropped.
    #[inline]
    pub fn encode<T: Wire>(&self, value: T, out: &mut Vec<u8>) -> Result<(), WireError> {
        self.encode_with(value, out, &mut ())
    }

    /// Appends the encoding of `value` to `out`, and lends `context` to all types within the value.
    ///
    /// # Errors
    /// Returns the errors of [`encode`](Self::encode). If parts of the value were moved into tables
    /// of the context before the error, they stay in these tables.
    #[inline]
    pub fn encode_with<C: ?Sized, T: Wire<C>>(
        &self,
        value: T,
        out: &mut Vec<u8>,
        context: &mut C,
    ) -> Result<(), WireError> {
        let mut encoder = Encoder::new(out, self, context);
        match value.encode(&mut encoder) {
            Ok(()) => encoder.finish(),
            Err(error) => Err(error),
        }
        .map_err(|error| error.within(T::NAME, ""))
    }

    /// Decodes the value of a whole message.
    ///
    /// # Errors
    /// Returns an error if the bytes do not encode a value of the type, or exceed a limit.
    #[inline]
    pub fn decode<T: Wire>(&self, bytes: &[u8]) -> Result<T, WireError> {
        self.decode_with(bytes, &mut ())
    }

    /// Decodes the value of a whole message, and lends `context` to all types within the value.
    ///
    /// # Errors
    /// Returns the errors of [`decode`](Self::decode). If parts of the value were moved out of
    /// tables of the context before the error, they are dropped.
    #[inline]
    pub fn decode_with<C: ?Sized, T: Wire<C>>(
        &self,
        bytes: &[u8],
        context: &mut C,
    ) -> Result<T, WireError> {
        let max = self.message_bytes;
        if bytes.len() > max {
            return Err(WireError::new(Reason::MessageBytes { max }, 0).within(T::NAME, ""));
        }
        let mut decoder = Decoder::new(bytes, self, context);
        let value = T::decode(&mut decoder)?;
        decoder.finish()?;
        Ok(value)
    }
}

/// Returns the encoding of `value`, with the default [`Limits`].
///
/// # Errors
/// Returns an error if the message has too many bytes or too many nested levels, or if a type
/// refuses the value.
pub fn to_vec<T: Wire>(value: T) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::new();
    Limits::new().encode(value, &mut out)?;
    Ok(out)
}

/// Decodes the value of a whole message, with the default [`Limits`].
///
/// # Errors
/// Returns an error if the bytes do not encode a value of the type, or exceed a limit.
pub fn from_slice<T: Wire>(bytes: &[u8]) -> Result<T, WireError> {
    Limits::new().decode(bytes)
}
