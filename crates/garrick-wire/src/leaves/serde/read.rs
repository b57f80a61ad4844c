//! Deserialization from the format of postcard, within the limits of the message. The deserializer
//! of postcard itself limits neither levels nor memory.

use std::fmt;

use serde::Deserializer;
use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeSeed, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use crate::decoder::Decoder;
use crate::error::{Reason, WireError};

/// Memory that is counted for each item of a list: a multiple of the item's size, and a number of
/// additional bytes. The multiple is greater than 1 because a full list doubles its capacity, and
/// the first allocation has space for 4 items or for 8 bytes.
const ROOM_OF_ITEM: (usize, usize) = (4, 8);

/// Memory that is counted for the first entry of a map, as a multiple of the entry's size. The
/// first node of a B-tree has space for 11 entries.
const ROOM_OF_FIRST: usize = 12;

/// Memory that is counted for each entry of a map after the first, as a multiple of the entry's
/// size.
const ROOM_OF_ENTRY: usize = 5;

/// Additional memory that is counted for each key and each value of a map, in bytes.
const ROOM_BESIDE: usize = 16;

/// Reason why a value could not be read.
#[derive(Debug)]
pub(super) enum Failure {
    /// The bytes are wrong, or exceed a limit.
    Wire(WireError),
    /// The type refuses the value. The text of the type's error is dropped, because the text could
    /// contain parts of the value.
    OfType,
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) => error.fmt(f),
            Self::OfType => f.write_str("the type refuses the value"),
        }
    }
}

impl std::error::Error for Failure {}

impl Error for Failure {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::OfType
    }
}

/// A serde deserializer that reads values from a decoder.
pub(super) struct Reader<'d, 'a, C: ?Sized>(pub(super) &'d mut Decoder<'a, C>);

/// Reads the items of a list, or the entries of a map, one after another. `left` is the number of
/// unread items or entries.
struct Items<'r, 'd, 'a, C: ?Sized> {
    reader: &'r mut Reader<'d, 'a, C>,
    left: usize,
    /// Two numbers that determine how much memory is counted for the next item: the first number
    /// times the item's size, plus the second number of bytes.
    room: (usize, usize),
}

impl<'a, C: ?Sized> Reader<'_, 'a, C> {
    fn byte(&mut self) -> Result<u8, Failure> {
        let [byte] = self.0.array()?;
        Ok(byte)
    }

    /// Reads a number of at most `bits` bits. Each byte contains 7 bits of the number, and the
    /// first byte contains the lowest bits.
    fn number(&mut self, bits: u32, of: &'static str) -> Result<u128, Failure> {
        let mut value = 0;
        for shift in (0..bits).step_by(7) {
            let byte = self.byte()?;
            let part = u128::from(byte & 0x7f);
            if part >> (bits - shift).min(7) != 0 {
                return Err(self.0.error(Reason::Range { of }).into());
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    return Err(self.0.error(Reason::NotShortest).into());
                }
                return Ok(value);
            }
        }
        Err(self.0.error(Reason::Range { of }).into())
    }

    fn signed(&mut self, bits: u32, of: &'static str) -> Result<i128, Failure> {
        let value = self.number(bits, of)?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Reads the length of a text, or the number of items of a list. Returns an error if this
    /// number is larger than the number of bytes that follow, even if the items take no bytes.
    /// Otherwise, a short message could cause unlimited work.
    fn length(&mut self) -> Result<usize, Failure> {
        let length = self.number(u64::BITS, "u64")? as u64;
        let left = self.0.remaining();
        match usize::try_from(length) {
            Ok(length) if length <= left => Ok(length),
            _ => Err(self.0.error(Reason::Length { length, left }).into()),
        }
    }

    /// Reads the bytes of a text, and counts the memory for one copy of them.
    fn content(&mut self) -> Result<&'a [u8], Failure> {
        let length = self.length()?;
        self.0.charge(length)?;
        Ok(self.0.bytes(length)?)
    }

    fn text(&mut self) -> Result<&'a str, Failure> {
        let text = str::from_utf8(self.content()?);
        text.map_err(|_| self.0.invalid("UTF-8").into())
    }

    /// Calls `read` for a value that is nested one level deeper. Returns an error if values are
    /// nested too deeply.
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.0.enter()?;
        let value = read(self)?;
        self.0.leave();
        Ok(value)
    }

    /// Reads `left` values one after another, and counts memory for each value: `room.0` times its
    /// size, and `room.1` additional bytes.
    fn values<'de, V: Visitor<'de>>(
        &mut self,
        left: usize,
        room: (usize, usize),
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deeper(|reader| {
            let mut items = Items { reader, left, room };
            let value = visitor.visit_seq(&mut items)?;
            items.end()?;
            Ok(value)
        })
    }
}

impl<C: ?Sized> Items<'_, '_, '_, C> {
    fn charge(&mut self, size: usize) -> Result<(), Failure> {
        let (sizes, beside) = self.room;
        Ok(self.reader.0.charge(size.saturating_mul(sizes) + beside)?)
    }

    /// Reads the next item of a sequence, or the next key of a map. Returns `None` after the last
    /// item.
    fn next<'de, S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        self.charge(size_of::<S::Value>())?;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    /// Returns an error if the deserialized type has left items unread.
    fn end(self) -> Result<(), Failure> {
        match self.left {
            0 => Ok(()),
            _ => Err(Failure::OfType),
        }
    }
}

impl<'de, C: ?Sized> SeqAccess<'de> for &mut Items<'_, '_, '_, C> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        self.next(seed)
    }
}

impl<'de, C: ?Sized> MapAccess<'de> for &mut Items<'_, '_, '_, C> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        self.next(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        self.charge(size_of::<S::Value>())?;
        self.room.0 = ROOM_OF_ENTRY;
        seed.deserialize(&mut *self.reader)
    }
}

/// Generates the methods that read integers of more than one byte, which have a variable length.
macro_rules! numbers {
    ($($method:ident $visit:ident $type:ident $read:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            // The bits were checked.
            let value = self.$read($type::BITS, stringify!($type))?;
            visitor.$visit(value as $type)
        }
    )*};
}

/// Generates the methods that always return an error: the format does not contain the types of
/// values, so a reader cannot find out the type of the next value.
macro_rules! not_told {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
            Err(Failure::OfType)
        }
    )*};
}

impl<'de, C: ?Sized> Deserializer<'de> for &mut Reader<'_, '_, C> {
    type Error = Failure;

    numbers! {
        deserialize_u16 visit_u16 u16 number;
        deserialize_u32 visit_u32 u32 number;
        deserialize_u64 visit_u64 u64 number;
        deserialize_u128 visit_u128 u128 number;
        deserialize_i16 visit_i16 i16 signed;
        deserialize_i32 visit_i32 i32 signed;
        deserialize_i64 visit_i64 i64 signed;
        deserialize_i128 visit_i128 i128 signed;
    }

    not_told! { deserialize_any deserialize_identifier deserialize_ignored_any }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.byte()? {
            0 => visitor.visit_bool(false),
            1 => visitor.visit_bool(true),
            _ => Err(self.0.invalid("0 for false, and 1 for true").into()),
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_u8(self.byte()?)
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_i8(self.byte()?.cast_signed())
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_f32(f32::from_le_bytes(self.0.array()?))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_f64(f64::from_le_bytes(self.0.array()?))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let mut letters = self.text()?.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => visitor.visit_char(letter),
            _ => Err(self.0.invalid("one character").into()),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_str(self.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_bytes(self.content()?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.byte()? {
            0 => visitor.visit_none(),
            1 => self.deeper(|reader| visitor.visit_some(reader)),
            _ => Err(self.0.invalid("0 for `None`, and 1 for `Some`").into()),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deeper(|reader| visitor.visit_newtype_struct(reader))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let count = self.length()?;
        self.values(count, ROOM_OF_ITEM, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.values(len, (0, 0), visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.values(len, (0, 0), visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.values(fields.len(), (0, 0), visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let left = self.length()?;
        self.deeper(|reader| {
            let room = (ROOM_OF_FIRST, ROOM_BESIDE);
            let mut items = Items { reader, left, room };
            let value = visitor.visit_map(&mut items)?;
            items.end()?;
            Ok(value)
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deeper(|reader| visitor.visit_enum(reader))
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

impl<'de, C: ?Sized> EnumAccess<'de> for &mut Reader<'_, '_, C> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Failure> {
        let variant = self.number(u32::BITS, "u32")? as u32;
        let variant: U32Deserializer<Failure> = variant.into_deserializer();
        Ok((seed.deserialize(variant)?, self))
    }
}

impl<'de, C: ?Sized> VariantAccess<'de> for &mut Reader<'_, '_, C> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_tuple(fields.len(), visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;
    use crate::limits::Limits;
    use allocation_counter::measure;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    /// Checks that deserializing `value` allocates at most the memory that the decoder counts for
    /// it.
    #[track_caller]
    fn check<T: Serialize + DeserializeOwned>(value: &T) {
        let bytes = postcard::to_allocvec(value).unwrap();
        let limits = Limits::new().memory_multiple(1_000);
        let mut context = ();
        let mut decoder = Decoder::new(&bytes, &limits, &mut context);
        let before = decoder.memory_left();
        let used = measure(|| drop(T::deserialize(&mut Reader(&mut decoder)).unwrap()));
        let charged = before - decoder.memory_left();
        let used = used.bytes_total as usize;
        assert!(
            used <= charged,
            "{used} of {charged} for {} bytes",
            bytes.len()
        );
    }

    #[test]
    fn collections_need_no_more_memory_than_is_charged() {
        for count in (0..70).chain([113, 225, 449, 897, 1_793, 2_049]) {
            check(&(0..count).collect::<Vec<u32>>());
            check(&vec![[0_u128; 8]; count as usize]);
            check(&(0..count).map(|n| n as u8).collect::<Vec<u8>>());
            check(&vec![String::from("text"); count as usize]);
            check(
                &(0..count)
                    .map(|n| (n, [n; 3]))
                    .collect::<HashMap<u32, [u32; 3]>>(),
            );
            check(&(0..count).map(|n| (n, ())).collect::<HashMap<u32, ()>>());
            check(
                &(0..count)
                    .map(|n| (n, [n; 30]))
                    .collect::<BTreeMap<u32, [u32; 30]>>(),
            );
            check(&(0..count).map(|n| (n, ())).collect::<BTreeMap<u32, ()>>());
        }
    }
}
