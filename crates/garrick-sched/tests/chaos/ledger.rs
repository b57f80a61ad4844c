//! The fates of all values. Each value in a test round has a number, and a word in a table of the
//! process.
//!
//! The table belongs to the process, so that a value contains only its number. Only one round runs
//! at a time, and the number of a value shows to which round the value belongs.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock, PoisonError};

const CHUNK: usize = 1 << 12;
const CHUNKS: usize = 1 << 8;
/// Number of the bits that identify a value within its round, in the number of the value.
const INDEX_BITS: u32 = 20;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
/// Largest number of errors in a round that are reported.
const WRONG_MAX: usize = 24;

static TABLE: [OnceLock<Box<[AtomicU32]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];
static NEXT: AtomicU32 = AtomicU32::new(1);
static EPOCH: AtomicU32 = AtomicU32::new(0);
static WRONG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The kind of a value, in the low bits of its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    Message,
    Task,
    Door,
    Notice,
    Answer,
    Place,
}

const KINDS: [Kind; 6] = [
    Kind::Message,
    Kind::Task,
    Kind::Door,
    Kind::Notice,
    Kind::Answer,
    Kind::Place,
];

/// The fates of a value, as bits of its word.
pub(crate) mod fate {
    pub(crate) const DROPPED: u32 = 1 << 4;
    /// The value was given to a task or thread that sends it.
    pub(crate) const SENT: u32 = 1 << 19;
    /// The value was received by a task, or kept by a door.
    pub(crate) const HANDLED: u32 = 1 << 5;
    /// The value belongs to a turn that did not commit.
    pub(crate) const UNDONE: u32 = 1 << 6;
    /// The value came back to its sender.
    pub(crate) const GIVEN_BACK: u32 = 1 << 7;
    /// A door has given the value back, on a thread that was not a worker at that moment.
    pub(crate) const REFUSED_OUTSIDE: u32 = 1 << 8;
    /// A door has given the value back, on a worker.
    pub(crate) const REFUSED_INSIDE: u32 = 1 << 9;
    /// The value was lost in a door that panicked, on a thread that was not a worker at that
    /// moment.
    pub(crate) const LOST_OUTSIDE: u32 = 1 << 10;
    /// The value was lost in a door that panicked, on a worker.
    pub(crate) const LOST_INSIDE: u32 = 1 << 11;
    /// A value without a sender: an answer, or a notice.
    pub(crate) const NO_LETTER: u32 = 1 << 12;
    /// The function that checks if the value counts as a dead letter panics. So the value counts as
    /// one.
    pub(crate) const LETTER_PANICS: u32 = 1 << 13;
    /// The value is a message that was made from an answer to a task.
    pub(crate) const CONVERTED: u32 = 1 << 14;
    /// The value is a notice that was delivered.
    pub(crate) const TOLD: u32 = 1 << 15;
    /// The value is a notice that need not come, because it was cancelled or passed to a door.
    pub(crate) const MAY_BE_SILENT: u32 = 1 << 16;
    /// The value is a task that wanted to stop, or was asked to stop.
    pub(crate) const STOPS: u32 = 1 << 17;
    /// The value is a message that was given to a door. A door does not distinguish messages that
    /// count as dead letters from other messages.
    pub(crate) const AT_DOOR: u32 = 1 << 20;
    /// The value is a task that had a turn that panicked.
    pub(crate) const FAILS: u32 = 1 << 18;
}

/// Counts of the messages without bytes, which have no number: how many were made, dropped,
/// handled, undone and given back.
#[derive(Debug)]
pub(crate) struct Nothings {
    pub(crate) made: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) handled: AtomicU64,
    pub(crate) undone: AtomicU64,
    pub(crate) given_back: AtomicU64,
}

pub(crate) static NOTHINGS: Nothings = Nothings {
    made: AtomicU64::new(0),
    dropped: AtomicU64::new(0),
    handled: AtomicU64::new(0),
    undone: AtomicU64::new(0),
    given_back: AtomicU64::new(0),
};

/// Number of replies that were made for tasks.
pub(crate) static REPLIES_TO_TASKS: AtomicU64 = AtomicU64::new(0);

fn word(index: u32) -> &'static AtomicU32 {
    let index = index as usize;
    let chunk =
        TABLE[index / CHUNK].get_or_init(|| (0..CHUNK).map(|_| AtomicU32::new(0)).collect());
    &chunk[index % CHUNK]
}

/// A value's place in the ledger. Records that the value is dropped, and detects a second drop.
#[derive(Debug)]
pub(crate) struct Token(u32);

impl Token {
    pub(crate) fn new(kind: Kind) -> Self {
        let index = NEXT.fetch_add(1, SeqCst);
        assert!(index <= INDEX_MASK, "a round is too long for its ledger");
        word(index).store(kind as u32, SeqCst);
        Self(EPOCH.load(SeqCst) << INDEX_BITS | index)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        let before = mark(self.0, fate::DROPPED);
        if before & fate::DROPPED != 0 {
            wrong(format!("{} is dropped twice", describe(self.0, before)));
        }
    }
}

fn is_of_this_round(id: u32) -> bool {
    id >> INDEX_BITS == EPOCH.load(SeqCst) && id & INDEX_MASK < NEXT.load(SeqCst)
}

/// Records the fate of a value, and returns the previous word. Reports an error if this round has
/// not issued the number of the value.
pub(crate) fn mark(id: u32, fate: u32) -> u32 {
    if !is_of_this_round(id) {
        wrong(format!("number {id:#x} is of no value of this round"));
        return 0;
    }
    word(id & INDEX_MASK).fetch_or(fate, SeqCst)
}

/// Returns the recorded fate of a value.
pub(crate) fn fate_of(id: u32) -> u32 {
    word(id & INDEX_MASK).load(SeqCst)
}

fn kind_of(word: u32) -> Kind {
    KINDS[(word & 15) as usize % KINDS.len()]
}

fn describe(id: u32, word: u32) -> String {
    format!("{:?} {} ({:#x})", kind_of(word), id & INDEX_MASK, word >> 4)
}

/// Records an error.
pub(crate) fn wrong(what: String) {
    let mut wrong = WRONG.lock().unwrap_or_else(PoisonError::into_inner);
    if wrong.len() < WRONG_MAX {
        wrong.push(what);
    }
}

/// Removes and returns the errors that were recorded so far.
pub(crate) fn take_wrong() -> Vec<String> {
    std::mem::take(&mut *WRONG.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Begins a round with an empty ledger.
pub(crate) fn begin() {
    take_wrong();
    EPOCH.store((EPOCH.load(SeqCst) + 1) % (1 << (32 - INDEX_BITS)), SeqCst);
    NEXT.store(1, SeqCst);
    let counts = [
        &NOTHINGS.made,
        &NOTHINGS.dropped,
        &NOTHINGS.handled,
        &NOTHINGS.undone,
        &NOTHINGS.given_back,
        &REPLIES_TO_TASKS,
    ];
    counts.iter().for_each(|count| count.store(0, SeqCst));
}

/// Checks the fates of all values at the end of a round. The sponsors of the round have counted
/// `dead_letters` dead letters.
pub(crate) fn close(dead_letters: u64) {
    let (mut sure, mut unsure, mut conversions) = (0, 0, 0);
    for id in 1..NEXT.load(SeqCst) {
        let word = fate_of(id);
        if word & fate::DROPPED == 0 {
            wrong(format!("{} is never dropped", describe(id, word)));
        }
        match kind_of(word) {
            Kind::Notice => check_notice(id, word),
            Kind::Message => match letter(word) {
                Letter::Dead => sure += 1,
                Letter::Unsure => unsure += 1,
                Letter::Accounted => {}
            },
            _ => {}
        }
        conversions += u64::from(word & fate::CONVERTED != 0 && word & fate::UNDONE == 0);
    }
    sure += close_nothings();
    if !(sure..=sure + unsure).contains(&dead_letters) {
        wrong(format!(
            "{sure} messages (and perhaps {unsure} more) were dropped unhandled, yet {dead_letters} are dead letters"
        ));
    }
    let replies = REPLIES_TO_TASKS.load(SeqCst);
    if conversions != replies {
        wrong(format!(
            "{replies} replies to tasks gave {conversions} answers"
        ));
    }
}

enum Letter {
    /// The value was handled, undone or given back, or it has no sender.
    Accounted,
    /// The value was dropped, and so it is a dead letter.
    Dead,
    /// The value may be a dead letter or not.
    Unsure,
}

fn letter(word: u32) -> Letter {
    let has = |fates: u32| word & fates != 0;
    if has(fate::LOST_INSIDE) {
        return Letter::Dead;
    }
    if !has(fate::SENT) || has(fate::HANDLED | fate::UNDONE | fate::GIVEN_BACK) {
        return Letter::Accounted;
    }
    if has(fate::REFUSED_OUTSIDE | fate::LOST_OUTSIDE) {
        return Letter::Accounted;
    }
    if has(fate::NO_LETTER) && has(fate::AT_DOOR) {
        return Letter::Unsure;
    }
    if has(fate::NO_LETTER) {
        return Letter::Accounted;
    }
    Letter::Dead
}

fn check_notice(id: u32, word: u32) {
    let told = word & fate::TOLD != 0;
    if word & fate::UNDONE != 0 {
        if told {
            wrong(format!(
                "{} of an undone turn was given",
                describe(id, word)
            ));
        }
    } else if word & fate::MAY_BE_SILENT == 0 && !told {
        wrong(format!("{} never came", describe(id, word)));
    }
}

/// Checks the counts of the messages without bytes. Returns how many of these messages are dead
/// letters.
fn close_nothings() -> u64 {
    let of = |count: &AtomicU64| count.load(SeqCst);
    let (made, dropped) = (of(&NOTHINGS.made), of(&NOTHINGS.dropped));
    if made != dropped {
        wrong(format!(
            "{made} empty messages were made, {dropped} dropped"
        ));
    }
    let known = of(&NOTHINGS.handled) + of(&NOTHINGS.undone) + of(&NOTHINGS.given_back);
    made.checked_sub(known).unwrap_or_else(|| {
        wrong(format!(
            "of {made} empty messages, {known} were handled, undone or given back"
        ));
        0
    })
}
