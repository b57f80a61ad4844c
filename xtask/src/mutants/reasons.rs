//! Reasons why mutants survive.
//!
//! It is an error if there is a reason for a mutant that is killed, or for a mutant that does not
//! exist.

/// The reason for the survival of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The mutant is as correct as the original. The text is the reason.
    Equivalent(&'static str),
    /// No model can notice the mutant. The text is the reason, and describes the check that
    /// replaces a model.
    NotModelled(&'static str),
}

/// The reason for each survivor, by its id.
pub(super) const REASONS: &[(&str, Reason)] = &[
    (
        "sched/runtime/sponsor/looks.rs:take_parked:fence:SeqCst->AcqRel",
        LOOKED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:take_parked:fence:SeqCst->none",
        LOOKED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:takes_missed:swap:AcqRel->Acquire",
        WATCHED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:takes_missed:swap:AcqRel->Release",
        WATCHED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:call_watch_if_idle:fence:SeqCst->AcqRel",
        WATCHED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:call_watch_if_idle:fence:SeqCst->none",
        WATCHED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:watch_timers:fence:SeqCst#2->AcqRel",
        WATCHED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:watch_timers:fence:SeqCst#2->none",
        WATCHED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:watch_timers:fence:SeqCst->AcqRel",
        WATCHED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:watch_timers:fence:SeqCst->none",
        WATCHED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:watch_timers:swap:AcqRel->Acquire",
        WATCHED,
    ),
    (
        "sched/runtime/sponsor/looks.rs:watch_timers:swap:AcqRel->Release",
        WATCHED,
    ),
    (
        "steal/deque/shared.rs:counts-the-tail-before-the-done",
        Reason::Equivalent(
            "the caller, `verdict`, compares the marks before and after the check. A value that \
             arrived between the loads of the tail and of `done` has changed a mark, or its send \
             is still in progress. A value that was in the deque earlier lies below `done`",
        ),
    ),
    (
        "steal/deque/stealer.rs:is-done-before-the-head-is-back",
        Reason::Equivalent(
            "a thread that compares `head` and `done` holds the lock, and both get the same value. \
             So no other thread can notice the order of the two stores, unless there is a panic \
             between them",
        ),
    ),
    (
        "sched/remote.rs:claim:swap:AcqRel->Release",
        Reason::Equivalent("the swap returns null, and no read depends on this value"),
    ),
    ("sched/remote.rs:claim:swap:AcqRel->Acquire", REMOTES),
    ("sched/remote.rs:of:load:Acquire->Relaxed", REMOTES),
    (
        "sched/runtime/room/line.rs:note_waiting:store:SeqCst->Relaxed",
        ROOM,
    ),
    (
        "sched/runtime/room/line.rs:any_after_write:load:SeqCst->Relaxed",
        ROOM,
    ),
    (
        "sched/runtime/room/mod.rs:nudge_by:swap:Release->Relaxed",
        ROOM,
    ),
    (
        "sched/runtime/room/mod.rs:take_some:load:SeqCst->Relaxed",
        ROOM,
    ),
    (
        "sched/runtime/room/mod.rs:take_some:compare_exchange_weak/failure:SeqCst->Relaxed",
        ROOM,
    ),
    (
        "sched/runtime/sponsor/crew.rs:call:store:Release->Relaxed",
        TICKET,
    ),
    (
        "sched/runtime/sponsor/crew.rs:wait:load:Acquire->Relaxed",
        TICKET,
    ),
    ("sched/cell/mail.rs:snapshot:fence:Acquire#2->none", STOOD),
    ("sched/cell/mail.rs:snapshot:fence:Acquire#3->none", STOOD),
    ("sched/cell/mail.rs:snapshot:fence:Acquire->none", STOOD),
    (
        "sched/run_queue.rs:push_where_there_is_room:store:Release->Relaxed",
        STOOD,
    ),
    ("sched/run_queue.rs:put:store:Release->Relaxed", STOOD),
    (
        "sched/run_queue.rs:stood_before:load:Acquire#2->Relaxed",
        STOOD,
    ),
    (
        "sched/run_queue.rs:stood_before:load:Acquire#3->Relaxed",
        STOOD,
    ),
    (
        "sched/run_queue.rs:stood_before:load:Acquire#4->Relaxed",
        STOOD,
    ),
    (
        "sched/run_queue.rs:stood_before:load:Acquire#5->Relaxed",
        STOOD,
    ),
    (
        "sched/run_queue.rs:stood_before:load:Acquire->Relaxed",
        STOOD,
    ),
    (
        "sched/runtime/sponsor/rescue.rs:of:load:Acquire->Relaxed",
        STOOD,
    ),
    (
        "sched/runtime/sponsor/rescue.rs:turn:load:Acquire->Relaxed",
        STOOD,
    ),
    ("sched/runtime/stage.rs:cover:fence:Release->none", STOOD),
    ("sched/runtime/stage.rs:end:fence:Release->none", STOOD),
    (
        "sched/runtime/stage.rs:forget_appended:fence:Release->none",
        STOOD,
    ),
    (
        "sched/runtime/worker/undo.rs:unschedule:fence:Release->none",
        STOOD,
    ),
    (
        "sched/runtime/worker/shown.rs:set:store:Release->Relaxed",
        NAME,
    ),
    (
        "sched/runtime/worker/shown.rs:look:load:Acquire->Relaxed",
        NAME,
    ),
    (
        "sched/runtime/worker/shown.rs:fence:compiler_fence:SeqCst->AcqRel",
        LIGHT,
    ),
    (
        "sched/runtime/worker/shown.rs:fence:compiler_fence:SeqCst->none",
        LIGHT,
    ),
    (
        "sched/runtime/sponsor/crew.rs:keep_watch:fence:SeqCst->AcqRel",
        WATCH,
    ),
    (
        "sched/runtime/sponsor/crew.rs:keep_watch:fence:SeqCst->none",
        WATCH,
    ),
    (
        "sched/runtime/sponsor/crew.rs:pass_watch:fence:SeqCst->AcqRel",
        WATCH,
    ),
    (
        "sched/runtime/sponsor/crew.rs:pass_watch:fence:SeqCst->none",
        WATCH,
    ),
    (
        "sched/runtime/sponsor/idle.rs:clears-the-home-before-references-are-shared",
        Reason::Equivalent(
            "the token is held, so no thread learns the home from an empty inbox before the cell \
             is taken over. A thread that drops a reference in the meantime reads the shared count \
             in both cases",
        ),
    ),
    (
        "sched/cell/ready.rs:count_sit:store:Release->Relaxed",
        THREE_WORKERS,
    ),
    (
        "sched/cell/ready.rs:sits:load:Acquire->Relaxed",
        THREE_WORKERS,
    ),
    (
        "sched/runtime/sponsor/shutdown.rs:wind_up:fetch_add:Release->Relaxed",
        CLOSED,
    ),
    (
        "sched/runtime/sponsor/mod.rs:have_all_closed:load:Acquire->Relaxed",
        CLOSED,
    ),
    (
        "sched/runtime/sponsor/thread.rs:drop:fetch_add:Release->Relaxed",
        CLOSED,
    ),
    (
        "sched/runtime/sponsor/mod.rs:publishes-and-wakes-half",
        Reason::NotModelled(
            "nothing is lost: a worker that is awake claims the remaining cells before it sleeps. \
             The mutant only makes these cells wait longer, and no test measures this time",
        ),
    ),
];

const REMOTES: Reason = Reason::NotModelled(
    "loom's atomics cannot be in a static. Only one caller needs the order: `Ask::wait`, which has \
     read the home of a cell that has just arrived at this home. No other check replaces the model",
);

/// Reason for mutants that cannot be noticed with only two workers.
const THREE_WORKERS: Reason = Reason::NotModelled(
    "only a program with three workers can notice the mutant: two workers send to each other while \
     the third one checks. That is more than loom can explore. The proof in \
     `runtime/sponsor/README.md` (the end) replaces the model",
);

/// Reason for mutants of the places in bounded mailboxes. On x86-64, other instructions also order
/// the accesses to these places.
const ROOM: Reason = Reason::NotModelled(
    "models use a fence instead of SeqCst, and this fence also orders relaxed accesses. On x86-64, \
     the locked instructions between the accesses (the unlock of the queue, the subtraction) are \
     full barriers. So no test can notice the mutant. The argument at the top of `room/mod.rs` \
     replaces the model",
);

/// Reason for mutants of the code that reads a worker's run queues during a turn.
const STOOD: Reason = Reason::NotModelled(
    "run queues and mailboxes use the atomics of `std` in models, too. Otherwise every model would \
     explore thread switches at each of their accesses. The section on rescue in \
     `sponsor/README.md` contains the argument (Q1 and Q4). The chaos test of tasks and \
     `tests/rescue.rs` use these accesses, but run on processors that keep the order by themselves",
);

/// Reason for mutants of the word that names the running cell.
const NAME: Reason = Reason::NotModelled(
    "in a model, the fence after the store gives the same order, because loom never switches \
     threads between the store and the fence. In production, there is no such fence. The two \
     accesses are a usual pair: the store releases the changes to other cells, and the load \
     acquires them",
);

/// Reason for mutants of the compiler fence for the word that names the running cell.
const LIGHT: Reason = Reason::NotModelled(
    "models use a `fence(SeqCst)` instead of the compiler fence, and the mutants of that \
     `fence(SeqCst)` are killed. The compiler keeps the order of the two accesses even without a \
     fence (`core/fence.rs`), so no test of the program can notice the mutant",
);

/// Reason for mutants of the ticket with which a blocked turn comes back to its worker.
const TICKET: Reason = Reason::NotModelled(
    "loom treats the store and the unpark after it as one step, which gives the order by itself. \
     In production, the waiting thread may see the store before the unpark. The two accesses are a \
     usual pair: the store releases the changes of the thread that last ran the worker, and the \
     load acquires them",
);

/// Reason for mutants of the timers of workers that no thread is running.
const WATCH: Reason = Reason::NotModelled(
    "models have no clock, and therefore no timers. The proof is in the section on seats of \
     `sponsor/README.md`. `tests/timers.rs` fires timers of workers that no thread is running",
);

/// Reason for mutants of the checks for stuck workers by a watching thread.
const LOOKED: Reason = Reason::NotModelled(
    "models have no clock, so no thread watches: they lend and visit directly. The proof is in the \
     section on rescue of `sponsor/README.md`. `tests/rescue.rs` runs tasks behind long turns",
);

/// Reason for mutants of the timers of workers that a thread is running.
const WATCHED: Reason = Reason::NotModelled(
    "models have no clock, and therefore no timers. The proof is in the section on rescue of \
     `sponsor/README.md`. `tests/late_timers.rs` fires timers of workers that are in a long turn",
);

/// Reason for mutants of the count of workers that have closed their cells.
const CLOSED: Reason = Reason::Equivalent(
    "the waiting thread needs only the count, and no read depends on it. `awaited` waits for \
     tokens that are out, and the ready stack acquires these tokens. The thread that drops the \
     last reference to a closed cell frees the cell. `admits` orders new cells",
);

/// Reason for mutants that loom cannot judge in any model.
pub(super) const SEQ_CST: Reason = Reason::NotModelled(
    "loom treats a SeqCst access as AcqRel. If a model needs a stronger order, it has a separate \
     fence next to the access, and this fence has its own mutant",
);

/// Reason for mutants of fences that affect only the compiler, not the processor.
pub(super) const COMPILER_FENCE: Reason = Reason::NotModelled(
    "loom has no compiler fences, and a compiler does not reorder accesses around the code that \
     switches between mutants. The table in `core/fence.rs` names the replacement, with a stress \
     test of the pair",
);

/// Returns the reason for the mutant with this id.
pub(super) fn of(id: &str) -> Option<Reason> {
    let found = REASONS.iter().find(|(known, _)| *known == id);
    found.map(|(_, reason)| *reason)
}

impl Reason {
    /// Returns the text for a table.
    pub(super) fn text(self) -> String {
        match self {
            Self::Equivalent(because) => format!("equivalent because {because}"),
            Self::NotModelled(because) => format!("not modelled because {because}"),
        }
    }
}
