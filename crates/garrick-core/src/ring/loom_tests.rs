//! Loom models of the ring. The models check that no access to a slot races, and that no value is
//! lost, duplicated or leaked.
//!
//! Every access to a slot also accesses its cell in `Slots::claims`. So loom reports an access that
//! is not ordered with the accesses of the other half of the ring. Some values are loom's `Arc`s,
//! which loom counts at the end of a model. So loom detects leaks and double drops.
use super::*;
use crate::prim::{Arc, thread};

/// Runs `model` in all schedules with at most three preemptions.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(model);
}

/// Creates a ring of `capacity` slots whose counts wrap after the first slot.
fn wrapping<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    halves(capacity, usize::MAX).unwrap()
}

#[test]
fn pushes_and_pops_wrap() {
    check(|| {
        let (mut producer, mut consumer) = wrapping(2);
        let writer =
            thread::spawn(move || (0..4).take_while(|n| producer.try_push(*n).is_ok()).count());
        let mut got = 0;
        for _ in 0..3 {
            if let Some(n) = consumer.try_pop() {
                assert_eq!(n, got);
                got += 1;
            }
        }
        let sent = writer.join().unwrap();
        got += consumer.pop_each(usize::MAX, |_| ());
        assert_eq!(got, sent, "each value arrives, once");
    });
}

#[test]
fn committed_batches_arrive_whole() {
    check(|| {
        let (mut producer, mut consumer) = wrapping(4);
        let writer = thread::spawn(move || {
            let mut sent = 0;
            for _ in 0..3 {
                let mut poke = producer.poke(2);
                poke.extend(sent..);
                sent += poke.commit();
            }
            sent
        });
        let mut got = 0;
        for _ in 0..2 {
            let mut peek = consumer.peek();
            assert_eq!(peek.len() % 2, 0, "a batch of two is there or not");
            assert!(peek.iter().copied().eq(got..got + peek.len()));
            let count = peek.len();
            peek.advance(count);
            got += count;
        }
        let sent = writer.join().unwrap();
        got += consumer.consume_batch(usize::MAX, |_| ());
        assert_eq!(got, sent);
    });
}

#[test]
fn a_ring_spreads_while_it_is_read() {
    check(|| {
        // The third value is the first value that the spread puts elsewhere, and it is not the next
        // value.
        let (mut producer, mut consumer) = roomy_halves(2, 8, 0).unwrap();
        let writer = thread::spawn(move || {
            let mut sent = producer.push_slice(&[0]);
            producer.spread();
            for _ in 0..3 {
                sent += producer.push_iter(sent..sent + 2);
            }
            sent
        });
        let mut got = 0;
        for _ in 0..3 {
            let peek = consumer.peek();
            assert!(peek.iter().copied().eq(got..got + peek.len()));
            let taken = consumer.try_pop();
            assert!(taken.is_none_or(|value| value == got));
            got += usize::from(taken.is_some());
        }
        let sent = writer.join().unwrap();
        got += consumer.pop_each(usize::MAX, |_| ());
        assert_eq!(got, sent, "each value arrives, once");
    });
}

#[test]
fn a_ring_that_spread_drops_what_is_left() {
    check(|| {
        let (mut producer, mut consumer) = roomy_halves(2, 4, 0).unwrap();
        let value = Arc::new(());
        let copies = Arc::clone(&value);
        let writer = thread::spawn(move || {
            producer.push_iter([Arc::clone(&copies)]);
            producer.spread();
            producer.push_iter([Arc::clone(&copies), Arc::clone(&copies)]);
            producer.push_iter([copies]);
        });
        drop(consumer.try_pop());
        drop(consumer.try_pop());
        drop(consumer);
        writer.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1, "every copy was dropped, once");
    });
}

#[test]
fn closed_and_empty_means_all_was_seen() {
    check(|| {
        let (mut producer, mut consumer) = wrapping(2);
        let writer = thread::spawn(move || {
            producer.try_push(1).unwrap();
            producer.try_push(2).unwrap();
        });
        let mut got = consumer.pop_each(usize::MAX, |_| ());
        if consumer.is_closed() {
            got += consumer.pop_each(usize::MAX, |_| ());
            assert_eq!(got, 2, "nothing comes after the close");
            assert!(consumer.is_finished());
        }
        writer.join().unwrap();
    });
}

#[test]
fn finished_is_not_said_of_a_ring_with_a_last_value() {
    check(|| {
        let (mut producer, mut consumer) = wrapping(2);
        let writer = thread::spawn(move || producer.try_push(1).unwrap());
        let mut got = 0;
        for _ in 0..2 {
            if consumer.is_finished() {
                assert_eq!(got, 1, "the last value comes before the end");
            }
            got += usize::from(consumer.try_pop().is_some());
        }
        writer.join().unwrap();
        got += usize::from(consumer.try_pop().is_some());
        assert_eq!(got, 1);
        assert!(consumer.is_finished());
    });
}

#[test]
fn closed_tells_the_producer_what_was_read() {
    check(|| {
        let (mut producer, mut consumer) = wrapping(2);
        producer.push_slice(&[1, 2]);
        let reader = thread::spawn(move || consumer.try_pop().unwrap());
        if producer.is_closed() {
            assert_eq!(producer.free(), 1, "one of two was read");
        }
        reader.join().unwrap();
    });
}

#[test]
fn whoever_goes_last_drops_the_rest() {
    check(|| {
        let (mut producer, mut consumer) = wrapping(2);
        let value = Arc::new(());
        producer.try_push(Arc::clone(&value)).unwrap();
        let copies = Arc::clone(&value);
        let writer = thread::spawn(move || {
            let mut poke = producer.poke(2);
            poke.extend([copies]);
            poke.commit();
        });
        drop(consumer.try_pop());
        drop(consumer);
        writer.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1, "every copy was dropped, once");
    });
}

#[test]
fn what_a_poke_does_not_commit_is_never_seen() {
    check(|| {
        let (mut producer, mut consumer) = wrapping(2);
        let writer = thread::spawn(move || {
            let mut poke = producer.poke(2);
            poke.fill_with(|| Arc::new(0));
            drop(poke);
            producer.try_push(Arc::new(1)).unwrap();
        });
        if let Some(value) = consumer.try_pop() {
            assert_eq!(*value, 1);
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_stage_between_two_rings_maps_each_value_once() {
    check(|| {
        let (mut input, mut stage_in) = wrapping(2);
        let (mut stage_out, mut output) = wrapping(2);
        input.try_push(0).unwrap();
        let stage = thread::spawn(move || {
            for _ in 0..2 {
                map_batch(&mut stage_in, &mut stage_out, 2, |n| n + 10);
            }
            map_batch_owned(&mut stage_in, &mut stage_out, 2, |n| n + 10);
        });
        let sent = 1 + input.push_iter(1..3);
        let mut got = 0;
        let mut take = |n| {
            assert_eq!(n, 10 + got);
            got += 1;
        };
        output.pop_each(2, &mut take);
        stage.join().unwrap();
        output.pop_each(2, &mut take);
        assert!(got >= 1 && got <= sent);
    });
}
