//! Reasons why mutants survive.
//!
//! A reason for a mutant that is killed is an error, and so is a reason for a mutant that does not
//! exist.

/// Reason for the survival of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The mutant is as correct as the original, because ..
    Equivalent(&'static str),
    /// No model can notice the mutant, because .., and the check that replaces one.
    NotModelled(&'static str),
}

/// Reason for each survivor, by its id.
pub(super) const REASONS: &[(&str, Reason)] = &[
    (
        "steal/deque/shared.rs:counts-the-tail-before-the-done",
        Reason::Equivalent(
            "the one who asks, `verdict`, compares the marks before and after: what came between the two looks has \
             changed one, or its send is still under way; and what was there before lies below `done`",
        ),
    ),
    (
        "steal/deque/stealer.rs:is-done-before-the-head-is-back",
        Reason::Equivalent(
            "who compares the two holds the lock, and `done` is what the head will be; without a panic in between \
             nobody else can tell",
        ),
    ),
    (
        "sched/remote.rs:claim:swap:AcqRel->Release",
        Reason::Equivalent(
            "what it swaps out is null, and nothing is read on the strength of that",
        ),
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
            "the token is held, so nobody learns the home from an empty inbox before the cell is taken over; who drops \
             a reference meanwhile looks at the shared count either way",
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
            "nothing is lost: a worker that is awake claims what is left before it rests; only the time until then \
             grows, and no test measures it",
        ),
    ),
];

const REMOTES: Reason = Reason::NotModelled(
    "loom's atomics cannot lie in a static; one caller needs the order, which has read a home out of a cell that has \
     just come there (`Ask::wait`), and nothing stands in",
);

/// Two workers do not suffice to notice.
const THREE_WORKERS: Reason = Reason::NotModelled(
    "it takes three workers to see it, two of which send to and fro while the third looks, and that is more than loom \
     can look through; the proof stands in (`runtime/sponsor/README.md`, the end)",
);

/// Places of a room are protected by more than their orderings.
const ROOM: Reason = Reason::NotModelled(
    "the fence that stands for SeqCst in models orders a relaxed access as well, and on x86-64 the locked instructions \
     between (the line's unlock, the subtraction) are full barriers, so that no test can tell; the argument at the head \
     of `room/mod.rs` stands in",
);

/// A look at the run queues of a worker in a turn.
const STOOD: Reason = Reason::NotModelled(
    "the words of run queues and mailboxes are `std`'s in models too, or every model would look through their switches; \
     `sponsor/README.md`, rescue, has the argument (Q1 and Q4), and chaos of tasks and `tests/rescue.rs` walk the path, on processors \
     that keep this order by themselves",
);

/// Name of the running cell.
const NAME: Reason = Reason::NotModelled(
    "in a model the fence behind the store orders the same, because loom switches threads at no point between the two; in production \
     there is no such fence. The pair is the usual one: the store releases what was done to other cells, the load acquires it",
);

/// Light side of the fence around the name of the running cell.
const LIGHT: Reason = Reason::NotModelled(
    "models have `fence(SeqCst)` in its place, whose mutants are killed; the compiler keeps the order of the two accesses without \
     it too (`core/fence.rs`), so no test of the program can tell",
);

/// Ticket of a turn that comes back.
const TICKET: Reason = Reason::NotModelled(
    "loom takes the store and the unpark behind it for one step, which orders by itself; in production the waiter may see the \
     store before the unpark. The pair is the usual one: the store releases what the last sitter left, the load acquires it",
);

/// Count of workers that have closed their cells.
const WATCH: Reason = Reason::NotModelled(
    "models have no clock, and so no timers; the proof is on paper, in `sponsor/README.md`, seats, and `tests/timers.rs` rings timers \
     at workers where nobody sits",
);

const CLOSED: Reason = Reason::Equivalent(
    "the number is what is waited for, and nothing is read on the strength of it: a token that is out is waited for by \
     `awaited`, and acquired from the ready stack; a closed cell is freed by whoever drops its last reference; newborns \
     are ordered by `admits`",
);

/// Reason for a mutant that loom cannot judge in any model.
pub(super) const SEQ_CST: Reason = Reason::NotModelled(
    "loom takes a SeqCst access as AcqRel; where more is needed a fence of the model's own stands beside it, which is a \
     mutant too",
);

/// Reason for a mutant of the fence that only stops the compiler, not the processor.
pub(super) const COMPILER_FENCE: Reason = Reason::NotModelled(
    "loom has none, and the switch between mutants is itself what a compiler does not reorder around; the table in \
     `core/fence.rs` says what stands in, with a stress test of the pair",
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
