//! Tuples, which are encoded as the sequence of their values. The values have no field numbers, so
//! a newer version of a tuple cannot have more values.

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::name::join;
use crate::schema::Schema;
use crate::shape::Shape;
use crate::wire::Wire;

macro_rules! tuple {
    ($first:ident $head:ident $(, $type:ident $value:ident)*) => {
        impl<C: ?Sized, $first: Wire<C>, $($type: Wire<C>),*> Wire<C> for ($first, $($type,)*) {
            const NAME: &'static str =
                const { &join(&["tuple<", $first::NAME, $(",", $type::NAME,)* ">"]) }.as_str();
            const SHAPE: Shape = Shape::Bytes;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                let ($head, $($value,)*) = self;
                out.value($head)?;
                $(out.value($value)?;)*
                Ok(())
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                Ok((input.value::<$first>()?, $(input.value::<$type>()?,)*))
            }

            fn describe(schema: &mut Schema) {
                $first::describe(schema);
                $($type::describe(schema);)*
            }
        }
    };
}

tuple!(T0 v0);
tuple!(T0 v0, T1 v1);
tuple!(T0 v0, T1 v1, T2 v2);
tuple!(T0 v0, T1 v1, T2 v2, T3 v3);
tuple!(T0 v0, T1 v1, T2 v2, T3 v3, T4 v4);
tuple!(T0 v0, T1 v1, T2 v2, T3 v3, T4 v4, T5 v5);
tuple!(T0 v0, T1 v1, T2 v2, T3 v3, T4 v4, T5 v5, T6 v6);
tuple!(T0 v0, T1 v1, T2 v2, T3 v3, T4 v4, T5 v5, T6 v6, T7 v7);
