//! Keys: the one that both sides have, and what one connection makes of it.
//!
//! ```text
//!   pre-shared key (32 bytes) ---+
//!   salt of who connects  -------+-- HKDF-SHA-256 --+-- cipher, tag, proof of who connects
//!   salt of who accepts   -------+                  +-- cipher, tag, proof of who accepts
//! ```
//!
//! Both salts are fresh, so that each connection and each direction in it has keys of its own. What was recorded of one
//! connection means nothing in another one, nor in the other direction.

use std::fmt;

use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::tag::Suite;

/// Bytes of a salt.
pub(crate) const SALT_BYTES: usize = 32;

/// Fresh randomness, one side's share in a connection's keys.
pub(crate) type Salt = [u8; SALT_BYTES];

/// The key that both sides have: 32 random bytes. A password is not random enough. Erased when it is dropped, and never
/// shown.
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
    /// The key of these bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A key of the system's randomness.
    ///
    /// # Errors
    /// [`Error::Randomness`](crate::Error::Randomness) if the system has none to give.
    pub fn random() -> Result<Self, crate::Error> {
        random().map(Self::new)
    }

    /// Its bytes, for who keeps it.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Bytes of the system's randomness.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], crate::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| crate::Error::Randomness)?;
    Ok(bytes)
}

/// Which side of a connection one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The side that connects, and speaks first.
    Client,
    /// The side that accepts, and says nothing before it has been spoken to.
    Server,
}

impl Role {
    /// The other side.
    #[must_use]
    pub fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Its number in greetings.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Client => 1,
            Self::Server => 2,
        }
    }
}

/// The keys for what one side says in one connection. Erased when they are dropped.
pub(crate) struct Secrets {
    pub(crate) cipher: Zeroizing<[u8; 32]>,
    pub(crate) tag: Zeroizing<[u8; 32]>,
    pub(crate) proof: Zeroizing<[u8; 32]>,
}

impl Secrets {
    /// What `role` says in the connection that has these salts.
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
