//! Encrypts, authenticates, checks and decrypts frames, without doing any I/O.
//!
//! ```text
//!   | length: u32, big-endian | body: `length` bytes, encrypted | tag: 32 bytes |
//!
//!   body    = payload, kind (1 byte); so no body is empty
//!   cipher  = AES-256, counter mode, from the block  sequence (8 bytes), 0 (8 bytes)
//!   tag     = HMAC(length, encrypted body, sequence)
//! ```
//!
//! The body is encrypted, and then authenticated. The sequence number is not sent. Both sides count
//! frames, so a frame that is repeated, early or missing leads to a wrong tag. The sequence number
//! is hashed last. So if a tag is wrong, the receiver can cheaply test whether a different sequence
//! number leads to this tag. This test distinguishes a replay from a forgery. A cipher key is used
//! for only one direction of one connection, and each value of its counter is used only once.

use std::fmt;
use std::sync::Arc;

use aes::Aes256;
use aes::cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper};
use bytes::{BufMut, BytesMut};
use ctr::CtrCore;
use ctr::flavors::Ctr64BE;

use crate::error::Error;
use crate::key::Secrets;
use crate::tag::{Suite, TAG_BYTES, Tagger};

/// Size of the length field at the beginning of a frame, in bytes.
pub const LENGTH_BYTES: usize = 4;

/// Number of bytes that a frame contains in addition to its payload.
pub const OVERHEAD_BYTES: usize = LENGTH_BYTES + 1 + TAG_BYTES;

/// Number of payload bytes that are encrypted and then authenticated in one step. This number of
/// bytes fits into the first-level cache.
const STEP_BYTES: usize = 8 * 1024;

/// Size of a block of the cipher, in bytes.
const BLOCK_BYTES: usize = 16;

/// Maximum distance between the expected sequence number and the other sequence numbers that are
/// tried if the tag of a frame is wrong. This search distinguishes a replayed or early frame from a
/// forged frame.
const NEIGHBOURS: u64 = 256;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A frame that carries a payload.
    Data,
    /// The last frame that a side sends. No frame of that side follows.
    End,
}

impl Kind {
    fn number(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::End => 1,
        }
    }

    fn of(number: u8) -> Result<Self, Error> {
        match number {
            0 => Ok(Self::Data),
            1 => Ok(Self::End),
            found => Err(Error::Kind { found }),
        }
    }

    /// Removes the kind from a decrypted body, so that only the payload is left.
    pub(crate) fn take_from(body: &mut BytesMut) -> Result<Self, Error> {
        let Some((kind, payload)) = body.split_last() else {
            return Err(Error::Length {
                found: 0,
                max: u32::MAX,
            });
        };
        let (kind, payload_bytes) = (*kind, payload.len());
        body.truncate(payload_bytes);
        Self::of(kind)
    }
}

/// The keys of one direction of a connection, ready for use. All frames of the direction use the
/// same keys, but different sequence numbers.
pub(crate) struct Keys {
    cipher: Aes256,
    /// State of the HMAC after it has hashed only the key.
    tagger: Tagger,
}

/// The state of a frame that is encrypted in several steps.
pub(crate) struct Sealing {
    kind: Kind,
    /// State of the HMAC after the length and the encrypted bytes have been hashed.
    tagger: Tagger,
    /// Number of payload bytes that are encrypted.
    sealed: usize,
}

/// The check of a frame's tag, in several steps. Nothing of the frame is decrypted before.
pub(crate) struct Check {
    /// State of the HMAC after the length and some bytes of the body have been hashed.
    tagger: Tagger,
}

type Keystream<'a> = StreamCipherCoreWrapper<CtrCore<&'a Aes256, Ctr64BE>>;

impl Keys {
    pub(crate) fn new(suite: Suite, secrets: &Secrets) -> Self {
        Self {
            cipher: Aes256::new((&*secrets.cipher).into()),
            tagger: Tagger::new(suite, &secrets.tag),
        }
    }

    /// Returns the keystream of a frame, from the byte with the index `from`, a multiple of
    /// [`BLOCK_BYTES`].
    fn keystream(&self, sequence: u64, from: usize) -> Keystream<'_> {
        debug_assert!(
            from.is_multiple_of(BLOCK_BYTES),
            "each block has its number"
        );
        let mut block = [0; BLOCK_BYTES];
        block[..8].copy_from_slice(&sequence.to_be_bytes());
        block[8..].copy_from_slice(&((from / BLOCK_BYTES) as u64).to_be_bytes());
        StreamCipherCoreWrapper::from_core(CtrCore::inner_iv_init(&self.cipher, &block.into()))
    }

    /// Begins the tag of a frame by hashing the length. The caller must add the body and the
    /// sequence number.
    fn tagger(&self, length: u32) -> Tagger {
        let mut tagger = self.tagger.clone();
        tagger.update(&length.to_be_bytes());
        tagger
    }

    /// Begins the frame of a payload of `payload_bytes` bytes: appends the length to `out`.
    fn begin(&self, kind: Kind, payload_bytes: usize, out: &mut BytesMut) -> Sealing {
        let length = u32::try_from(payload_bytes + 1).expect("the limit is below");
        out.reserve(payload_bytes + OVERHEAD_BYTES);
        out.put_u32(length);
        Sealing {
            kind,
            tagger: self.tagger(length),
            sealed: 0,
        }
    }

    /// Appends the next part of a frame to `out`: at most `bytes_max` bytes of `payload`, and the
    /// end of the frame if these are the last ones. Returns true if the frame is complete.
    fn seal(
        &self,
        sequence: u64,
        sealing: &mut Sealing,
        payload: &[u8],
        out: &mut BytesMut,
        bytes_max: usize,
    ) -> bool {
        let rest = &payload[sealing.sealed..];
        let part = &rest[..rest.len().min(bytes_max)];
        let mut keystream = self.keystream(sequence, sealing.sealed);
        let tagger = &mut sealing.tagger;
        let mut step = |bytes: &[u8]| {
            let from = out.len();
            out.extend_from_slice(bytes);
            keystream.apply_keystream(&mut out[from..]);
            tagger.update(&out[from..]);
        };
        part.chunks(STEP_BYTES).for_each(&mut step);
        sealing.sealed += part.len();
        if part.len() < rest.len() {
            return false;
        }
        step(&[sealing.kind.number()]);
        tagger.update(&sequence.to_be_bytes());
        out.extend_from_slice(&tagger.clone().finish());
        true
    }

    /// Checks the tag of a body, and then decrypts the body. Leaves only the payload in `body`.
    pub(crate) fn open(
        &self,
        sequence: u64,
        body: &mut BytesMut,
        tag: &[u8],
    ) -> Result<Kind, Error> {
        let mut check = self.check(body.len());
        check.update(body);
        check.finish(sequence, tag)?;
        self.decrypt(sequence, 0, body);
        Kind::take_from(body)
    }

    /// Begins to check a body of `body_bytes` bytes.
    pub(crate) fn check(&self, body_bytes: usize) -> Check {
        let length = u32::try_from(body_bytes).unwrap_or(u32::MAX);
        Check {
            tagger: self.tagger(length),
        }
    }

    /// Decrypts the part of a checked body that begins with the byte `from`, a multiple of
    /// [`BLOCK_BYTES`].
    pub(crate) fn decrypt(&self, sequence: u64, from: usize, part: &mut [u8]) {
        self.keystream(sequence, from).apply_keystream(part);
    }
}

impl Check {
    /// Hashes the next part of the body.
    pub(crate) fn update(&mut self, part: &[u8]) {
        self.tagger.update(part);
    }

    /// Compares the tag with the one of the frame, after the whole body has been hashed.
    pub(crate) fn finish(&self, sequence: u64, tag: &[u8]) -> Result<(), Error> {
        if is_tag(&self.tagger, sequence, tag) {
            Ok(())
        } else {
            Err(diagnose(&self.tagger, sequence, tag))
        }
    }
}

/// Returns true if `tag` is the tag of the frame with the sequence number `sequence`. `hashed` is
/// the state of the HMAC after the length and the body have been hashed.
fn is_tag(hashed: &Tagger, sequence: u64, tag: &[u8]) -> bool {
    let mut tagger = hashed.clone();
    tagger.update(&sequence.to_be_bytes());
    tagger.is(tag)
}

/// Returns the reason why the tag of a frame is wrong: the frame was replayed, arrived too early,
/// or was forged. `expected` is the sequence number that the frame should have.
#[cold]
fn diagnose(hashed: &Tagger, expected: u64, tag: &[u8]) -> Error {
    let earlier = (expected.saturating_sub(NEIGHBOURS)..expected).rev();
    let later = (expected..expected.saturating_add(NEIGHBOURS)).map(|before| before + 1);
    let is_it = |found: &u64| is_tag(hashed, *found, tag);
    if let Some(found) = earlier.into_iter().find(is_it) {
        return Error::Replayed { expected, found };
    }
    if let Some(found) = later.into_iter().find(is_it) {
        return Error::OutOfOrder { expected, found };
    }
    Error::Forged { sequence: expected }
}

/// Checks the length of a frame, before waiting for its body.
///
/// # Errors
/// Returns [`Error::Length`] if the length is zero or above `max`.
pub(crate) fn check_length(length: [u8; LENGTH_BYTES], max: u32) -> Result<usize, Error> {
    match u32::from_be_bytes(length) {
        found if (1..=max).contains(&found) => Ok(found as usize),
        found => Err(Error::Length { found, max }),
    }
}

/// The sending half of a [`Session`](crate::Session). It encrypts and authenticates outgoing
/// payloads, frame by frame.
///
/// # Examples
/// The documentation of [`Session`](crate::Session) contains an example.
pub struct Sealer {
    /// The keys, which are boxed because they are large and would be costly to move.
    keys: Box<Keys>,
    /// Sequence number of the next frame.
    sequence: u64,
    payload_bytes_max: u32,
}

impl Sealer {
    pub(crate) fn new(keys: Keys, payload_bytes_max: u32) -> Self {
        Self {
            keys: Box::new(keys),
            sequence: 0,
            payload_bytes_max,
        }
    }

    /// Encrypts and authenticates `payload`, and appends the resulting frame to `out`. If `out` has
    /// spare capacity for the payload and [`OVERHEAD_BYTES`] more bytes, no memory is allocated.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if the payload is too long, or [`Error::Exhausted`] if no frame
    /// number is left. In both cases nothing is appended.
    pub fn seal(&mut self, kind: Kind, payload: &[u8], out: &mut BytesMut) -> Result<(), Error> {
        let mut sealing = self.begin(kind, payload, out)?;
        while !self.go_on(&mut sealing, payload, out, usize::MAX) {}
        Ok(())
    }

    /// Begins to seal `payload` in several steps. The caller must call [`Sealer::go_on`] until the
    /// frame is complete, and must not seal another payload before that.
    ///
    /// # Errors
    /// Returns the same errors as [`Sealer::seal`].
    pub(crate) fn begin(
        &mut self,
        kind: Kind,
        payload: &[u8],
        out: &mut BytesMut,
    ) -> Result<Sealing, Error> {
        if payload.len() > self.payload_bytes_max as usize {
            return Err(Error::Length {
                found: u32::try_from(payload.len()).unwrap_or(u32::MAX),
                max: self.payload_bytes_max,
            });
        }
        self.sequence.checked_add(1).ok_or(Error::Exhausted)?;
        Ok(self.keys.begin(kind, payload.len(), out))
    }

    /// Encrypts and authenticates at most `bytes_max` more bytes of a payload, a multiple of 16.
    /// Returns true if the frame is complete.
    pub(crate) fn go_on(
        &mut self,
        sealing: &mut Sealing,
        payload: &[u8],
        out: &mut BytesMut,
        bytes_max: usize,
    ) -> bool {
        let is_complete = self
            .keys
            .seal(self.sequence, sealing, payload, out, bytes_max);
        self.sequence += u64::from(is_complete);
        is_complete
    }
}

/// The receiving half of a [`Session`](crate::Session). It checks and decrypts incoming frames, one
/// after another.
///
/// # Examples
/// The documentation of [`Session`](crate::Session) contains an example.
pub struct Opener {
    /// The keys for received frames. The reader (the actor that reads frames) uses these keys, but
    /// counts the frames itself instead of calling the opener.
    pub(crate) keys: Arc<Keys>,
    sequence: u64,
    pub(crate) body_bytes_max: u32,
    /// The error of the check that has failed, if any.
    failed: Option<Error>,
}

impl Opener {
    pub(crate) fn new(keys: Keys, payload_bytes_max: u32) -> Self {
        Self {
            keys: Arc::new(keys),
            sequence: 0,
            body_bytes_max: payload_bytes_max + 1,
            failed: None,
        }
    }

    /// Removes the next frame from the front of `stream`, checks it, and decrypts it in place.
    /// Returns the kind and the payload of the frame, or `None` if the frame is not complete yet.
    ///
    /// # Errors
    /// Returns an error that names the failed check. After an error, every later call returns the
    /// same error.
    pub fn open(&mut self, stream: &mut BytesMut) -> Result<Option<(Kind, BytesMut)>, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let opened = self.next(stream);
        self.failed = opened.as_ref().err().cloned();
        opened
    }

    fn next(&mut self, stream: &mut BytesMut) -> Result<Option<(Kind, BytesMut)>, Error> {
        let Some(length) = stream.first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let body_bytes = check_length(*length, self.body_bytes_max)?;
        if stream.len() < LENGTH_BYTES + body_bytes + TAG_BYTES {
            return Ok(None);
        }
        let mut frame = stream.split_to(LENGTH_BYTES + body_bytes + TAG_BYTES);
        let tag = frame.split_off(LENGTH_BYTES + body_bytes);
        let mut body = frame.split_off(LENGTH_BYTES);
        let kind = self.keys.open(self.sequence, &mut body, &tag)?;
        self.sequence = self.sequence.checked_add(1).ok_or(Error::Exhausted)?;
        Ok(Some((kind, body)))
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer")
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener")
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{PreSharedKey, Role};

    fn keys(suite: Suite) -> Keys {
        let key = PreSharedKey::new([3; 32]);
        let secrets = Secrets::derive(&key, suite, Role::Client, &[1; 32], &[2; 32]);
        Keys::new(suite, &secrets)
    }

    /// Seals and opens a payload in steps of `bytes_max` bytes. Returns the frame, the payload, and
    /// the number of steps in which it was sealed.
    fn in_steps(payload: &[u8], bytes_max: usize) -> (BytesMut, BytesMut, usize) {
        let mut sealer = Sealer::new(keys(Suite::default()), 1_000_000);
        let (mut wire, mut steps) = (BytesMut::new(), 1);
        let mut sealing = sealer.begin(Kind::Data, payload, &mut wire).unwrap();
        while !sealer.go_on(&mut sealing, payload, &mut wire, bytes_max) {
            steps += 1;
        }
        let keys = keys(Suite::default());
        let mut body = BytesMut::from(&wire[LENGTH_BYTES..wire.len() - TAG_BYTES]);
        let mut check = keys.check(body.len());
        body.chunks(bytes_max).for_each(|part| check.update(part));
        check.finish(0, &wire[wire.len() - TAG_BYTES..]).unwrap();
        for (number, part) in body.chunks_mut(bytes_max).enumerate() {
            keys.decrypt(0, number * bytes_max, part);
        }
        assert_eq!(Kind::take_from(&mut body), Ok(Kind::Data));
        (wire, body, steps)
    }

    #[test]
    fn the_steps_of_a_frame_do_not_change_it() {
        for bytes in [0_usize, 1, 15, 16, 31, 32, 33, 8_192, 20_000] {
            let payload: Vec<u8> = (0..bytes).map(|n| n as u8).collect();
            let (whole, opened, steps) = in_steps(&payload, 1 << 20);
            assert_eq!((&opened[..], steps), (&payload[..], 1));
            for bytes_max in [16, 32, 4_096, 8_192, 16_384] {
                let (frame, opened, steps) = in_steps(&payload, bytes_max);
                assert_eq!((&frame, &opened[..]), (&whole, &payload[..]));
                let expected = bytes.div_ceil(bytes_max).max(1);
                assert_eq!(steps, expected, "{bytes} bytes in steps of {bytes_max}");
            }
        }
    }

    #[test]
    fn a_forged_frame_is_found_in_steps_too() {
        let keys = keys(Suite::default());
        let mut check = keys.check(100);
        check.update(&[5; 40]);
        check.update(&[5; 60]);
        let forged = check.finish(7, &[0; TAG_BYTES]);
        assert_eq!(forged, Err(Error::Forged { sequence: 7 }));
    }
}
