//! Deterministic pseudorandom numbers. They are used for jitter, and wherever a seed determines an
//! order.

/// Mixes the bits of `number` by one step of the splitmix64 generator. Different numbers have
/// different results.
///
/// The generator is described by Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators" (2014).
///
/// # Examples
/// ```
/// use garrick_core::random::mix;
///
/// assert_eq!(mix(1), mix(1));
/// assert_ne!(mix(1) >> 32, mix(2) >> 32);
/// ```
#[must_use]
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
