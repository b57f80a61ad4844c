//! An async actor as the scheduler sees it: a task whose turns are the polls of one future.

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
use garrick_sched::{Address, Flow, Nanos, Task, Timer, Turn, count_dead_letters};

use super::gate;
use super::hand::Hand;
use super::incoming::Incoming;
use super::shared::{News, Receives, Ringer, Shared, Word};
use crate::model::next::Next;
use crate::quiet;

/// Under which name an actor is reported.
pub(super) trait Named: 'static {
    fn name() -> &'static str;
}

/// Puts messages into the queue of the shared part, and wakes who waits for them there, if that is not the actor's own waker.
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
    // The whole future is about to be polled, so its own waker has nothing to do.
    let receiver = inner.receiver.take_if(|waker| due && !waker.will_wake(own));
    drop(inner);
    if let Some(waker) = receiver {
        waker.wake();
        // It is inside of the future, so it has woken the actor as well.
        shared.bell.answer();
    }
}

type Make<D, M, Fut> = fn(D, Incoming<M>) -> Fut;

/// A poll under way. Dropped by one that panics, which drops the future.
struct Polling<'a, D, M: Send + 'static, Fut> {
    life: &'a mut Life<D, M, Fut>,
    shared: &'a Shared<M>,
}

impl<D, M: Send + 'static, Fut> Drop for Polling<'_, D, M, Fut> {
    fn drop(&mut self) {
        self.shared.abandon();
        *self.life = Life::Over;
    }
}

/// Where an actor is between its making and its end.
enum Life<D, M: Send + 'static, Fut> {
    /// What the future is made of when the actor starts, and how. Boxed, because it would take its place for as long as the actor
    /// lives.
    Planned(Box<D>, Make<D, M, Fut>),
    /// The future is there.
    Lives(Pin<Box<Fut>>),
    /// The future is done.
    Over,
}

/// Reasons for the next poll.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// A message, or a ring.
    ForMessage,
    /// A ring.
    ForRing,
    /// One is there already, and the body gathers what has come besides.
    Over,
}

/// The way of messages to the future.
enum Inbound<M: Send + 'static> {
    /// By the queue of the shared part, which any thread may read. What has come since the last poll waits here.
    Queue(VecDeque<M>),
    /// From hand to hand.
    Hand(Lender<Hand<M>>),
}

/// See the module.
pub(super) struct Body<M: Send + 'static, D, Fut, N> {
    life: Life<D, M, Fut>,
    pause: Pause,
    inbound: Inbound<M>,
    shared: Arc<Shared<M>>,
    /// Wakes the actor.
    waker: Waker,
    /// Counts who has that waker.
    ringer: Arc<Ringer<M>>,
    /// True if nobody else had it at the end of the last poll; so nobody has got it since.
    was_alone: bool,
    /// Words that have come since there is a reason for a poll.
    gathered: usize,
    /// How many of them are worth waiting for, as long as more are there. None for one that is supervised: what it was given at
    /// once it would lose at once.
    gathers: usize,
    /// What the timing wheel is told to send to, once anybody has slept in here.
    alarm: Option<(Address<()>, Timer)>,
    /// The earliest time at which it will.
    armed: Option<Nanos>,
    /// Those to be woken, empty in between.
    woken: Vec<Waker>,
    name: PhantomData<fn(N)>,
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
            name: PhantomData,
        }
    }

    /// What it was to be made of, if it has not begun.
    pub(super) fn take_data(&mut self) -> Option<D> {
        match mem::replace(&mut self.life, Life::Over) {
            Life::Planned(data, _) => Some(*data),
            _ => None,
        }
    }

    fn is_planned(&self) -> bool {
        matches!(self.life, Life::Planned(..))
    }

    /// A ring, or the first word: the future begins, if it has not.
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

    /// Something has come that the future may wait for at its mailbox.
    fn note_arrival(&mut self) {
        if self.pause == Pause::ForMessage {
            self.pause = Pause::Over;
        }
    }

    /// The last address of an opening is gone; false if that is the end.
    #[inline(never)]
    fn hear_closed(&mut self, opening: u64) -> bool {
        if self.is_planned() {
            // The turn that was to make it was undone.
            return false;
        }
        // An opening of before may have been followed by another one.
        if self.shared.entry().1 == opening {
            self.shared.inner().closed = true;
            if let Inbound::Hand(hand) = &mut self.inbound {
                hand.get().was_closed = true;
            }
            self.note_arrival();
        }
        true
    }

    /// Keeps a message until the future is polled.
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

    /// Returns whether nobody can wake the actor but what is called here.
    #[inline]
    fn is_alone(&self) -> bool {
        // The waker of the body, and the ringer beside it. Who sleeps has the timing wheel ring.
        let is_alone =
            Arc::strong_count(&self.ringer) == 2 && self.shared.known_sleepers().is_none();
        // Pairs with the release by which the last other waker was dropped: what it has rung before is seen.
        fence(Ordering::Acquire);
        is_alone
    }

    /// One poll, in which the future can receive what has arrived, and `message` behind it.
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
        let Self {
            life,
            inbound,
            shared,
            waker,
            ..
        } = self;
        let polling = Polling { life, shared };
        let mut poll = || match &mut *polling.life {
            Life::Lives(future) => future.as_mut().poll(&mut task::Context::from_waker(waker)),
            _ => Poll::Ready(()),
        };
        let (polled, wants, hungry) = match inbound {
            Inbound::Hand(hand) => {
                hand.get().begin_poll(message);
                let polled = hand.lend(poll);
                let hand = hand.get();
                (polled, hand.wants, hand.is_hungry())
            }
            Inbound::Queue(arrived) => {
                fill_queue(shared, arrived, message, waker);
                let polled = poll();
                let inner = shared.inner();
                (polled, inner.receiver.is_some(), inner.hungry)
            }
        };
        mem::forget(polling);
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

    /// A poll begins, and others may wake the actor; those inside of the future are woken whose sleep is over.
    #[inline(never)]
    fn begin_with_others(&mut self, turn: &Turn<'_, Word<M>>) {
        self.shared.bell.begin();
        let Some(sleepers) = self.shared.known_sleepers() else {
            return;
        };
        if self.armed.is_some() || sleepers.any() {
            // An alarm that has rung is none any more, also if nobody sleeps whom it was for: the next sleep needs one of its own.
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
        // They are inside of the future, so they have woken the actor as well.
        self.shared.bell.answer();
    }

    /// The future waits, and others can wake it, or it has wishes for the end of the turn.
    #[inline(never)]
    fn rest_with_others(&mut self, hungry: bool, turn: &Turn<'_, Word<M>>) -> Next {
        let (end, born) = self.shared.take_wishes();
        if end == Some(Next::Fail) {
            self.shared.abandon();
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
            // The alarm vanishes with the turn.
            self.armed = None;
        }
        end.unwrap_or(Next::Continue)
    }

    /// Has the timing wheel ring when the first sleep of the future is over.
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
            // A door takes everything.
            let _ = turn.set_timer(timer, deadline, alarm, ());
            self.armed = Some(deadline);
        }
    }

    /// The future is done. A ring that is on its way is waited for, or it would be a dead letter.
    #[inline(never)]
    fn finish(&mut self) -> Next {
        let next = self.linger();
        self.shared.bell.begin();
        next
    }

    /// Handles a word.
    #[inline]
    pub(super) fn hear(&mut self, word: Word<M>, turn: &Turn<'_, Word<M>>) -> Next {
        match word {
            Word::Message(message) => self.hear_message(message, turn),
            Word::News(news) => self.hear_news(news, turn),
        }
    }

    #[inline]
    fn hear_message(&mut self, message: M, turn: &Turn<'_, Word<M>>) -> Next {
        // Nobody else's word comes before the first one, unless the turn was undone that has made the actor. Whoever
        // has got its address out of there finds it alive, as any other actor.
        if self.is_planned() {
            self.begin(turn);
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
        }
        self.go_on(None, turn)
    }

    /// Polls the future if there is a reason to, with `message` behind what has come before.
    #[inline]
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

    /// One more word has come. Returns whether the poll may wait for others.
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
        let _span = crate::span::turn(N::name());
        self.hear(word, turn).into()
    }

    fn is_letter(word: &Word<M>) -> bool {
        matches!(word, Word::Message(_))
    }

    fn name() -> &'static str {
        N::name()
    }
}

impl<M: Send + 'static, D, Fut, N> Body<M, D, Fut, N> {
    /// A word to one whose future is done.
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
        // It may hold messages that it has not received. Whatever its destructor does, those who wait for an answer must
        // not wait for ever.
        quiet::drop(mem::replace(&mut self.life, Life::Over));
        if let Some((_, timer)) = self.alarm.take() {
            timer.cancel();
        }
        let arrived = match &mut self.inbound {
            Inbound::Queue(arrived) => mem::take(arrived),
            Inbound::Hand(hand) => hand.get().take_all(),
        };
        let left = self.shared.close(arrived);
        count_dead_letters(left as u64);
    }
}
