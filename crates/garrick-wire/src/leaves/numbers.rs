//! Numbers, `bool` and `char`.

use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroU8, NonZeroU16, NonZeroU32,
    NonZeroU64, NonZeroU128,
};

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::{Reason, WireError};
use crate::shape::Shape;
use crate::varint;
use crate::wire::Wire;

macro_rules! unsigned {
    ($($type:ident),*) => {$(
        impl<C: ?Sized> Wire<C> for $type {
            const NAME: &'static str = stringify!($type);
            const SHAPE: Shape = Shape::Varint;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                out.varint(u64::from(self))
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                let value = input.varint()?;
                Self::try_from(value).map_err(|_| out_of_range::<C, Self>(input))
            }

            #[inline]
            fn decode_list(input: &mut Decoder<'_, C>) -> Result<Vec<Self>, WireError> {
                numbers(input, |value| Self::try_from(value).ok())
            }
        }
    )*};
}

unsigned!(u16, u32, u64);

/// Implements `Wire` for signed numbers by the zigzag encoding: 0, -1, 1, -2 are written as 0, 1,
/// 2, 3. So numbers near zero are short.
macro_rules! signed {
    ($($type:ident),*) => {$(
        impl<C: ?Sized> Wire<C> for $type {
            const NAME: &'static str = stringify!($type);
            const SHAPE: Shape = Shape::Varint;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                let value = i64::from(self);
                out.varint(((value << 1) ^ (value >> 63)).cast_unsigned())
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                let value = unzigzag(input.varint()?);
                Self::try_from(value).map_err(|_| out_of_range::<C, Self>(input))
            }

            #[inline]
            fn decode_list(input: &mut Decoder<'_, C>) -> Result<Vec<Self>, WireError> {
                numbers(input, |value| Self::try_from(unzigzag(value)).ok())
            }
        }
    )*};
}

signed!(i8, i16, i32, i64);

#[inline]
fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Reads a list of numbers. The position is a local variable, so that the compiler can keep it in
/// registers.
#[inline]
fn numbers<C: ?Sized, T: Wire<C>>(
    input: &mut Decoder<'_, C>,
    convert: impl Fn(u64) -> Option<T>,
) -> Result<Vec<T>, WireError> {
    let count = input.count::<T>()?;
    let mut items = Vec::with_capacity(count);
    let mut rest = input.peek();
    for _ in 0..count {
        let Some((value, after)) = varint::read(rest) else {
            input.seek(rest);
            return Err(input.wrong_varint());
        };
        rest = after;
        let Some(item) = convert(value) else {
            input.seek(rest);
            return Err(out_of_range::<C, T>(input));
        };
        items.push(item);
    }
    input.seek(rest);
    Ok(items)
}

/// Implements `Wire` for numbers of a fixed length, which are written with the lowest byte first.
macro_rules! fixed {
    ($($type:ident: $shape:ident, $len:expr, $content:expr;)*) => {$(
        impl<C: ?Sized> Wire<C> for $type {
            const NAME: &'static str = stringify!($type);
            const SHAPE: Shape = Shape::$shape;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                out.array(self.to_le_bytes())
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                input.array::<$len>().map(Self::from_le_bytes)
            }

            #[inline]
            fn content_len(&self) -> Option<usize> {
                $content
            }
        }
    )*};
}

fixed! {
    f32: Four, 4, None;
    f64: Eight, 8, None;
    u128: Bytes, 16, Some(16);
    i128: Bytes, 16, Some(16);
}

macro_rules! non_zero {
    ($($type:ident: $number:ident),*) => {$(
        impl<C: ?Sized> Wire<C> for $type {
            const NAME: &'static str = concat!("nonzero-", stringify!($number));
            const SHAPE: Shape = <$number as Wire<C>>::SHAPE;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                self.get().encode(out)
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                let value = $number::decode(input)?;
                Self::new(value).ok_or_else(|| input.invalid("a number other than zero"))
            }

            #[inline]
            fn content_len(&self) -> Option<usize> {
                Wire::<C>::content_len(&self.get())
            }
        }
    )*};
}

non_zero!(
    NonZeroU8: u8, NonZeroU16: u16, NonZeroU32: u32, NonZeroU64: u64, NonZeroU128: u128,
    NonZeroI8: i8, NonZeroI16: i16, NonZeroI32: i32, NonZeroI64: i64, NonZeroI128: i128
);

#[cold]
fn out_of_range<C: ?Sized, T: Wire<C>>(input: &Decoder<'_, C>) -> WireError {
    input.error(Reason::Range { of: T::NAME })
}

impl<C: ?Sized> Wire<C> for u8 {
    const NAME: &'static str = "u8";
    const SHAPE: Shape = Shape::Varint;
    const RAW: bool = true;

    #[inline]
    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        out.varint(u64::from(self))
    }

    #[inline]
    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        let value = input.varint()?;
        Self::try_from(value).map_err(|_| out_of_range::<C, Self>(input))
    }

    #[inline]
    fn encode_list(
        items: impl ExactSizeIterator<Item = Self>,
        out: &mut Encoder<'_, C>,
    ) -> Result<(), WireError> {
        out.charge(items.len());
        out.bytes_of(items)
    }

    #[inline]
    fn decode_list(input: &mut Decoder<'_, C>) -> Result<Vec<Self>, WireError> {
        input.charge(input.remaining())?;
        Ok(input.rest().to_vec())
    }

    #[inline]
    fn encode_array<const N: usize>(
        items: [Self; N],
        out: &mut Encoder<'_, C>,
    ) -> Result<(), WireError> {
        out.bytes(&items)
    }

    #[inline]
    fn decode_array<const N: usize>(input: &mut Decoder<'_, C>) -> Result<[Self; N], WireError> {
        input.array()
    }
}

impl<C: ?Sized> Wire<C> for bool {
    const NAME: &'static str = "bool";
    const SHAPE: Shape = Shape::Varint;

    #[inline]
    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        out.varint(u64::from(self))
    }

    #[inline]
    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        match input.varint()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(input.invalid("0 for false, and 1 for true")),
        }
    }
}

impl<C: ?Sized> Wire<C> for char {
    const NAME: &'static str = "char";
    const SHAPE: Shape = Shape::Varint;

    #[inline]
    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        out.varint(u64::from(self))
    }

    #[inline]
    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        let value = u32::decode(input)?;
        Self::from_u32(value).ok_or_else(|| input.invalid("a Unicode scalar value"))
    }
}
