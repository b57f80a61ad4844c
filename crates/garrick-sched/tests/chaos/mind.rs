//! The state of a task (its mind), and the actions for which the task does not need its own
//! address.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use garrick_core::random::mix;
use garrick_sched::{Ask, NoReply, Sponsor, Watch};

use crate::asking::{self, Answer, Owing};
use crate::dice::Dice;
use crate::frame;
use crate::ledger::{self, Kind, Token, fate};
use crate::node::{self, Node};
use crate::round::Round;
use crate::shapes::{Cargo, Held, Letter, Peer};
use crate::sponsors::{Earth, Keep};
use crate::watching;
use crate::will::{Deed, Will};

/// Largest number of peers that a mind knows.
const PEERS_MAX: usize = 12;

/// The state (mind) of a task or of a plain thread.
pub(crate) struct Mind {
    pub(crate) token: Token,
    pub(crate) dice: Dice,
    /// Number of sent messages whose order is checked.
    number: u64,
    pub(crate) peers: Vec<Peer>,
    /// For each sender, the number of its last message that has arrived.
    seen: HashMap<u32, u64>,
    asked: HashSet<u32>,
    pub(crate) owed: Vec<Owing>,
    watches: Vec<(u32, Watch)>,
    kept: Vec<Keep>,
    asks: Vec<Ask<Answer>>,
    will: Will,
}

impl Mind {
    pub(crate) fn new(seed: u64) -> Self {
        let token = Token::new(Kind::Task);
        let dice = Dice::new(seed ^ mix(u64::from(token.id())));
        Self {
            token,
            dice,
            number: 0,
            peers: Vec::new(),
            seen: HashMap::new(),
            asked: HashSet::new(),
            owed: Vec::new(),
            watches: Vec::new(),
            kept: Vec::new(),
            asks: Vec::new(),
            will: Will::default(),
        }
    }

    /// Makes a task with random properties on a random sponsor, if the sponsor accepts the task.
    pub(crate) fn spawn_anywhere(round: &Round) -> Option<Peer> {
        let (handle, chance) = round.draw();
        node::spawn(&handle, round, chance)
    }

    pub(crate) fn meet(&mut self, peer: Peer) {
        if self.peers.len() < PEERS_MAX {
            self.peers.push(peer);
        } else {
            let index = self.dice.below(PEERS_MAX);
            self.peers[index] = peer;
        }
    }

    pub(crate) fn somebody(&mut self) -> Option<Peer> {
        self.dice.pick(&self.peers).cloned()
    }

    /// Makes the contents of a message to a peer. The order is not checked of messages that a door
    /// forwards, or that are sent while a turn blocks.
    pub(crate) fn letter(&mut self, round: &Round, in_order: bool) -> Letter {
        let cargo = self.cargo(round);
        let letter = if in_order && !frame::is_blocking() {
            self.number += 1;
            Letter::new(self.token.id(), self.number, cargo)
        } else {
            Letter::plain(cargo)
        };
        if self.dice.one_in(24) {
            ledger::mark(letter.token.id(), fate::LETTER_PANICS);
        }
        letter
    }

    fn cargo(&mut self, round: &Round) -> Cargo {
        let mut cargo = Cargo::default();
        for _ in 0..self.dice.below(3) {
            cargo.peers.extend(self.somebody());
        }
        if self.dice.one_in(6) {
            cargo.place = round.room.try_take().map(Held::new);
        }
        if self.dice.one_in(12) {
            cargo.sponsor = round.keep(&mut self.dice);
        }
        cargo.will = self.will(round);
        cargo
    }

    /// Makes a will (a list of actions for a destructor), which is usually empty.
    pub(crate) fn will(&mut self, round: &Round) -> Will {
        if !self.dice.one_in(4) {
            return Will::default();
        }
        let deeds = (0..=self.dice.below(3)).filter_map(|_| self.deed(round));
        Will::of(deeds.collect())
    }

    fn deed(&mut self, round: &Round) -> Option<Deed> {
        let peer = self.somebody();
        Some(match self.dice.below(20) {
            0..=3 => Deed::Send(peer?),
            4 => Deed::Burst(peer?),
            5 => Deed::Stop(peer?),
            6 | 7 => Deed::Ask(peer?),
            8..=10 => Deed::Watch(peer?, self.dice.one_in(3)),
            11 => {
                let (id, watch) = self.watches.pop()?;
                Deed::Cancel(id, watch)
            }
            12 => Deed::Forget(self.asks.pop()?),
            13 | 14 => Deed::Spawn,
            15 if self.dice.one_in(3) => {
                let begin = [None, Some(false), Some(true)][self.dice.below(3)];
                Deed::End(round.keep(&mut self.dice)?, begin)
            }
            _ => Deed::Fail,
        })
    }

    pub(crate) fn send(&mut self, round: &Round, peer: &Peer) -> bool {
        let letter = self.letter(round, !peer.is_door);
        peer.send(letter)
    }

    /// Handles the contents of a message. Returns true if the question in the message will be
    /// answered later.
    pub(crate) fn take_in(&mut self, round: &Round, letter: Letter) -> bool {
        if letter.number > 0 {
            self.check_order(letter.sender, letter.number);
        }
        let Some(cargo) = letter.cargo else {
            return false;
        };
        let mut cargo = *cargo;
        for peer in cargo.peers.drain(..) {
            self.meet(peer);
        }
        if let Some(Ok(answer)) = &cargo.answer
            && !self.asked.remove(&answer.question)
        {
            ledger::wrong(format!(
                "an answer to {:#x} twice, or to nobody",
                answer.question
            ));
        }
        if let Some((task, _)) = cargo.notice {
            self.seen.insert(task, u64::MAX);
        }
        if cargo.pay {
            let owed = std::mem::take(&mut self.owed);
            owed.into_iter()
                .for_each(|owing| owing.pay(Will::default()));
        }
        if let Some(sponsor) = cargo.sponsor.take() {
            self.kept.push(sponsor);
        }
        let owing = cargo.owing.take();
        if self.dice.one_in(8) {
            self.will = std::mem::take(&mut cargo.will);
        }
        owing.is_some_and(|owing| self.owe(round, owing))
    }

    fn check_order(&mut self, sender: u32, number: u64) {
        let seen = self.seen.entry(sender).or_default();
        if number <= *seen {
            ledger::wrong(format!(
                "message {number} of {sender:#x} comes to {:#x} after {seen}",
                self.token.id()
            ));
        }
        *seen = number;
    }

    /// Answers a question, drops it, or keeps it for later. Returns true if the question is kept
    /// for later.
    fn owe(&mut self, round: &Round, owing: Owing) -> bool {
        let chance = self.dice.below(8);
        if chance <= 2 || !round.has_fuel() {
            let will = self.will(round).of_one_mind();
            owing.pay(will);
        } else if chance <= 4 {
            self.owed.push(owing);
            return true;
        } else if chance <= 6
            && let Some(peer) = self.somebody()
        {
            let mut letter = self.letter(round, !peer.is_door);
            if let Some(cargo) = &mut letter.cargo {
                cargo.owing = Some(owing);
            }
            peer.send(letter);
        }
        false
    }

    /// Performs an action that is possible on a plain thread as well.
    pub(crate) fn act(&mut self, round: &Round) {
        let peer = self.somebody();
        match (self.dice.below(24), peer) {
            (0..=5, Some(peer)) => {
                self.send(round, &peer);
            }
            (6..=8, Some(peer)) => {
                for _ in 0..self.dice.below(12) {
                    self.send(round, &peer);
                }
            }
            (9 | 10, _) => self.bear(round),
            (11, _) => {
                self.peers.pop();
                self.asks.pop();
            }
            (12, Some(peer)) => peer.stop(),
            (13..=16, Some(peer)) => {
                let will = self.will(round);
                let watch = peer.watch(will, self.dice.one_in(6));
                self.watches.push(watch);
            }
            (17 | 18, _) => self.cancel(),
            (19 | 20, Some(peer)) => self.ask(round, &peer),
            (21, _) => {
                self.will = self.will(round);
                self.kept.truncate(1);
            }
            (22, _) if self.dice.one_in(8) => self.end(round),
            (_, Some(peer)) => peer.look(),
            _ => {}
        }
    }

    fn bear(&mut self, round: &Round) {
        if let Some(child) = Self::spawn_anywhere(round) {
            self.send(round, &child);
            round.meet(&child, &mut self.dice);
            self.meet(child);
        }
    }

    pub(crate) fn remember(&mut self, watch: (u32, Watch)) {
        self.watches.push(watch);
    }

    fn cancel(&mut self) {
        if !self.watches.is_empty() {
            let index = self.dice.below(self.watches.len());
            let (id, watch) = self.watches.swap_remove(index);
            watching::cancel(id, &watch);
        }
    }

    /// Asks a question. In a turn, the asker may wait for the answer, which must fail. Otherwise,
    /// the asker keeps or drops the question.
    fn ask(&mut self, round: &Round, peer: &Peer) {
        let cargo = self.cargo(round);
        let Some((question, ask)) = peer.ask(cargo) else {
            return;
        };
        match self.dice.below(3) {
            0 if garrick_sched::in_turn() => {
                let answer = if self.dice.one_in(2) {
                    ask.wait()
                } else {
                    ask.wait_timeout(Duration::from_micros(50))
                };
                if !matches!(answer, Err(NoReply::OnWorker)) {
                    ledger::wrong(format!("a task waited for {question:#x}"));
                }
            }
            1 => self.asks.push(ask),
            _ => drop(ask),
        }
    }

    fn end(&mut self, round: &Round) {
        let chance = self.dice.below(4);
        let Some(sponsor) = round.keep(&mut self.dice) else {
            return;
        };
        match chance {
            0 => sponsor.begin(false),
            1 => sponsor.begin(true),
            _ => drop(round.let_go(sponsor.index())),
        }
    }

    /// Creates a sponsor on this thread during a turn. The sponsor runs no task and ends
    /// immediately.
    pub(crate) fn shelter(&mut self, round: &Round) {
        let world = Earth::new(0, round.threads.clone());
        let Ok(here) = Sponsor::builder().world(world).here() else {
            return;
        };
        round.welcome(here.handle());
        for _ in 0..=self.dice.below(3) {
            let node = Node::<Letter, 1>::new(round.seed);
            let (id, peers) = (node.id(), self.somebody());
            let peer = Peer::task(here.spawn(node), id);
            self.send(round, &peer);
            let watch = peer.watch(self.will(round), false);
            self.remember(watch);
            self.peers.extend(peers);
            self.meet(peer);
        }
        self.peers.truncate(PEERS_MAX);
        frame::outside(|| drop(here));
    }

    /// Asks a peer, if the asker knows any. `owing` gets the number of the question, and returns
    /// the duty to answer it.
    pub(crate) fn question(&mut self, round: &Round, owing: impl FnOnce(u32) -> Owing) {
        let Some(peer) = self.somebody() else { return };
        let mut letter = self.letter(round, !peer.is_door);
        let question = letter.token.id();
        if let Some(cargo) = &mut letter.cargo {
            cargo.owing = Some(owing(question));
        }
        self.asked.insert(question);
        peer.send(letter);
    }

    /// Waits for the answer to a question, on a plain thread.
    pub(crate) fn wait(&mut self, round: &Round) {
        let Some(peer) = self.somebody() else { return };
        let cargo = self.cargo(round);
        if self.dice.one_in(2) {
            if let Some((question, answer)) = peer.call(cargo) {
                asking::check(question, &answer, &[]);
            }
            round.fuel.fetch_sub(1, SeqCst);
            return;
        }
        let Some((question, ask)) = peer.ask(cargo) else {
            return;
        };
        if self.dice.one_in(2) {
            asking::check(question, &ask.wait(), &[]);
        } else {
            let timeout = Duration::from_micros(self.dice.below(300) as u64);
            asking::check(question, &ask.wait_timeout(timeout), &[NoReply::TimedOut]);
        }
        round.fuel.fetch_sub(1, SeqCst);
    }
}
