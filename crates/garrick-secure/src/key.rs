//! Keys: the pre-shared key, and the keys that each connection derives from it.
//!
//! ```text
//!   pre-shared key (32 bytes) ---+
//!   salt of the client    -------+-- HKDF-SHA-256 --+-- cipher, tag, proof of the client
//!   salt of the server    -------+                  +-- cipher, tag, proof of the server
//! ```
//!
//! Both salts are new random bytes, so each direction of each connection has its own keys. Data
//! that was recorded in one connection cannot be used in another connection, or in the opposite
//! direction.

use std::fmt;

use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::tag::Suite;

/// Size of a salt in bytes.
pub(crate) const SALT_BYTES: usize = 32;

/// New random bytes that one side contributes to the keys of a connection.
pub(crate) type Salt = [u8; SALT_BYTES];

/// The key that both sides share: 32 random bytes. A password is not random enough. The key is
/// erased from memory when it is dropped. Its `Debug` output does not contain the bytes.
///
/// # Examples
/// ```
/// use garrick_secure::PreSharedKey;
///
/// let key = PreSharedKey::random()?;
/// assert_eq!(format!("{key:?}"), "PreSharedKey(..)");
/// # Ok::<(), garrick_secure::Error>(())
/// ```
#[derive(Clone)]
pub struct PreSharedKey(Zeroizing<[u8; 32]>);

impl PreSharedKey {
    /// Creates a key from its bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Creates a key from random bytes of the operating system.
    ///
    /// # Errors
    /// Returns [`Error::Randomness`](crate::Error::Randomness) if the operating system cannot
    /// provide random bytes.
    pub fn random() -> Result<Self, crate::Error> {
        random().map(Self::new)
    }

    /// Returns the bytes of the key, for example to store them.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Returns random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], crate::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| crate::Error::Randomness)?;
    Ok(bytes)
}

/// The role of one side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The side that connects and sends the first message.
    Client,
    /// The side that accepts the connection. It sends nothing until it has received the client's
    /// first message.
    Server,
}

impl Role {
    /// Returns the role of the other side.
    #[must_use]
    pub fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Returns the number that identifies the role in a greeting (the handshake).
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Client => 1,
            Self::Server => 2,
        }
    }
}

/// Keys for everything that one side sends in one connection. The keys are erased when they are
/// dropped.
pub(crate) struct Secrets {
    pub(crate) cipher: Zeroizing<[u8; 32]>,
    pub(crate) tag: Zeroizing<[u8; 32]>,
    pub(crate) proof: Zeroizing<[u8; 32]>,
}

impl Secrets {
    /// Derives the keys for everything that the side `role` sends in a connection. `client` and
    /// `server` are the salts of the two sides.
    pub(crate) fn derive(
        key: &PreSharedKey,
        suite: Suite,
        role: Role,
        client: &Salt,
        server: &Salt,
    ) -> Self {
        let hkdf = Hkdf::<Sha256>::new(Some(&[*client, *server].concat()), key.0.as_slice());
        let expand = |purpose: u8| {
            let mut secret = Zeroizing::new([0; 32]);
            let info = [
                b"garrick-secure 1 ".as_slice(),
                &[suite.number(), role.number(), purpose],
            ];
            hkdf.expand_multi_info(&info, secret.as_mut())
                .expect("one block is never too long");
            secret
        };
        Self {
            cipher: expand(1),
            tag: expand(2),
            proof: expand(3),
        }
    }
}

impl fmt::Debug for PreSharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PreSharedKey(..)")
    }
}
