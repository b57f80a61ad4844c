//! Tests modified streams against an oracle.
//!
//! Each iteration creates a stream of frames, modifies it, and sends it to a connection in pieces.
//! The exact outcome is known. The listener receives only the frames that lie completely before the
//! first modified byte, and then the connection ends with an error. If nothing was modified, the
//! only error is that the stream ended without an end frame.
//!
//! All choices are derived from input bytes. `fuzz.rs` in this folder generates these bytes at
//! random. The fuzzer in `crates/garrick-secure/fuzz` selects the bytes by the code that they
//! reach.

use bytes::BytesMut;
use garrick_secure::{Error, Event, Greeting, Options, Role, Suite};

use super::stand::{Stand, key, sealed};

/// A sequence of choices, derived from input bytes. When the bytes are used up, each further choice
/// is the first alternative.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or_default()
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    fn below(&mut self, bound: usize) -> usize {
        let bytes = [self.byte(), self.byte(), self.byte()];
        let number = bytes
            .iter()
            .fold(0, |number, byte| number << 8 | usize::from(*byte));
        number % bound.max(1)
    }

    /// Returns a length. Most lengths are short.
    fn length(&mut self) -> usize {
        let bits = self.below(14);
        self.below(1 << bits)
    }

    /// Returns a random part of a stream.
    fn range(&mut self, stream: &[u8]) -> std::ops::Range<usize> {
        let from = self.below(stream.len() + 1);
        let bytes = self.length().min(stream.len() - from);
        from..from + bytes
    }

    fn bytes(&mut self) -> Vec<u8> {
        let bytes = self.length();
        (0..bytes).map(|_| self.byte()).collect()
    }
}

/// Modifies a stream, or sometimes leaves it as it is.
fn tamper(choices: &mut Choices<'_>, stream: &mut Vec<u8>) {
    for _ in 0..choices.below(4) {
        let range = choices.range(stream);
        match choices.below(7) {
            0 => {
                if let Some(byte) = stream.get_mut(range.start) {
                    *byte ^= 1 << choices.below(8);
                }
            }
            1 => stream.truncate(range.start),
            2 => drop(stream.drain(range)),
            3 => drop(stream.splice(range.start..range.start, choices.bytes())),
            4 => {
                // Inserts a part again at any position: a replay or a reordering.
                let part = stream[range].to_vec();
                let at = choices.below(stream.len() + 1);
                stream.splice(at..at, part);
            }
            5 => stream[range].reverse(),
            _ => drop(stream.splice(range, choices.bytes())),
        }
    }
}

/// Opens a connection and sends it a modified stream.
fn iteration(stand: &Stand, choices: &mut Choices<'_>) {
    let suites = [Suite::Aes256CtrHmacSha256, Suite::Aes256CtrHmacSha3];
    let options = Options {
        suite: suites[usize::from(choices.below(8) == 0)],
        read_bytes_max: 64 << choices.below(10),
        window: 1 + choices.below(4) as u32,
        ..Options::default()
    };
    let (side, _writer, mut raw, mut session) = stand.greeted(options);
    let payloads: Vec<Vec<u8>> = (0..choices.below(6)).map(|_| choices.bytes()).collect();
    let mut original = BytesMut::new();
    let mut ends = Vec::new();
    for payload in &payloads {
        original.extend_from_slice(&sealed(&mut session, payload));
        ends.push(original.len());
    }
    let mut stream = original.to_vec();
    tamper(choices, &mut stream);

    let mut told = Vec::new();
    let mut rest = &stream[..];
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len() - choices.below(rest.len()));
        raw.say(piece);
        rest = after;
        stand.local.run();
        told.extend(heard(&side.told()));
    }
    raw.half_close();
    // Dropping received frames lets the next frames in.
    for _ in 0..payloads.len() + 1 {
        stand.local.run();
        told.extend(heard(&side.told()));
    }
    check(&original, &stream, &ends, &payloads, &told);
}

/// Returns the received payloads and the outcome, without keeping the frames.
fn heard(events: &[Event]) -> Vec<Result<Vec<u8>, Error>> {
    let what = |event: &Event| match event {
        Event::Frame(frame) => Ok(frame.to_vec()),
        Event::Closed(outcome) => Err(outcome.clone().unwrap_err()),
        other => panic!("{other:?}"),
    };
    events.iter().map(what).collect()
}

/// Compares the outcome of a connection with the outcome that the oracle predicts.
fn check(
    original: &[u8],
    stream: &[u8],
    ends: &[usize],
    payloads: &[Vec<u8>],
    told: &[Result<Vec<u8>, Error>],
) {
    let same = original
        .iter()
        .zip(stream)
        .take_while(|(sent, came)| sent == came)
        .count();
    let whole = ends.iter().filter(|end| **end <= same).count();
    let Some((Err(error), frames)) = told.split_last() else {
        panic!("it does not end: {told:?}");
    };
    assert_eq!(frames.len(), whole, "{error}");
    for (frame, payload) in frames.iter().zip(payloads) {
        assert_eq!(frame.as_ref(), Ok(payload));
    }
    let boundary = same == 0 || ends.contains(&same);
    let expected = match error {
        Error::Unfinished => stream.len() == same && boundary,
        Error::Truncated { have, want, .. } => have < want,
        Error::Forged { sequence } => *sequence == whole as u64,
        Error::Replayed { expected, found } => *expected == whole as u64 && found < expected,
        Error::OutOfOrder { expected, found } => *expected == whole as u64 && found > expected,
        Error::Length { found, max } => *found == 0 || found > max,
        _ => false,
    };
    assert!(expected, "{error}");
}

/// Sends random bytes instead of a greeting.
fn stranger(stand: &Stand, choices: &mut Choices<'_>) {
    let (side, mut raw) = stand.server(Options::default());
    let client = Greeting::new(key(), Suite::default(), Role::Client, 1_000).unwrap();
    let mut said = client.hello().to_vec();
    tamper(choices, &mut said);
    said.extend(choices.bytes());
    raw.say(&said);
    raw.half_close();
    stand.local.run();
    assert!(side.closed().is_err());
}

/// Runs one iteration, with choices that are derived from `bytes`.
///
/// # Panics
/// Panics if the outcome is wrong.
pub(crate) fn try_everything(bytes: &[u8]) {
    let stand = Stand::new();
    let mut choices = Choices(bytes);
    match choices.below(8) {
        0 => stranger(&stand, &mut choices),
        _ => iteration(&stand, &mut choices),
    }
}
