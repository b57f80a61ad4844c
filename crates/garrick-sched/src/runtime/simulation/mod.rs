//! Simulations: several sponsors run on one thread, and the caller chooses each step. The README of
//! this folder explains the protocol.

mod hash;

mod air;

mod copies;

mod arrivals;

mod delivery;

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::mem;

pub use air::Choice;
use air::{Air, Dropped, From, NONE, NOWHERE, Sender};
use arrivals::{Prompts, add_arrivals};
use copies::Copies;

use crate::cell::{CellPtr, Chain, Envelope, Kind, Table};
use crate::hooks::{self, Event, Running};
use crate::names::TaskName;
use crate::quiet;
use crate::runtime::address::Address;
use crate::runtime::current;
use crate::runtime::sponsor::{Builder, Handle, Here, StartError};
use crate::runtime::task::Task;
use crate::runtime::worker::Worker;
use crate::world::Nanos;

/// Maximum number of rounds in which arrived messages and events are handled between two steps. If
/// there is still a new message or event after these rounds, the simulation panics, because the
/// messages and events then seem to cause each other without end.
const ROUNDS_MAX: usize = 1 << 20;

/// Maximum number of rounds in which a closing node stops its tasks. Several rounds can be
/// necessary, because destructors can create further tasks. Tasks that remain after the last round
/// are stopped when the node is dropped, which takes longer.
const STOPS_MAX: usize = 4;

/// The fate of a choice: the caller decides what happens when the choice is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fate {
    /// The turn runs.
    Happens,
    /// The turn runs, and panics when it commits. So the effects of the turn are undone, but
    /// changes to the fields of the task stay.
    Fails,
    /// The message is lost, and messages that its destructor sends are lost, too. The start of a
    /// task cannot be lost. If the node of the sender is closed, all later messages of the sender
    /// to the receiver are also lost, because the connection has ended.
    Lost,
    /// The turn runs. A copy of the message is sent, and can be delivered later. Copies of several
    /// messages from one sender to one receiver are delivered in the order of these messages. If
    /// the type of the message was not passed to [`Simulation::copy`], the turn runs without a
    /// copy.
    Doubled,
}

/// Fate of the messages that a node has sent to other nodes before it crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The messages can still be delivered.
    Stays,
    /// The messages vanish.
    Vanishes,
}

/// Result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stepped {
    /// True if the turn was undone.
    pub undone: bool,
}

/// A task that was created.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Birth {
    /// Name of the task.
    pub task: TaskName,
    /// Task that has created the new task, or [`TaskName::OUTSIDE`].
    pub parent: TaskName,
    /// Index of the node on which the task was created.
    pub node: usize,
    /// Name of the task's type.
    pub type_name: &'static str,
    /// True if the task belongs to a library and not to the program.
    pub is_internal: bool,
}

/// Information about a choice: its sender, its receiver, and what would happen.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Circumstances {
    /// Node of the sender or of the timer. The node may be closed. `None` for code outside of
    /// tasks.
    pub from: Option<usize>,
    /// True if the node of the sender is closed.
    pub is_orphan: bool,
    /// Node of the receiver.
    pub to: usize,
    /// Name of the receiver's type.
    pub type_name: &'static str,
    /// True if the receiver belongs to a library and not to the program.
    pub is_internal: bool,
    /// True if a turn will run. False for a request to stop or to move.
    pub is_turn: bool,
    /// True if the choice delivers a message, so that [`Fate::Lost`] is possible.
    pub is_message: bool,
    /// True if [`Fate::Doubled`] sends a copy of the message.
    pub can_double: bool,
    /// Type of the receiver's messages.
    pub message_type: TypeId,
    /// Name of the type of the receiver's messages.
    pub message: &'static str,
    /// Kind of the message, if the receiver names the kinds of its messages.
    pub kind: Option<&'static str>,
}

/// A simulation: several sponsors, called nodes, run on the calling thread. The caller chooses each
/// step.
pub struct Simulation {
    /// Nodes by number. `None` for a node that was closed.
    nodes: Vec<Option<Here>>,
    air: Air,
    /// For each name, the number of nodes with this name that were opened so far.
    opened: BTreeMap<String, u32>,
    copies: Copies,
    /// Tasks that were created and that the caller has not yet taken from the list.
    births: Vec<Birth>,
    /// Number of tasks that other threads have created.
    strangers: u32,
    running: Running,
    /// Buffer for events. Empty, except while events are handled.
    handled: Vec<Event>,
}

impl Simulation {
    /// Creates a simulation without nodes. Returns `None` if there is already a simulation on this
    /// thread.
    #[must_use]
    pub fn new() -> Option<Self> {
        Some(Self {
            nodes: Vec::new(),
            air: Air::default(),
            copies: Copies::default(),
            opened: BTreeMap::new(),
            births: Vec::new(),
            strangers: 0,
            running: Running::begin()?,
            handled: Vec::new(),
        })
    }

    /// Adds a node, and returns its index. The names of its tasks depend on the name of the node's
    /// sponsor, and on how many earlier nodes had this name.
    ///
    /// # Errors
    /// Returns a [`StartError`] for the same reasons as [`Builder::here`].
    pub fn open(&mut self, builder: Builder) -> Result<usize, StartError> {
        let opened = self.opened.entry(builder.name_of().to_owned()).or_default();
        let root = TaskName::root(builder.name_of(), *opened);
        *opened += 1;
        self.nodes.push(Some(builder.simulated(root)?));
        Ok(self.nodes.len() - 1)
    }

    /// Returns true if a node exists and was not closed.
    #[must_use]
    pub fn is_open(&self, node: usize) -> bool {
        matches!(self.nodes.get(node), Some(Some(_)))
    }

    #[track_caller]
    fn node(&self, node: usize) -> &Here {
        let here = self.nodes.get(node).and_then(Option::as_ref);
        here.unwrap_or_else(|| panic!("the simulation has no open node {node}"))
    }

    fn worker(&self, node: usize) -> &Worker {
        self.node(node).worker()
    }

    /// Returns a handle to a node.
    ///
    /// # Panics
    /// Panics if the node is not open.
    #[must_use]
    #[track_caller]
    pub fn handle(&self, node: usize) -> Handle {
        self.node(node).handle()
    }

    /// Spawns a task on a node. The task need not be `Send`.
    ///
    /// # Panics
    /// Panics if the node is not open.
    #[track_caller]
    pub fn spawn<T: Task>(&self, node: usize, task: T) -> Address<T::Message> {
        self.node(node).spawn(task)
    }

    /// Returns everything that can happen next. The result is empty if no task has anything to do
    /// now, even if a timer will fire later. Call [`Simulation::settle`] first if code outside of
    /// tasks has sent messages or spawned tasks since the last step.
    #[must_use]
    pub fn choices(&self) -> &[Choice] {
        self.air.choices()
    }

    /// Returns the choices that steps and other code have caused, oldest first. The list contains
    /// one delivery for each message. The caller should empty the list after reading it.
    pub fn caused(&mut self) -> &mut Vec<Choice> {
        &mut self.air.caused
    }

    /// Returns the tasks that were created since the caller last emptied this list, oldest first.
    pub fn births(&mut self) -> &mut Vec<Birth> {
        &mut self.births
    }

    /// Returns information about the choice at an index.
    ///
    /// Returns `None` for a choice that the caller has offered.
    ///
    /// # Panics
    /// Panics if there is no such choice.
    #[must_use]
    pub fn circumstances(&self, at: usize) -> Option<Circumstances> {
        let (task, from, envelope) = self.air.look_at(at)?;
        let task = self.air.task(task);
        let kind = kind_of(envelope);
        Some(Circumstances {
            from: (from != NONE).then_some(from as usize),
            is_orphan: self.is_orphan(at),
            to: task.node as usize,
            type_name: task.table.name_of(),
            is_internal: task.table.internal,
            is_turn: !matches!(kind, Some(Kind::Stop | Kind::Move)),
            is_message: kind == Some(Kind::Messages),
            can_double: self.can_double(at),
            message_type: (task.table.message)(),
            message: (task.table.message_name)(),
            kind: kind_of_message(task.table, envelope),
        })
    }

    /// Returns true if the choice at an index delivers a message that can be copied. A message that
    /// is itself a copy cannot be copied. A message to a bounded mailbox cannot be copied either,
    /// because no place in the mailbox was taken for the copy.
    fn can_double(&self, at: usize) -> bool {
        let Some((task, _, envelope)) = self.air.look_at(at) else {
            return false;
        };
        let table = self.air.task(task).table;
        kind_of(envelope) == Some(Kind::Messages)
            && !table.bounded
            && self.air.copier_of(at).is_some()
            && self.copies.has(table)
    }

    /// Returns the nodes of the sender and of the receiver of the choice at an index. The node of
    /// the sender may be closed. Returns `None` if the choice delivers no message, or if its sender
    /// has no node.
    #[must_use]
    pub fn nodes_of(&self, at: usize) -> Option<(usize, usize)> {
        let (task, from, envelope) = self.air.look_at(at)?;
        let is_message = kind_of(envelope) == Some(Kind::Messages);
        let to = self.air.task(task).node as usize;
        (is_message && from != NONE).then_some((from as usize, to))
    }

    /// Allows copies of messages of type `M`.
    pub fn copy<M: Clone + 'static>(&mut self) {
        self.copies.add::<M>();
    }

    /// Copies the message that the choice at an index delivers. The copy can be delivered later.
    /// Does nothing if the message cannot be copied, or if its clone panics.
    fn double(&mut self, at: usize) {
        if !self.can_double(at) {
            return;
        }
        let (Some((task, _, envelope)), Some(copier)) =
            (self.air.look_at(at), self.air.copier_of(at))
        else {
            return;
        };
        let entry = self.air.task(task);
        let pool = self.worker(entry.node as usize).pool();
        // SAFETY: the envelope is in the air, so it has a message for a task with this table, and
        // nobody else uses it.
        let copy = unsafe { self.copies.make(pool, entry.table, envelope) };
        if let Some(copy) = copy {
            // The original is in the air as well, so the receiver is kept alive.
            let is_only = self.air.add_flight(task, copier, copy);
            debug_assert!(!is_only, "the original is in the air");
        }
    }

    /// Returns true if the choice at an index delivers a message whose sender's node is closed.
    fn is_orphan(&self, at: usize) -> bool {
        let from = self.air.look_at(at).map_or(NONE, |(_, from, _)| from);
        !matches!(from, NONE | NOWHERE) && !self.is_open(from as usize)
    }

    /// Returns the label of the task that receives the message of a choice, if the task has one.
    /// The label comes from [`Task::label`](crate::Task::label), which is foreign code.
    ///
    /// # Panics
    /// Panics if there is no such choice.
    #[must_use]
    pub fn label(&self, at: usize) -> Option<String> {
        let (task, ..) = self.air.look_at(at)?;
        let task = self.air.task(task);
        self.worker(task.node as usize).label(task.cell)
    }

    /// Offers the choice [`Choice::Other`] with this number, unless it is already offered. Numbers
    /// should be small, because they are used as indices.
    pub fn offer(&mut self, number: u32) {
        self.air.offer_other(number);
    }

    /// Withdraws the choice [`Choice::Other`] with this number, if it is offered.
    pub fn withdraw(&mut self, number: u32) {
        self.air.withdraw_other(number);
    }

    /// Makes a task prompt: each message to it is handled at once after the step that has sent the
    /// message, and is not a choice. The task must not send anything.
    pub fn make_prompt<M: 'static>(&mut self, task: &Address<M>) {
        self.settle();
        if let Some(index) = self.air.index_of(task.cell()) {
            self.air.make_prompt(index);
        }
    }

    /// Returns the number of tasks that other threads have created. These tasks make a simulation
    /// non-deterministic.
    #[must_use]
    pub fn strangers(&self) -> u32 {
        self.strangers
    }

    /// Adds choices for the work that code outside of tasks has created since the last step: for
    /// the messages that this code has sent, and for the tasks that it has spawned.
    ///
    /// # Panics
    /// Panics if called by a task, like all methods that run foreign code.
    #[track_caller]
    pub fn settle(&mut self) {
        check_outside();
        self.collect(Sender::OUTSIDE);
    }

    /// Takes the choice at an index. `fate` determines the result. Only a message can be lost, and
    /// only a turn can fail. If `fate` is not possible for the choice, the result is
    /// [`Fate::Happens`]. A choice that the caller has offered is only withdrawn.
    ///
    /// # Panics
    /// Panics if there is no such choice, or if called by a task.
    #[track_caller]
    pub fn step(&mut self, at: usize, fate: Fate) -> Stepped {
        check_outside();
        match fate {
            Fate::Doubled => self.double(at),
            Fate::Lost if self.is_orphan(at) => {
                if let Some(dropped) = self.air.drop_pair_at(at) {
                    self.drop_flights(&dropped);
                    self.discard_what_comes();
                }
                return Stepped { undone: false };
            }
            _ => {}
        }
        let Some(taken) = self.air.take(at) else {
            return Stepped { undone: false };
        };
        let task = self.air.task(taken.task);
        let (cell, node) = (task.cell, task.node);
        let kind = kind_of(taken.envelope);
        if fate == Fate::Lost && kind == Some(Kind::Messages) {
            self.drop_flights(&Dropped {
                cell,
                oldest: taken.envelope,
                node,
                is_last: taken.is_last,
            });
            self.discard_what_comes();
            return Stepped { undone: false };
        }
        let fails = fate == Fate::Fails && !matches!(kind, Some(Kind::Stop | Kind::Move));
        let sender = Sender {
            from: From::Code,
            name: task.name,
            node,
        };
        self.running.begin_step(fails);
        self.running.set_parent(task.name, task.children);
        let is_undecided = self.run_taken(&taken, cell, node, fails);
        let undone = self.running.end_step();
        if is_undecided {
            self.air.hold(taken.task);
        }
        self.note_children(taken.task, sender.name);
        self.collect(sender);
        // Again, because destructors and notices may create tasks.
        self.note_children(taken.task, sender.name);
        self.running.set_parent(TaskName::OUTSIDE, 0);
        Stepped { undone }
    }

    /// Returns true if a node has timers.
    #[must_use]
    pub fn has_timers(&self, node: usize) -> bool {
        self.is_open(node) && self.worker(node).has_timers()
    }

    /// Returns the deadline of the next timer of a node, by the clock of the node.
    #[must_use]
    pub fn next_deadline(&self, node: usize) -> Option<Nanos> {
        if !self.is_open(node) {
            return None;
        }
        self.worker(node).earliest()
    }

    /// Fires all due timers of a node, so that their messages are sent. Returns true if at least
    /// one timer was due.
    ///
    /// # Panics
    /// Panics if called by a task.
    #[track_caller]
    pub fn fire(&mut self, node: usize) -> bool {
        check_outside();
        let mut fired = false;
        while self.is_open(node) {
            let worker = self.worker(node);
            if !worker.fire_one(worker.now()) {
                break;
            }
            fired = true;
            self.collect(Sender::timer(node as u32));
        }
        fired
    }

    /// Closes a node as in a crash: its tasks are dropped. Messages to these tasks vanish, and so
    /// do messages that destructors of the tasks and of the vanished messages send. `sent`
    /// determines what happens to the messages that the node has sent to other nodes.
    ///
    /// # Panics
    /// Panics if called by a task.
    #[track_caller]
    pub fn crash(&mut self, node: usize, sent: Sent) {
        check_outside();
        self.close(node, Sender::NOWHERE, sent);
        self.discard_what_comes();
    }

    /// Discards messages that destructors have sent, for example refusals of questions. Otherwise,
    /// tasks would notice the loss of a message or the crash of a node.
    fn discard_what_comes(&mut self) {
        let caused = self.air.caused.len();
        self.collect(Sender::NOWHERE);
        self.drop_all_of(NOWHERE, Sent::Vanishes);
        self.air.caused.truncate(caused);
        self.collect(Sender::OUTSIDE);
    }

    /// Closes a node. `sender` is recorded as the sender of the messages that destructors of the
    /// node's tasks send.
    fn close(&mut self, node: usize, sender: Sender, sent: Sent) {
        if !self.is_open(node) {
            return;
        }
        self.drop_all_of(node as u32, sent);
        for _ in 0..STOPS_MAX {
            self.handle_events(sender);
            let tasks = self.air.tasks_of(node as u32);
            if tasks.is_empty() {
                break;
            }
            for cell in tasks {
                if self.air.index_of(cell).is_some() {
                    self.worker(node).stop_now(cell);
                    self.handle_events(sender);
                }
            }
        }
        let has_tasks = !self.air.tasks_of(node as u32).is_empty();
        self.running
            .set_empty(!has_tasks && !self.running.has_events());
        self.nodes[node] = None;
        self.running.set_empty(false);
    }

    fn drop_all_of(&mut self, node: u32, sent: Sent) {
        for dropped in self.air.remove_all_of(node, sent == Sent::Vanishes) {
            self.drop_flights(&dropped);
        }
    }

    /// Drops undelivered messages. Their destructors run.
    fn drop_flights(&self, dropped: &Dropped) {
        let worker = self.worker(dropped.node as usize);
        worker.drop_flights(dropped.cell, dropped.oldest);
        if dropped.is_last {
            worker.let_go_now(dropped.cell);
        }
    }

    /// Handles all events and records all messages that have come since the last call. Finishes
    /// turns whose commit was decided in the meantime. Repeats these steps until nothing new comes.
    fn collect(&mut self, sender: Sender) {
        for _ in 0..ROUNDS_MAX {
            if self.running.has_events() {
                self.handle_events(sender);
            }
            if !self.take_arrivals(sender)
                && !self.running.has_events()
                && !self.finish_decided(sender)
            {
                return;
            }
        }
        panic!("destructors or notices of watches cause each other without end");
    }

    /// Takes the next cell that got a WAKE note (a request for an activation) while the latest turn
    /// of the cell was waiting for a decision about its commit. Finishes this turn, if the decision
    /// was made. Returns false if there is no such cell. `sender` is the code that has caused the
    /// decision.
    fn finish_decided(&mut self, sender: Sender) -> bool {
        let woken = |here: &'_ Here| here.worker().later.next_woken();
        let Some(cell) = self.nodes.iter().flatten().find_map(woken) else {
            return false;
        };
        let Some(index) = self.air.index_of(cell) else {
            return true;
        };
        // The effects of the turn come from its task, as in a step of the task.
        let task = self.air.task(index);
        let from = Sender {
            from: From::Code,
            name: task.name,
            node: task.node,
        };
        let is_own = task.name == sender.name;
        let children = self.running.children();
        self.running.begin_step(false);
        self.running.set_parent(task.name, task.children);
        let is_undecided = self.worker(from.node as usize).finish_woken(cell);
        self.running.end_step();
        if !is_undecided {
            self.air.release(index);
        }
        self.handle_events(from);
        self.take_arrivals(from);
        self.note_children(index, from.name);
        if !is_own {
            self.running.set_parent(sender.name, children);
        }
        true
    }

    /// Records how many tasks a task has created up to the end of a step. `index` and `name` are
    /// the index and the name of the task at the beginning of the step. The task may have ended in
    /// the meantime, and its index may belong to another task now.
    fn note_children(&mut self, index: u32, name: TaskName) {
        if let Some(task) = self.air.task_mut(index)
            && task.name == name
        {
            task.children = self.running.children();
        }
    }

    /// Handles the events since the previous call, oldest first. An event is the creation of a
    /// task, the end of a task, or the sending of messages by a step.
    #[inline(never)]
    fn handle_events(&mut self, sender: Sender) {
        let mut events = mem::take(&mut self.handled);
        self.running.take_events(&mut events);
        for event in events.drain(..) {
            match event {
                Event::Born(birth) => self.note_birth(birth, sender),
                Event::Gone(cell) => {
                    for dropped in self.air.remove(cell) {
                        self.drop_flights(&dropped);
                    }
                }
                Event::Sent(cell, chain) => self.take_sent(cell, chain, sender),
            }
        }
        // Keeps the memory for later events.
        self.handled = events;
    }

    /// Records the messages in `chain`, which the commit of a step has sent to `cell`.
    fn take_sent(&mut self, cell: CellPtr, chain: Chain, sender: Sender) {
        let index = self.air.index_of(cell);
        let node = index.map_or(NONE, |index| self.air.task(index).node);
        let here = self.nodes.get(node as usize).and_then(Option::as_ref);
        let worker = here
            .map(Here::worker)
            .filter(|worker| worker.home == cell.home());
        let (Some(index), Some(worker)) = (index, worker) else {
            // The task has ended since, has moved, or belongs to no node.
            return self.worker(sender.node as usize).push_sent(cell, chain);
        };
        if let Some(message) = worker.only_message(cell, chain)
            && !self.air.task(index).is_prompt
        {
            // No foreign code runs. The reference that comes with the chain is for its flight.
            if !self.air.add_flight(index, sender, message) {
                worker.let_go_now(cell);
            }
            return;
        }
        let (air, mut prompts) = (&mut self.air, Prompts::new(node));
        worker.take_sent(cell, chain, |_, arrival| {
            prompts.add(worker, air, index, sender, arrival);
        });
        prompts.run(worker);
    }

    /// Records a new task.
    fn note_birth(&mut self, birth: hooks::Birth, sender: Sender) {
        let is_home =
            |here: &Option<Here>| matches!(here, Some(here) if here.worker().home == birth.home);
        let node = self.nodes.iter().position(is_home).unwrap_or_default();
        self.births.push(Birth {
            task: birth.name,
            parent: sender.name,
            node,
            type_name: birth.table.name_of(),
            is_internal: birth.table.internal,
        });
        self.air
            .add(birth.cell, birth.table, birth.name, node as u32);
    }

    /// Records the messages that have arrived at the nodes. Returns true if anything has arrived.
    fn take_arrivals(&mut self, sender: Sender) -> bool {
        let mut has_some = false;
        for (number, here) in self.nodes.iter().enumerate() {
            if let Some(here) = here
                && here.worker().has_arrivals()
            {
                has_some = true;
                add_arrivals(
                    here.worker(),
                    number as u32,
                    &mut self.air,
                    sender,
                    &mut self.strangers,
                );
            }
        }
        has_some
    }
}

/// Panics if the thread is in a turn.
#[track_caller]
fn check_outside() {
    assert!(
        !current::in_turn(),
        "a task must not run the simulation of its thread"
    );
}

/// Returns the name of a message's kind, if the task has names for kinds of messages.
fn kind_of_message(table: &Table, envelope: *mut Envelope) -> Option<&'static str> {
    if table.messages.is_empty() || kind_of(envelope) != Some(Kind::Messages) {
        return None;
    }
    // SAFETY: the envelope has a message for this task, which nobody moves meanwhile.
    let kind = quiet::call(|| unsafe { (table.kind_in_envelope)(envelope) });
    table.messages.get(kind.ok()?).copied()
}

/// Returns the kind of an envelope, or `None` if there is no envelope.
fn kind_of(envelope: *mut Envelope) -> Option<Kind> {
    // SAFETY: envelopes in the air are alive, and belong to the simulation.
    unsafe { envelope.as_ref() }.map(Envelope::kind)
}

impl Drop for Simulation {
    fn drop(&mut self) {
        for node in 0..self.nodes.len() {
            self.close(node, Sender::OUTSIDE, Sent::Vanishes);
            // Messages of its destructors to nodes that are still open.
            self.collect(Sender::OUTSIDE);
        }
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("nodes", &self.nodes.len())
            .field("choices", &self.choices())
            .finish_non_exhaustive()
    }
}
