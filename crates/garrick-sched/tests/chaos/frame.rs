//! A record of the staged effects of the current turn. With this record, a test knows which effects
//! an undo removes.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::PoisonError;
use std::thread;

use garrick_sched::Flow;

use crate::later::{self, Effects};
use crate::ledger::{self, fate};

/// The text with which the message of every intended panic begins.
pub(crate) const ON_PURPOSE: &str = "chaos";

struct Frame {
    /// The number of the task that runs the turn. 0 for code outside of turns.
    task: u32,
    staged: Vec<u32>,
    /// Number of messages without bytes that the turn has staged.
    nothings: u64,
}

thread_local! {
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
    /// True while a turn blocks on this thread.
    static BLOCKS: Cell<bool> = const { Cell::new(false) };
}

fn push(task: u32) {
    let frame = Frame {
        task,
        staged: Vec::new(),
        nothings: 0,
    };
    FRAMES.with_borrow_mut(|frames| frames.push(frame));
}

/// A guard of a turn, which exists until the turn ends.
pub(crate) struct InTurn {
    /// The result of the turn. `None` if the turn has panicked.
    flow: Option<Flow>,
    /// The place for the effects of the turn, if the commit of the turn is decided later.
    later: Option<later::Shared>,
}

impl InTurn {
    pub(crate) fn begin(task: u32) -> Self {
        push(task);
        Self {
            flow: None,
            later: None,
        }
    }

    /// Records that the commit of the turn is decided later.
    pub(crate) fn commits_later(&mut self, effects: later::Shared) {
        self.later = Some(effects);
    }

    pub(crate) fn end(mut self, flow: Flow) -> Flow {
        self.flow = Some(flow);
        flow
    }
}

impl Drop for InTurn {
    fn drop(&mut self) {
        let Some(frame) = FRAMES.with_borrow_mut(Vec::pop) else {
            return;
        };
        let effects = Effects {
            staged: frame.staged,
            nothings: frame.nothings,
        };
        if self.flow == Some(Flow::Stop) {
            ledger::mark(frame.task, fate::STOPS);
        }
        match self.flow {
            Some(Flow::Continue | Flow::Stop) => {
                if let Some(later) = &self.later {
                    *later.lock().unwrap_or_else(PoisonError::into_inner) = effects;
                }
                return;
            }
            Some(Flow::Undo) => {}
            None => {
                ledger::mark(frame.task, fate::FAILS);
            }
        }
        effects.undo();
    }
}

/// Calls `f`, whose effects do not belong to the current turn.
pub(crate) fn outside<R>(f: impl FnOnce() -> R) -> R {
    struct Outside;
    impl Drop for Outside {
        fn drop(&mut self) {
            FRAMES.with_borrow_mut(Vec::pop);
        }
    }
    push(0);
    let _outside = Outside;
    f()
}

/// Calls `f` while a turn blocks, and so outside of the turn. If `f` panics, the turn panics, too.
pub(crate) fn blocking(f: impl FnOnce()) {
    struct Blocks(bool);
    impl Drop for Blocks {
        fn drop(&mut self) {
            BLOCKS.set(self.0);
        }
    }
    let _blocks = Blocks(BLOCKS.replace(true));
    if panic::catch_unwind(AssertUnwindSafe(|| outside(f))).is_err() {
        fail();
    }
}

/// Returns true if a turn blocks on this thread.
pub(crate) fn is_blocking() -> bool {
    BLOCKS.get()
}

fn with_turn(f: impl FnOnce(&mut Frame)) {
    FRAMES.with_borrow_mut(|frames| {
        if let Some(frame) = frames.last_mut()
            && frame.task != 0
        {
            f(frame);
        }
    });
}

/// Records that a value is about to be staged, if this thread is in a turn.
pub(crate) fn stage(id: u32) {
    with_turn(|frame| frame.staged.push(id));
}

/// Records that a message without bytes was staged, if this thread is in a turn.
pub(crate) fn stage_nothing() {
    with_turn(|frame| frame.nothings += 1);
}

/// Returns the panic message of a task that panics on purpose.
pub(crate) fn last_words(task: u32) -> String {
    format!("{ON_PURPOSE} in {task:#x}")
}

/// Panics on purpose, unless the thread panics already.
pub(crate) fn fail() {
    if !thread::panicking() {
        let task = FRAMES.with_borrow(|frames| frames.last().map_or(0, |frame| frame.task));
        panic::panic_any(last_words(task));
    }
}

/// A panic payload that is no text, and whose destructor panics.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        fail();
    }
}

/// Panics on purpose, with a payload whose destructor panics, too.
pub(crate) fn explode() {
    if !thread::panicking() {
        panic::panic_any(Grenade);
    }
}

/// Prevents intended panics from being printed. All other panics are errors.
pub(crate) fn hook_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let said = info.payload().downcast_ref::<String>();
        if said.is_some_and(|said| said.starts_with(ON_PURPOSE)) || info.payload().is::<Grenade>() {
            return;
        }
        ledger::wrong(format!("a panic that nobody meant: {info}"));
        print(info);
    }));
}
