//! Shapes of encoded values, and keys of fields. A shape tells a reader where a value ends.

use std::fmt;

/// Largest number that a field or a variant may have.
pub(crate) const NUMBER_MAX: u32 = (1 << 29) - 1;

/// Number of bits that the shape takes in the key of a field.
const SHAPE_BITS: u32 = 2;

/// The shape of an encoded value, which determines where the value ends. A reader that does not
/// know a field skips it by means of the shape. An older reader would not know a new shape, so no
/// shape can ever be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number of 1 to 9 bytes, whose first byte shows how many bytes follow.
    Varint,
    /// 4 bytes, lowest byte first.
    Four,
    /// 8 bytes, lowest byte first.
    Eight,
    /// A length in bytes, which is a varint, followed by that number of bytes.
    Bytes,
}

impl Shape {
    /// All shapes, in the order of their numbers.
    const ALL: [Self; 4] = [Self::Varint, Self::Four, Self::Eight, Self::Bytes];

    /// Returns the name of the shape in lock files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Varint => "varint",
            Self::Four => "four",
            Self::Eight => "eight",
            Self::Bytes => "bytes",
        }
    }

    /// Returns the shape with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the key of a field: its number and its shape.
#[inline]
pub(crate) const fn key(number: u32, shape: Shape) -> u64 {
    ((number as u64) << SHAPE_BITS) | shape as u64
}

/// Returns the field number and the shape that `key` contains.
#[inline]
pub(crate) const fn unpack(key: u64) -> (u64, Shape) {
    let shape = Shape::ALL[(key & ((1 << SHAPE_BITS) - 1)) as usize];
    (key >> SHAPE_BITS, shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_number_and_shape() {
        for shape in Shape::ALL {
            for number in [1, 31, 32, NUMBER_MAX] {
                assert_eq!(unpack(key(number, shape)), (u64::from(number), shape));
            }
            assert_eq!(Shape::from_name(shape.name()), Some(shape));
        }
        assert!(key(31, Shape::Bytes) < 1 << 7);
    }
}
