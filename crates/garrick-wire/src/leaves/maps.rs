//! Maps and sets, which are encoded as the number of items, followed by the items.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::name::join;
use crate::schema::Schema;
use crate::shape::Shape;
use crate::wire::Wire;

/// Returns the maximum memory that a map of `count` items of `size` bytes needs.
///
/// A hash map has up to 16/7 places for each item, and at least 4 places. Each place takes one byte
/// more than an item. A B-tree consists of nodes with 11 places each. In each node except the root,
/// at least 5 places are used.
fn memory(count: usize, size: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let items = count.max(4).saturating_mul(3).saturating_mul(size);
    items.saturating_add(count.saturating_mul(10) + 64)
}

/// Reads the number of items of a map, and counts the memory that the map will need.
fn count<C: ?Sized, T>(input: &mut Decoder<'_, C>) -> Result<usize, WireError> {
    let count = input.length()?;
    input.charge(memory(count, size_of::<T>()))?;
    Ok(count)
}

fn twice<C: ?Sized>(input: &Decoder<'_, C>) -> WireError {
    input.invalid("each key of a map once, and each item of a set once")
}

macro_rules! map {
    ($type:ty, [$($hasher:ident)?], ($($key:tt)*), $new:expr) => {
        impl<C, K, V, $($hasher)?> Wire<C> for $type
        where
            C: ?Sized,
            K: Wire<C> + $($key)*,
            V: Wire<C>,
            $($hasher: BuildHasher + Default,)?
        {
            const NAME: &'static str =
                const { &join(&["map<", K::NAME, ",", V::NAME, ">"]) }.as_str();
            const SHAPE: Shape = Shape::Bytes;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                out.charge(memory(self.len(), size_of::<(K, V)>()));
                out.varint(self.len() as u64)?;
                for (key, value) in self {
                    out.value(key)?;
                    out.value(value)?;
                }
                Ok(())
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                let count = count::<C, (K, V)>(input)?;
                let mut map = $new(count);
                for _ in 0..count {
                    let key = input.value()?;
                    if map.insert(key, input.value()?).is_some() {
                        return Err(twice(input));
                    }
                }
                Ok(map)
            }

            fn describe(schema: &mut Schema) {
                K::describe(schema);
                V::describe(schema);
            }
        }
    };
}

map!(BTreeMap<K, V>, [], (Ord), |_| Self::new());
map!(HashMap<K, V, S>, [S], (Eq + Hash), |count| {
    Self::with_capacity_and_hasher(count, S::default())
});

macro_rules! set {
    ($type:ty, [$($hasher:ident)?], ($($key:tt)*), $new:expr) => {
        impl<C, T, $($hasher)?> Wire<C> for $type
        where
            C: ?Sized,
            T: Wire<C> + $($key)*,
            $($hasher: BuildHasher + Default,)?
        {
            const NAME: &'static str = const { &join(&["set<", T::NAME, ">"]) }.as_str();
            const SHAPE: Shape = Shape::Bytes;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                out.charge(memory(self.len(), size_of::<T>()));
                out.varint(self.len() as u64)?;
                out.values(self.into_iter())
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                let count = count::<C, T>(input)?;
                let mut set = $new(count);
                for _ in 0..count {
                    if !set.insert(input.value()?) {
                        return Err(twice(input));
                    }
                }
                Ok(set)
            }

            fn describe(schema: &mut Schema) {
                T::describe(schema);
            }
        }
    };
}

set!(BTreeSet<T>, [], (Ord), |_| Self::new());
set!(HashSet<T, S>, [S], (Eq + Hash), |count| {
    Self::with_capacity_and_hasher(count, S::default())
});

#[cfg(test)]
mod tests {
    use super::*;
    use allocation_counter::measure;

    #[track_caller]
    fn check(count: usize, size: usize, build: impl FnOnce()) {
        let used = measure(build).bytes_total as usize;
        let charged = memory(count, size);
        assert!(
            used <= charged,
            "{used} of {charged} for {count} items of {size} bytes"
        );
    }

    /// Builds maps and sets of many sizes, and checks that none of them allocates more memory than
    /// the decoder counts. Each value in a map has `N` bytes.
    fn check_items<const N: usize>() {
        let size = size_of::<(u16, [u8; N])>();
        for count in (0..40)
            .chain((40..3_000).step_by(97))
            .chain([57, 113, 449, 1_793])
        {
            let keys = || (0..count as u16).map(|key| key.wrapping_mul(25_717));
            let fill = |keys: &mut dyn Iterator<Item = u16>| {
                let mut map = BTreeMap::new();
                for key in keys {
                    map.insert(key, [0_u8; N]);
                }
            };
            check(count, size, || fill(&mut keys()));
            check(count, size, || fill(&mut (0..count as u16)));
            check(count, size, || fill(&mut (0..count as u16).rev()));
            check(count, size, || {
                let mut map = HashMap::with_capacity(count);
                for key in keys() {
                    map.insert(key, [0_u8; N]);
                }
            });
        }
    }

    #[test]
    fn maps_need_no_more_memory_than_is_charged() {
        check_items::<0>();
        check_items::<2>();
        check_items::<30>();
        check_items::<1_000>();
    }
}
