//! The queues of the rivals, as [`Channel`]s.

use std::sync::Arc;

use crossbeam_queue::SegQueue;
use garrick_bench::Channel;

/// Crossbeam's unbounded queue, which has no handles for senders and receivers, and cannot wait.
#[derive(Debug)]
pub(super) struct Segments;

impl Channel for Segments {
    type Sender = Arc<SegQueue<u64>>;
    type Receiver = Arc<SegQueue<u64>>;

    fn open() -> (Self::Sender, Self::Receiver) {
        let queue = Arc::new(SegQueue::new());
        (queue.clone(), queue)
    }

    #[inline]
    fn push(sender: &Self::Sender, value: u64) {
        sender.push(value);
    }

    #[inline]
    fn try_pop(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.pop()
    }
}

/// Crossbeam's unbounded channel.
#[derive(Debug)]
pub(super) struct CrossbeamChannel;

impl Channel for CrossbeamChannel {
    type Sender = crossbeam_channel::Sender<u64>;
    type Receiver = crossbeam_channel::Receiver<u64>;

    fn open() -> (Self::Sender, Self::Receiver) {
        crossbeam_channel::unbounded()
    }

    #[inline]
    fn push(sender: &Self::Sender, value: u64) {
        sender
            .send(value)
            .expect("the receiver has not been dropped");
    }

    #[inline]
    fn try_pop(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }
}

/// Flume's unbounded channel.
#[derive(Debug)]
pub(super) struct Flume;

impl Channel for Flume {
    type Sender = flume::Sender<u64>;
    type Receiver = flume::Receiver<u64>;

    fn open() -> (Self::Sender, Self::Receiver) {
        flume::unbounded()
    }

    #[inline]
    fn push(sender: &Self::Sender, value: u64) {
        sender
            .send(value)
            .expect("the receiver has not been dropped");
    }

    #[inline]
    fn try_pop(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_recv().ok()
    }
}
