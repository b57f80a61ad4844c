//! Texts, which are encoded as UTF-8.

use std::sync::Arc;

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::shape::Shape;
use crate::wire::Wire;

/// Size in bytes of the two reference counters in the allocation of an `Arc`.
pub(super) const COUNTERS: usize = 2 * size_of::<usize>();

macro_rules! text {
    ($($type:ty: $more:expr),*) => {$(
        impl<C: ?Sized> Wire<C> for $type {
            const NAME: &'static str = "string";
            const SHAPE: Shape = Shape::Bytes;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                out.charge(self.len() + $more);
                out.bytes(self.as_bytes())
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                input.charge(input.remaining() + $more)?;
                match str::from_utf8(input.rest()) {
                    Ok(text) => Ok(Self::from(text)),
                    Err(_) => Err(input.invalid("UTF-8")),
                }
            }

            #[inline]
            fn content_len(&self) -> Option<usize> {
                Some(self.len())
            }
        }
    )*};
}

text!(String: 0, Box<str>: 0, Arc<str>: COUNTERS);
