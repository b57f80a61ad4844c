//! Values whose destructors may panic, send messages, spawn actors, or end a system.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crate::node::Cmd;
use crate::random::Random;
use crate::town::Town;
use garrick_testkit::fail;

/// Action of a value's destructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Plain,
    Panic,
    Send,
    Ask,
    Spawn,
    Watch,
    EndSystem,
    Stop,
    Publish,
}

/// A value whose creation and drop are counted.
pub(crate) struct Value {
    number: u64,
    fate: Fate,
    /// True if the destructor must not panic while the thread is already panicking.
    is_excused: bool,
    town: Arc<Town>,
}

impl Value {
    /// Creates a value whose destructor only counts the drop.
    pub(crate) fn plain(town: &Arc<Town>) -> Self {
        Self::with(town, Fate::Plain)
    }

    /// Creates a value whose destructor performs a random action.
    pub(crate) fn any(town: &Arc<Town>, random: &mut Random) -> Self {
        let fate = match random.below(64) {
            0..6 => Fate::Panic,
            6..10 => Fate::Send,
            10..12 => Fate::Ask,
            12..14 => Fate::Spawn,
            14..16 => Fate::Watch,
            16 => Fate::Stop,
            17..19 => Fate::Publish,
            19 if random.one_in(16) => Fate::EndSystem,
            _ => Fate::Plain,
        };
        Self::with(town, fate)
    }

    /// Makes a value whose destructor does not panic while the thread is already panicking.
    pub(crate) fn excused(mut self) -> Self {
        self.is_excused = true;
        self
    }

    pub(crate) fn number_is_a_multiple_of(&self, of: u64) -> bool {
        self.number.is_multiple_of(of)
    }

    fn with(town: &Arc<Town>, fate: Fate) -> Self {
        Self {
            number: town.ledger.make(),
            fate,
            is_excused: false,
            town: town.clone(),
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.town.ledger.drop(self.number);
        if self.fate == Fate::Panic {
            // Whoever drops several values must not let one destructor's panic meet another one: it
            // would end the process.
            if self.is_excused && thread::panicking() {
                return;
            }
            fail();
        }
        if self.fate == Fate::Plain || !self.town.burn() {
            return;
        }
        // Somebody who cannot be made is dropped here, perhaps within another panic.
        hush(catch_unwind(AssertUnwindSafe(|| self.act())));
    }
}

impl Value {
    /// Performs the action of the destructor.
    fn act(&self) {
        let town = &self.town;
        match self.fate {
            Fate::Plain | Fate::Panic => {}
            Fate::EndSystem => drop(town.take_system(self.number)),
            Fate::Spawn => town.settle_somebody(self.number),
            Fate::Publish => town.publish(self.number),
            Fate::Send | Fate::Ask | Fate::Watch | Fate::Stop => {
                let Some(peer) = town.peer(self.number) else {
                    return;
                };
                match self.fate {
                    Fate::Send => hush(peer.send(Cmd::Act(Value::plain(town), 0))),
                    Fate::Ask => drop(peer.ask(Value::plain(town))),
                    // It may run in a turn that is undone, so nobody can say whether there is to be
                    // a notice.
                    Fate::Watch => drop(peer.watch(|_| ())),
                    _ => peer.stop(),
                }
            }
        }
    }
}

/// Drops `value` and catches a panic of its destructor.
pub(crate) fn hush<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // What it says is a text.
        drop(panic);
    }
}
