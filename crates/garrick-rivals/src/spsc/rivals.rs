//! The ring buffers of the other libraries.

use std::ops::Range;

use disruptor::{
    BusySpin, EventPoller, Producer as _, SingleConsumerBarrier, SingleProducer,
    SingleProducerBarrier,
};
use omango::queue::spsc::{BReceiver, BSender};
use ringbuf::traits::{Consumer as _, Observer as _, Producer as _, Split as _};
use ringbuf::{HeapCons, HeapProd, HeapRb};
use rtrb::chunks::{ChunkError, ReadChunk};

use super::SLOTS;
use super::relay::{Batches, Ring};
use super::tally::Tally;

#[derive(Debug)]
pub(super) struct Rtrb;

impl Ring for Rtrb {
    type Sender = rtrb::Producer<u64>;
    type Receiver = rtrb::Consumer<u64>;

    fn open() -> (Self::Sender, Self::Receiver) {
        rtrb::RingBuffer::new(SLOTS)
    }

    #[inline]
    fn try_send(sender: &mut Self::Sender, number: u64) -> bool {
        sender.push(number).is_ok()
    }

    #[inline]
    fn try_take(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.pop().ok()
    }
}

impl Batches for Rtrb {
    #[inline]
    fn try_send_batch(sender: &mut Self::Sender, numbers: Range<u64>) -> u64 {
        let count = (numbers.end - numbers.start) as usize;
        match sender.write_chunk_uninit(count) {
            Ok(chunk) => chunk.fill_from_iter(numbers) as u64,
            Err(_) => 0,
        }
    }

    #[inline]
    fn take_batch(receiver: &mut Self::Receiver, max: usize, tally: &mut Tally) {
        match receiver.read_chunk(max.min(SLOTS)) {
            Ok(chunk) => read(chunk, tally),
            Err(ChunkError::TooFewSlots(0)) => {}
            // `read_chunk` returns exactly the requested number of slots or an error, so this call
            // requests the available slots.
            Err(ChunkError::TooFewSlots(count)) => {
                if let Ok(chunk) = receiver.read_chunk(count) {
                    read(chunk, tally);
                }
            }
        }
    }
}

#[inline]
fn read(chunk: ReadChunk<'_, u64>, tally: &mut Tally) {
    let (first, second) = chunk.as_slices();
    tally.all(first);
    tally.all(second);
    chunk.commit_all();
}

#[derive(Debug)]
pub(super) struct Ringbuf;

impl Ring for Ringbuf {
    type Sender = HeapProd<u64>;
    type Receiver = HeapCons<u64>;

    fn open() -> (Self::Sender, Self::Receiver) {
        HeapRb::new(SLOTS).split()
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

impl Batches for Ringbuf {
    #[inline]
    fn try_send_batch(sender: &mut Self::Sender, numbers: Range<u64>) -> u64 {
        if (sender.vacant_len() as u64) < numbers.end - numbers.start {
            return 0;
        }
        sender.push_iter(numbers) as u64
    }

    #[inline]
    fn take_batch(receiver: &mut Self::Receiver, max: usize, tally: &mut Tally) {
        let (first, second) = receiver.as_slices();
        let first = &first[..first.len().min(max)];
        let second = &second[..second.len().min(max - first.len())];
        tally.all(first);
        tally.all(second);
        let count = first.len() + second.len();
        if count > 0 {
            receiver.skip(count);
        }
    }
}

#[derive(Debug)]
pub(super) struct Disruptor;

impl Ring for Disruptor {
    type Sender = SingleProducer<u64, SingleConsumerBarrier>;
    type Receiver = EventPoller<u64, SingleProducerBarrier>;

    fn open() -> (Self::Sender, Self::Receiver) {
        let builder = disruptor::build_single_producer(SLOTS, || 0, BusySpin);
        let (poller, builder) = builder.new_event_poller();
        (builder.build(), poller)
    }

    #[inline]
    fn try_send(sender: &mut Self::Sender, number: u64) -> bool {
        sender.try_publish(|slot| *slot = number).is_ok()
    }

    #[inline]
    fn try_take(receiver: &mut Self::Receiver) -> Option<u64> {
        let mut guard = receiver.take(1).ok()?;
        (&mut guard).next().copied()
    }
}

impl Batches for Disruptor {
    #[inline]
    fn try_send_batch(sender: &mut Self::Sender, numbers: Range<u64>) -> u64 {
        let count = numbers.end - numbers.start;
        let write = sender.try_batch_publish(count as usize, |slots| {
            for (slot, number) in slots.zip(numbers) {
                *slot = number;
            }
        });
        if write.is_ok() { count } else { 0 }
    }

    #[inline]
    fn take_batch(receiver: &mut Self::Receiver, max: usize, tally: &mut Tally) {
        if let Ok(mut guard) = receiver.take(max as u64) {
            for number in &mut guard {
                tally.one(*number);
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Omango;

impl Ring for Omango {
    type Sender = BSender<u64>;
    type Receiver = BReceiver<u64>;

    fn open() -> (Self::Sender, Self::Receiver) {
        omango::queue::spsc::bounded(SLOTS as u32)
    }

    #[inline]
    fn try_send(sender: &mut Self::Sender, number: u64) -> bool {
        sender.try_send(number).is_ok()
    }

    #[inline]
    fn try_take(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }
}
