//! The greeting: how two sides that have the same key come to a connection's own keys, without any input or output.
//!
//! ```text
//!   client                                            server
//!     |---- hello: magic, suite, role, salt ------------>|  checks all but the salt
//!     |<--- hello, proof --------------------------------|
//!     |---- proof -------------------------------------->|  only now is anybody told of the connection
//!
//!   hello = "GRK" 1 | suite | role | 0 0 | salt (32 bytes)
//!   proof = HMAC(proof key of who gives it, hello of the client, hello of the server)
//! ```
//!
//! A proof covers all that was said before, so that nobody in between changes the suite or a salt unnoticed. The roles
//! have keys of their own: what one side says, sent back to it, is refused. Each message is fixed in length and one
//! side speaks at a time, so that no buffer needs to hold more than one of them.

use std::fmt;

use crate::error::Error;
use crate::frame::{Keys, Opener, Sealer};
use crate::key::{PreSharedKey, Role, SALT_BYTES, Salt, Secrets, random};
use crate::tag::{Suite, TAG_BYTES, Tagger};

/// The protocol and its version.
const MAGIC: [u8; 4] = *b"GRK\x01";

/// Bytes in front of a hello's salt.
const HEAD_BYTES: usize = 8;

/// Bytes of a hello.
pub const HELLO_BYTES: usize = HEAD_BYTES + SALT_BYTES;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = TAG_BYTES;

/// Where a greeting begins: one side, before anything was said.
#[derive(Debug)]
pub struct Greeting {
    key: PreSharedKey,
    suite: Suite,
    role: Role,
    payload_bytes_max: u32,
    hello: Hello,
}

/// One side that has said hello and heard it, and waits for a proof.
pub struct Proving {
    session: Session,
    /// What the peer must say.
    expected: Tagger,
    proof: [u8; PROOF_BYTES],
}

/// What comes of a greeting: both directions of a connection.
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
    /// Seals what we say.
    pub sealer: Sealer,
    /// Opens what the peer says.
    pub opener: Opener,
}

type Hello = [u8; HELLO_BYTES];

impl Greeting {
    /// One side of a greeting, with fresh randomness. Payloads of its session have at most so many bytes.
    ///
    /// # Errors
    /// [`Error::Randomness`] if the system has none to give.
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
            // One more byte says what a frame is.
            payload_bytes_max: payload_bytes_max.min(u32::MAX - 1),
            hello,
        })
    }

    /// What to say first.
    #[must_use]
    pub fn hello(&self) -> &[u8; HELLO_BYTES] {
        &self.hello
    }

    /// Goes on with what the peer says first.
    ///
    /// # Errors
    /// [`Error::NotOurs`], [`Error::Suite`] or [`Error::SameRole`].
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
    /// What to say next.
    #[must_use]
    pub fn proof(&self) -> &[u8; PROOF_BYTES] {
        &self.proof
    }

    /// Ends the greeting with the peer's proof.
    ///
    /// # Errors
    /// [`Error::WrongKey`] if it is none.
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
