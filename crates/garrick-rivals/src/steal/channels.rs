//! The contenders that are channels. The receivers of these channels can wait for a value.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::AcqRel};
use std::sync::mpsc;

use garrick_steal::steal::{self, Capacity, Worker};

use super::team::Team;

/// Capacity of a worker's deque, as in BeamDequeChannel, a Zig library.
pub(super) const LOCAL_CAPACITY: usize = 256;

/// Garrick's work-stealing channel, used through its workers.
#[derive(Debug)]
pub(super) struct Ours;

/// The handle of one thread: a worker of the channel, and the number of threads that are still
/// sending.
pub(super) struct OurHand {
    worker: Worker<u64>,
    senders: Arc<AtomicU64>,
}

impl Team for Ours {
    type Hand = OurHand;

    fn open(members: u64, senders: u64) -> Vec<OurHand> {
        let senders = Arc::new(AtomicU64::new(senders));
        let channel = steal::channel(members as usize, LOCAL_CAPACITY, Capacity::Unbounded);
        let hand = |worker| OurHand {
            worker,
            senders: senders.clone(),
        };
        channel.workers.into_iter().map(hand).collect()
    }

    #[inline]
    fn send(hand: &mut OurHand, value: u64) {
        hand.worker
            .send(value)
            .expect("the channel is closed after all threads have sent");
    }

    #[inline]
    fn try_recv(hand: &mut OurHand) -> Option<u64> {
        hand.worker.try_recv().ok()
    }

    fn retire(hand: &mut OurHand) {
        // AcqRel: the thread that closes the channel sees all earlier sends.
        if hand.senders.fetch_sub(1, AcqRel) == 1 {
            hand.worker.close();
        }
    }

    #[inline]
    fn recv(hand: &mut OurHand) -> Option<u64> {
        hand.worker.recv()
    }
}

/// Crossbeam's channel with the capacity `CAPACITY`. The channel is unbounded if `CAPACITY` is 0.
#[derive(Debug)]
pub(super) struct Crossbeam<const CAPACITY: usize>;

/// Flume's unbounded channel.
#[derive(Debug)]
pub(super) struct Flume;

/// The unbounded channel of the crate `kanal`.
#[derive(Debug)]
pub(super) struct Kanal;

/// Returns the handles of a channel that is closed when its last sender is dropped. Only the first
/// `senders` handles contain a sender.
fn handles<S: Clone, R: Clone>(ends: (S, R), members: u64, senders: u64) -> Vec<(Option<S>, R)> {
    let (sender, receiver) = ends;
    (0..members)
        .map(|number| ((number < senders).then(|| sender.clone()), receiver.clone()))
        .collect()
}

macro_rules! channel {
    ([$(const $capacity:ident)?] $team:ty, $sender:ty, $receiver:ty, $open:expr, $try_recv:expr) => {
        impl $(<const $capacity: usize>)? Team for $team {
            type Hand = (Option<$sender>, $receiver);

            fn open(members: u64, senders: u64) -> Vec<Self::Hand> {
                handles($open, members, senders)
            }

            #[inline]
            fn send(hand: &mut Self::Hand, value: u64) {
                let sender = hand.0.as_ref().expect("the sender has not retired");
                sender.send(value).expect("the receivers have not been dropped");
            }

            #[inline]
            fn try_recv(hand: &mut Self::Hand) -> Option<u64> {
                let try_recv: fn(&$receiver) -> Option<u64> = $try_recv;
                try_recv(&hand.1)
            }

            fn retire(hand: &mut Self::Hand) {
                hand.0 = None;
            }

            #[inline]
            fn recv(hand: &mut Self::Hand) -> Option<u64> {
                hand.1.recv().ok()
            }
        }
    };
}

channel!(
    [const CAPACITY] Crossbeam<CAPACITY>,
    crossbeam_channel::Sender<u64>,
    crossbeam_channel::Receiver<u64>,
    if CAPACITY == 0 { crossbeam_channel::unbounded() } else { crossbeam_channel::bounded(CAPACITY) },
    |receiver| receiver.try_recv().ok()
);
channel!(
    [] Flume,
    flume::Sender<u64>,
    flume::Receiver<u64>,
    flume::unbounded(),
    |receiver| receiver.try_recv().ok()
);
channel!(
    [] Kanal,
    kanal::Sender<u64>,
    kanal::Receiver<u64>,
    kanal::unbounded(),
    |receiver| receiver.try_recv().ok().flatten()
);

/// The standard library's channel, which has one receiver.
#[derive(Debug)]
pub(super) struct Std;

impl Team for Std {
    type Hand = (Option<mpsc::Sender<u64>>, Option<mpsc::Receiver<u64>>);

    fn open(members: u64, senders: u64) -> Vec<Self::Hand> {
        let (sender, receiver) = mpsc::channel();
        let mut receiver = Some(receiver);
        (0..members)
            .map(|number| {
                let sends = number < senders;
                (
                    sends.then(|| sender.clone()),
                    if sends { None } else { receiver.take() },
                )
            })
            .collect()
    }

    #[inline]
    fn send(hand: &mut Self::Hand, value: u64) {
        let sender = hand.0.as_ref().expect("the sender has not retired");
        sender
            .send(value)
            .expect("the receiver has not been dropped");
    }

    #[inline]
    fn try_recv(hand: &mut Self::Hand) -> Option<u64> {
        hand.1.as_ref()?.try_recv().ok()
    }

    fn retire(hand: &mut Self::Hand) {
        hand.0 = None;
    }

    #[inline]
    fn recv(hand: &mut Self::Hand) -> Option<u64> {
        hand.1.as_ref()?.recv().ok()
    }
}
