//! The air: all tasks of a simulation, all messages that were sent and not yet delivered
//! (*flights*), and the choices, which are the possible next steps.

mod batch;

use std::mem;
use std::ptr;

use hashbrown::HashMap;
use slab::Slab;

use super::hash::ByNumber;
use crate::cell::{CellPtr, Envelope, Table};
use crate::names::TaskName;

/// A possible next step of a simulation, such as the delivery of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Choice {
    /// A task starts.
    Start {
        /// Task that starts.
        task: TaskName,
    },
    /// The oldest message on its way from one sender to one receiver is delivered.
    Deliver {
        /// Sender: a task, a timer, or [`TaskName::OUTSIDE`].
        from: TaskName,
        /// Receiver.
        to: TaskName,
    },
    /// An event that the caller has offered as a choice, for example that time passes.
    Other(
        /// Number by which the caller recognizes the event.
        u32,
    ),
}

/// Number of empty sender-receiver pairs that are kept in any case. An empty pair has no
/// undelivered messages.
const EMPTY_MAX: usize = 64;

/// Value of an index field that refers to nothing.
pub(super) const NONE: u32 = u32::MAX;

/// A task of a simulation.
pub(super) struct Entry {
    pub(super) cell: CellPtr,
    pub(super) name: TaskName,
    /// Function table of the task. Stored here because the cell loses this table when the task
    /// ends.
    pub(super) table: &'static Table,
    /// Index of the task's node.
    pub(super) node: u32,
    /// Number of tasks that this task has created.
    pub(super) children: u32,
    /// Number of timers that have sent messages to this task.
    timers: u32,
    /// True if each message is delivered to the task at once, and not as a separate step of the
    /// simulation.
    pub(super) is_prompt: bool,
    /// Number of messages that were sent to the task and not yet delivered.
    in_air: u32,
    /// Index of the first sender-receiver pair whose receiver is this task, or `NONE`.
    pairs: u32,
    /// Index of the sender-receiver pair to which the newest message to this task was added, or
    /// `NONE`.
    recent: u32,
    /// Index of the choice that starts the task, or `NONE`. Messages to the task cannot be
    /// delivered before the start.
    start: u32,
    /// True while messages to the task cannot be delivered, because it is not decided yet whether
    /// the latest turn of the task commits.
    is_held: bool,
    /// True if a turn of the task has tried to take further messages out of the mailbox.
    takes_more: bool,
}

/// A pair of a sender and a receiver, with the undelivered messages from this sender to this
/// receiver (flights). A pair without flights is kept for a while, because the sender will probably
/// send more messages.
struct Pair {
    from: TaskName,
    /// Node of the sender, or `NONE`.
    from_node: u32,
    /// True if the sender is a timer.
    is_of_timer: bool,
    /// True if the messages of this sender-receiver pair are copies.
    is_of_copies: bool,
    /// Index of the receiver.
    to: u32,
    /// Oldest and newest message of this sender-receiver pair, or null. Each message links to the
    /// next newer message.
    flights: (*mut Envelope, *mut Envelope),
    /// Index of the next sender-receiver pair with the same receiver, or `NONE`. `previous` is the
    /// index of the previous pair.
    next: u32,
    previous: u32,
    /// Index of the choice that delivers the oldest message of this sender-receiver pair. `NONE`
    /// while no message of the pair can be delivered.
    choice: u32,
}

/// Effect of a choice: the start of a task, the delivery of the oldest message of a sender-receiver
/// pair, or an event that the caller has offered.
#[derive(Clone, Copy)]
enum Target {
    Start(u32),
    Pair(u32),
    Other(u32),
}

/// The sender of a message, as the simulation records it.
#[derive(Clone, Copy)]
pub(super) struct Sender {
    pub(super) from: From,
    /// Name of the sender, if it is not a timer.
    pub(super) name: TaskName,
    /// Node of the sender, or `NONE`.
    pub(super) node: u32,
}

/// Kind of a sender.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// A task, or code outside of tasks.
    Code,
    Timer,
    /// A network link that delivers copies of messages.
    Copies,
    /// Destructors of lost messages, or of the tasks of a crashed node. Messages from these
    /// destructors are discarded.
    Nowhere,
}

/// Node number of the sender [`Sender::NOWHERE`], whose messages are discarded.
pub(super) const NOWHERE: u32 = NONE - 1;

impl Sender {
    pub(super) const OUTSIDE: Self = Self::without_task(From::Code);
    pub(super) const NOWHERE: Self = Self {
        name: TaskName::NOWHERE,
        node: NOWHERE,
        ..Self::without_task(From::Nowhere)
    };

    /// Returns the sender that is recorded for the messages of a node's timers.
    pub(super) const fn timer(node: u32) -> Self {
        Self {
            node,
            ..Self::without_task(From::Timer)
        }
    }

    const fn without_task(from: From) -> Self {
        Self {
            from,
            name: TaskName::OUTSIDE,
            node: NONE,
        }
    }
}

/// A choice that was taken: the cell to run, and the message to deliver.
pub(super) struct Taken {
    pub(super) task: u32,
    /// Index of the sender-receiver pair of the message. `NONE` if the pair has no further
    /// messages, or if the choice starts a task.
    pub(super) pair: u32,
    /// Envelope to deliver, or null if the task starts.
    pub(super) envelope: *mut Envelope,
    /// True if the task has no further undelivered messages. In this case, a reference to the task
    /// must be dropped.
    pub(super) is_last: bool,
}

/// Undelivered messages that must be dropped. All of them have the same receiver.
pub(super) struct Dropped {
    pub(super) cell: CellPtr,
    /// Oldest message to drop, which is the beginning of a linked list of all messages to drop.
    pub(super) oldest: *mut Envelope,
    /// Node of the receiver.
    pub(super) node: u32,
    /// True if the task has no further undelivered messages. In this case, a reference to the task
    /// must be dropped.
    pub(super) is_last: bool,
}

/// All tasks and all undelivered messages (flights) of a simulation.
#[derive(Default)]
pub(super) struct Air {
    tasks: Slab<Entry>,
    /// Index of each task, by the address of the task's cell.
    cells: HashMap<usize, u32, ByNumber>,
    pairs: Slab<Pair>,
    /// Index of each sender-receiver pair, by the name of the sender and the index of the receiver.
    by_ends: HashMap<(u64, u32), u32, ByNumber>,
    /// Number of sender-receiver pairs without undelivered messages.
    empty: usize,
    choices: Vec<Choice>,
    /// Effect of each choice. A choice has the same index here and in `choices`.
    targets: Vec<Target>,
    /// Indices in `choices` of the events that the caller has offered, by the number of the event.
    /// `NONE` for each event that is not offered.
    others: Vec<u32>,
    /// Choices that were created by steps of the simulation or by other code, oldest first. The
    /// user of the simulation empties this list.
    pub(super) caused: Vec<Choice>,
    /// Maximum number of further messages that are delivered together with a chosen message. Each
    /// attempt to deliver further messages first increases this number by 1. After `MORE_MAX`, the
    /// number begins again at 0.
    more: u32,
}

impl Air {
    pub(super) fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Returns three values for a choice: the index of the receiver, the node of the sender, and
    /// the envelope. The envelope is null if the choice is the start of a task. Returns `None` for
    /// an event that the caller has offered as a choice.
    pub(super) fn look_at(&self, at: usize) -> Option<(u32, u32, *mut Envelope)> {
        match self.targets[at] {
            Target::Start(task) => Some((task, self.task(task).node, ptr::null_mut())),
            Target::Other(_) => None,
            Target::Pair(pair) => {
                let pair = &self.pairs[pair as usize];
                Some((pair.to, pair.from_node, pair.flights.0))
            }
        }
    }

    /// Returns the sender to record for a copy of the message that choice number `at` delivers.
    /// Returns `None` if the choice is not a delivery, or if the message is itself a copy.
    pub(super) fn copier_of(&self, at: usize) -> Option<Sender> {
        let Target::Pair(pair) = self.targets[at] else {
            return None;
        };
        let pair = &self.pairs[pair as usize];
        (!pair.is_of_copies).then(|| Sender {
            from: From::Copies,
            name: pair.from.of_copies(),
            node: pair.from_node,
        })
    }

    /// Removes the sender-receiver pair from which choice number `at` delivers a message. Returns
    /// all undelivered messages of the pair. Returns `None` if the choice is not a delivery.
    pub(super) fn drop_pair_at(&mut self, at: usize) -> Option<Dropped> {
        match self.targets[at] {
            Target::Pair(pair) => self.drop_pair(pair),
            _ => None,
        }
    }

    pub(super) fn task(&self, index: u32) -> &Entry {
        &self.tasks[index as usize]
    }

    /// Returns the index of the task in `cell`.
    pub(super) fn index_of(&self, cell: CellPtr) -> Option<u32> {
        self.cells.get(&cell.0.addr().get()).copied()
    }

    pub(super) fn task_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.tasks.get_mut(index as usize)
    }

    /// Records the node of a task, because the task may have moved to another node.
    pub(super) fn settle_at(&mut self, index: u32, node: u32) {
        self.tasks[index as usize].node = node;
    }

    /// Adds a task, which may already have ended.
    pub(super) fn add(&mut self, cell: CellPtr, table: &'static Table, name: TaskName, node: u32) {
        let entry = Entry {
            cell,
            name,
            table,
            node,
            children: 0,
            timers: 0,
            is_prompt: false,
            in_air: 0,
            pairs: NONE,
            recent: NONE,
            start: NONE,
            is_held: false,
            takes_more: false,
        };
        let index = self.tasks.insert(entry) as u32;
        self.cells.insert(cell.0.addr().get(), index);
    }

    /// Removes a task that has ended. Returns the undelivered messages to this task.
    pub(super) fn remove(&mut self, cell: CellPtr) -> Vec<Dropped> {
        let Some(index) = self.cells.remove(&cell.0.addr().get()) else {
            return Vec::new();
        };
        let mut dropped = Vec::new();
        while self.task(index).pairs != NONE {
            dropped.extend(self.drop_pair(self.task(index).pairs));
        }
        let entry = self.tasks.remove(index as usize);
        if entry.start != NONE {
            self.withdraw(entry.start);
        }
        dropped
    }

    /// Removes the undelivered messages to the tasks of a node. If `with_sent` is true, also
    /// removes the messages that the tasks of this node have sent. Returns the removed messages.
    pub(super) fn remove_all_of(&mut self, node: u32, with_sent: bool) -> Vec<Dropped> {
        let is_of =
            |pair: &Pair| (with_sent && pair.from_node == node) || self.task(pair.to).node == node;
        let pairs: Vec<u32> = (self.pairs.iter())
            .filter(|(_, pair)| is_of(pair))
            .map(|(index, _)| index as u32)
            .collect();
        pairs
            .into_iter()
            .filter_map(|pair| self.drop_pair(pair))
            .collect()
    }

    /// Returns the cells of a node's tasks.
    pub(super) fn tasks_of(&self, node: u32) -> Vec<CellPtr> {
        let of_node = self.tasks.iter().filter(|(_, task)| task.node == node);
        of_node.map(|(_, task)| task.cell).collect()
    }

    /// Adds the start of a task to the choices. Messages to the task cannot be delivered before the
    /// start.
    pub(super) fn offer_start(&mut self, index: u32) {
        let task = self.task(index).name;
        self.withdraw_pairs(index);
        let at = self.offer(Choice::Start { task }, Target::Start(index));
        self.tasks[index as usize].start = at;
        self.caused.push(Choice::Start { task });
    }

    /// Removes all choices that deliver messages to a task, because it is not decided yet whether
    /// the latest turn of the task commits.
    pub(super) fn hold(&mut self, index: u32) {
        self.tasks[index as usize].is_held = true;
        self.withdraw_pairs(index);
    }

    /// Allows the delivery of messages to a task again. Called when it is decided whether the
    /// latest turn of the task commits.
    pub(super) fn release(&mut self, index: u32) {
        if mem::replace(&mut self.tasks[index as usize].is_held, false) {
            self.offer_pairs(index);
        }
    }

    /// Removes all choices that deliver messages to a task.
    fn withdraw_pairs(&mut self, index: u32) {
        let mut next = self.task(index).pairs;
        while next != NONE {
            let pair = &mut self.pairs[next as usize];
            let choice = mem::replace(&mut pair.choice, NONE);
            next = pair.next;
            if choice != NONE {
                self.withdraw(choice);
            }
        }
    }

    /// Adds choices for a task: for each sender, the delivery of its next message to the task.
    fn offer_pairs(&mut self, index: u32) {
        let mut next = self.task(index).pairs;
        while next != NONE {
            let pair = &self.pairs[next as usize];
            let choice = Choice::Deliver {
                from: pair.from,
                to: self.task(index).name,
            };
            let following = pair.next;
            if !pair.flights.0.is_null() {
                self.pairs[next as usize].choice = self.offer(choice, Target::Pair(next));
            }
            next = following;
        }
    }

    /// Adds an undelivered message. The receiver is the task with the index `to`. Returns true if
    /// this task has no other undelivered messages.
    pub(super) fn add_flight(&mut self, to: u32, sender: Sender, envelope: *mut Envelope) -> bool {
        // SAFETY: the envelope is ours.
        unsafe { (*envelope).set_next(ptr::null_mut()) };
        let entry = &mut self.tasks[to as usize];
        entry.in_air += 1;
        let is_only = entry.in_air == 1;
        let from = if sender.from == From::Timer {
            entry.timers += 1;
            entry.name.timer(entry.timers - 1)
        } else {
            sender.name
        };
        let choice = Choice::Deliver {
            from,
            to: entry.name,
        };
        self.caused.push(choice);
        let pair = match self.find_pair(from, to) {
            Some(pair) => pair,
            None => self.add_pair(from, sender, to),
        };
        self.append(pair, choice, envelope);
        is_only
    }

    fn find_pair(&self, from: TaskName, to: u32) -> Option<u32> {
        let recent = self.task(to).recent;
        if recent != NONE && self.pairs[recent as usize].from == from {
            return Some(recent);
        }
        self.by_ends.get(&(from.get(), to)).copied()
    }

    /// Adds a pair of a sender and a receiver, without messages.
    fn add_pair(&mut self, from: TaskName, sender: Sender, to: u32) -> u32 {
        self.purge();
        let next = self.task(to).pairs;
        let index = self.pairs.insert(Pair {
            from,
            from_node: sender.node,
            is_of_timer: sender.from == From::Timer,
            is_of_copies: sender.from == From::Copies,
            to,
            flights: (ptr::null_mut(), ptr::null_mut()),
            next,
            previous: NONE,
            choice: NONE,
        }) as u32;
        if next != NONE {
            self.pairs[next as usize].previous = index;
        }
        self.tasks[to as usize].pairs = index;
        self.by_ends.insert((from.get(), to), index);
        self.empty += 1;
        index
    }

    /// Appends an undelivered message to a sender-receiver pair. `choice` is the choice that
    /// delivers the oldest message of the pair.
    fn append(&mut self, index: u32, choice: Choice, envelope: *mut Envelope) {
        let pair = &mut self.pairs[index as usize];
        let (oldest, newest) = &mut pair.flights;
        if oldest.is_null() {
            *oldest = envelope;
            self.empty -= 1;
        } else {
            // SAFETY: the envelopes of a pair are ours.
            unsafe { (**newest).set_next(envelope) };
        }
        *newest = envelope;
        let (to, is_offered) = (pair.to, pair.choice != NONE);
        let entry = &mut self.tasks[to as usize];
        entry.recent = index;
        if !is_offered && entry.start == NONE && !entry.is_held {
            self.pairs[index as usize].choice = self.offer(choice, Target::Pair(index));
        }
    }

    /// Removes all sender-receiver pairs without undelivered messages, if there are many.
    fn purge(&mut self) {
        if self.empty <= EMPTY_MAX.max(2 * self.tasks.len()) {
            return;
        }
        let empty = self
            .pairs
            .iter()
            .filter(|(_, pair)| pair.flights.0.is_null());
        let empty: Vec<u32> = empty.map(|(index, _)| index as u32).collect();
        for index in empty {
            self.remove_pair(index);
        }
    }

    /// Takes the choice at an index. Returns `None` for an event that the caller has offered as a
    /// choice.
    pub(super) fn take(&mut self, at: usize) -> Option<Taken> {
        match self.targets[at] {
            Target::Start(task) => Some(self.take_start(task)),
            Target::Pair(pair) => Some(self.take_flight(pair)),
            Target::Other(number) => {
                self.withdraw_other(number);
                None
            }
        }
    }

    /// Offers the choice `Choice::Other(number)`, unless it is already offered.
    pub(super) fn offer_other(&mut self, number: u32) {
        let needed = number as usize + 1;
        if self.others.len() < needed {
            self.others.resize(needed, NONE);
        }
        if self.others[number as usize] == NONE {
            let at = self.offer(Choice::Other(number), Target::Other(number));
            self.others[number as usize] = at;
        }
    }

    /// Withdraws the choice `Choice::Other(number)`, if it is offered.
    pub(super) fn withdraw_other(&mut self, number: u32) {
        if let Some(at) = self.others.get_mut(number as usize)
            && *at != NONE
        {
            let at = mem::replace(at, NONE);
            self.withdraw(at);
        }
    }

    /// Marks a task as prompt: each message to the task is delivered at once, and not as a separate
    /// step of the simulation.
    pub(super) fn make_prompt(&mut self, index: u32) {
        self.tasks[index as usize].is_prompt = true;
    }

    fn take_start(&mut self, task: u32) -> Taken {
        let at = mem::replace(&mut self.tasks[task as usize].start, NONE);
        self.withdraw(at);
        self.offer_pairs(task);
        Taken {
            task,
            pair: NONE,
            envelope: ptr::null_mut(),
            is_last: false,
        }
    }

    fn take_flight(&mut self, index: u32) -> Taken {
        let pair = &mut self.pairs[index as usize];
        let (task, envelope) = (pair.to, pair.flights.0);
        // SAFETY: the envelopes of a pair are ours.
        let next = unsafe {
            let next = (*envelope).next();
            (*envelope).set_next(ptr::null_mut());
            next
        };
        pair.flights.0 = next;
        if next.is_null() {
            let (choice, is_of_timer) = (mem::replace(&mut pair.choice, NONE), pair.is_of_timer);
            self.empty += 1;
            self.withdraw(choice);
            if is_of_timer {
                // Each of its messages has a new name.
                self.remove_pair(index);
            }
        }
        let entry = &mut self.tasks[task as usize];
        entry.in_air -= 1;
        Taken {
            task,
            pair: if next.is_null() { NONE } else { index },
            envelope,
            is_last: entry.in_air == 0,
        }
    }

    /// Removes a sender-receiver pair. Returns the undelivered messages of the pair, if there are
    /// any.
    fn drop_pair(&mut self, index: u32) -> Option<Dropped> {
        let pair = self.remove_pair(index);
        if pair.flights.0.is_null() {
            return None;
        }
        let mut count = 0;
        let mut at = pair.flights.0;
        while !at.is_null() {
            count += 1;
            // SAFETY: the envelopes of a pair are ours.
            at = unsafe { (*at).next() };
        }
        let entry = &mut self.tasks[pair.to as usize];
        entry.in_air -= count;
        Some(Dropped {
            cell: entry.cell,
            oldest: pair.flights.0,
            node: entry.node,
            is_last: entry.in_air == 0,
        })
    }

    fn remove_pair(&mut self, index: u32) -> Pair {
        let pair = self.pairs.remove(index as usize);
        self.empty -= usize::from(pair.flights.0.is_null());
        self.by_ends.remove(&(pair.from.get(), pair.to));
        let receiver = &mut self.tasks[pair.to as usize];
        if receiver.recent == index {
            receiver.recent = NONE;
        }
        match pair.previous {
            NONE => self.tasks[pair.to as usize].pairs = pair.next,
            previous => self.pairs[previous as usize].next = pair.next,
        }
        if pair.next != NONE {
            self.pairs[pair.next as usize].previous = pair.previous;
        }
        if pair.choice != NONE {
            self.withdraw(pair.choice);
        }
        pair
    }

    /// Adds a choice and returns its index.
    fn offer(&mut self, choice: Choice, target: Target) -> u32 {
        self.choices.push(choice);
        self.targets.push(target);
        self.choices.len() as u32 - 1
    }

    /// Removes the choice at an index. The last choice moves to this index.
    fn withdraw(&mut self, at: u32) {
        self.choices.swap_remove(at as usize);
        self.targets.swap_remove(at as usize);
        match self.targets.get(at as usize) {
            Some(&Target::Start(task)) => self.tasks[task as usize].start = at,
            Some(&Target::Pair(pair)) => self.pairs[pair as usize].choice = at,
            Some(&Target::Other(number)) => self.others[number as usize] = at,
            None => {}
        }
    }
}
