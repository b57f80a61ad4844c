//! Patterns of cells for the first generation.

use clap::ValueEnum;

/// The pattern of cells in the first generation.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Pattern {
    /// About a third of the cells, which are the same cells in each run.
    Random,
    /// Five cells, a pattern that moves one cell to the right and one cell down in four
    /// generations.
    Glider,
}

impl Pattern {
    /// Returns true if the cell at the given position is alive in the first generation.
    pub(crate) fn is_alive(self, x: u32, y: u32) -> bool {
        match self {
            Self::Random => mix(u64::from(y) << 32 | u64::from(x)).is_multiple_of(3),
            Self::Glider => [(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)].contains(&(x, y)),
        }
    }
}

/// Mixes the bits of a number: the last step of SplitMix64.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
