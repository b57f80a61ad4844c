//! Tests with fixed examples: limits, drops that panic, and two threads.
use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use super::*;

/// Number of values that a stress test sends. The test takes well under a second.
const STRESS: u64 = if cfg!(debug_assertions) {
    300_000
} else {
    5_000_000
};

/// A value that counts its drops, and panics in its destructor if `blows` is true.
struct Fuse<'a> {
    drops: &'a Cell<u32>,
    blows: bool,
}

impl Drop for Fuse<'_> {
    fn drop(&mut self) {
        self.drops.set(self.drops.get() + 1);
        if self.blows {
            resume_unwind(Box::new("planned"));
        }
    }
}

/// Creates a ring with four values, which wrap around its end. The drop of the value with the index
/// `blows` panics.
fn fuses(drops: &Cell<u32>, blows: usize) -> (Producer<Fuse<'_>>, Consumer<Fuse<'_>>) {
    let (mut producer, consumer) = halves(4, usize::MAX - 1).unwrap();
    producer.produce_batch(4, |index| Fuse {
        drops,
        blows: index == blows,
    });
    (producer, consumer)
}

#[test]
fn impossible_capacities_are_refused() {
    let error = |capacity_min| try_channel::<u64>(capacity_min).unwrap_err();
    assert_eq!(error(0), CapacityError::Zero);
    let capacity_min = usize::MAX;
    assert_eq!(
        error(capacity_min),
        CapacityError::TooLarge { capacity_min }
    );
    let capacity = 1 << 62;
    assert_eq!(error(capacity), CapacityError::OutOfMemory { capacity });
    assert_eq!(
        error(capacity).to_string(),
        "cannot allocate the memory for 4611686018427387904 slots"
    );
}

#[test]
#[should_panic(expected = "ring::channel(0): a ring needs at least one slot")]
fn channel_panics_with_the_reason() {
    channel::<u8>(0);
}

#[test]
fn zero_sized_values_need_no_memory() {
    let (mut producer, mut consumer) = channel::<()>(1 << 63);
    assert_eq!(producer.capacity(), 1 << 63);
    assert_eq!(producer.push_slice(&[(); 1000]), 1000);
    assert_eq!(consumer.peek().as_slices().0.len(), 1000);
    assert_eq!(consumer.pop_each(usize::MAX, drop), 1000);
}

#[test]
fn a_single_slot_is_a_ring() {
    let (mut producer, mut consumer) = halves(1, usize::MAX).unwrap();
    for round in 0..5 {
        assert_eq!(producer.try_push(round), Ok(()));
        assert_eq!(producer.try_push(9), Err(Full(9)));
        assert_eq!(consumer.try_pop(), Some(round));
        assert_eq!(consumer.try_pop(), None);
    }
}

#[test]
fn advance_frees_and_drops_all_although_a_drop_panics() {
    for blows in 0..4 {
        let drops = Cell::new(0);
        let (mut producer, mut consumer) = fuses(&drops, blows);
        let advance = catch_unwind(AssertUnwindSafe(|| consumer.peek().advance(3)));
        assert_eq!(advance.is_err(), blows < 3);
        assert_eq!(
            (drops.get(), producer.free(), consumer.readable()),
            (3, 3, 1)
        );
        let rest = catch_unwind(AssertUnwindSafe(|| drop((producer, consumer))));
        assert_eq!(rest.is_err(), blows == 3);
        assert_eq!(drops.get(), 4, "each fuse was dropped once");
    }
}

#[test]
fn a_map_publishes_although_the_drop_of_an_input_panics() {
    let drops = Cell::new(0);
    let (_producer, mut consumer) = fuses(&drops, 1);
    let (mut out, mut mapped) = channel(4);
    let map = || map_batch(&mut consumer, &mut out, 9, |fuse| fuse.blows);
    assert!(catch_unwind(AssertUnwindSafe(map)).is_err());
    assert_eq!(mapped.peek().as_slices().0, [false, true, false, false]);
    assert_eq!((drops.get(), consumer.readable()), (4, 0));
}

#[test]
fn a_poke_drops_all_although_a_drop_panics() {
    let drops = Cell::new(0);
    let (mut producer, mut consumer) = fuses(&drops, 9);
    consumer.peek().advance(4);
    let abandon = || {
        let mut poke = producer.poke(4);
        let fuse = |blows| Fuse {
            drops: &drops,
            blows,
        };
        poke.extend([fuse(true), fuse(false), fuse(false)]);
    };
    assert!(catch_unwind(AssertUnwindSafe(abandon)).is_err());
    assert_eq!((drops.get(), consumer.readable()), (7, 0));
}

#[test]
#[should_panic(expected = "cannot advance by 3: 2 values are open")]
fn advancing_past_the_end_is_a_bug() {
    let (mut producer, mut consumer) = channel(4);
    producer.push_slice(&[1, 2]);
    consumer.peek().advance(3);
}

#[test]
fn closing_is_seen_from_both_sides() {
    let (producer, mut consumer) = channel::<u8>(1);
    assert!(!consumer.is_closed() && !consumer.is_finished());
    drop(producer);
    assert!(consumer.is_closed() && consumer.is_finished());

    let (mut producer, consumer) = channel(2);
    producer.try_push(1).unwrap();
    drop(consumer);
    assert!(producer.is_closed());
    assert_eq!(producer.free(), 1, "one value was not read");
}

#[test]
fn debug_shows_the_state() {
    let (mut producer, mut consumer) = channel(2);
    producer.push_slice(&[1, 2]);
    assert_eq!(format!("{:?}", consumer.peek()), "[1, 2]");
    consumer.try_pop();
    assert_eq!(
        format!("{producer:?}"),
        "Producer { capacity: 2, head: 1, tail: 2, closed: false }"
    );
    assert_eq!(
        format!("{consumer:?}"),
        "Consumer { capacity: 2, head: 1, tail: 2, closed: false }"
    );
    let mut poke = producer.poke(1);
    poke.push(3).unwrap();
    assert_eq!(format!("{poke:?}"), "Poke { written: 1, remaining: 0, .. }");
}

#[test]
fn a_ring_that_spreads_goes_round_in_all_slots() {
    let (mut producer, mut consumer) = try_roomy_channel(4, 13).unwrap();
    assert_eq!(producer.capacity(), 4);
    let mut places = |producer: &mut Producer<u32>| {
        let mut places = Vec::new();
        for number in 0..32 {
            producer.try_push(number).unwrap();
            let peek = consumer.peek();
            assert_eq!(peek.len(), 1);
            places.push(&raw const *peek.get(0).unwrap());
            assert_eq!(consumer.try_pop(), Some(number));
        }
        places.sort();
        places.dedup();
        places.len()
    };
    assert_eq!(places(&mut producer), 4);
    producer.spread();
    assert!(producer.is_spread());
    assert_eq!(places(&mut producer), 16);
}

#[test]
fn what_cannot_spread_does_not() {
    let (mut plain, _consumer) = channel::<u32>(4);
    let (mut single, _other) = try_roomy_channel::<u32>(1, 8).unwrap();
    for producer in [&mut plain, &mut single] {
        producer.spread();
        assert!(!producer.is_spread());
    }
    let huge = try_roomy_channel::<u32>(1, usize::MAX).err();
    let capacity_min = usize::MAX;
    assert_eq!(huge, Some(CapacityError::TooLarge { capacity_min }));
}

#[test]
fn singles_cross_threads_in_order() {
    let (mut producer, mut consumer) = channel(64);
    let writer = thread::spawn(move || {
        for number in 0..STRESS / 10 {
            let mut next = Box::new(number);
            while let Err(Full(back)) = producer.try_push(next) {
                next = back;
                thread::yield_now();
            }
        }
    });
    let mut expected = 0;
    while !consumer.is_finished() {
        match consumer.try_pop() {
            Some(number) => {
                assert_eq!(*number, expected);
                expected += 1;
            }
            None => thread::yield_now(),
        }
    }
    writer.join().unwrap();
    assert_eq!(expected, STRESS / 10);
}

#[test]
fn batches_cross_a_stage_in_order() {
    let (mut source, mut stage_in) = try_roomy_channel(256, 1024).unwrap();
    let (mut stage_out, mut sink) = channel(64);
    let stage = thread::spawn(move || {
        while !stage_in.is_finished() {
            if map_batch(&mut stage_in, &mut stage_out, 100, |n: &u64| [*n, n * n]) == 0 {
                thread::yield_now();
            }
        }
    });
    let (mut sent, mut got) = (0, 0);
    while !sink.is_finished() {
        let room = usize::try_from(STRESS - sent).unwrap().min(77);
        if sent > STRESS / 2 {
            source.spread();
        }
        sent += source.produce_batch(room, |index| sent + index as u64) as u64;
        let taken = sink.consume_batch(usize::MAX, |pairs| {
            for pair in pairs {
                assert_eq!(*pair, [got, got * got]);
                got += 1;
            }
        });
        if sent == STRESS {
            // Closing the source lets the stage end, and the stage's end lets this thread end.
            source = channel(1).0;
        }
        if taken == 0 {
            thread::yield_now();
        }
    }
    stage.join().unwrap();
    assert_eq!(got, STRESS);
}

#[test]
fn halves_are_sent_with_what_they_carry() {
    fn sendable<T: Send>() {}
    sendable::<Producer<Cell<u8>>>();
    sendable::<Consumer<Cell<u8>>>();
    sendable::<Peek<'_, Cell<u8>>>();
    sendable::<Poke<'_, Cell<u8>>>();
}
