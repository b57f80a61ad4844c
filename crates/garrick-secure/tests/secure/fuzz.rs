//! Somebody in between who tries everything: streams that are changed at random, against an oracle.
//!
//! An iteration makes a stream of frames, changes it, and says it in pieces to a connection. What must come of it is known
//! exactly: the frames that lie wholly before the first changed byte are told, no other, and then the connection ends with an
//! error, or with none but that the stream ended unannounced if nothing was changed.
//!
//! `GARRICK_SOAK_SECONDS` is how long it goes on, and `GARRICK_SOAK_SEED` where it begins: the number that a failure names.

use std::time::{Duration, Instant};

use bytes::BytesMut;
use garrick_secure::{Error, Event, Greeting, Options, Role, Suite};

use super::stand::{Stand, key, sealed};

/// Iterations if nothing else is asked for.
const ITERATIONS: u64 = 100;

/// Numbers that look random: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, or 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// A length: most are short.
    fn length(&mut self) -> usize {
        let bits = self.below(14);
        self.below(1 << bits)
    }

    /// A part of a stream.
    fn range(&mut self, stream: &[u8]) -> std::ops::Range<usize> {
        let from = self.below(stream.len() + 1);
        let bytes = self.length().min(stream.len() - from);
        from..from + bytes
    }

    fn bytes(&mut self) -> Vec<u8> {
        let bytes = self.length();
        (0..bytes).map(|_| self.next() as u8).collect()
    }
}

/// What is done to a stream: nothing, now and then.
fn tamper(random: &mut Random, stream: &mut Vec<u8>) {
    for _ in 0..random.below(4) {
        let range = random.range(stream);
        match random.below(7) {
            0 => {
                if let Some(byte) = stream.get_mut(range.start) {
                    *byte ^= 1 << random.below(8);
                }
            }
            1 => stream.truncate(range.start),
            2 => drop(stream.drain(range)),
            3 => drop(stream.splice(range.start..range.start, random.bytes())),
            4 => {
                // A part once more, somewhere: replayed, reordered.
                let part = stream[range].to_vec();
                let at = random.below(stream.len() + 1);
                stream.splice(at..at, part);
            }
            5 => stream[range].reverse(),
            _ => drop(stream.splice(range, random.bytes())),
        }
    }
}

/// A connection to which a changed stream is said.
fn iteration(stand: &Stand, random: &mut Random) {
    let suites = [Suite::Aes256CtrHmacSha256, Suite::Aes256CtrHmacSha3];
    let options = Options {
        suite: suites[usize::from(random.below(8) == 0)],
        read_bytes_max: 64 << random.below(10),
        window: 1 + random.below(4) as u32,
        ..Options::default()
    };
    let (side, _writer, mut raw, mut session) = stand.greeted(options);
    let payloads: Vec<Vec<u8>> = (0..random.below(6)).map(|_| random.bytes()).collect();
    let mut original = BytesMut::new();
    let mut ends = Vec::new();
    for payload in &payloads {
        original.extend_from_slice(&sealed(&mut session, payload));
        ends.push(original.len());
    }
    let mut stream = original.to_vec();
    tamper(random, &mut stream);

    let mut told = Vec::new();
    let mut rest = &stream[..];
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(1 + random.below(rest.len()));
        raw.say(piece);
        rest = after;
        stand.local.run();
        told.extend(heard(&side.told()));
    }
    raw.half_close();
    // Frames that are told and dropped let others in.
    for _ in 0..payloads.len() + 1 {
        stand.local.run();
        told.extend(heard(&side.told()));
    }
    check(&original, &stream, &ends, &payloads, &told);
}

/// What was told, without holding it.
fn heard(events: &[Event]) -> Vec<Result<Vec<u8>, Error>> {
    let what = |event: &Event| match event {
        Event::Frame(frame) => Ok(frame.to_vec()),
        Event::Closed(outcome) => Err(outcome.clone().unwrap_err()),
        other => panic!("{other:?}"),
    };
    events.iter().map(what).collect()
}

/// The oracle.
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

/// Bytes at random instead of a greeting.
fn stranger(stand: &Stand, random: &mut Random) {
    let (side, mut raw) = stand.server(Options::default());
    let client = Greeting::new(key(), Suite::default(), Role::Client, 1_000).unwrap();
    let mut said = client.hello().to_vec();
    tamper(random, &mut said);
    said.extend(random.bytes());
    raw.say(&said);
    raw.half_close();
    stand.local.run();
    assert!(side.closed().is_err());
}

#[test]
fn nothing_that_is_changed_gets_through() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|value| value.parse().ok())
    };
    let seconds: Option<u64> = number("GARRICK_SOAK_SECONDS");
    let first = number("GARRICK_SOAK_SEED").unwrap_or(1);
    let deadline = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let goes_on = |seed: u64| match deadline {
        Some(deadline) => Instant::now() < deadline,
        None => seed < first + ITERATIONS,
    };
    let mut stand = Stand::new();
    let mut seed = first;
    while goes_on(seed) {
        // What a failure prints last.
        let seeded = Named(seed);
        let mut random = Random(seed);
        if seed % 1_000 == 0 {
            stand = Stand::new();
        }
        match random.below(8) {
            0 => stranger(&stand, &mut random),
            _ => iteration(&stand, &mut random),
        }
        std::mem::forget(seeded);
        seed += 1;
    }
    println!("{} iterations from seed {first}", seed - first);
}

/// Names a seed if it is dropped by a panic.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        println!("GARRICK_SOAK_SEED={}", self.0);
    }
}
