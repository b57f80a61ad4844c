//! The seat of a supervised actor: a permanent cell (memory block of a task) that contains one
//! incarnation of the actor after another.
//!
//! Addresses of the child refer to this cell, which contains the [`Front`]. The front creates, runs
//! and drops the actors. Each of these steps is a separate turn. While the actor must not handle
//! messages, the front keeps arriving messages in order. The supervisor sends [`Orders`] to the
//! front, and the front reports the results. Only the front accesses its state, so handling a
//! message takes no lock. The front checks its state and one flag, and then runs the actor.
//!
//! ```text
//!   Address --message--> front: open, and no order? -- yes --> [ actor ]
//!                          |                                       ^
//!                          '-- no --> held, in order --- drain ----'
//!   supervisor --order, nudge--> front        front --report--> supervisor
//! ```
//!
//! `README.md` explains the vocabulary and lists the transitions between the states.

mod state;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use garrick_core::quiet;
use garrick_sched::{
    Flow, LetterReason, Orders, Task, Turn, cancel_timers_of, count_dead_letters,
    count_left_letters,
};

use self::state::Seat;
use super::facts::Facts;
use super::note::{Job, Line, Report};
use crate::beside::pipes::Pipes;
use crate::extras::{named, stash};
use crate::failure::Consequence;
use crate::failure::fault::Fault;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::model::outcome::Outcome;
use crate::quiet::Several;

/// A function that creates a new actor at each start of the child.
type Factory<A> = Box<dyn Fn() -> A + Send>;

/// The fields of a [`Front`] that are not needed for each message. A front is the task to which the
/// addresses of a supervised actor lead.
struct Care<A: Actor> {
    factory: Factory<A>,
    line: Line,
    facts: Arc<Facts>,
    /// Number of actors that were created for this child so far. The supervisor has the same count.
    incarnation: u32,
    ending: Ending,
    /// True if the current actor of the child has started.
    is_up: bool,
    /// Reason for the last failure, until an actor is started or continues after it.
    failure: Option<Arc<str>>,
    /// Messages that arrived while the actor could not handle them, oldest first.
    held: Several<VecDeque<A::Msg>>,
}

/// Tells if a child will stop when it has handled the messages that were kept for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// The supervisor has ordered the child to stop. The child also handles messages that arrive in
    /// the meantime.
    Ordered,
    /// The child was asked to stop by `Address::stop`. Messages that arrive later become dead
    /// letters.
    Asked,
}

/// The task to which the addresses of a child lead. It contains the current actor of the child.
/// Each restart replaces the actor with a new one.
pub(super) struct Front<A: Actor> {
    seat: Seat<A>,
    orders: Arc<Orders<Job>>,
    care: Box<Care<A>>,
}

impl<A: Actor> Front<A> {
    pub(super) fn new(
        factory: Factory<A>,
        line: Line,
        orders: Arc<Orders<Job>>,
        facts: Arc<Facts>,
    ) -> Self {
        let care = Care {
            factory,
            line,
            facts,
            incarnation: 0,
            ending: Ending::No,
            is_up: false,
            failure: None,
            held: Several::default(),
        };
        Self {
            seat: Seat::Empty,
            orders,
            care: Box::new(care),
        }
    }

    /// Handles a message that cannot be passed to the actor now. Either the actor must not handle
    /// messages, or an order of the supervisor must be executed first.
    #[cold]
    #[inline(never)]
    fn put_off(&mut self, message: A::Msg, turn: &Turn<'_, A::Msg>) -> Flow {
        if self.seat.is_over() {
            count_dead_letters(A::name, LetterReason::Stopped, 1);
            return Flow::Stop;
        }
        if self.care.ending == Ending::Asked {
            return self.refuse(message, turn);
        }
        self.care.held.push_back(message);
        if matches!(self.seat, Seat::Open(_)) {
            self.seat.drain();
        }
        if self.orders.are_any() {
            return self.obey(turn);
        }
        // Each arriving message handles one held message, so that the number of held messages does
        // not grow. A nudge for the remaining ones is already pending.
        self.drain(turn, false)
    }

    /// Drops a message that has arrived after the request to stop.
    fn refuse(&self, message: A::Msg, turn: &Turn<'_, A::Msg>) -> Flow {
        turn.spare();
        if A::is_letter(&message) {
            count_dead_letters(A::name, LetterReason::Stopped, 1);
        }
        turn.use_up_place();
        quiet::drop(message);
        Flow::Continue
    }

    /// Executes the oldest pending order from the supervisor.
    fn obey(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        let flow = match self.orders.take() {
            None => Flow::Continue,
            Some(Job::Begin) => self.begin(turn),
            Some(Job::Drain) => {
                self.seat.drain();
                return self.drain(turn, true);
            }
            Some(Job::Resume) => {
                self.care.failure = None;
                self.seat.resume();
                return self.drain(turn, true);
            }
            Some(Job::Halt) => self.halt(turn),
            Some(Job::Abandon) => {
                turn.spare();
                if let Some(why) = &self.care.failure {
                    turn.ends_as_failed(why);
                }
                self.abandon()
            }
            Some(Job::End) => {
                turn.spare();
                if self.care.ending == Ending::No {
                    self.care.ending = Ending::Ordered;
                }
                if matches!(self.seat, Seat::Open(_)) {
                    turn.address().stop();
                }
                Flow::Continue
            }
        };
        if self.seat.is_draining() {
            turn.nudge(&turn.address());
        }
        flow
    }

    /// Creates the next actor and starts it.
    fn begin(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        if self.seat.is_over() {
            return Flow::Stop;
        }
        self.care.incarnation = self.care.incarnation.wrapping_add(1);
        (self.care.is_up, self.care.failure) = (false, None);
        // If the factory panics, the seat is empty.
        if self.care.incarnation != 1 {
            turn.count_restart();
        }
        let made = (self.care.factory)();
        let actor = self.seat.fill(made);
        let next = if A::STARTS {
            #[cfg(feature = "tracing")]
            let _span = crate::span::turn(A::name(), !A::COMMITS_LATER, turn);
            actor.started(&mut Context::new(turn)).into_next()
        } else {
            Next::Continue
        };
        if matches!(next, Next::Continue | Next::Undo) {
            self.seat.start();
            self.care.is_up = true;
        }
        let up = Report::Up(self.care.incarnation);
        match next {
            // The next children start while this one waits for the decision about its turn.
            Next::Continue if turn.commits_later() => {
                let line = self.care.line.clone();
                turn.before_decision(move || line.report_now(up));
            }
            Next::Continue => self.care.line.report(turn, up),
            Next::Undo => self.care.line.report_all_the_same(up),
            Next::Stop | Next::Fail => {}
        }
        self.leave(next, turn)
    }

    /// Lets the actor handle the oldest message that was kept for it. If this is the last kept
    /// message and the child is not ending, later messages go directly to the actor.
    ///
    /// Only one message is handled in each turn, unless the actor itself takes more messages. If
    /// `nudges` is true and messages remain, this task requests another turn for itself.
    fn drain(&mut self, turn: &Turn<'_, A::Msg>, nudges: bool) -> Flow {
        if !self.seat.is_draining() {
            turn.spare();
            return Flow::Continue;
        }
        let message = self.care.held.pop_front();
        // A child that is ending opens in a separate turn, because the turn of the actor might be
        // undone, and with it the request to stop.
        let ending = self.care.ending;
        let opens = self.care.held.is_empty() && (message.is_none() || ending == Ending::No);
        if opens {
            self.seat.open();
        }
        let Some(message) = message else {
            turn.spare();
            return match ending {
                Ending::No => Flow::Continue,
                Ending::Ordered => {
                    turn.address().stop();
                    Flow::Continue
                }
                Ending::Asked => Flow::Stop,
            };
        };
        let (Seat::Draining(actor) | Seat::Open(actor)) = &mut self.seat else {
            return Flow::Continue;
        };
        turn.use_up_place();
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name(), !A::COMMITS_LATER, turn);
        // Those in the mailbox come after those that are held.
        let lends = A::COMMITS_LATER && !opens;
        let lent = lends.then(|| Lent::new(turn, &mut self.care.held));
        let outcome = actor.receive(message, &mut Context::new(turn));
        drop(lent);
        let next = outcome.into_next();
        match next {
            Next::Continue if nudges && !opens => turn.nudge(&turn.address()),
            // The undone turn would discard a nudge. Instead, the supervisor orders the next drain.
            Next::Undo if nudges && !opens => self.care.line.report_all_the_same(Report::Undone),
            _ => {}
        }
        self.leave(next, turn)
    }

    /// Completes a turn of the actor and reports to the supervisor if necessary. Returns the
    /// [`Flow`] with which this task ends its own turn.
    fn leave(&mut self, next: Next, turn: &Turn<'_, A::Msg>) -> Flow {
        match next {
            Next::Continue => return Flow::Continue,
            Next::Undo => return Flow::Undo,
            Next::Stop => self.care.line.report(turn, self.fault(Fault::Stopped)),
            Next::Fail => {
                // No report is printed.
                drop(named::take_failed(A::name()));
                turn.count_failure();
                let fault = Fault::of_turn();
                self.care.failure = Some(fault.reason().into());
                self.care.tell_if_cut(&fault, turn);
                self.care.line.report_all_the_same(self.fault(fault));
            }
        }
        self.seat.suspend();
        if next == Next::Fail {
            Flow::Undo
        } else {
            Flow::Continue
        }
    }

    fn fault(&self, fault: Fault) -> Report {
        Report::Fault(self.care.incarnation, fault)
    }

    /// Drops the actor, and reports this to the supervisor. Before that, cancels the actor's
    /// futures, streams and timers, and drops its stashed messages.
    fn halt(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        turn.spare();
        let has_failed_to_start = self.care.incarnation > 0 && !self.care.is_up;
        if self.care.ending == Ending::Asked && has_failed_to_start {
            // Perhaps no actor can start, so the child does not wait for the next one.
            return self.abandon();
        }
        let actor = self.seat.take();
        // The actor's pending pipes and timers must not reach the next actor.
        let id = turn.address().id();
        Pipes::cancel_of(id);
        stash::clear_of(id);
        cancel_timers_of(id);
        // The actor cancels more when it is dropped, for example its receive timeout. All of this
        // takes effect when the turn commits. So a panic of the destructor is caught here: it would
        // undo the turn.
        if let Err(panic) = quiet::call(|| drop(actor)) {
            turn.count_caught_panic();
            self.care.tell(panic.message(), turn);
        }
        self.seat.empty();
        self.care.line.report(turn, Report::Down);
        Flow::Continue
    }

    /// Drops the actor and the messages that were kept for it, and stops this task.
    fn abandon(&mut self) -> Flow {
        let actor = self.seat.end();
        // The actor is dropped last, because a panic in its destructor ends the turn.
        self.care.drop_held();
        drop(actor);
        Flow::Stop
    }
}

/// A guard of the messages that were kept for an actor. The guard lends the messages to a turn,
/// which may handle several of them. When the guard is dropped, the remaining messages are put
/// back, even after a panic.
struct Lent<'a, M: 'static> {
    turn: &'a Turn<'a, M>,
    held: &'a mut VecDeque<M>,
}

impl<'a, M: 'static> Lent<'a, M> {
    fn new(turn: &'a Turn<'a, M>, held: &'a mut VecDeque<M>) -> Self {
        turn.lend(mem::take(held));
        Self { turn, held }
    }
}

impl<M: 'static> Drop for Lent<'_, M> {
    fn drop(&mut self) {
        *self.held = self.turn.take_back();
    }
}

impl<A: Actor> Care<A> {
    /// Drops the messages that were kept for the actor, and counts them as dead letters.
    fn drop_held(&mut self) {
        let letters = self.held.iter().filter(|message| A::is_letter(message));
        count_left_letters(A::name, letters.count() as u64);
        drop(mem::take(&mut self.held));
    }

    /// Reports a failure of the child if the supervisor has ended, and therefore cannot report it.
    fn tell_if_cut(&self, fault: &Fault, turn: &Turn<'_, A::Msg>) {
        if self.line.is_cut() {
            self.tell(fault.reason(), turn);
        }
    }

    /// Reports a failure of the child directly to the system. Used if there is no supervisor that
    /// can report it.
    fn tell(&self, reason: String, turn: &Turn<'_, A::Msg>) {
        if let Some(office) = &self.facts.office {
            let id = turn.address().id();
            let failure = self.facts.failure(id, reason, Consequence::Stopped);
            office.tell(turn.now(), &failure);
        }
    }
}

impl<A: Actor> Task for Front<A> {
    type Message = A::Msg;

    #[inline(always)]
    fn receive(&mut self, message: A::Msg, turn: &Turn<'_, A::Msg>) -> Flow {
        self.receive_bounded(message, turn, || ())
    }

    #[inline(always)]
    fn receive_bounded(
        &mut self,
        message: A::Msg,
        turn: &Turn<'_, A::Msg>,
        use_up: impl FnOnce(),
    ) -> Flow {
        let actor = match &mut self.seat {
            Seat::Open(actor) if !self.orders.are_any() => actor,
            _ => return self.put_off(message, turn),
        };
        use_up();
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name(), !A::COMMITS_LATER, turn);
        let outcome = actor.receive(message, &mut Context::new(turn));
        let next = outcome.into_next();
        if next == Next::Continue {
            return Flow::Continue;
        }
        self.leave(next, turn)
    }

    fn nudged(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        if self.orders.are_any() {
            self.obey(turn)
        } else {
            self.drain(turn, true)
        }
    }

    fn stops(&mut self) -> bool {
        // The child first handles the kept messages, if it is about to do so. A child that waits
        // for its restart drops them, and so does a child without a supervisor.
        let handles_them = match self.seat {
            Seat::Empty => self.care.incarnation == 0,
            Seat::Started(_) | Seat::Draining(_) => true,
            Seat::Emptying | Seat::Suspended(_) | Seat::Open(_) | Seat::Over => false,
        };
        let waits = handles_them && !self.care.held.is_empty() && !self.care.facts.is_orphan();
        if waits {
            self.care.ending = Ending::Asked;
        }
        !waits
    }

    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = A::COMMITS_LATER;
    const RECOVERS: bool = true;
    /// False, because the supervisor reports the panics of the actor, together with their
    /// consequences.
    const REPORTS: bool = false;
    const INTERNAL: bool = A::INTERNAL;
    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn recover(&mut self, message: &str, turn: &Turn<'_, A::Msg>) -> Flow {
        match self.seat {
            // The actor's destructor panicked while the child was stopped for good.
            Seat::Over => {
                self.care.tell(message.to_owned(), turn);
                return Flow::Stop;
            }
            Seat::Empty
            | Seat::Emptying
            | Seat::Suspended(_)
            | Seat::Started(_)
            | Seat::Draining(_)
            | Seat::Open(_) => {}
        }
        drop(named::take_failed(A::name()));
        self.seat.suspend();
        let why: Arc<str> = message.into();
        let fault = Fault::Panic(why.clone());
        self.care.failure = Some(why);
        self.care.tell_if_cut(&fault, turn);
        self.care.line.report(turn, self.fault(fault));
        Flow::Continue
    }

    fn is_letter(message: &A::Msg) -> bool {
        A::is_letter(message)
    }

    fn message_kind(message: &A::Msg) -> usize {
        A::message_kind(message)
    }

    fn name() -> &'static str {
        A::name()
    }

    fn label(&self) -> Option<String> {
        self.care.facts.path.as_ref().map(ToString::to_string)
    }
}

impl<A: Actor> Drop for Front<A> {
    fn drop(&mut self) {
        self.care.drop_held();
    }
}
