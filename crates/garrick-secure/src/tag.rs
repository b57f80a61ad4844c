//! Tags: HMAC with one of two hash functions, keyed once and cloned for each frame.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use sha3::Sha3_256;

/// Bytes of a tag.
pub const TAG_BYTES: usize = 32;

/// Which algorithms a connection uses. Both sides must be set up for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Suite {
    /// AES-256 in counter mode, HMAC with SHA-256: what processors have instructions for.
    #[default]
    Aes256CtrHmacSha256,
    /// AES-256 in counter mode, HMAC with SHA3-256: as in seed 004. Several times slower.
    Aes256CtrHmacSha3,
}

impl Suite {
    /// Its number in greetings.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Aes256CtrHmacSha256 => 1,
            Self::Aes256CtrHmacSha3 => 2,
        }
    }
}

/// A tag on its way: what was hashed so far. A clone goes its own way from there.
#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is cloned for each frame, and a box would be an allocation each time"
)]
pub(crate) enum Tagger {
    Sha256(Hmac<Sha256>),
    Sha3(Hmac<Sha3_256>),
}

impl Tagger {
    pub(crate) fn new(suite: Suite, key: &[u8; 32]) -> Self {
        match suite {
            Suite::Aes256CtrHmacSha256 => Self::Sha256(keyed(key)),
            Suite::Aes256CtrHmacSha3 => Self::Sha3(keyed(key)),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(mac) => mac.update(bytes),
            Self::Sha3(mac) => mac.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> [u8; TAG_BYTES] {
        match self {
            Self::Sha256(mac) => mac.finalize().into_bytes().into(),
            Self::Sha3(mac) => mac.finalize().into_bytes().into(),
        }
    }

    /// Whether the tag is this one; takes the same time wherever they differ.
    #[must_use]
    pub(crate) fn is(self, tag: &[u8]) -> bool {
        match self {
            Self::Sha256(mac) => mac.verify_slice(tag).is_ok(),
            Self::Sha3(mac) => mac.verify_slice(tag).is_ok(),
        }
    }
}

/// A keyed hash. Its keys may have any length, so this one has not the wrong one.
fn keyed<M: KeyInit>(key: &[u8; 32]) -> M {
    M::new_from_slice(key).expect("an HMAC takes keys of any length")
}

impl fmt::Debug for Tagger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tagger(..)")
    }
}
