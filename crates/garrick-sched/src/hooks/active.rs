//! The simulation hooks, for builds with the feature `sim`. A simulation runs on one thread, so its
//! records are thread-local values.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::mem;
use std::panic::resume_unwind;
use std::ptr;

use garrick_core::prim::unmodelled::{AtomicBool, Relaxed};

use garrick_core::thread_values;

use crate::cell::{CellPtr, Chain, Home, Table};
use crate::names::{self, TaskName};

thread_values! {
    /// True while a simulation exists on this thread.
    static SIMULATES: Cell<bool> = Cell::new(false);
    /// Events that the simulation has not taken yet, such as creations and ends of tasks, oldest
    /// first.
    static EVENTS: RefCell<Vec<Event>> = RefCell::new(Vec::new());
    /// Task whose turn runs now. It is the parent of each task that is created in this turn.
    static PARENT: Cell<TaskName> = Cell::new(TaskName::OUTSIDE);
    static CHILDREN: Cell<u32> = Cell::new(0);
    /// Number of children of each root. A root is the parent of the tasks that code outside of
    /// tasks has created on one sponsor (group of workers).
    static ROOTS: RefCell<BTreeMap<TaskName, u32>> = RefCell::new(BTreeMap::new());
    /// True while a simulated node is closing and has no tasks left.
    static IS_EMPTY: Cell<bool> = Cell::new(false);
    /// True if the current turn must panic instead of committing.
    static FAILS: Cell<bool> = Cell::new(false);
    /// True if the current turn must panic when it ends, because the simulation has let it panic in
    /// the middle.
    static BROKEN_OFF: Cell<bool> = Cell::new(false);
    /// True if the current turn runs no code that can fail in production.
    static IS_SPARED: Cell<bool> = Cell::new(false);
    /// True if a turn of the current step of the simulation was undone.
    static UNDONE: Cell<bool> = Cell::new(false);
    /// True during a step of the simulation.
    static STEPS: Cell<bool> = Cell::new(false);
}

/// The panic message of a turn for which a simulation has chosen a failure.
pub const CHOSEN_FAILURE: &str = "the simulation has chosen that this turn fails";

/// Panics in the current turn, with the message [`CHOSEN_FAILURE`]. If the turn catches this panic,
/// it panics again when it ends. So its effects are undone in any case. Does nothing but panic
/// outside of the turns of a simulation.
pub fn break_turn_off() -> ! {
    BROKEN_OFF.set(STEPS.get() && !IS_SPARED.get());
    // Not by `panic!`, because the message is not for people.
    resume_unwind(Box::new(CHOSEN_FAILURE));
}

/// An event: a task was created or has ended, or messages were sent to it. The cell of a task that
/// has ended may already be freed.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    /// A task was created.
    Born(Birth),
    /// A task has ended.
    Gone(CellPtr),
    /// Messages were sent to a task. The event has a reference to the cell of this task.
    Sent(CellPtr, Chain),
}

/// A task that was created.
#[derive(Clone, Copy)]
pub(crate) struct Birth {
    pub(crate) cell: CellPtr,
    pub(crate) table: &'static Table,
    pub(crate) home: Home,
    pub(crate) name: TaskName,
}

/// Returns true if the calling thread runs a simulation.
pub(crate) fn simulates_here() -> bool {
    SIMULATES.get()
}

/// True if a thread has created a task for a simulation that runs on another thread. This
/// simulation does not know the task, so it searches for unknown tasks when it closes a node.
static HAS_STRANGERS: AtomicBool = AtomicBool::new(false);

/// Returns a number that identifies the calling thread. No other thread has the same number at the
/// same time.
fn this_thread() -> usize {
    SIMULATES.with(|simulates| ptr::from_ref(simulates).addr())
}

/// Hooks of a sponsor (a group of workers). The hooks are active if the sponsor is simulated.
#[derive(Clone, Copy)]
pub(crate) struct Hooks {
    are_active: bool,
    /// A number that identifies the thread that runs the simulation.
    thread: usize,
    /// Parent of the tasks that code outside of tasks creates on this sponsor (a group of workers).
    root: TaskName,
}

impl Hooks {
    /// Returns hooks that do nothing.
    pub(crate) fn none() -> Self {
        Self {
            are_active: false,
            thread: 0,
            root: TaskName::OUTSIDE,
        }
    }

    /// Returns active hooks for a simulation on the calling thread. `root` is the parent of the
    /// tasks that code outside of tasks creates.
    pub(crate) fn active(root: TaskName) -> Self {
        Self {
            are_active: true,
            thread: this_thread(),
            root,
        }
    }

    /// Returns true if the sponsor (the group of workers) of these hooks is simulated.
    #[inline(always)]
    pub(crate) fn are_active(self) -> bool {
        self.are_active
    }

    /// Returns true if the sponsors (groups of workers) of both hooks are in the same simulation,
    /// or if neither of them is in a simulation.
    pub(crate) fn are_beside(self, other: Self) -> bool {
        (self.are_active, self.thread) == (other.are_active, other.thread)
    }

    /// Returns the worker (home) whose tasks get messages directly in their mailboxes. This is
    /// `home`, except in a simulation. In a simulation, returns [`Home::STRANGER`], to which no
    /// task belongs. So even messages between tasks of one worker are staged until the turn
    /// commits.
    #[inline]
    pub(crate) fn sends_from(self, home: Home) -> Home {
        if self.are_active {
            Home::STRANGER
        } else {
            home
        }
    }

    /// Returns true if even messages to tasks of the same worker are sent like messages to other
    /// workers, because the sponsor (the group of workers) is simulated.
    #[inline]
    pub(crate) fn send_out(self) -> bool {
        self.are_active
    }

    /// Records that a task was created.
    #[inline]
    pub(crate) fn born(self, cell: CellPtr) {
        if !self.are_active {
            return;
        }
        if self.thread != this_thread() {
            // Relaxed: the creator holds the lock of `Shared::admits`. The simulation takes this
            // lock to refuse further tasks, before it asks `may_have_tasks`.
            HAS_STRANGERS.store(true, Relaxed);
        } else {
            IS_EMPTY.set(false);
            let name = self.next_name();
            names::set(cell.id().get(), name.get());
            record(Event::Born(Birth {
                cell,
                table: cell.table(),
                home: cell.home(),
                name,
            }));
        }
    }

    /// Returns the name for a task that has just been created, and counts the task as a child of
    /// its parent.
    fn next_name(self) -> TaskName {
        if PARENT.get() != TaskName::OUTSIDE {
            return PARENT.get().child(CHILDREN.replace(CHILDREN.get() + 1));
        }
        let number = ROOTS.with(|roots| {
            let mut roots = roots.borrow_mut();
            let next = roots.entry(self.root).or_default();
            *next += 1;
            *next - 1
        });
        self.root.child(number)
    }

    /// Records that a task has ended.
    #[inline]
    pub(crate) fn gone(self, cell: CellPtr) {
        if self.are_active {
            record(Event::Gone(cell));
        }
    }

    /// In a step of the simulation, takes over a chain (a list of envelopes) and a reference to the
    /// receiving cell, and returns true. Called by a commit that delivers the chain. Does nothing
    /// and returns false outside of steps, or if the cell is closed or is a door (a function behind
    /// an address). The caller must then push the chain to the inbox of the cell.
    #[inline]
    pub(crate) fn takes(self, cell: CellPtr, chain: Chain) -> bool {
        let takes = self.are_active && STEPS.get() && !cell.is_door() && !cell.inbox_is_closed();
        if takes {
            record(Event::Sent(cell, chain));
        }
        takes
    }

    /// Returns false if the sponsor (group of workers) certainly has no tasks, because its
    /// simulated node is closing and all tasks have ended. Otherwise returns true.
    pub(crate) fn may_have_tasks(self) -> bool {
        // Relaxed: see `born`.
        !self.are_active || !IS_EMPTY.get() || HAS_STRANGERS.load(Relaxed)
    }

    /// Records that a turn is about to be undone, and cancels a failure that was chosen for the
    /// turn.
    pub(crate) fn undone(self) {
        if self.are_active {
            FAILS.set(false);
            BROKEN_OFF.set(false);
            UNDONE.set(true);
        }
    }

    /// Cancels the failure that the simulation has chosen for the turn, if there is one.
    pub(crate) fn spare(self) {
        if self.are_active {
            FAILS.set(false);
            BROKEN_OFF.set(false);
            IS_SPARED.set(true);
        }
    }

    /// Panics if the turn, which ends now, has caught the panic of [`break_turn_off`].
    #[inline]
    pub(crate) fn fail_if_broken_off(self) {
        if self.are_active && BROKEN_OFF.replace(false) {
            resume_unwind(Box::new(CHOSEN_FAILURE));
        }
    }

    /// Panics if the simulation has chosen a failure for the turn.
    #[inline]
    pub(crate) fn fail_if_chosen(self) {
        if self.are_active && FAILS.replace(false) {
            // Not by `panic!`, because the message is not for people.
            resume_unwind(Box::new(CHOSEN_FAILURE));
        }
    }
}

fn record(event: Event) {
    EVENTS.with(|events| events.borrow_mut().push(event));
}

/// A guard that exists as long as a simulation runs on this thread. Dropping the guard ends the
/// simulation.
pub(crate) struct Running(());

impl Running {
    /// Begins a simulation. Returns `None` if a simulation already runs on this thread.
    pub(crate) fn begin() -> Option<Self> {
        (!SIMULATES.replace(true)).then(|| {
            let running = Self(());
            running.set_parent(TaskName::OUTSIDE, 0);
            running
        })
    }

    /// Sets the parent of the tasks that are created from now on, and the number of tasks that this
    /// parent has created.
    pub(crate) fn set_parent(&self, parent: TaskName, children: u32) {
        PARENT.set(parent);
        CHILDREN.set(children);
    }

    /// Returns how many tasks the current parent has created. The current parent is the task whose
    /// turn runs now.
    pub(crate) fn children(&self) -> u32 {
        CHILDREN.get()
    }

    /// Sets the flag that is true while a simulated node is closing and has no tasks left.
    pub(crate) fn set_empty(&self, is_empty: bool) {
        IS_EMPTY.set(is_empty);
    }

    /// Moves all recorded events, oldest first, to `empty`, which must be an empty list.
    pub(crate) fn take_events(&self, empty: &mut Vec<Event>) {
        debug_assert!(empty.is_empty(), "no event is lost");
        EVENTS.with(|events| mem::swap(&mut *events.borrow_mut(), empty));
    }

    /// Returns true if events were recorded and not taken yet.
    pub(crate) fn has_events(&self) -> bool {
        EVENTS.with(|events| !events.borrow().is_empty())
    }

    /// Begins a step. If `fails` is true, the turn of the step panics instead of committing.
    pub(crate) fn begin_step(&self, fails: bool) {
        FAILS.set(fails);
        BROKEN_OFF.set(false);
        IS_SPARED.set(false);
        UNDONE.set(false);
        STEPS.set(true);
    }

    /// Ends a step, and returns true if a turn of this step was undone.
    pub(crate) fn end_step(&self) -> bool {
        FAILS.set(false);
        BROKEN_OFF.set(false);
        STEPS.set(false);
        UNDONE.replace(false)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        EVENTS.take();
        names::clear();
        ROOTS.take();
        SIMULATES.set(false);
    }
}
