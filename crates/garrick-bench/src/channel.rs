//! Queues with many senders and one receiver, seen alike: what scenarios measure them through.

use std::sync::mpsc;

use garrick_steal::queue::{Queue, Receiver, Sender};

/// A queue of numbers, to push to and pop from without waiting.
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
    /// The handle that pushes. Clones push into the same queue.
    type Sender: Clone + Send + 'static;
    /// The handle that pops, on whichever thread.
    type Receiver: Send;

    /// Makes an empty one.
    fn open() -> (Self::Sender, Self::Receiver);
    /// Appends a value; the receiver is there.
    fn push(sender: &Self::Sender, value: u64);
    /// Takes the oldest value, if there is one.
    fn try_pop(receiver: &mut Self::Receiver) -> Option<u64>;
}

/// One whose receiver can sleep.
pub trait Parked: Channel {
    /// Takes the oldest value, parked until there is one, or none can come.
    fn wait_pop(receiver: &mut Self::Receiver) -> Option<u64>;
}

/// One of `garrick_steal`'s queues.
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
        sender.push(value).expect("the receiver is there");
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

/// The standard library's channel.
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
        sender.send(value).expect("the receiver is there");
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
