//! Garrick's ring buffer.

use std::ops::Range;

use garrick_core::ring::{self, Consumer, Producer};

use super::SLOTS;
use super::relay::{Batches, Ring};
use super::tally::Tally;

/// Garrick's ring in one of two modes. In one mode, the ring sends only whole batches, like the
/// rivals. In the other mode, it sends as many numbers as there is room for.
#[derive(Debug)]
pub(super) struct Garrick<const WHOLE: bool>;

impl<const WHOLE: bool> Ring for Garrick<WHOLE> {
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

impl<const WHOLE: bool> Batches for Garrick<WHOLE> {
    #[inline]
    fn try_send_batch(sender: &mut Self::Sender, numbers: Range<u64>) -> u64 {
        let (first, count) = (numbers.start, (numbers.end - numbers.start) as usize);
        if WHOLE && sender.free_seen() < count && sender.free() < count {
            return 0;
        }
        sender.produce_batch(count, |index| first + index as u64) as u64
    }

    #[inline]
    fn take_batch(receiver: &mut Self::Receiver, max: usize, tally: &mut Tally) {
        receiver.consume_batch(max, |numbers| tally.all(numbers));
    }
}
