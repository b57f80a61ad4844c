//! The type `Bytes` of the crate `bytes`, which is encoded in the same way as a list of `u8`.

use bytes::Bytes;

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::shape::Shape;
use crate::wire::Wire;

impl<C: ?Sized> Wire<C> for Bytes {
    const NAME: &'static str = "bytes";
    const SHAPE: Shape = Shape::Bytes;

    #[inline]
    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        out.charge(self.len());
        out.bytes(&self)
    }

    #[inline]
    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        input.charge(input.remaining())?;
        Ok(Self::copy_from_slice(input.rest()))
    }

    #[inline]
    fn content_len(&self) -> Option<usize> {
        Some(self.len())
    }
}
