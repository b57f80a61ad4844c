//! The usual actor of the random programs. A random number determines how it handles each message.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use garrick_actor::future::{PipeError, Streamed};
use garrick_actor::{Actor, Context, Next, NoReply, Reply, Timer, Watch};

use crate::acts;
use crate::ledger::{Life, Sighting};
use crate::random::Random;
use crate::town::Town;
use crate::value::{Value, hush};
use garrick_testkit::fail;

/// Number of padding words in the largest messages.
pub(crate) const LARGE: usize = 60;

/// A message: a command, and `N` words of padding that make it larger.
pub(crate) struct Msg<const N: usize> {
    pub(crate) cmd: Cmd,
    _bytes: [u64; N],
}

/// Number of asks of each kind. The constants `PLAIN`, `WITHIN` and `PIPED` are the indices.
pub(crate) type Tally = [u64; 3];
pub(crate) const PLAIN: usize = 0;
pub(crate) const WITHIN: usize = 1;
pub(crate) const PIPED: usize = 2;

/// A command to a node.
pub(crate) enum Cmd {
    /// Perform random actions. The number limits how many `Act` commands can follow in a chain.
    Act(Value, u8),
    /// The next message from one sender to this receiver: the number of the sender, the number of
    /// the message, and a value.
    Next(u64, u64, Value),
    Ask(Value, Reply<Value>),
    Answered(usize, Result<Value, NoReply>),
    Noticed(Value),
    Tick(Value),
    Piped(Result<Value, PipeError>),
    Item(Streamed<Value>),
    Heard(Arc<Value>),
    /// The receive timeout has passed, or work in the background has ended.
    Quiet,
    /// Drop all held replies, cancel all timers, and unstash all messages.
    Release,
    /// Report how many questions were asked and how many answers were received, for each kind of
    /// ask.
    Census(Reply<(Tally, Tally)>),
}

impl<const N: usize> From<Cmd> for Msg<N> {
    fn from(cmd: Cmd) -> Self {
        Self {
            cmd,
            _bytes: [0; N],
        }
    }
}

impl<const N: usize> Msg<N> {
    /// Returns the rank of the message in a priority mailbox.
    pub(crate) fn rank(&self) -> i64 {
        match &self.cmd {
            Cmd::Act(_, left) => i64::from(*left),
            Cmd::Census(_) => -1,
            _ => 3,
        }
    }
}

impl<const N: usize> fmt::Debug for Msg<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Msg")
    }
}

/// Effects of a turn that count only if the turn commits.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) watches: Vec<Arc<Sighting>>,
    pub(crate) asks: u64,
    pub(crate) held: Vec<Reply<Value>>,
}

/// An actor that handles each message in a random way.
pub(crate) struct Node<const N: usize> {
    pub(crate) number: u64,
    pub(crate) town: Arc<Town>,
    pub(crate) random: Random,
    pub(crate) is_child: bool,
    pub(crate) stashes: bool,
    pub(crate) is_patient: bool,
    /// True if the actor receives all its messages, and therefore every answer.
    pub(crate) counts: bool,
    pub(crate) asked: Tally,
    answered: Tally,
    /// For each receiver, the number of the last message that was sent to it.
    pub(crate) sent: BTreeMap<u64, u64>,
    /// For each sender, the number of the last message that was received from it.
    seen: BTreeMap<u64, u64>,
    pub(crate) held: Vec<Reply<Value>>,
    pub(crate) timers: Vec<Timer>,
    pub(crate) watches: Vec<(Watch, Arc<Sighting>)>,
    pub(crate) pending: Pending,
    life: Life,
    _own: Value,
}

impl<const N: usize> Node<N> {
    pub(crate) fn new(town: &Arc<Town>, seed: u64, is_child: bool) -> Self {
        let mut random = Random::new(seed);
        Self {
            number: town.number(),
            town: town.clone(),
            is_child,
            stashes: false,
            is_patient: false,
            counts: false,
            asked: [0; 3],
            answered: [0; 3],
            sent: BTreeMap::new(),
            seen: BTreeMap::new(),
            held: Vec::new(),
            timers: Vec::new(),
            watches: Vec::new(),
            pending: Pending::default(),
            life: Life::new(town, &Arc::default()),
            _own: Value::any(town, &mut random),
            random,
        }
    }

    /// Makes the actor an incarnation of a child. All incarnations of the child share `place`.
    pub(crate) fn in_place(mut self, place: &Arc<AtomicU64>) -> Self {
        self.life = Life::new(&self.town, place);
        self
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Marks the actor as one that receives every answer.
    pub(crate) fn counting(mut self) -> Self {
        self.counts = true;
        self
    }

    pub(crate) fn stashing(mut self) -> Self {
        self.stashes = true;
        self
    }

    pub(crate) fn patient(mut self) -> Self {
        self.is_patient = true;
        self
    }

    /// Executes a command, or stashes it.
    fn obey(&mut self, cmd: Cmd, cx: &mut Context<'_, Msg<N>>) {
        match cmd {
            Cmd::Act(value, left) => {
                if self.stashes && self.random.one_in(8) {
                    if let Err(error) = cx.stash(Cmd::Act(value, left).into()) {
                        hush(error);
                    }
                    return;
                }
                let acted = catch_unwind(AssertUnwindSafe(|| acts::act(self, left, cx)));
                if let Err(panic) = acted {
                    // Not within the panic.
                    hush(value);
                    resume_unwind(panic);
                }
                self.end_of(value);
            }
            Cmd::Next(from, number, value) => {
                self.check_order(from, number);
                self.end_of(value);
            }
            Cmd::Ask(value, reply) => acts::answer(self, value, reply, cx),
            Cmd::Answered(kind, answer) => {
                self.answered[kind] += 1;
                if self.counts && self.answered[kind] > self.asked[kind] {
                    self.town
                        .ledger
                        .complain("an ask was answered twice".to_owned());
                }
                hush(answer);
            }
            Cmd::Noticed(value) | Cmd::Tick(value) => self.end_of(value),
            Cmd::Piped(result) => {
                if let Ok(value) = result {
                    self.end_of(value);
                }
            }
            Cmd::Item(item) => hush(item),
            Cmd::Heard(value) => hush(value),
            Cmd::Quiet => acts::act(self, 0, cx),
            Cmd::Release => self.release(cx),
            Cmd::Census(reply) => {
                // In one message: in a mailbox that drops the oldest, the second of two would take
                // the first one's place.
                self.release(cx);
                reply.send(if self.counts {
                    (self.asked, self.answered)
                } else {
                    Default::default()
                });
            }
        }
    }

    fn release(&mut self, cx: &Context<'_, Msg<N>>) {
        self.held.clear();
        self.timers.drain(..).for_each(|timer| timer.cancel());
        cx.unstash_all();
        if self.is_patient {
            cx.cancel_receive_timeout().unwrap();
        }
    }

    /// Drops a value. Only in one of four cases, a panic of its destructor ends the turn.
    fn end_of(&mut self, value: Value) {
        if self.random.one_in(4) {
            drop(value);
        } else {
            hush(value);
        }
    }

    fn check_order(&mut self, from: u64, number: u64) {
        let before = self.seen.insert(from, number);
        if before.is_some_and(|before| before >= number) {
            let what = format!("{number} of {from} came behind {before:?}");
            self.town.ledger.complain(what);
        }
    }

    /// Returns the outcome of the turn, chosen at random.
    fn next(&mut self, cx: &Context<'_, Msg<N>>) -> Next {
        if self.town.is_burnt() {
            return Next::Continue;
        }
        let often = if self.is_child { 10 } else { 60 };
        if !self.random.one_in(often) {
            return Next::Continue;
        }
        match self.random.below(8) {
            0..3 => Next::Undo,
            3 => Next::Stop,
            4 | 5 => cx.fail("as it comes"),
            _ => fail(),
        }
    }

    /// Applies the pending effects of a turn that commits.
    fn commit(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.asked[PIPED] += pending.asks;
        self.held.extend(pending.held);
        pending
            .watches
            .iter()
            .for_each(|sighting| sighting.commit());
    }
}

impl<const N: usize> Actor for Node<N> {
    type Msg = Msg<N>;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, Msg<N>>) -> Next {
        self.life.start();
        if self.is_child && !self.town.is_burnt() && self.random.one_in(12) {
            if self.random.one_in(2) {
                fail();
            }
            return cx.fail("at the start");
        }
        Next::Continue
    }

    fn receive(&mut self, msg: Msg<N>, cx: &mut Context<'_, Msg<N>>) -> Next {
        self.life.check();
        self.pending = Pending::default();
        let is_errand = matches!(msg.cmd, Cmd::Release | Cmd::Census(_));
        self.obey(msg.cmd, cx);
        let next = if is_errand {
            Next::Continue
        } else {
            self.next(cx)
        };
        if matches!(next, Next::Continue | Next::Stop) {
            self.commit();
        }
        self.pending = Pending::default();
        next
    }

    fn name() -> &'static str {
        "node"
    }
}
