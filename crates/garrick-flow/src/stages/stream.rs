//! Sources that wait for streams and futures.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use crate::channel::{Line, Ringer, Side};
use crate::{AsyncSender, Cx, Sender, Stage, Wait, Wiring};

/// A source that sends the values of a stream. Created by [`from_stream`].
pub struct FromStream<S: Stream> {
    output: Sender<S::Item>,
    stream: Pin<Box<S>>,
    /// Waker that the stream calls to make this stage take a step.
    waker: Waker,
    /// Number of free slots at which the stage is woken.
    wanted: usize,
}

/// Creates a source that sends the values of `stream`, and ends when the stream ends.
///
/// Each step takes at most one batch of values from the stream. While the channel is full, the
/// stage does not poll the stream. While the stream is pending, the stage rests until the stream
/// wakes it. If the stream panics, the values that it has already yielded are sent, and the source
/// fails.
///
/// # Examples
///
/// In this example, the values of a channel of one graph are the source of another graph:
///
/// ```
/// use garrick_flow::{AsyncReceiver, Graph, stages};
///
/// let (mut first, mut second) = (Graph::new(), Graph::new());
/// let (numbers, between) = first.channel::<u32>(64)?;
/// first.source("numbers", stages::produce(numbers, 0..1000));
///
/// let (again, numbers_in) = second.channel::<u32>(64)?;
/// second.source("again", stages::from_stream(again, AsyncReceiver::from(between)));
/// second.stage("read", stages::consume(numbers_in, |_| ()));
///
/// let (first, second) = (first.start()?, second.start()?);
/// first.join();
/// assert_eq!(second.join().channels()[0].taken, 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_stream<S: Stream>(output: Sender<S::Item>, stream: S) -> FromStream<S> {
    let waker = Ringer::waker(output.shared_line(), Side::Sender);
    FromStream {
        output,
        stream: Box::pin(stream),
        waker,
        wanted: 1,
    }
}

impl<S: Stream> FromStream<S> {
    /// Sets how many free slots the stage waits for when the channel is full. The default is 1.
    #[must_use]
    pub fn wait_for(mut self, slots: usize) -> Self {
        self.wanted = slots;
        self
    }

    /// Sends the values that the stream has ready, but at most a batch. Returns the number of
    /// values sent, and the state of the stream: `Ready(false)` if the stream has ended, `Pending`
    /// if the stage must wait for the stream, and otherwise `Ready(true)`.
    fn send(&mut self) -> (usize, Poll<bool>) {
        let mut cx = Context::from_waker(&self.waker);
        let (stream, batch) = (&mut self.stream, self.output.batch());
        self.output.send_written(batch, |poke| {
            let mut goes_on = Poll::Ready(true);
            while goes_on == Poll::Ready(true) && poke.remaining() > 0 {
                goes_on = stream.as_mut().poll_next(&mut cx).map(|value| {
                    let pushed = value.map(|value| poke.push(value));
                    pushed.is_some()
                });
            }
            goes_on
        })
    }
}

impl<S> Stage for FromStream<S>
where
    S: Stream<Item: Send> + Send + 'static,
{
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        if self.output.is_closed() {
            return Wait::done();
        }
        // Answer the bell first: a ring from now on causes another step.
        self.output.line().answer(Side::Sender);
        let (count, goes_on) = self.send();
        match goes_on {
            Poll::Ready(false) => Wait::done(),
            Poll::Ready(true) => super::next(count, Wait::free(&self.output, self.wanted)),
            // Waits for a free slot as well, so that the wait ends if the receiver is gone. There
            // is one already: a stage whose channel is full does not poll the stream.
            Poll::Pending => {
                Wait::rung(self.output.line(), Side::Sender).and(Wait::free(&self.output, 1))
            }
        }
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.output);
    }
}

/// A source that runs a future. Created by [`from_async`].
pub struct FromAsync<F> {
    /// The future, which owns the sender.
    future: Pin<Box<F>>,
    /// The channel to which the future sends.
    line: Arc<Line>,
    /// Waker that the future calls to make this stage take a step.
    waker: Waker,
}

/// Creates a source that runs a future. `source` is called once, with `output` as an
/// [`AsyncSender`], and returns the future.
///
/// The future sends values, and may await any other future. The source ends when the future is
/// ready. If the receiver is gone, the future learns of it by its next
/// [`send`](AsyncSender::send). While the future awaits something else, the source goes on.
///
/// # Examples
///
/// ```
/// use garrick_flow::{AsyncSender, Graph, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel::<u32>(16)?;
/// let source = stages::from_async(numbers, |mut numbers: AsyncSender<u32>| async move {
///     let mut next = 0;
///     while next < 100 && numbers.send(next).await.is_ok() {
///         next += 1;
///     }
/// });
/// graph.source("count", source);
/// graph.stage("read", stages::consume(numbers_in, |_| ()));
/// assert_eq!(graph.start()?.join().channels()[0].taken, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_async<T, F, S>(output: Sender<T>, source: S) -> FromAsync<F>
where
    S: FnOnce(AsyncSender<T>) -> F,
    F: Future<Output = ()>,
{
    let line = Arc::clone(output.shared_line());
    let waker = Ringer::waker(&line, Side::Sender);
    FromAsync {
        future: Box::pin(source(output.into())),
        line,
        waker,
    }
}

impl<F> Stage for FromAsync<F>
where
    F: Future<Output = ()> + Send + 'static,
{
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        self.line.answer(Side::Sender);
        let mut cx = Context::from_waker(&self.waker);
        match self.future.as_mut().poll(&mut cx) {
            Poll::Ready(()) => Wait::done(),
            Poll::Pending => Wait::rung(&self.line, Side::Sender),
        }
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has_end(&self.line, Side::Sender);
    }
}

impl<S: Stream> fmt::Debug for FromStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromStream")
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for FromAsync<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromAsync")
            .field("output", &self.line)
            .finish_non_exhaustive()
    }
}
