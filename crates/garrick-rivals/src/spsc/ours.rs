//! Our ring.

use std::ops::Range;

use garrick_core::ring::{self, Consumer, Producer};

use super::SLOTS;
use super::relay::{Batches, Ring};
use super::tally::Tally;

/// Our ring, which here sends whole batches, as those of others do.
#[derive(Debug)]
pub(super) struct Garrick;

impl Ring for Garrick {
    type Sender = Producer<u64>;
    type Receiver = Consumer<u64>;

    fn open() -> (Self::Sender, Self::Receiver) {
        ring::channel(SLOTS)
    }

    #[inline]
    fn try_send(sender: &mut Self::Sender, number: u64) -> bool {
        sender.try_push(number).is_ok()
    }

    #[inline]
    fn try_take(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_pop()
    }
}

impl Batches for Garrick {
    #[inline]
    fn try_send_batch(sender: &mut Self::Sender, numbers: Range<u64>) -> u64 {
        let count = (numbers.end - numbers.start) as usize;
        if sender.free_seen() < count && sender.free() < count {
            return 0;
        }
        Fitting::try_send_batch(sender, numbers)
    }

    #[inline]
    fn take_batch(receiver: &mut Self::Receiver, max: usize, tally: &mut Tally) {
        receiver.consume_batch(max, |numbers| tally.all(numbers));
    }
}

/// Our ring, which sends of a batch what there is room for.
#[derive(Debug)]
pub(super) struct Fitting;

impl Ring for Fitting {
    type Sender = Producer<u64>;
    type Receiver = Consumer<u64>;

    fn open() -> (Self::Sender, Self::Receiver) {
        Garrick::open()
    }

    #[inline]
    fn try_send(sender: &mut Self::Sender, number: u64) -> bool {
        Garrick::try_send(sender, number)
    }

    #[inline]
    fn try_take(receiver: &mut Self::Receiver) -> Option<u64> {
        Garrick::try_take(receiver)
    }
}

impl Batches for Fitting {
    #[inline]
    fn try_send_batch(sender: &mut Self::Sender, numbers: Range<u64>) -> u64 {
        let (first, count) = (numbers.start, numbers.end - numbers.start);
        sender.produce_batch(count as usize, |index| first + index as u64) as u64
    }

    #[inline]
    fn take_batch(receiver: &mut Self::Receiver, max: usize, tally: &mut Tally) {
        Garrick::take_batch(receiver, max, tally);
    }
}
