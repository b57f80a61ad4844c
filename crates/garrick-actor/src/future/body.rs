//! An async actor as the scheduler sees it: a task whose turns are the polls of one future.

use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use garrick_core::bell::Call;
use garrick_sched::{Address, Flow, Nanos, Task, Timer, Turn, count_dead_letters};

use super::gate;
use super::incoming::Incoming;
use super::shared::{Note, Says, Shared, Word};
use crate::actor::Next;
use crate::quiet;

/// Under which name an actor is reported.
pub(super) trait Named: 'static {
    fn name() -> &'static str;
}

type Make<D, M, Fut> = fn(D, Incoming<M>) -> Fut;

/// Dropped by a poll that panics.
struct Failing<'a, M: Send + 'static>(&'a Shared<M>);

impl<M: Send + 'static> Drop for Failing<'_, M> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// See the module.
pub(super) struct Body<M: Send + 'static, D, Fut, N> {
    /// What the future is made of when the actor starts, and how. Boxed, because it would take its place for as long as the actor
    /// lives.
    plan: Option<(Box<D>, Make<D, M, Fut>)>,
    /// From the start to the end.
    future: Option<Pin<Box<Fut>>>,
    shared: Arc<Shared<M>>,
    /// The shared part, as what wakes the actor.
    waker: Waker,
    /// Messages that the future cannot receive yet.
    arrived: VecDeque<M>,
    /// Whether the future waited for a message when it was polled last.
    wants: bool,
    /// Whether there is a reason to poll it.
    owes: bool,
    /// Words that have come since the last poll.
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
        Self {
            plan: Some((Box::new(data), make)),
            future: None,
            waker: Waker::from(shared.clone()),
            gathers: if shared.heir.is_none() {
                shared.share
            } else {
                0
            },
            shared,
            arrived: VecDeque::new(),
            wants: true,
            owes: false,
            gathered: 0,
            alarm: None,
            armed: None,
            woken: Vec::new(),
            name: PhantomData,
        }
    }

    /// What it was to be made of, if it has not begun.
    pub(super) fn take_data(&mut self) -> Option<D> {
        self.plan.take().map(|(data, _)| *data)
    }

    /// A ring, or the first word: the future begins, if it has not.
    fn begin(&mut self, turn: &Turn<'_, Word<M>>) {
        if let Some((data, make)) = self.plan.take() {
            self.shared.open(turn.address());
            let mailbox = Incoming::new(self.shared.clone());
            let future = self.future.insert(Box::pin(make(*data, mailbox)));
            self.shared.knows_future(&**future);
        }
        self.owes |= self.shared.bell.arrived();
    }

    /// Takes a note; false if that is the end.
    fn take(&mut self, note: Note<M>, turn: &Turn<'_, Word<M>>) -> bool {
        match note.read(&self.shared) {
            None => {}
            Some(Says::Ring) => self.begin(turn),
            // The turn that was to make it was undone.
            Some(Says::Closed(_)) if self.plan.is_some() => return false,
            // An opening of before has been followed by another one.
            Some(Says::Closed(opening)) if self.shared.entry().1 != opening => {}
            Some(Says::Closed(_)) => {
                self.shared.inner().closed = true;
                self.owes |= self.wants;
            }
        }
        true
    }

    /// Wakes those inside of the future who wait for what has come: messages, or a time.
    fn wake_inside(&mut self, message: Option<M>, turn: &Turn<'_, Word<M>>) {
        let mut inner = self.shared.inner();
        inner.queue.append(&mut self.arrived);
        if let Some(message) = message {
            inner.queue.push(message);
        }
        let due = inner.hungry || inner.closed || !inner.queue.is_empty();
        inner.hungry = false;
        // The whole future is about to be polled, so its own waker has nothing to do.
        if due
            && inner
                .receiver
                .as_ref()
                .is_some_and(|waker| !waker.will_wake(&self.waker))
        {
            self.woken.extend(inner.receiver.take());
        }
        drop(inner);
        if let Some(sleepers) = self.shared.known_sleepers()
            && (self.armed.is_some() || sleepers.any())
        {
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

    /// One poll, in which the future can receive what has arrived, and `message` behind it.
    fn poll(&mut self, message: Option<M>, turn: &Turn<'_, Word<M>>) -> Next {
        (self.owes, self.gathered) = (false, 0);
        let Some(mut future) = self.future.take() else {
            self.arrived.extend(message);
            return Next::Continue;
        };
        self.shared.bell.begin();
        self.wake_inside(message, turn);
        let failing = Failing(&self.shared);
        let polled = future
            .as_mut()
            .poll(&mut task::Context::from_waker(&self.waker));
        mem::forget(failing);
        match polled {
            Poll::Pending => {
                self.future = Some(future);
                self.rest(turn)
            }
            Poll::Ready(()) => {
                drop(future);
                self.finish()
            }
        }
    }

    /// The future waits.
    fn rest(&mut self, turn: &Turn<'_, Word<M>>) -> Next {
        let mut inner = self.shared.inner();
        self.wants = inner.receiver.is_some();
        let (hungry, end) = (inner.hungry, inner.end.take());
        let born = mem::take(&mut inner.born);
        drop(inner);
        if end == Some(Next::Fail) {
            self.shared.abandon();
            return Next::Fail;
        }
        if end.is_none() {
            born.into_iter().for_each(|birth| birth(turn));
        }
        if self.shared.bell.end(hungry) == Call::Ring {
            self.shared.tell(Says::Ring);
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
    fn finish(&mut self) -> Next {
        let next = self.linger();
        self.shared.bell.begin();
        next
    }

    /// What a word leads to.
    pub(super) fn hear(&mut self, word: Word<M>, turn: &Turn<'_, Word<M>>) -> Next {
        let mut message = None;
        match word {
            Word::Message(it) => {
                // Nobody else's word comes before the first one, unless the turn was undone that has made the actor. Whoever
                // has got its address out of there finds it alive, as any other actor.
                if self.plan.is_some() {
                    self.begin(turn);
                }
                message = Some(it);
                self.owes |= self.wants;
            }
            Word::Start => self.begin(turn),
            Word::Note(note) => {
                if !self.take(note, turn) {
                    return Next::Stop;
                }
            }
        }
        if self.plan.is_none() && self.future.is_none() {
            self.arrived.extend(message);
            return self.linger();
        }
        self.gathered += 1;
        if !self.owes || self.gathered < self.gathers && turn.has_more() {
            if let Some(message) = message {
                self.arrived.push_back(message);
            }
            return Next::Continue;
        }
        self.poll(message, turn)
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
        quiet::drop(self.future.take());
        if let Some((_, timer)) = self.alarm.take() {
            timer.cancel();
        }
        let left = self.shared.close(mem::take(&mut self.arrived));
        count_dead_letters(left as u64);
    }
}
