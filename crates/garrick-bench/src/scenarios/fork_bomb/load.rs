//! Loads: the work that each leaf of a tree performs.

use std::hint::black_box;

/// Work that one leaf of a tree does.
pub(crate) trait Load: Copy + Send + 'static {
    /// Performs the work.
    fn bear(self);
}

/// A load that does no work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nothing;

/// A load that draws this number of random numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Randoms(pub(crate) u32);

/// A load that computes the complementary error function of this number of random numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Erfc(pub(crate) u32);

impl Load for Nothing {
    #[inline]
    fn bear(self) {}
}

// Never inlined, so that all contenders run the same instructions.
impl Load for Randoms {
    #[inline(never)]
    fn bear(self) {
        black_box(randoms(self.0).sum::<f64>());
    }
}

impl Load for Erfc {
    #[inline(never)]
    fn bear(self) {
        black_box(randoms(self.0).map(libm::erfc).sum::<f64>());
    }
}

/// Returns `count` numbers from 0 to 1, the same for every leaf. The numbers are the high bits of
/// SplitMix64 by Steele and Vigna.
fn randoms(count: u32) -> impl Iterator<Item = f64> {
    let mut state: u64 = black_box(0x9E37_79B9);
    (0..count).map(move |_| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_fill_the_range_from_0_to_1() {
        let numbers: Vec<f64> = randoms(10_000).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        for tenth in 0..10 {
            let (low, high) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
            let inside = numbers
                .iter()
                .filter(|number| (low..high).contains(*number))
                .count();
            assert!((800..1200).contains(&inside), "{inside} from {low} on");
        }
    }
}
