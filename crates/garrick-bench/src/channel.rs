//! Queues with many senders and one receiver, behind one trait for scenarios.

use std::sync::mpsc;

use garrick_steal::queue::{Queue, Receiver, Sender};

/// A queue of numbers with many senders and one receiver. Neither pushing nor popping ever waits.
///
/// # Examples
/// ```
/// use garrick_bench::{Channel, Std};
///
/// fn relay<C: Channel>() -> Option<u64> {
///     let (sender, mut receiver) = C::open();
///     C::push(&sender, 7);
///     C::try_pop(&mut receiver)
/// }
///
/// assert_eq!(relay::<Std>(), Some(7));
/// ```
pub trait Channel: 'static {
    /// The sending handle. Its clones push into the same queue.
    type Sender: Clone + Send + 'static;
    /// The receiving handle. It can be moved to any thread.
    type Receiver: Send;

    /// Creates an empty queue.
    fn open() -> (Self::Sender, Self::Receiver);
    /// Appends a value to the queue.
    ///
    /// May panic if the receiver has been dropped.
    fn push(sender: &Self::Sender, value: u64);
    /// Takes the oldest value. Returns `None` if the queue is empty.
    fn try_pop(receiver: &mut Self::Receiver) -> Option<u64>;
}

/// A [`Channel`] whose receiver can also wait for a value. A waiting receiver parks its thread.
pub trait Parked: Channel {
    /// Takes the oldest value. If the queue is empty, parks the thread until a value arrives.
    /// Returns `None` if the queue is empty and all senders have been dropped.
    fn wait_pop(receiver: &mut Self::Receiver) -> Option<u64>;
}

/// The queue `Q` of the crate `garrick_steal`, used as a [`Channel`].
#[derive(Debug)]
pub struct Ours<Q>(Q);

impl<Q: Queue + 'static> Channel for Ours<Q> {
    type Sender = Q::Sender<u64>;
    type Receiver = Q::Receiver<u64>;

    fn open() -> (Self::Sender, Self::Receiver) {
        Q::channel()
    }

    #[inline]
    fn push(sender: &Self::Sender, value: u64) {
        sender
            .push(value)
            .expect("the receiver has not been dropped");
    }

    #[inline]
    fn try_pop(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.try_pop()
    }
}

impl<Q: Queue + 'static> Parked for Ours<Q> {
    #[inline]
    fn wait_pop(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.blocking_pop()
    }
}

/// The channel [`std::sync::mpsc`] of the standard library, used as a [`Channel`].
#[derive(Debug)]
pub struct Std;

impl Channel for Std {
    type Sender = mpsc::Sender<u64>;
    type Receiver = mpsc::Receiver<u64>;

    fn open() -> (Self::Sender, Self::Receiver) {
        mpsc::channel()
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

impl Parked for Std {
    #[inline]
    fn wait_pop(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().ok()
    }
}
