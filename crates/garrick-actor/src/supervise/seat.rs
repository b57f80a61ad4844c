//! A supervised actor's place: one cell for good, in which one actor after the other sits.
//!
//! The cell, the [`Front`], is what addresses name. While all is well the gate is open and the front runs the actor
//! itself. What a supervisor wants done, it has done by an [`Errand`], a short-lived cell with a turn of its own for
//! it; while the gate is shut the front holds messages back, in order, and an errand handles them before the gate
//! opens again. Whoever runs the actor takes it out of the seat, so that nobody waits for a lock while
//! a handler runs, and two never run it.
//!
//! ```text
//!   address --> front ---- gate open: runs the actor ----.
//!                 |                                       v
//!                 '-- gate shut --> held, in order    [ actor ]
//!                                      |                  ^
//!   supervisor --> errand -------------'-- begin, drain --'   halt: drops it
//! ```

use std::any::type_name;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::{Address, Flow, Handle, Task, Turn, cancel_timers_of, count_dead_letters};

use super::note::{Job, Line, Report};
use crate::actor::{Actor, Next};
use crate::context::Context;
use crate::fault::Fault;
use crate::pipes::Pipes;
use crate::quiet::{self, Several};

/// What happens to a message that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    /// It is held back.
    Shut,
    /// It is held back, and errands handle what was held before.
    Draining,
    /// The actor handles it.
    Open,
    /// The child has ended for good.
    Over,
}

/// The part of a seat that changes.
struct Sitting<A: Actor> {
    /// None while somebody runs it, and while there is none.
    actor: Option<Box<A>>,
    gate: Gate,
    /// Whether a front or an errand is running it.
    is_running: bool,
    /// Whether it may not run before its supervisor has said so.
    is_suspended: bool,
    /// Whether an errand came to drop it while it was running.
    is_wanted: bool,
    /// Whether the front is to stop once everything that was held back is handled.
    is_ending: bool,
    /// How many actors were made.
    incarnation: u32,
    /// Messages that came while the gate was shut, oldest first.
    held: Several<VecDeque<A::Msg>>,
}

type Factory<A> = Box<dyn Fn() -> A + Send>;

/// See the module.
pub(super) struct Seat<A: Actor> {
    /// Locked for moments only, never while an actor's code runs.
    sitting: Mutex<Sitting<A>>,
    /// Locked while an actor is made, which no two errands do.
    factory: Mutex<Factory<A>>,
    line: Line,
}

/// What the front is to do with a message.
enum Admitted<A: Actor> {
    Run(Box<A>, A::Msg),
    Held,
    Over,
}

impl<A: Actor> Seat<A> {
    pub(super) fn new(factory: Factory<A>, line: Line) -> Self {
        let sitting = Sitting {
            actor: None,
            gate: Gate::Shut,
            is_running: false,
            is_suspended: true,
            is_wanted: false,
            is_ending: false,
            incarnation: 0,
            held: Several::default(),
        };
        Self {
            sitting: Mutex::new(sitting),
            factory: Mutex::new(factory),
            line,
        }
    }

    fn sitting(&self) -> MutexGuard<'_, Sitting<A>> {
        // No code that holds the lock can panic half way.
        self.sitting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(&self, message: A::Msg) -> Admitted<A> {
        let mut sitting = self.sitting();
        if sitting.gate == Gate::Over {
            return Admitted::Over;
        }
        if sitting.gate == Gate::Open
            && let Some(actor) = sitting.actor.take()
        {
            sitting.is_running = true;
            return Admitted::Run(actor, message);
        }
        sitting.held.push_back(message);
        Admitted::Held
    }

    /// An errand is about to make the next actor. None if the child has ended for good: the actor before may just be dropped.
    fn enter(&self) -> Option<u32> {
        let mut sitting = self.sitting();
        if sitting.gate == Gate::Over {
            return None;
        }
        sitting.is_running = true;
        sitting.incarnation = sitting.incarnation.wrapping_add(1);
        Some(sitting.incarnation)
    }

    /// A turn of the actor is over: it goes back to its seat, and the supervisor hears if it must. Says how the
    /// cell's turn is to end.
    fn leave(&self, actor: Option<Box<A>>, next: Next, turn: &Turn<'_, A::Msg>) -> Flow {
        let fault = match next {
            Next::Continue | Next::Undo => None,
            Next::Stop => Some(Fault::Stopped),
            Next::Fail => Some(Fault::of_turn()),
        };
        let (report, leftover) = self.settle(actor, fault);
        let is_undone = matches!(next, Next::Undo | Next::Fail);
        if let Some(report) = report {
            if is_undone {
                self.line.report_all_the_same(report);
            } else {
                self.line.report(turn, report);
            }
        }
        // What the turn has done stays done, whatever the destructor does.
        quiet::drop(leftover);
        if is_undone {
            Flow::Undo
        } else {
            Flow::Continue
        }
    }

    /// The part of [`Seat::leave`] that needs the lock. Gives back what is to be reported, and an actor that
    /// nobody wants any more.
    fn settle(
        &self,
        actor: Option<Box<A>>,
        fault: Option<Fault>,
    ) -> (Option<Report>, Option<Box<A>>) {
        let mut sitting = self.sitting();
        sitting.is_running = false;
        if sitting.gate == Gate::Over {
            return (None, actor);
        }
        sitting.actor = actor;
        if fault.is_some() {
            sitting.is_suspended = true;
            sitting.gate = Gate::Shut;
        }
        if sitting.is_wanted {
            return (Some(Report::Free), None);
        }
        let incarnation = sitting.incarnation;
        (fault.map(|fault| Report::Fault(incarnation, fault)), None)
    }

    /// Whether the supervisor's wish to end it can be granted by the front at once: once it has handled what
    /// is before it. If not, an errand will see to it.
    pub(super) fn can_end(&self) -> bool {
        let mut sitting = self.sitting();
        let is_draining = !sitting.is_suspended && sitting.gate != Gate::Open;
        sitting.is_ending = is_draining;
        !is_draining
    }

    /// Ends it for good. Gives back what is to be dropped, which must not be done under the lock.
    fn close(&self) -> (Option<Box<A>>, Several<VecDeque<A::Msg>>) {
        let mut sitting = self.sitting();
        sitting.gate = Gate::Over;
        (sitting.actor.take(), std::mem::take(&mut sitting.held))
    }
}

/// The cell that addresses name.
pub(super) struct Front<A: Actor> {
    pub(super) seat: Arc<Seat<A>>,
    /// The actor while the turn lasts, here so that it survives a panic.
    pub(super) actor: Option<Box<A>>,
}

impl<A: Actor> Task for Front<A> {
    type Message = A::Msg;

    #[inline]
    fn receive(&mut self, message: A::Msg, turn: &Turn<'_, A::Msg>) -> Flow {
        match self.seat.admit(message) {
            Admitted::Held => Flow::Continue,
            Admitted::Over => {
                count_dead_letters(1);
                Flow::Stop
            }
            Admitted::Run(actor, message) => {
                #[cfg(feature = "tracing")]
                let _span = crate::span::turn(A::name());
                let actor = self.actor.insert(actor);
                let next = actor.receive(message, &mut Context::new(turn));
                self.seat.leave(self.actor.take(), next, turn)
            }
        }
    }

    const BLOCKS: bool = A::BLOCKS;
    const RECOVERS: bool = true;

    fn recover(&mut self, message: &str, turn: &Turn<'_, A::Msg>) -> Flow {
        recover(&self.seat, self.actor.take(), message, turn)
    }

    fn name() -> &'static str {
        A::name()
    }
}

impl<A: Actor> Drop for Front<A> {
    fn drop(&mut self) {
        drop(self.seat.close());
    }
}

/// A turn of the actor has panicked.
fn recover<A: Actor>(
    seat: &Seat<A>,
    actor: Option<Box<A>>,
    message: &str,
    turn: &Turn<'_, A::Msg>,
) -> Flow {
    let fault = Fault::Panic(message.into());
    let (report, leftover) = seat.settle(actor, Some(fault));
    if let Some(report) = report {
        seat.line.report(turn, report);
    }
    quiet::drop(leftover);
    Flow::Continue
}

/// A cell that does a job at a seat, and goes.
pub(super) struct Errand<A: Actor> {
    pub(super) seat: Arc<Seat<A>>,
    pub(super) front: Address<A::Msg>,
    pub(super) job: Job,
    /// The only sponsor on which it may be done, if there is one.
    pub(super) sponsor: Option<Handle>,
    /// As in [`Front`].
    pub(super) actor: Option<Box<A>>,
    /// True once its turn has begun.
    pub(super) has_begun: bool,
}

impl<A> Errand<A>
where
    A: Actor + Send,
    A::Msg: Send,
{
    fn begin(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name());
        let Some(incarnation) = self.seat.enter() else {
            return Flow::Stop;
        };
        let factory = &self.seat.factory;
        let made = factory.lock().unwrap_or_else(PoisonError::into_inner)();
        let actor = self.actor.insert(Box::new(made));
        let next = if A::STARTS {
            actor.started(&mut Context::new(&turn.seen_as(&self.front)))
        } else {
            Next::Continue
        };
        let is_up = matches!(next, Next::Continue | Next::Undo);
        self.seat.sitting().is_suspended = !is_up;
        let flow = self.seat.leave(self.actor.take(), next, turn);
        if is_up && next == Next::Undo {
            self.seat.line.report_all_the_same(Report::Up(incarnation));
        } else if is_up {
            self.seat.line.report(turn, Report::Up(incarnation));
        }
        flow
    }

    /// Handles one message that was held back, and has the next one handled in another turn.
    fn drain(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        let mut sitting = self.seat.sitting();
        if self.job == Job::Resume {
            sitting.is_suspended = false;
        }
        let is_ready = !sitting.is_suspended && sitting.gate != Gate::Over;
        let Some(actor) = sitting.actor.take_if(|_| is_ready) else {
            return Flow::Stop;
        };
        let Some(message) = sitting.held.pop_front() else {
            sitting.actor = Some(actor);
            sitting.gate = Gate::Open;
            if sitting.is_ending {
                self.front.stop();
            }
            return Flow::Stop;
        };
        sitting.gate = Gate::Draining;
        sitting.is_running = true;
        drop(sitting);
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name());
        let actor = self.actor.insert(actor);
        let next = actor.receive(message, &mut Context::new(&turn.seen_as(&self.front)));
        let flow = self.seat.leave(self.actor.take(), next, turn);
        match next {
            Next::Continue => drop(turn.spawn(Self {
                seat: self.seat.clone(),
                front: self.front.clone(),
                job: Job::Drain,
                sponsor: None,
                actor: None,
                has_begun: false,
            })),
            Next::Undo => self.seat.line.report_all_the_same(Report::Undone),
            Next::Stop | Next::Fail => {}
        }
        flow
    }

    fn halt(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        let mut sitting = self.seat.sitting();
        sitting.is_suspended = true;
        if sitting.gate != Gate::Over {
            sitting.gate = Gate::Shut;
        }
        sitting.is_wanted = sitting.is_running;
        if sitting.is_wanted {
            return Flow::Stop;
        }
        let actor = sitting.actor.take();
        drop(sitting);
        // What it has under way would come to the next one, also if its destructor panics.
        Pipes::cancel_of(self.front.id());
        cancel_timers_of(self.front.id());
        drop(actor);
        self.seat.line.report(turn, Report::Down);
        Flow::Stop
    }

    fn abandon(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        let (actor, held) = self.seat.close();
        count_dead_letters(held.len() as u64);
        // In this order: a panic of the actor's destructor ends the turn.
        drop(held);
        drop(actor);
        self.front.stop();
        self.seat.line.report(turn, Report::Down);
        Flow::Stop
    }
}

impl<A> Task for Errand<A>
where
    A: Actor + Send,
    A::Msg: Send,
{
    type Message = A::Msg;
    const STARTS: bool = true;

    fn start(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        // A sponsor that ends takes nobody: the errand was left with the supervisor, where the actor does not belong.
        if (self.sponsor.as_ref()).is_some_and(|sponsor| *sponsor != turn.sponsor()) {
            return Flow::Stop;
        }
        self.has_begun = true;
        match self.job {
            Job::Begin => self.begin(turn),
            Job::Drain | Job::Resume => self.drain(turn),
            Job::Halt => self.halt(turn),
            Job::Abandon => self.abandon(turn),
        }
    }

    fn receive(&mut self, _: A::Msg, _: &Turn<'_, A::Msg>) -> Flow {
        unreachable!("nobody has the address of a {}", type_name::<Self>())
    }

    const RECOVERS: bool = true;

    fn recover(&mut self, message: &str, turn: &Turn<'_, A::Msg>) -> Flow {
        if matches!(self.job, Job::Halt | Job::Abandon) {
            // The actor's destructor panicked; it is gone all the same.
            self.seat.line.report(turn, Report::Down);
            self.front_stops_if_abandoned();
            return Flow::Continue;
        }
        recover(&self.seat, self.actor.take(), message, turn)
    }

    fn name() -> &'static str {
        A::name()
    }
}

impl<A: Actor> Drop for Errand<A> {
    /// The child's sponsor has ended before the errand began. The front may be elsewhere, if a message has moved it: nobody would
    /// open its gate any more, so it goes as well.
    fn drop(&mut self) {
        if !self.has_begun {
            self.front.stop();
        }
    }
}

impl<A: Actor> Errand<A> {
    fn front_stops_if_abandoned(&self) {
        if self.job == Job::Abandon {
            self.front.stop();
        }
    }
}
