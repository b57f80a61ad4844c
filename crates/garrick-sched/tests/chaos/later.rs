//! Turns whose commit is decided later, by a thread of the test round.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use garrick_sched::{Pending, Turn};

use crate::dice::Dice;
use crate::frame;
use crate::ledger::{self, NOTHINGS, fate};

/// Largest number of turns that wait for a decision at the same time.
const WAITING_MAX: usize = 8;

/// Effects of a turn that has ended.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) staged: Vec<u32>,
    /// Number of messages without bytes among the effects.
    pub(crate) nothings: u64,
}

impl Effects {
    /// Records that the effects do not take place, because the turn was undone.
    pub(crate) fn undo(self) {
        for id in self.staged {
            // A value that is gone by now came back, or a door kept it.
            if ledger::fate_of(id) & fate::DROPPED == 0 {
                ledger::mark(id, fate::UNDONE);
            }
        }
        NOTHINGS.undone.fetch_add(self.nothings, SeqCst);
    }
}

/// The effects of a turn after it has requested a later decision.
pub(crate) type Shared = Arc<Mutex<Effects>>;

/// A turn that has ended, and whose commit is not decided yet.
pub(crate) struct Undecided {
    pending: Pending,
    task: u32,
    effects: Shared,
}

impl Undecided {
    fn decide(self, dice: &mut Dice) {
        match dice.below(8) {
            0 => {
                let mut effects = self.effects.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *effects).undo();
                drop(effects);
                ledger::mark(self.task, fate::FAILS);
                self.pending.undo(frame::last_words(self.task));
            }
            _ => self.pending.commit(),
        }
    }
}

/// Lets the thread behind `deciders` decide whether the turn of `task` commits.
pub(crate) fn request<M: 'static>(
    turn: &Turn<'_, M>,
    task: u32,
    decider: Sender<Undecided>,
) -> Shared {
    let effects = Shared::default();
    let shared = effects.clone();
    turn.commit_later(move |pending| {
        let undecided = Undecided {
            pending,
            task,
            effects: shared,
        };
        if decider.send(undecided).is_err() {
            ledger::wrong("a round ends before its turns".to_owned());
        }
    });
    effects
}

/// Decides in any order whether turns commit, until all senders are gone.
pub(crate) fn decide(undecided: &Receiver<Undecided>, seed: u64) {
    let mut dice = Dice::new(seed ^ 0xdec1);
    let mut waiting = Vec::new();
    loop {
        let patience = Duration::from_micros(dice.below(100) as u64);
        match undecided.recv_timeout(patience) {
            Ok(next) => waiting.push(next),
            Err(RecvTimeoutError::Timeout) => {
                waiting.drain(..).for_each(|next| next.decide(&mut dice));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if waiting.len() > dice.below(WAITING_MAX) {
            let index = dice.below(waiting.len());
            waiting.swap_remove(index).decide(&mut dice);
        }
    }
    waiting.drain(..).for_each(|next| next.decide(&mut dice));
}
