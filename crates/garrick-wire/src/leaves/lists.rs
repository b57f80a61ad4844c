//! Lists and arrays. A list of `u8` is encoded as plain bytes.

use std::collections::VecDeque;

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::name::{digits, join};
use crate::schema::Schema;
use crate::shape::Shape;
use crate::wire::Wire;

macro_rules! list {
    ($($type:ty),*) => {$(
        impl<C: ?Sized, T: Wire<C>> Wire<C> for $type {
            const NAME: &'static str = if T::RAW {
                "bytes"
            } else {
                const { &join(&["list<", T::NAME, ">"]) }.as_str()
            };
            const SHAPE: Shape = Shape::Bytes;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                T::encode_list(self.into_iter(), out)
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                T::decode_list(input).map(Self::from)
            }

            #[inline]
            fn content_len(&self) -> Option<usize> {
                T::RAW.then_some(self.len())
            }

            fn describe(schema: &mut Schema) {
                T::describe(schema);
            }
        }
    )*};
}

list!(Vec<T>, VecDeque<T>, Box<[T]>);

impl<C: ?Sized, T: Wire<C>, const N: usize> Wire<C> for [T; N] {
    const NAME: &'static str =
        const { &join(&["array<", T::NAME, ",", digits(N).as_str(), ">"]) }.as_str();
    const SHAPE: Shape = Shape::Bytes;

    #[inline]
    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        T::encode_array(self, out)
    }

    #[inline]
    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        T::decode_array(input)
    }

    #[inline]
    fn content_len(&self) -> Option<usize> {
        T::RAW.then_some(N)
    }

    fn describe(schema: &mut Schema) {
        T::describe(schema);
    }
}
