//! Identities of types. An identity is the beginning of the hash of a type's name.

use std::fmt;

/// Identity of a type of messages: the first 8 bytes of SHA-256 of its name.
///
/// Nodes exchange identities instead of names. In a program with a thousand types, the probability
/// that two names have the same identity is about 3 in 10^14.
///
/// # Examples
/// ```
/// use garrick_wire::{MessageId, Wire};
///
/// #[derive(Wire)]
/// #[wire(name = "bank.Deposit")]
/// struct Deposit(u64);
///
/// assert_eq!(<Deposit as Wire>::ID, MessageId::of("bank.Deposit"));
/// assert_eq!(MessageId::of("abc").to_string(), "ba7816bf8f01cfea");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId([u8; 8]);

impl MessageId {
    /// Returns the identity of the type with this name.
    pub const fn of(name: &str) -> Self {
        Self(hash(name.as_bytes()))
    }

    /// Returns the identity with these bytes.
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// Returns the 8 bytes of the identity.
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageId({self})")
    }
}

/// Size of a block of SHA-256 in bytes.
const BLOCK: usize = 64;

/// Constants of SHA-256: the first 32 bits of the fractional parts of the cube roots of the first
/// 64 primes.
const ROUNDS: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

/// Initial state of SHA-256: the first 32 bits of the fractional parts of the square roots of the
/// first 8 primes.
const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Returns the first 8 bytes of the SHA-256 hash (FIPS 180-4) of `bytes`.
const fn hash(bytes: &[u8]) -> [u8; 8] {
    let mut state = START;
    // A one, and the number of bits in the last 8 bytes, follow the bytes.
    let blocks = (bytes.len() + 1 + 8).div_ceil(BLOCK);
    let mut block = 0;
    while block < blocks {
        state = round(state, &schedule(bytes, block, block + 1 == blocks));
        block += 1;
    }
    let (a, b) = (state[0].to_be_bytes(), state[1].to_be_bytes());
    [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
}

/// Returns the byte at `index` of the padded input of SHA-256. The bytes of the length, which end
/// the padding, are 0 in this function.
const fn padded(bytes: &[u8], index: usize) -> u32 {
    if index < bytes.len() {
        bytes[index] as u32
    } else if index == bytes.len() {
        0x80
    } else {
        0
    }
}

/// Returns the words into which SHA-256 expands the block with the index `block`: one word for each
/// round. If `is_last` is true, the block ends with the length of the input.
const fn schedule(bytes: &[u8], block: usize, is_last: bool) -> [u32; 64] {
    let mut words = [0; 64];
    let mut index = 0;
    while index < 16 {
        let at = block * BLOCK + index * 4;
        words[index] = (padded(bytes, at) << 24)
            | (padded(bytes, at + 1) << 16)
            | (padded(bytes, at + 2) << 8)
            | padded(bytes, at + 3);
        index += 1;
    }
    if is_last {
        let bits = bytes.len() as u64 * 8;
        words[14] = (bits >> 32) as u32;
        words[15] = bits as u32;
    }
    while index < 64 {
        let (w, v) = (words[index - 15], words[index - 2]);
        let w = w.rotate_right(7) ^ w.rotate_right(18) ^ (w >> 3);
        let v = v.rotate_right(17) ^ v.rotate_right(19) ^ (v >> 10);
        words[index] = words[index - 16]
            .wrapping_add(w)
            .wrapping_add(words[index - 7])
            .wrapping_add(v);
        index += 1;
    }
    words
}

/// Returns the state of SHA-256 after a block has been hashed.
const fn round(before: [u32; 8], words: &[u32; 64]) -> [u32; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = before;
    let mut index = 0;
    while index < 64 {
        let choice = (e & f) ^ (!e & g);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let mixed = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add(choice)
            .wrapping_add(ROUNDS[index])
            .wrapping_add(words[index]);
        let other =
            (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add(majority);
        (h, g, f, e, d, c, b) = (g, f, e, d.wrapping_add(mixed), c, b, a);
        a = mixed.wrapping_add(other);
        index += 1;
    }
    let mut after = [a, b, c, d, e, f, g, h];
    let mut index = 0;
    while index < 8 {
        after[index] = after[index].wrapping_add(before[index]);
        index += 1;
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_hash_is_that_of_the_standard() {
        // All lengths around the ends of blocks.
        let text = "a".repeat(200);
        for len in 0..text.len() {
            let expected = Sha256::digest(&text.as_bytes()[..len]);
            assert_eq!(hash(&text.as_bytes()[..len]), expected[..8], "{len}");
        }
        const AT_COMPILE_TIME: MessageId = MessageId::of("bank.Deposit");
        let expected = Sha256::digest(b"bank.Deposit");
        assert_eq!(AT_COMPILE_TIME.to_bytes(), expected[..8]);
    }
}
