//! Computes tags: an HMAC with one of two hash functions. The HMAC is keyed once, and cloned for
//! each frame.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use sha3::Sha3_256;

/// Size in bytes of a tag, the authentication code at the end of each frame.
pub const TAG_BYTES: usize = 32;

/// The cipher suite of a connection: its algorithms for encryption and authentication. Both sides
/// must use the same suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Suite {
    /// AES-256 in counter mode, and HMAC with SHA-256. Many processors have special instructions
    /// for both.
    #[default]
    Aes256CtrHmacSha256,
    /// AES-256 in counter mode, and HMAC with SHA3-256. This suite is several times slower than the
    /// default suite.
    Aes256CtrHmacSha3,
}

impl Suite {
    /// Returns the number that identifies the cipher suite in a greeting (the handshake).
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Aes256CtrHmacSha256 => 1,
            Self::Aes256CtrHmacSha3 => 2,
        }
    }
}

/// A partially computed tag (the HMAC of a frame). A clone continues from the same state,
/// independently of the original.
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

    /// Returns true if the computed tag equals `tag`. The duration of the comparison does not
    /// depend on where the tags differ.
    #[must_use]
    pub(crate) fn is(self, tag: &[u8]) -> bool {
        match self {
            Self::Sha256(mac) => mac.verify_slice(tag).is_ok(),
            Self::Sha3(mac) => mac.verify_slice(tag).is_ok(),
        }
    }
}

/// Creates an HMAC with a key. An HMAC accepts keys of any length, so a key of 32 bytes is always
/// valid.
fn keyed<M: KeyInit>(key: &[u8; 32]) -> M {
    M::new_from_slice(key).expect("an HMAC takes keys of any length")
}

impl fmt::Debug for Tagger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tagger(..)")
    }
}
