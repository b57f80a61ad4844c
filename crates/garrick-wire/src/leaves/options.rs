//! `Option` and `Result`.

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::name::join;
use crate::schema::Schema;
use crate::shape::Shape;
use crate::wire::Wire;

/// Number that stands for `Ok` in an encoded `Result`.
const OK: u64 = 1;

/// Number that stands for `Err` in an encoded `Result`.
const ERR: u64 = 2;

/// A field with `None` is omitted, and a field with `Some` is encoded as the value in it. An option
/// that is not a field, such as an item of a list, has a length: `None` is encoded as the length
/// zero, and `Some` as a length and the value.
impl<C: ?Sized, T: Wire<C>> Wire<C> for Option<T> {
    const NAME: &'static str = const { &join(&["option<", T::NAME, ">"]) }.as_str();
    const SHAPE: Shape = Shape::Bytes;
    const FIELD_SHAPE: Shape = T::SHAPE;
    const OPTIONAL: bool = true;

    #[inline]
    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        match self {
            Some(value) => out.value(value),
            None => Ok(()),
        }
    }

    #[inline]
    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        if input.remaining() == 0 {
            return Ok(None);
        }
        input.value().map(Some)
    }

    #[inline]
    fn encode_field(self, number: u32, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        match self {
            Some(value) => {
                out.key(number, T::SHAPE)?;
                out.value(value)
            }
            None => Ok(()),
        }
    }

    #[inline]
    fn decode_field(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        input.value().map(Some)
    }

    #[inline]
    fn absent(_: &mut Decoder<'_, C>) -> Result<Option<Self>, WireError> {
        Ok(Some(None))
    }

    fn describe(schema: &mut Schema) {
        T::describe(schema);
    }
}

impl<C: ?Sized, T: Wire<C>, E: Wire<C>> Wire<C> for Result<T, E> {
    const NAME: &'static str = const { &join(&["result<", T::NAME, ",", E::NAME, ">"]) }.as_str();
    const SHAPE: Shape = Shape::Bytes;

    #[inline]
    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        match self {
            Ok(value) => {
                out.varint(OK)?;
                out.value(value)
            }
            Err(error) => {
                out.varint(ERR)?;
                out.value(error)
            }
        }
    }

    #[inline]
    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        match input.varint()? {
            OK => input.value().map(Ok),
            ERR => input.value().map(Err),
            _ => Err(input.invalid("1 for `Ok`, and 2 for `Err`")),
        }
    }

    fn describe(schema: &mut Schema) {
        T::describe(schema);
        E::describe(schema);
    }
}
