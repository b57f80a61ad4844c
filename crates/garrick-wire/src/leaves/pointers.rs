//! `Box` and `Arc`, which are encoded in the same way as the values in them.

use std::sync::Arc;

use super::text::COUNTERS;
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::schema::Schema;
use crate::shape::Shape;
use crate::wire::Wire;

macro_rules! pointer {
    ($type:ident, ($($bound:ident)?), $value:ident => $unwrapped:expr, $memory:expr) => {
        impl<C: ?Sized, T: Wire<C> $(+ $bound)?> Wire<C> for $type<T> {
            const NAME: &'static str = T::NAME;
            const VERSION: u16 = T::VERSION;
            const SHAPE: Shape = T::SHAPE;
            const FIELD_SHAPE: Shape = T::FIELD_SHAPE;
            const OPTIONAL: bool = T::OPTIONAL;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                out.charge($memory);
                let $value = self;
                $unwrapped.encode(out)
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                input.charge($memory)?;
                T::decode(input).map(Self::new)
            }

            #[inline]
            fn content_len(&self) -> Option<usize> {
                T::content_len(self)
            }

            #[inline]
            fn encode_field(
                self,
                number: u32,
                out: &mut Encoder<'_, C>,
            ) -> Result<(), WireError> {
                out.charge($memory);
                let $value = self;
                $unwrapped.encode_field(number, out)
            }

            #[inline]
            fn decode_field(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                input.charge($memory)?;
                T::decode_field(input).map(Self::new)
            }

            #[inline]
            fn absent(input: &mut Decoder<'_, C>) -> Result<Option<Self>, WireError> {
                input.charge($memory)?;
                Ok(T::absent(input)?.map(Self::new))
            }

            fn describe(schema: &mut Schema) {
                T::describe(schema);
            }
        }
    };
}

pointer!(Box, (), value => *value, size_of::<T>());
pointer!(Arc, (Clone), value => Arc::unwrap_or_clone(value), size_of::<T>() + COUNTERS);
