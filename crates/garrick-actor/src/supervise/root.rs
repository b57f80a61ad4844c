//! The supervisor: an actor that receives the reports of its children and decides what happens to
//! them.

use std::collections::BTreeMap;
use std::mem;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use garrick_core::backoff::Intensity;
use garrick_sched::{Flow, Reply, Task, TaskId, Turn};

use super::crew::{Crew, Slot};
use super::face::{ChildState, LastFailure};
use super::facts::Facts;
use super::note::{Desk, Id, Job, Line, Note, Report};
use super::policy::Decision;
use super::told::Told;
use crate::extras::named;
use crate::failure::Consequence;
use crate::failure::fault::Fault;
use crate::quiet;

/// Name that reports use for the type of supervisors.
pub(super) const SUPERVISOR: &str = "supervisor";

/// The next step of a supervisor when all its children have stopped.
enum After {
    /// The supervisor fails with this reason. If it has a parent, the parent decides what happens
    /// next.
    Escalate(String),
    /// The supervisor reports to its parent that it is down.
    Halted,
    /// The supervisor stops for good.
    Over,
}

/// The goal of a supervisor.
enum Mode {
    /// The supervisor keeps its children running.
    Running,
    /// The supervisor keeps its children stopped until its parent starts it.
    Idle,
    /// The supervisor stops its children, and then executes the step `After`.
    Ending(After),
    /// The supervisor fails in its next turn, with this reason. All of its children have stopped.
    Failing(String),
}

/// The task of a supervisor. It receives the reports of the children and the requests of users.
pub(super) struct Root {
    pub(super) crew: Crew,
    pub(super) desk: Desk,
    told: Told,
    intensity: Intensity,
    mode: Mode,
    /// Message that arrived in the turn in which the supervisor fails. The message is dropped only
    /// together with the supervisor. The reason is that the destructor of the message may send
    /// other messages, which would be discarded in a failing turn.
    unheard: Option<Note>,
    /// Connection to the parent. `None` for the root of a tree.
    parent: Option<Line>,
    /// Number of times that the parent has started this supervisor.
    incarnation: u32,
    /// Reason for which the supervisor has given up, until its parent starts it again.
    failure: Option<Arc<str>>,
    /// True if the supervisor must report to its parent when all children are up.
    owes_up: bool,
    /// True if the supervisor must stop as soon as no child is being started. A child that is being
    /// started can then still handle the messages that were sent to it before the stop.
    is_stop_wanted: bool,
    /// Replies to send when the supervisor has stopped.
    stoppers: Vec<Reply<()>>,
    /// Children that did not stop within their time limit, and whose last turn may still be
    /// running. If this turn fails, the failure is reported. A child is removed from the map when
    /// it has ended.
    late: BTreeMap<Id, (Arc<Facts>, TaskId)>,
}

impl Root {
    pub(super) fn new(
        told: Told,
        crew: Crew,
        desk: Desk,
        intensity: Intensity,
        parent: Option<Line>,
    ) -> Self {
        let mode = if parent.is_some() {
            Mode::Idle
        } else {
            Mode::Running
        };
        Self {
            crew,
            desk,
            told,
            intensity,
            mode,
            unheard: None,
            parent,
            incarnation: 0,
            failure: None,
            owes_up: false,
            is_stop_wanted: false,
            stoppers: Vec::new(),
            late: BTreeMap::new(),
        }
    }

    fn hear(&mut self, note: Note, turn: &Turn<'_, Note>) {
        match note {
            Note::Report(id, report) => self.hear_report(id, report, turn),
            Note::Look => {
                for (id, report) in self.desk.take() {
                    self.hear_report(id, report, turn);
                }
            }
            Note::Add(id, policy, member) => {
                let _ = member.watch(id, turn);
                self.crew.add(Slot::new(id, policy, member));
                match self.mode {
                    Mode::Running => self.crew.plan_start(id),
                    Mode::Ending(After::Over) => self.crew.plan_end_of_late(id),
                    Mode::Idle | Mode::Ending(_) | Mode::Failing(_) => {}
                }
            }
            Note::Remove(name, reply) => self.crew.leave(&name, reply),
            Note::Due(number) => self.crew.is_due(number),
            Note::Overdue(id) => {
                if let Some(slot) = self.crew.slot(id) {
                    slot.member.job(Job::Abandon, turn);
                    let child = (slot.member.facts(), slot.member.cell());
                    self.late.insert(id, child);
                    // Its turn may never end.
                    self.crew.remove(id);
                }
            }
            Note::Ended(id) => {
                self.late.remove(&id);
                self.crew.remove(id);
            }
            Note::Write => self.told.write_omitted(turn.now()),
            Note::Parent(job) => self.obey(job, turn),
            Note::Stop(reply) => {
                self.stoppers.extend(reply);
                self.is_stop_wanted = true;
            }
        }
    }

    fn hear_report(&mut self, id: Id, report: Report, turn: &Turn<'_, Note>) {
        let now = turn.now();
        let Some(slot) = self.crew.slot(id) else {
            return self.hear_late(id, report, turn);
        };
        match report {
            // A late report of an actor that has failed must not let its successor handle messages.
            Report::Up(incarnation)
                if slot.state() == ChildState::Starting && incarnation == slot.incarnation =>
            {
                slot.up_since = Some(now);
                slot.member.job(Job::Drain, turn);
                self.crew.set_state(id, ChildState::Up);
            }
            // The supervisor waits for the notice that the child has ended.
            Report::Down if slot.is_ending => {}
            Report::Down => self.crew.set_state(id, ChildState::Down),
            Report::Undone if slot.state() == ChildState::Up || slot.is_ending => {
                slot.member.job(Job::Drain, turn);
            }
            Report::Fault(_, fault) if slot.is_ending => {
                slot.member.job(Job::Abandon, turn);
                self.note_end(id, &fault, turn);
                quiet::drop(fault);
            }
            Report::Fault(incarnation, fault) if incarnation == slot.incarnation => {
                self.fault(id, &fault, turn);
                quiet::drop(fault);
            }
            Report::Fault(_, fault) => {
                self.note_end(id, &fault, turn);
                quiet::drop(fault);
            }
            Report::Up(_) | Report::Undone => {}
        }
    }

    /// Handles a report from a child that the supervisor has already removed.
    fn hear_late(&mut self, id: Id, report: Report, turn: &Turn<'_, Note>) {
        if let (Report::Fault(_, fault), Some((facts, cell))) = (&report, self.late.get(&id))
            && !matches!(fault, Fault::Stopped)
        {
            let (facts, cell) = (facts.clone(), *cell);
            self.tell(&facts, cell, (fault.reason(), Consequence::Stopped), turn);
        }
        quiet::drop(report);
    }

    /// Handles the fault of a child that has failed or stopped.
    fn fault(&mut self, id: Id, fault: &Fault, turn: &Turn<'_, Note>) {
        // A supervisor that stops its children, for whatever reason, starts none of them.
        let is_to_be_stopped =
            !matches!(self.mode, Mode::Running) || self.crew.is_to_be_stopped(id);
        let Some(slot) = self.crew.slot(id) else {
            return;
        };
        if !matches!(slot.state(), ChildState::Up | ChildState::Starting) {
            return self.note_end(id, fault, turn);
        }
        // A child whose start fails must not keep a request to stop waiting for ever.
        let is_awaited =
            slot.state() == ChildState::Starting && (self.is_stop_wanted || slot.is_to_leave());
        let (name, decision) = (slot.policy.name.clone(), slot.decide(fault));
        if decision == Decision::Resume && !is_to_be_stopped {
            slot.member.job(Job::Resume, turn);
            return self.note(id, fault, Consequence::Resumed, turn);
        }
        self.crew.set_state(id, ChildState::Failed);
        if is_to_be_stopped {
            return self.note_end(id, fault, turn);
        }
        match decision {
            Decision::Restart if is_awaited => {
                self.note_end(id, fault, turn);
                self.doom(id);
            }
            Decision::Restart => self.restart(id, &name, fault, turn),
            Decision::Escalate => {
                self.note(id, fault, Consequence::GivenUp, turn);
                self.escalate(&format!(
                    "the failure of child `{name}` is escalated: {}",
                    fault.said()
                ));
            }
            Decision::Stop | Decision::Resume => {
                if !matches!(fault, Fault::Stopped) {
                    self.note(id, fault, Consequence::GivenUp, turn);
                }
                self.doom(id);
            }
        }
    }

    /// Records and reports a failure of a child, with its consequence.
    fn note(&mut self, id: Id, fault: &Fault, consequence: Consequence, turn: &Turn<'_, Note>) {
        let Some(slot) = self.crew.slot(id) else {
            return;
        };
        let (facts, cell) = (slot.member.facts(), slot.member.cell());
        let (now, reason) = (turn.now(), fault.reason());
        let is_given_up = consequence == Consequence::GivenUp;
        let failure = LastFailure::new(now, &reason);
        self.crew.face().note_failure(id, failure, is_given_up);
        self.tell(&facts, cell, (reason, consequence), turn);
    }

    /// Reports a failure. The caller must hold no lock, because this method calls the function that
    /// `Builder::on_failure` has set, and that function may ask for the state of this tree.
    fn tell(
        &mut self,
        facts: &Facts,
        cell: TaskId,
        what: (String, Consequence),
        turn: &Turn<'_, Note>,
    ) {
        if let Some(wait) = self.told.tell(facts, cell, what, turn.now()) {
            let _ = turn.start_own_timer(wait, &turn.address(), Note::Write);
        }
    }

    /// Records and reports a failure of a child that is about to be stopped. Has no effect if the
    /// child did not fail but stopped by itself.
    fn note_end(&mut self, id: Id, fault: &Fault, turn: &Turn<'_, Note>) {
        if !matches!(fault, Fault::Stopped) {
            self.note(id, fault, Consequence::Stopped, turn);
        }
    }

    fn restart(&mut self, id: Id, name: &str, fault: &Fault, turn: &Turn<'_, Note>) {
        if !self.intensity.count(turn.now()) {
            let restarts_max = self.intensity.restarts_max();
            let within = self.intensity.within();
            self.note(id, fault, Consequence::GivenUp, turn);
            return self.escalate(&format!(
                "at most {restarts_max} restarts are allowed within {within:?}, but child `{name}` needs another one because {}",
                fault.said()
            ));
        }
        let restarts = self.crew.face().count_restart(id);
        self.note(id, fault, Consequence::Restarted { restarts }, turn);
        let members = self.crew.affected(id);
        let wait = self
            .crew
            .slot(id)
            .map_or(Duration::ZERO, |slot| slot.next_wait(turn.now()));
        self.crew.plan(&members, wait, true);
    }

    /// Stops the child for good, and removes it.
    fn doom(&mut self, id: Id) {
        // Children of an interrupted plan are started again only if the supervisor is running.
        let starts = matches!(self.mode, Mode::Running);
        self.crew.plan_end(id, starts);
    }

    /// Executes the requests to stop children or the whole tree. Requests that must wait until a
    /// child has started remain stored.
    fn see_off(&mut self) {
        let leaving = self.crew.take_leaving();
        leaving.into_iter().for_each(|id| self.doom(id));
        if self.is_stop_wanted && !self.crew.is_starting_any() {
            self.is_stop_wanted = false;
            self.crew.face().set_own_state(ChildState::Stopping);
            self.mode = Mode::Ending(After::Over);
            self.end_all();
        }
    }

    fn escalate(&mut self, why: &str) {
        let why = format!("supervisor `{}` gave up: {why}", self.name());
        self.crew.face().set_own_state(ChildState::GivenUp);
        self.mode = Mode::Ending(After::Escalate(why));
        if self.parent.is_none() {
            self.end_all();
        } else {
            self.stop_all();
        }
    }

    /// Stops all children so that they can be started again later.
    fn stop_all(&mut self) {
        self.owes_up = false;
        let all = self.crew.ids();
        self.crew.plan(&all, Duration::ZERO, false);
    }

    /// Stops all children for good.
    fn end_all(&mut self) {
        self.owes_up = false;
        self.crew.plan_end_of_all();
    }

    /// Executes a job from the parent.
    fn obey(&mut self, job: Job, turn: &Turn<'_, Note>) {
        match job {
            // The supervisor is stopping for good. Its parent will be notified by a watch, and each
            // `stop` request will get its reply.
            Job::Begin | Job::Resume | Job::Halt
                if matches!(self.mode, Mode::Ending(After::Over)) => {}
            Job::Begin | Job::Resume => {
                self.crew.face().set_own_state(ChildState::Up);
                self.failure = None;
                self.incarnation = self.incarnation.wrapping_add(u32::from(job == Job::Begin));
                self.owes_up = job == Job::Begin;
                self.mode = Mode::Running;
                self.intensity.forget();
                let all = self.crew.ids();
                self.crew.plan(&all, Duration::ZERO, true);
            }
            Job::Drain => {}
            Job::Halt => {
                self.crew.face().set_own_state(ChildState::Stopping);
                self.mode = Mode::Ending(After::Halted);
                self.stop_all();
            }
            Job::Abandon => {
                self.crew.hurry(turn);
                self.report(turn, Report::Down);
                self.hear(Note::Stop(None), turn);
            }
            Job::End => self.hear(Note::Stop(None), turn),
        }
    }

    fn name(&self) -> Arc<str> {
        self.crew.face().name()
    }

    fn report(&self, turn: &Turn<'_, Note>, report: Report) {
        if let Some(parent) = &self.parent {
            parent.report(turn, report);
        }
    }

    /// Executes all steps that the supervisor can execute now: first the steps of its plans (sets
    /// of children to stop and start), and then the step that follows when no plan is left.
    fn go_on(&mut self, turn: &Turn<'_, Note>) -> Flow {
        self.crew.go_on(turn);
        if self.is_stop_wanted || self.crew.is_leaving_any() {
            self.see_off();
            self.crew.go_on(turn);
        }
        if !self.crew.is_calm() {
            return Flow::Continue;
        }
        if mem::take(&mut self.owes_up) {
            self.report(turn, Report::Up(self.incarnation));
        }
        if let Mode::Ending(_) = self.mode
            && let Mode::Ending(after) = mem::replace(&mut self.mode, Mode::Idle)
        {
            return self.end(after, turn);
        }
        Flow::Continue
    }

    /// Fails this turn if the supervisor has given up and has no parent. In all other cases,
    /// returns `note`.
    fn fail_if_due(&mut self, note: Option<Note>) -> Option<Note> {
        if let Mode::Failing(why) = &mut self.mode {
            self.unheard = note;
            named::leave(SUPERVISOR, Some(self.told.path()));
            resume_unwind(Box::new(mem::take(why)));
        }
        note
    }

    /// Executes `after`, the supervisor's step after all its children have stopped.
    fn end(&mut self, after: After, turn: &Turn<'_, Note>) -> Flow {
        match after {
            After::Escalate(why) if self.parent.is_none() => {
                // The effects of this turn take place, and the next turn fails.
                self.mode = Mode::Failing(why);
                turn.nudge(&turn.address());
            }
            After::Escalate(why) => {
                let why: Arc<str> = why.into();
                self.failure = Some(why.clone());
                let fault = Fault::Escalated(why);
                self.report(turn, Report::Fault(self.incarnation, fault));
            }
            After::Halted => {
                self.crew.face().set_own_state(ChildState::Down);
                self.report(turn, Report::Down);
            }
            After::Over => {
                self.stoppers.drain(..).for_each(|reply| reply.send(()));
                if let Some(why) = &self.failure {
                    turn.ends_as_failed(why);
                }
                return Flow::Stop;
            }
        }
        Flow::Continue
    }
}

impl Task for Root {
    type Message = Note;

    fn receive(&mut self, note: Note, turn: &Turn<'_, Note>) -> Flow {
        if let Some(note) = self.fail_if_due(Some(note)) {
            self.hear(note, turn);
        }
        self.go_on(turn)
    }

    fn nudged(&mut self, _: &Turn<'_, Note>) -> Flow {
        self.fail_if_due(None);
        Flow::Continue
    }

    const INTERNAL: bool = true;

    /// Returns false. No user sends messages to a supervisor, so a [`Note`] that is not handled
    /// does not count as a dead letter.
    fn is_letter(_: &Note) -> bool {
        false
    }

    fn name() -> &'static str {
        SUPERVISOR
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        self.crew.face().end();
    }
}
