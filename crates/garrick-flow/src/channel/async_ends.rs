//! Channel ends for callbacks, and for futures in any executor.
//!
//! An end that is used outside the graph has no stage that could be woken. The end stores a waker
//! in its channel. Then the end registers to be woken, with the id [`OUTSIDE`], which belongs to no
//! stage. The stage at the other end calls the waker when it has sent or taken enough values. So an
//! end outside the graph waits without polling, as stages do.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_core::Stream;

use super::line::{Line, Met, OUTSIDE, Side};
use super::{Receiver, Sender};

/// A [`Sender`] with async methods, for code outside the graph. The `AsyncSender` dereferences to
/// the sender, and adds methods that wait for a free slot.
///
/// # Examples
///
/// ```
/// use garrick_flow::{AsyncSender, Graph, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel::<u32>(4)?;
/// graph.stage("read", stages::consume(numbers_in, |_| ()));
/// let running = graph.start()?;
///
/// // Any executor can be used. This one is very small.
/// let mut numbers = AsyncSender::from(numbers);
/// pollster::block_on(async move {
///     for number in 0..100 {
///         numbers.send(number).await.expect("the reader is there");
///     }
/// });
/// assert_eq!(running.join().channels()[0].taken, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AsyncSender<T> {
    sender: Sender<T>,
}

/// A [`Receiver`] with async methods, for code outside the graph. The `AsyncReceiver` dereferences
/// to the receiver, and adds methods that wait for values. An `AsyncReceiver` is also a [`Stream`].
///
/// # Examples
///
/// ```
/// use garrick_flow::{AsyncReceiver, Graph, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel::<u32>(4)?;
/// graph.source("numbers", stages::produce(numbers, 0..100));
/// let running = graph.start()?;
///
/// let mut numbers = AsyncReceiver::from(numbers_in);
/// let sum = pollster::block_on(async move {
///     let mut sum = 0;
///     while let Some(number) = numbers.recv().await {
///         sum += number;
///     }
///     sum
/// });
/// assert_eq!(sum, 4950);
/// # running.join();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AsyncReceiver<T> {
    receiver: Receiver<T>,
}

/// The error for a value that cannot be sent because the receiver is gone. The error contains the
/// value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// A waker that calls a closure once.
struct Call<F>(Mutex<Option<F>>);

impl<T> AsyncSender<T> {
    /// Waits for a free slot, then sends `value`.
    ///
    /// # Errors
    ///
    /// Returns [`SendError`] with the value if the receiver is gone.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, nothing is sent, and the value is dropped. To
    /// keep the value in that case, await [`ready`](Self::ready) first, then send the value with
    /// [`try_push`](Sender::try_push).
    pub async fn send(&mut self, value: T) -> Result<(), SendError<T>> {
        if !self.ready().await {
            return Err(SendError(value));
        }
        let pushed = self.sender.try_push(value);
        pushed.map_err(|full| SendError(full.0))
    }

    /// Waits until a slot is free or the receiver is gone. Returns true if a value can be sent, and
    /// false if the receiver is gone.
    ///
    /// # Cancel safety
    ///
    /// The future changes nothing, so it can be dropped at any time.
    pub async fn ready(&mut self) -> bool {
        poll_fn(|cx| self.poll_ready(cx)).await
    }

    /// Polls for a free slot. Use this method instead of [`ready`](Self::ready) in a future that
    /// you write by hand.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        poll(self.sender.line(), Side::Sender, cx)
    }

    /// Calls `call` once, when a slot is free or the receiver is gone.
    ///
    /// `call` runs either immediately or on a thread of the graph, so it should return quickly. If
    /// an earlier callback has not been called yet, `call` replaces it. Sometimes `call` runs
    /// although no slot is free. So check [`free`](Sender::free) after `call` has run. If no slot
    /// is free, call `on_ready` again. If `call` panics, the panic is caught, and the stage that
    /// called it continues.
    ///
    /// Use this method to send values from an actor to a graph. The actor keeps the values for
    /// which no slot is free, and passes a `call` that sends the actor a message. When the message
    /// arrives, the actor tries to send the values again.
    pub fn on_ready(&mut self, call: impl FnOnce() + Send + 'static) {
        call_when_ready(self.sender.line(), Side::Sender, call);
    }

    /// Converts the async sender into a plain sender.
    pub fn into_inner(self) -> Sender<T> {
        self.sender
    }
}

impl<T> AsyncReceiver<T> {
    /// Takes the oldest value, and waits if there is none yet. Returns `None` if the sender is gone
    /// and all its values have been taken.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, no value is taken.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for a value. Use this method instead of [`recv`](Self::recv) in a future that you
    /// write by hand.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_ready(cx).map(|_| self.receiver.try_pop())
    }

    /// Waits until there is a value or the sender is gone. Returns true if there is a value, and
    /// false if the sender is gone and all its values have been taken. Call this method before you
    /// take a batch of values.
    ///
    /// # Cancel safety
    ///
    /// The future changes nothing, so it can be dropped at any time.
    pub async fn ready(&mut self) -> bool {
        poll_fn(|cx| self.poll_ready(cx)).await
    }

    /// Polls for a value without taking it. Use this method instead of [`ready`](Self::ready) in a
    /// future that you write by hand.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        poll(self.receiver.line(), Side::Receiver, cx)
    }

    /// Calls `call` once, when there is a value or the sender is gone.
    ///
    /// `call` runs either immediately or on a thread of the graph, so it should return quickly. If
    /// an earlier callback has not been called yet, `call` replaces it. Sometimes `call` runs
    /// although there is no value. So check [`readable`](Receiver::readable) after `call` has run.
    /// If there is no value, call `on_ready` again. If `call` panics, the panic is caught, and the
    /// stage that called it continues.
    pub fn on_ready(&mut self, call: impl FnOnce() + Send + 'static) {
        call_when_ready(self.receiver.line(), Side::Receiver, call);
    }

    /// Converts the async receiver into a plain receiver.
    pub fn into_inner(self) -> Receiver<T> {
        self.receiver
    }
}

/// Returns `Ready(true)` if the end on `side` has a value to take or a free slot, and
/// `Ready(false)` if it will never have either again. Returns `Pending` in all other cases.
fn look(line: &Line, side: Side) -> Poll<bool> {
    match line.look(side, 1) {
        Met::Yes => Poll::Ready(true),
        Met::Over => Poll::Ready(false),
        Met::No => Poll::Pending,
    }
}

fn poll(line: &Line, side: Side, cx: &Context<'_>) -> Poll<bool> {
    if let ready @ Poll::Ready(_) = look(line, side) {
        return ready;
    }
    line.arm_outside(side, cx.waker().clone());
    // Check again: if the other end moved before the waker was registered, it did not find the
    // waker.
    look(line, side)
}

fn call_when_ready(line: &Line, side: Side, call: impl FnOnce() + Send + 'static) {
    let waker = Waker::from(Arc::new(Call(Mutex::new(Some(call)))));
    line.arm_outside(side, waker);
    if look(line, side).is_ready() {
        // The other end may have noticed that as well. The side that takes the waker calls it.
        line.wake(side, OUTSIDE);
    }
}

impl<F: FnOnce() + Send + 'static> Wake for Call<F> {
    fn wake(self: Arc<Self>) {
        let call = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(call) = call {
            call();
        }
    }
}

impl<T> Stream for AsyncReceiver<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_recv(cx)
    }
}

// The ends keep their values on the heap, and pin nothing.
impl<T> Unpin for AsyncReceiver<T> {}

impl<T> From<Sender<T>> for AsyncSender<T> {
    fn from(sender: Sender<T>) -> Self {
        Self { sender }
    }
}

impl<T> From<Receiver<T>> for AsyncReceiver<T> {
    fn from(receiver: Receiver<T>) -> Self {
        Self { receiver }
    }
}

impl<T> Deref for AsyncSender<T> {
    type Target = Sender<T>;

    fn deref(&self) -> &Sender<T> {
        &self.sender
    }
}

impl<T> DerefMut for AsyncSender<T> {
    fn deref_mut(&mut self) -> &mut Sender<T> {
        &mut self.sender
    }
}

impl<T> Deref for AsyncReceiver<T> {
    type Target = Receiver<T>;

    fn deref(&self) -> &Receiver<T> {
        &self.receiver
    }
}

impl<T> DerefMut for AsyncReceiver<T> {
    fn deref_mut(&mut self) -> &mut Receiver<T> {
        &mut self.receiver
    }
}

impl<T> fmt::Debug for AsyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncSender").field(&self.sender).finish()
    }
}

impl<T> fmt::Debug for AsyncReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncReceiver")
            .field(&self.receiver)
            .finish()
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = std::any::type_name::<T>();
        write!(
            f,
            "the {message} was not sent, because the receiver is gone"
        )
    }
}

impl<T> Error for SendError<T> {}
