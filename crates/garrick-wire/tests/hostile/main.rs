//! Tests with arbitrary bytes: decoding never panics, never exceeds its memory limit, and reports
//! where it stopped.
#![forbid(unsafe_code)]

mod kinds;

use allocation_counter::measure;
use garrick_wire::{Limits, Reason, Wire, WireError, from_slice, to_vec};
use proptest::prelude::*;

use kinds::{Draw, Hoard, change_something, comes_back, decode_everything};

fn config() -> ProptestConfig {
    ProptestConfig {
        // The tests have no files of their own.
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn arbitrary_bytes_are_refused_or_come_back(bytes: Vec<u8>) {
        decode_everything(&bytes);
    }

    #[test]
    fn messages_come_back(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        comes_back(&Draw(&bytes).message());
    }

    #[test]
    fn changed_messages_are_refused_or_come_back(
        bytes in prop::collection::vec(any::<u8>(), 0..1_000),
    ) {
        change_something(&bytes);
    }
}

/// Messages of all variants, computed from seeds.
fn messages() -> impl Iterator<Item = Vec<u8>> {
    (0..80_u8).map(|seed| {
        let mut state = u32::from(seed);
        let mut bytes: Vec<u8> = (0..400)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        bytes[0] = seed;
        to_vec(Draw(&bytes).message()).unwrap()
    })
}

#[test]
fn every_prefix_is_refused_or_comes_back() {
    for message in messages() {
        for len in (0..message.len()).step_by(1 + message.len() / 300) {
            decode_everything(&message[..len]);
        }
    }
}

#[test]
fn every_flipped_bit_is_refused_or_comes_back() {
    for mut message in messages() {
        for bit in (0..message.len() * 8).step_by(1 + message.len() / 50) {
            message[bit / 8] ^= 1 << (bit % 8);
            decode_everything(&message);
            message[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Decodes `bytes`. Returns the reason of the error, and the number of bytes that were allocated.
fn refused<T: Wire>(bytes: &[u8]) -> (Reason, u64) {
    let mut reason = None;
    let used = measure(|| {
        let error = from_slice::<T>(bytes).map(drop).unwrap_err();
        reason = Some(error.reason().clone());
    });
    (reason.unwrap(), used.bytes_total)
}

#[test]
fn a_length_beyond_the_end_allocates_nothing() {
    // 2^55 items, and a byte.
    let count = to_vec((1_u64 << 55, 0_u8)).unwrap();
    for (reason, used) in [
        refused::<Vec<u64>>(&count),
        refused::<Vec<()>>(&count),
        refused::<Vec<[u64; 1_000]>>(&count),
        refused::<std::collections::HashMap<u64, ()>>(&count),
        refused::<std::collections::BTreeSet<u8>>(&count),
        refused::<(String, u8)>(&count),
        refused::<Vec<Vec<u8>>>(&count),
        refused::<(Vec<u8>,)>(&count),
    ] {
        assert!(
            matches!(reason, Reason::Length { length, left: 1 } if length == 1 << 55),
            "{reason:?}"
        );
        // Only the error.
        assert!(used < 512, "{used}");
    }
}

#[test]
fn many_small_items_of_a_large_type_are_refused_before_they_are_allocated() {
    // A million empty messages, each of which would have 8,000 bytes in memory.
    #[derive(Wire, Clone)]
    struct Large {
        #[wire(1, default = zeros)]
        _block: [u64; 1_000],
    }
    fn zeros() -> [u64; 1_000] {
        [0; 1_000]
    }
    let bytes = to_vec(vec![(); 1_000_000]).unwrap();
    for (reason, used) in [
        refused::<Vec<Large>>(&bytes),
        refused::<std::collections::VecDeque<Large>>(&bytes),
        refused::<Box<[Large]>>(&bytes),
        refused::<std::collections::HashMap<u64, Large>>(&bytes),
        refused::<std::collections::BTreeMap<u64, Large>>(&bytes),
    ] {
        assert!(matches!(reason, Reason::Memory { .. }), "{reason:?}");
        assert!(used < 512, "{used}");
    }
    // Pointers are counted one after another.
    let (reason, used) = refused::<Vec<std::sync::Arc<Large>>>(&bytes);
    assert!(matches!(reason, Reason::Memory { .. }), "{reason:?}");
    assert!(used < 64 * 1_000_100 + 20_000, "{used}");
    // So is the memory of a missing field.
    #[derive(Wire)]
    struct Absent {
        _boxed: Box<Option<Large>>,
    }
    let (reason, used) = refused::<Vec<Absent>>(&bytes);
    assert!(matches!(reason, Reason::Memory { .. }), "{reason:?}");
    assert!(used < 64 * 1_000_100 + 20_000, "{used}");
    // Values without a size need no memory, and are at most as many as the bytes.
    assert_eq!(from_slice::<Vec<()>>(&bytes).unwrap().len(), 1_000_000);
}

/// Encodes and decodes items that have `N` bytes in memory, but only one byte in the message.
fn absent_items<const N: usize>() -> (Result<(), WireError>, Result<(), WireError>) {
    let items: Vec<Option<[u8; N]>> = vec![None; 10_000];
    let sent = to_vec(items).map(drop);
    let bytes = to_vec(vec![(); 10_000]).unwrap();
    (sent, from_slice::<Vec<Option<[u8; N]>>>(&bytes).map(drop))
}

#[test]
fn a_sender_learns_that_its_message_needs_too_much_memory() {
    assert_eq!(absent_items::<50>(), (Ok(()), Ok(())));
    let (sent, read) = absent_items::<400>();
    let (sent, read) = (sent.unwrap_err(), read.unwrap_err());
    assert_eq!(sent.reason(), read.reason());
    assert!(matches!(sent.reason(), Reason::Memory { .. }), "{sent}");
}

#[test]
fn usual_messages_of_the_largest_size_are_not_refused() {
    let small: Vec<String> = vec![String::new(); 1_000_000];
    assert_eq!(
        from_slice::<Vec<String>>(&to_vec(small.clone()).unwrap()),
        Ok(small)
    );
    let options: Vec<Option<u128>> = vec![None; 1_000_000];
    assert_eq!(
        from_slice::<Vec<Option<u128>>>(&to_vec(options.clone()).unwrap()),
        Ok(options)
    );
    let map: std::collections::HashMap<u64, u64> = (0..100_000).map(|n| (n, n)).collect();
    comes_back_within_limits(map);
    let maps: Vec<std::collections::BTreeMap<u8, u8>> = vec![[(1, 1)].into(); 100_000];
    comes_back_within_limits(maps);
    comes_back_within_limits(Hoard::default());
}

#[track_caller]
fn comes_back_within_limits<T: Wire + Clone + PartialEq + std::fmt::Debug>(value: T) {
    let bytes = to_vec(value.clone()).unwrap();
    assert_eq!(from_slice::<T>(&bytes), Ok(value));
}

#[derive(Wire, Debug, PartialEq)]
#[wire(name = "test.Chain")]
struct Chain {
    next: Option<Box<Chain>>,
}

fn chain(length: usize) -> Chain {
    let mut chain = Chain { next: None };
    for _ in 1..length {
        chain = Chain {
            next: Some(Box::new(chain)),
        };
    }
    chain
}

#[test]
fn levels_are_bounded_at_both_sides() {
    let limits = Limits::new().depth(10);
    let mut bytes = Vec::new();
    limits.encode(chain(10), &mut bytes).unwrap();
    assert_eq!(limits.decode(&bytes), Ok(chain(10)));
    let shallow = Limits::new().depth(9).decode::<Chain>(&bytes).unwrap_err();
    assert_eq!(*shallow.reason(), Reason::Depth { max: 9 });
    let error = limits.encode(chain(11), &mut bytes).unwrap_err();
    assert_eq!(*error.reason(), Reason::Depth { max: 10 });
    assert_eq!(limits.decode(&bytes), Ok(chain(10)));

    // A thousand levels within bytes that no writer has made.
    let mut deep = Vec::new();
    let generous = Limits::new().depth(1_000);
    generous.encode(chain(1_000), &mut deep).unwrap();
    let error = from_slice::<Chain>(&deep).unwrap_err();
    assert_eq!(*error.reason(), Reason::Depth { max: 64 });
    assert_eq!(error.path().count(), 65);
}

#[test]
fn a_refused_message_leaves_the_buffer_as_it_was() {
    for (limits, len) in [(100, 101), (10_000, 10_001), (100, 1_000_000)] {
        let limits = Limits::new().message_bytes(limits);
        let mut out = b"before".to_vec();
        for error in [
            limits.encode("x".repeat(len), &mut out).unwrap_err(),
            limits.encode(vec![7_u64; len], &mut out).unwrap_err(),
            limits
                .encode(vec![vec![0_u8; len / 2]; 3], &mut out)
                .unwrap_err(),
            limits.encode(vec![(); len], &mut out).unwrap_err(),
        ] {
            assert!(
                matches!(error.reason(), Reason::MessageBytes { .. }),
                "{error}"
            );
            assert_eq!(out, b"before");
            assert!(out.capacity() < 50_000, "{}", out.capacity());
        }
    }
    let error = Limits::new().message_bytes(3).decode::<String>(b"four");
    assert_eq!(
        *error.unwrap_err().reason(),
        Reason::MessageBytes { max: 3 }
    );
}
