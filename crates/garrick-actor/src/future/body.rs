//! The task of an async actor. Each turn of the task polls the actor's future.

use std::any::type_name;
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::task::{self, Poll, Waker};

use garrick_core::bell::Call;
use garrick_core::lend::Lender;
use garrick_sched::{Address, Flow, Nanos, Task, Timer, Turn, count_left_letters};

use super::gate;
use super::hand::Hand;
use super::incoming::Incoming;
use super::shared::{News, Receives, Ringer, Shared, Word};
use crate::extras::named;
use crate::model::next::Next;
use crate::quiet;

/// A type that provides the name of an async actor for reports.
pub trait Named: 'static {
    /// True if the actor belongs to a library and not to the program.
    const INTERNAL: bool = false;

    fn name() -> &'static str;
}

/// Adds messages to the queue from which the future of the actor receives its messages. If a part
/// of the future has its own waker and is waiting for a message, wakes this part.
#[inline(never)]
fn fill_queue<M: Send + 'static>(
    shared: &Shared<M>,
    arrived: &mut VecDeque<M>,
    message: Option<M>,
    own: &Waker,
) {
    let mut inner = shared.inner();
    inner.queue.append(arrived);
    if let Some(message) = message {
        inner.queue.push(message);
    }
    let due = inner.hungry || inner.closed || !inner.queue.is_empty();
    inner.hungry = false;
    // The whole future is about to be polled, so the actor's own waker need not be called.
    let receiver = inner.receiver.take_if(|waker| due && !waker.will_wake(own));
    let is_awaited = inner.is_awaited;
    if receiver.is_some() {
        inner.is_awaited = false;
    }
    drop(inner);
    if !is_awaited {
        quiet::drop(receiver);
    } else if let Some(waker) = receiver {
        waker.wake();
        // This waker is inside the future, so it has woken the actor as well.
        shared.bell.answer();
    }
}

type Make<D, M, Fut> = fn(D, Incoming<M>) -> Fut;

/// The state of an actor's future.
enum Life<D, M: Send + 'static, Fut> {
    /// Data from which the future is created when the actor starts, and the function that creates
    /// the future.
    ///
    /// The data is boxed, because unboxed data would occupy memory for the lifetime of the actor.
    Planned(Box<D>, Make<D, M, Fut>),
    /// The future exists.
    Lives(Pin<Box<Fut>>),
    /// There is no future, because it has completed or panicked, or because the actor could not be
    /// spawned.
    Over,
}

impl<D, M: Send + 'static, Fut: Future<Output = ()>> Life<D, M, Fut> {
    /// Polls the future. Returns that it is ready if there is none.
    #[inline(always)]
    fn poll(&mut self, waker: &Waker) -> Poll<()> {
        match self {
            Self::Lives(future) => future.as_mut().poll(&mut task::Context::from_waker(waker)),
            Self::Planned(..) | Self::Over => Poll::Ready(()),
        }
    }

    /// Polls the future, and lends it the hand, to which `message` is added. Also returns whether
    /// the future waits for a message, and whether it waits although a message has arrived.
    #[inline(always)]
    fn poll_with(
        &mut self,
        hand: &mut Lender<Hand<M>>,
        message: Option<M>,
        waker: &Waker,
    ) -> (Poll<()>, bool, bool) {
        hand.get().begin_poll(message);
        let polled = hand.lend(|| self.poll(waker));
        let hand = hand.get();
        (polled, hand.wants, hand.is_hungry())
    }
}

/// The events that the future is waiting for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// The future is polled after the next message or the next wake.
    ForMessage,
    /// The future is polled after the next wake.
    ForRing,
    /// The future waits for nothing and must be polled. Before the poll, the task may gather more
    /// messages that have already arrived.
    Over,
}

/// The storage through which the future receives messages.
enum Inbound<M: Send + 'static> {
    /// The future receives messages from a queue in [`Shared`], which can be read on any thread.
    /// This variant contains only the messages that have arrived since the last poll. They are
    /// moved to the queue in [`Shared`] before the next poll.
    Queue(VecDeque<M>),
    /// The messages for async handlers (a [`Hand`]). The task lends them to the future during a
    /// poll.
    Hand(Lender<Hand<M>>),
}

/// The scheduler's task for an async actor. The task polls the actor's future.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct Body<M: Send + 'static, D, Fut, N> {
    life: Life<D, M, Fut>,
    pause: Pause,
    inbound: Inbound<M>,
    shared: Arc<Shared<M>>,
    /// Waker of the actor.
    waker: Waker,
    /// The `Arc` inside `waker`. Its reference count tells how many clones of `waker` exist.
    ringer: Arc<Ringer<M>>,
    /// True if there was no other clone of `waker` at the end of the previous poll. In this case,
    /// there is no other clone until the next poll, because only a poll can create one.
    was_alone: bool,
    /// Number of messages and notifications that have arrived since it became necessary to poll the
    /// future.
    gathered: usize,
    /// Maximum number of messages and notifications that the task gathers before a poll, as long as
    /// more of them are waiting. 0 for a supervised actor, because a failure of the poll would lose
    /// all gathered messages.
    gathers: usize,
    /// The timer that wakes the actor when a sleep is over, and the address to which the timer
    /// sends its message. `None` until the future sleeps for the first time.
    alarm: Option<(Address<()>, Timer)>,
    /// Time at which the timer in `alarm` fires, if the timer is set.
    armed: Option<Nanos>,
    /// Buffer for wakers that must be woken. Empty between polls.
    woken: Vec<Waker>,
    /// True if messages that the actor never receives count as dead letters.
    has_letters: bool,
    name: PhantomData<fn(N)>,
}

/// A guard that exists during a poll. If the poll panics, the guard drops the future.
struct Polling<'a, M: Send + 'static, D, Fut, N: Named>(&'a mut Body<M, D, Fut, N>);

impl<M: Send + 'static, D, Fut, N: Named> Drop for Polling<'_, M, D, Fut, N> {
    #[cold]
    fn drop(&mut self) {
        self.0.shared.abandon();
        quiet::drop(mem::replace(&mut self.0.life, Life::Over));
        named::leave(N::name(), self.0.shared.path.as_ref());
    }
}

impl<M, D, Fut, N> Body<M, D, Fut, N>
where
    M: Send + 'static,
    D: 'static,
    Fut: Future<Output = ()> + 'static,
    N: Named,
{
    pub(super) fn new(shared: Arc<Shared<M>>, data: D, make: Make<D, M, Fut>) -> Self {
        let ringer = Arc::new(Ringer(shared.clone()));
        let inbound = match shared.receives {
            Receives::AsItLikes => Inbound::Queue(VecDeque::new()),
            Receives::ByHand => Inbound::Hand(Lender::new(Hand::of(shared.take_queue()))),
        };
        Self {
            life: Life::Planned(Box::new(data), make),
            pause: Pause::ForMessage,
            inbound,
            waker: Waker::from(ringer.clone()),
            ringer,
            was_alone: false,
            gathers: if shared.heir.is_none() {
                shared.receives.share()
            } else {
                0
            },
            shared,
            gathered: 0,
            alarm: None,
            armed: None,
            woken: Vec::new(),
            has_letters: !N::INTERNAL,
            name: PhantomData,
        }
    }

    /// Returns the data from which the future is created, or `None` if the future has already been
    /// created.
    pub(super) fn take_data(&mut self) -> Option<D> {
        match mem::replace(&mut self.life, Life::Over) {
            Life::Planned(data, _) => Some(*data),
            _ => None,
        }
    }

    fn is_planned(&self) -> bool {
        matches!(self.life, Life::Planned(..))
    }

    /// Handles a wake, or the first message to the task. Creates the future if it has not been
    /// created.
    #[inline(never)]
    fn begin(&mut self, turn: &Turn<'_, Word<M>>) {
        if self.is_planned()
            && let Life::Planned(data, make) = mem::replace(&mut self.life, Life::Over)
        {
            self.shared.open(turn.address());
            let hand = match &self.inbound {
                Inbound::Queue(_) => None,
                Inbound::Hand(hand) => Some(hand.borrower()),
            };
            let mailbox = Incoming::new(self.shared.clone(), hand);
            let future = Box::pin(make(*data, mailbox));
            self.shared.knows_future(&*future);
            self.life = Life::Lives(future);
        }
        if self.shared.bell.arrived() {
            self.pause = Pause::Over;
        }
    }

    /// Records that a message has arrived or the mailbox has closed. If the future is waiting for a
    /// message, it must now be polled.
    fn note_arrival(&mut self) {
        if self.pause == Pause::ForMessage {
            self.pause = Pause::Over;
        }
    }

    /// Handles the notification that the last address of the actor was dropped. `opening` is the
    /// sequence number of the period in which this address existed. Returns false if the actor must
    /// stop.
    #[inline(never)]
    fn hear_closed(&mut self, opening: u64) -> bool {
        if self.is_planned() {
            // The turn that was to create the actor was undone.
            return false;
        }
        // An earlier opening may have been followed by another one. The lock is held until the
        // mailbox is closed, so that no other opening begins before that.
        let known = self.shared.entry();
        let is_last = known.1 == opening;
        if is_last {
            self.shared.inner().closed = true;
        }
        drop(known);
        if is_last {
            if let Inbound::Hand(hand) = &mut self.inbound {
                hand.get().was_closed = true;
            }
            self.note_arrival();
        }
        true
    }

    /// Stores a message until the future is polled.
    #[inline]
    fn keep(&mut self, message: Option<M>) {
        let Some(message) = message else {
            return;
        };
        match &mut self.inbound {
            Inbound::Queue(arrived) => arrived.push_back(message),
            Inbound::Hand(hand) => hand.get().push(message),
        }
    }

    /// Returns true if the actor cannot be woken by other threads during a poll.
    #[inline]
    fn is_alone(&self) -> bool {
        // The waker of the body, and the ringer beside it. The timing wheel rings for sleeps.
        let is_alone =
            Arc::strong_count(&self.ringer) == 2 && self.shared.known_sleepers().is_none();
        // Pairs with the release in the drop of the last other waker, so all of its earlier rings
        // are visible.
        fence(Ordering::Acquire);
        is_alone
    }

    /// Polls the future once. The future can receive the messages that have already arrived,
    /// followed by `message`.
    #[inline]
    fn poll(&mut self, message: Option<M>, turn: &Turn<'_, Word<M>>) -> Next {
        if !matches!(self.life, Life::Lives(_)) {
            self.keep(message);
            return Next::Continue;
        }
        if self.was_alone {
            self.shared.bell.begin_alone();
        } else {
            self.begin_with_others(turn);
        }
        let polling = Polling(self);
        let Self {
            life,
            inbound,
            shared,
            waker,
            ..
        } = &mut *polling.0;
        let (polled, wants, hungry) = match inbound {
            Inbound::Hand(hand) => life.poll_with(hand, message, waker),
            Inbound::Queue(arrived) => {
                fill_queue(shared, arrived, message, waker);
                let polled = life.poll(waker);
                let inner = shared.inner();
                (polled, inner.is_awaited, inner.hungry)
            }
        };
        mem::forget(polling);
        self.end_poll(polled, wants, hungry, turn)
    }

    /// Polls the future like [`Body::poll`], after a message has arrived for handlers that wait for
    /// it, while no other thread can wake the actor. This is the usual case.
    #[inline]
    fn poll_alone(&mut self, message: M, turn: &Turn<'_, Word<M>>) -> Next {
        self.shared.bell.begin_alone();
        let polling = Polling(self);
        let Self {
            life,
            inbound: Inbound::Hand(hand),
            waker,
            ..
        } = &mut *polling.0
        else {
            unreachable!("the caller has looked");
        };
        let (polled, wants, hungry) = life.poll_with(hand, Some(message), waker);
        mem::forget(polling);
        self.end_poll(polled, wants, hungry, turn)
    }

    /// Ends a poll of the future. `wants` is true if the future waits for a message, and `hungry`
    /// if it waits although a message has arrived.
    #[inline(always)]
    fn end_poll(
        &mut self,
        polled: Poll<()>,
        wants: bool,
        hungry: bool,
        turn: &Turn<'_, Word<M>>,
    ) -> Next {
        if polled.is_ready() {
            self.life = Life::Over;
            return self.finish();
        }
        self.pause = if wants {
            Pause::ForMessage
        } else {
            Pause::ForRing
        };
        self.was_alone = self.is_alone();
        if self.shared.has_wishes() || !self.was_alone {
            return self.rest_with_others(hungry, turn);
        }
        if self.shared.bell.end_alone(hungry) == Call::Ring {
            self.shared.tell(Word::ring(&self.shared));
        }
        Next::Continue
    }

    /// Begins a poll during which other threads may wake the actor. If the sleep of a future inside
    /// the actor is over, wakes this future.
    #[inline(never)]
    fn begin_with_others(&mut self, turn: &Turn<'_, Word<M>>) {
        self.shared.bell.begin();
        let Some(sleepers) = self.shared.known_sleepers() else {
            return;
        };
        if self.armed.is_some() || sleepers.any() {
            // An alarm that has rung is used up, even if its sleep was cancelled. The next sleep
            // needs a new alarm.
            let now = turn.now();
            if self.armed.is_some_and(|armed| armed <= now) {
                self.armed = None;
            }
            sleepers.take_due(now, &mut self.woken);
        }
        if self.woken.is_empty() {
            return;
        }
        for waker in self.woken.drain(..) {
            waker.wake();
        }
        // These wakers are inside the future, so they have woken the actor as well.
        self.shared.bell.answer();
    }

    /// Ends a poll. During the poll, other threads may have woken the actor, or the future may have
    /// requested something for the end of the turn.
    #[inline(never)]
    fn rest_with_others(&mut self, hungry: bool, turn: &Turn<'_, Word<M>>) -> Next {
        let (end, born) = self.shared.take_wishes();
        if end == Some(Next::Fail) {
            self.shared.abandon();
            named::leave(N::name(), self.shared.path.as_ref());
            return Next::Fail;
        }
        if end.is_none() {
            born.into_iter().for_each(|birth| birth(turn));
        }
        if self.shared.bell.end(hungry) == Call::Ring {
            self.shared.tell(Word::ring(&self.shared));
        }
        self.set_alarm(turn);
        if end == Some(Next::Undo) {
            // The undone turn does not set the alarm.
            self.armed = None;
        }
        end.unwrap_or(Next::Continue)
    }

    /// Sets a timer that wakes the task when the first of the future's sleeps is over.
    fn set_alarm(&mut self, turn: &Turn<'_, Word<M>>) {
        let Some(sleepers) = self.shared.known_sleepers() else {
            return;
        };
        let Some(deadline) = sleepers.settle(|| turn.now()) else {
            return;
        };
        if self.armed.is_none_or(|armed| deadline < armed) {
            let (alarm, timer) = self
                .alarm
                .get_or_insert_with(|| (gate::alarm(self.shared.clone()), Timer::repeating()));
            // A door accepts every message.
            let _ = turn.set_timer(timer, deadline, alarm, ());
            self.armed = Some(deadline);
        }
    }

    /// Handles the completion of the future. If a wake has been sent to the task and has not
    /// arrived yet, the task waits for the wake before it stops. If the task stopped earlier, the
    /// wake would be a dead letter.
    #[inline(never)]
    fn finish(&mut self) -> Next {
        let next = self.linger();
        self.shared.bell.begin();
        next
    }

    /// Handles a message for the actor or a notification for the task.
    #[inline]
    pub(super) fn hear(&mut self, word: Word<M>, turn: &Turn<'_, Word<M>>) -> Next {
        match word {
            Word::Message(message) => self.hear_message(message, turn),
            Word::News(news) => self.hear_news(news, turn),
        }
    }

    #[inline]
    fn hear_message(&mut self, message: M, turn: &Turn<'_, Word<M>>) -> Next {
        // No other word arrives before the first one, unless the turn that created the actor was
        // undone. A holder of an address from that turn finds the actor alive, like any other
        // actor.
        if self.is_planned() {
            self.begin(turn);
        }
        if self.was_alone
            && self.gathers <= 1
            && self.pause == Pause::ForMessage
            && matches!(
                (&self.life, &self.inbound),
                (Life::Lives(_), Inbound::Hand(_))
            )
        {
            return self.poll_alone(message, turn);
        }
        self.note_arrival();
        self.go_on(Some(message), turn)
    }

    #[inline(never)]
    fn hear_news(&mut self, news: News<M>, turn: &Turn<'_, Word<M>>) -> Next {
        match news {
            News::Start => self.begin(turn),
            News::Ring(note) => {
                if note.read(&self.shared) {
                    self.begin(turn);
                }
            }
            News::Closed(note) => {
                if let Some(opening) = note.read(&self.shared)
                    && !self.hear_closed(opening)
                {
                    return Next::Stop;
                }
            }
            // An action needs no poll. But earlier words may have made a poll necessary.
            News::Birth(errand) => errand.run(&self.shared, turn),
        }
        self.go_on(None, turn)
    }

    /// Polls the future if necessary. The future receives `message` after the messages that have
    /// already arrived.
    #[inline(never)]
    fn go_on(&mut self, message: Option<M>, turn: &Turn<'_, Word<M>>) -> Next {
        if matches!(self.life, Life::Over) {
            self.keep(message);
            return self.linger();
        }
        if self.pause != Pause::Over || self.gathers > 1 && self.goes_on_gathering(turn) {
            self.keep(message);
            return Next::Continue;
        }
        self.poll(message, turn)
    }

    /// Counts a message or notification that has arrived. Returns true if the poll can wait for
    /// more of them.
    fn goes_on_gathering(&mut self, turn: &Turn<'_, Word<M>>) -> bool {
        self.gathered += 1;
        let goes_on = self.gathered < self.gathers && turn.has_more();
        if !goes_on {
            self.gathered = 0;
        }
        goes_on
    }
}

impl<M, D, Fut, N> Task for Body<M, D, Fut, N>
where
    M: Send + 'static,
    D: 'static,
    Fut: Future<Output = ()> + 'static,
    N: Named,
{
    type Message = Word<M>;

    fn receive(&mut self, word: Word<M>, turn: &Turn<'_, Word<M>>) -> Flow {
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(N::name(), true, turn);
        #[cfg(feature = "tracing")]
        let _named = self.shared.path.as_ref().map(crate::span::named);
        self.hear(word, turn).into()
    }

    const INTERNAL: bool = N::INTERNAL;

    fn is_letter(word: &Word<M>) -> bool {
        !N::INTERNAL && word.is_letter()
    }

    fn name() -> &'static str {
        N::name()
    }

    fn label(&self) -> Option<String> {
        self.shared.path.as_ref().map(ToString::to_string)
    }
}

impl<M: Send + 'static, D, Fut, N> Body<M, D, Fut, N> {
    /// Returns the next step of a task whose future has completed. The task stops, unless a wake is
    /// on its way to the task.
    fn linger(&self) -> Next {
        if self.shared.bell.is_ringing() {
            Next::Continue
        } else {
            Next::Stop
        }
    }
}

impl<M: Send + 'static, D, Fut, N> Drop for Body<M, D, Fut, N> {
    fn drop(&mut self) {
        // The future may contain messages with replies. Even if its destructor panics, threads that
        // are waiting for an answer must not wait forever.
        quiet::drop(mem::replace(&mut self.life, Life::Over));
        if let Some((_, timer)) = self.alarm.take() {
            timer.cancel();
        }
        let arrived = match &mut self.inbound {
            Inbound::Queue(arrived) => mem::take(arrived),
            Inbound::Hand(hand) => hand.get().take_all(),
        };
        let left = self.shared.close(arrived);
        if self.has_letters {
            count_left_letters(type_name::<M>, left as u64);
        }
    }
}
