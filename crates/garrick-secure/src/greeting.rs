//! The greeting: derives the keys of a connection from the shared key, without doing any I/O.
//!
//! ```text
//!   client                                            server
//!     |---- hello: magic, suite, role, salt ------------>|  checks all but the salt
//!     |<--- hello, proof --------------------------------|
//!     |---- proof -------------------------------------->|  only now is the connection reported
//!
//!   hello = "GRK" 1 | suite | role | 0 0 | salt (32 bytes)
//!   proof = HMAC(proof key of its sender, hello of the client, hello of the server)
//! ```
//!
//! Each proof covers the hellos of both sides, so an attacker cannot change the suite or a salt
//! unnoticed. Each role has its own keys, so a message that is sent back to its sender is rejected.
//! Each message has a fixed length, and the sides send their messages alternately. So no buffer
//! needs to hold more than one message.

use std::fmt;

use crate::error::Error;
use crate::frame::{Keys, Opener, Sealer};
use crate::key::{PreSharedKey, Role, SALT_BYTES, Salt, Secrets, random};
use crate::tag::{Suite, TAG_BYTES, Tagger};

/// Name and version of the protocol.
const MAGIC: [u8; 4] = *b"GRK\x01";

/// Number of bytes before the salt in a hello (the first message that each side sends).
const HEAD_BYTES: usize = 8;

/// Size in bytes of a hello, the first message that each side of a [`Greeting`] sends.
pub const HELLO_BYTES: usize = HEAD_BYTES + SALT_BYTES;

/// Size in bytes of a proof, the second message that each side of a [`Greeting`] sends.
pub const PROOF_BYTES: usize = TAG_BYTES;

/// The initial state of one side of a greeting. A greeting is the exchange of messages at the start
/// of a connection: each side sends a hello and then a proof that it has the key.
#[derive(Debug)]
pub struct Greeting {
    key: PreSharedKey,
    suite: Suite,
    role: Role,
    payload_bytes_max: u32,
    hello: Hello,
}

/// The second state of one side of a greeting: the peer's hello has been processed, but the peer's
/// proof has not been checked yet.
pub struct Proving {
    session: Session,
    /// HMAC from which the expected proof of the peer is computed.
    expected: Tagger,
    proof: [u8; PROOF_BYTES],
}

/// The result of a greeting: a sealer for outgoing frames, and an opener for incoming frames.
///
/// # Examples
/// ```
/// use bytes::BytesMut;
/// use garrick_secure::{Greeting, Kind, PreSharedKey, Role, Suite};
///
/// let key = PreSharedKey::random()?;
/// let client = Greeting::new(key.clone(), Suite::default(), Role::Client, 1_000)?;
/// let server = Greeting::new(key, Suite::default(), Role::Server, 1_000)?;
/// let (from_client, from_server) = (*client.hello(), *server.hello());
/// let (client, server) = (client.heard(&from_server)?, server.heard(&from_client)?);
/// let (from_client, from_server) = (*client.proof(), *server.proof());
/// let mut client = client.proven(&from_server)?;
/// let mut server = server.proven(&from_client)?;
///
/// let mut wire = BytesMut::new();
/// client.sealer.seal(Kind::Data, b"hello", &mut wire)?;
/// let (kind, payload) = server.opener.open(&mut wire)?.unwrap();
/// assert_eq!((kind, &payload[..]), (Kind::Data, b"hello".as_slice()));
/// # Ok::<(), garrick_secure::Error>(())
/// ```
#[derive(Debug)]
pub struct Session {
    /// Encrypts and authenticates outgoing frames.
    pub sealer: Sealer,
    /// Checks and decrypts incoming frames.
    pub opener: Opener,
}

type Hello = [u8; HELLO_BYTES];

impl Greeting {
    /// Creates one side of a greeting, with new random bytes in its hello. The payloads of the
    /// resulting [`Session`] may have at most `payload_bytes_max` bytes.
    ///
    /// # Errors
    /// Returns [`Error::Randomness`] if the operating system cannot provide random bytes.
    pub fn new(
        key: PreSharedKey,
        suite: Suite,
        role: Role,
        payload_bytes_max: u32,
    ) -> Result<Self, Error> {
        let mut hello = [0; HELLO_BYTES];
        hello[..4].copy_from_slice(&MAGIC);
        hello[4] = suite.number();
        hello[5] = role.number();
        hello[HEAD_BYTES..].copy_from_slice(&random::<SALT_BYTES>()?);
        Ok(Self {
            key,
            suite,
            role,
            // One additional byte contains the kind of the frame.
            payload_bytes_max: payload_bytes_max.min(u32::MAX - 1),
            hello,
        })
    }

    /// Returns this side's hello, which is the first message to send.
    #[must_use]
    pub fn hello(&self) -> &[u8; HELLO_BYTES] {
        &self.hello
    }

    /// Processes `theirs`, the peer's hello. Returns the next state of this side.
    ///
    /// # Errors
    /// Returns [`Error::NotOurs`] if the peer uses a different protocol or version,
    /// [`Error::SameRole`] if both sides have the same role, or [`Error::Suite`] if the peer uses a
    /// different cipher suite.
    pub fn heard(self, theirs: &[u8; HELLO_BYTES]) -> Result<Proving, Error> {
        self.check(theirs)?;
        let (client, server) = match self.role {
            Role::Client => (&self.hello, theirs),
            Role::Server => (theirs, &self.hello),
        };
        let (salt, other) = (salt(client), salt(server));
        let secrets = |role| Secrets::derive(&self.key, self.suite, role, &salt, &other);
        let (ours, theirs) = (secrets(self.role), secrets(self.role.peer()));
        let proof = |secrets: &Secrets| {
            let mut tagger = Tagger::new(self.suite, &secrets.proof);
            tagger.update(client);
            tagger.update(server);
            tagger
        };
        Ok(Proving {
            session: Session {
                sealer: Sealer::new(Keys::new(self.suite, &ours), self.payload_bytes_max),
                opener: Opener::new(Keys::new(self.suite, &theirs), self.payload_bytes_max),
            },
            expected: proof(&theirs),
            proof: proof(&ours).finish(),
        })
    }

    fn check(&self, theirs: &Hello) -> Result<(), Error> {
        let found = [theirs[0], theirs[1], theirs[2], theirs[3]];
        if found != MAGIC || theirs[6..HEAD_BYTES] != [0, 0] {
            return Err(Error::NotOurs { found });
        }
        if theirs[5] != self.role.peer().number() {
            return Err(Error::SameRole);
        }
        if theirs[4] != self.suite.number() {
            return Err(Error::Suite {
                ours: self.suite.number(),
                theirs: theirs[4],
            });
        }
        Ok(())
    }
}

fn salt(hello: &Hello) -> Salt {
    *hello.last_chunk().expect("a hello ends with its salt")
}

impl Proving {
    /// Returns this side's proof, which is the second message to send.
    #[must_use]
    pub fn proof(&self) -> &[u8; PROOF_BYTES] {
        &self.proof
    }

    /// Checks `theirs`, the peer's proof, and completes the greeting.
    ///
    /// # Errors
    /// Returns [`Error::WrongKey`] if the proof is wrong.
    pub fn proven(self, theirs: &[u8; PROOF_BYTES]) -> Result<Session, Error> {
        if !self.expected.is(theirs) {
            return Err(Error::WrongKey);
        }
        Ok(self.session)
    }
}

impl fmt::Debug for Proving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proving").finish_non_exhaustive()
    }
}
