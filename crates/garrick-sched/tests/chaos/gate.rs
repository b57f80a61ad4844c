//! Doors that treat their messages in random ways.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use garrick_core::random::mix;
use garrick_sched::{Address, Door, Notice, SendError, TaskId, door, in_turn};

use crate::frame;
use crate::ledger::{self, Kind, Token, fate};
use crate::round;
use crate::shapes::{Cargo, Letter, Peer, Shape};
use crate::will::Will;

/// Number of doors in a row in which nested calls would need too much stack.
const ROW: usize = 40;

/// The way in which a door treats its messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Forwards all messages.
    HandsOn,
    /// Handles all messages.
    Keeps,
    /// Forwards or handles each message, at random.
    Moody,
}

/// A door, with a task or another door behind it.
struct Gate<M: Shape> {
    token: Token,
    manner: Manner,
    behind: Address<M>,
    /// The task that the addresses of the door stand for, if there is one.
    stands_for: Option<TaskId>,
    /// True if the door forwards watches.
    hands_watch_on: bool,
    /// A peer to which the door forwards some messages.
    other: Peer,
    _will: Will,
}

impl<M: Shape> Gate<M> {
    fn hand_on(&self, message: M) -> Result<(), SendError<M>> {
        let id = message.id();
        self.behind.send(message).map_err(|SendError(back)| {
            if back.id() != id {
                ledger::wrong(format!("{:#x} came back for {id:#x}", back.id()));
            }
            refuse(back)
        })
    }
}

/// Records that a door gives a message back.
fn refuse<M: Shape>(message: M) -> SendError<M> {
    let fates = if in_turn() {
        fate::REFUSED_INSIDE
    } else {
        fate::REFUSED_OUTSIDE
    };
    ledger::mark(message.id(), fates);
    SendError(message)
}

/// Returns the fate of a message whose door panics.
fn lost() -> u32 {
    if in_turn() {
        fate::LOST_INSIDE
    } else {
        fate::LOST_OUTSIDE
    }
}

/// Handles a message. If the actions of the message (its will) panic, the door panics, too.
fn keep<M: Shape>(message: M) {
    let letter = message.open();
    let id = letter.token.id();
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(letter)));
    if let Err(panic) = dropped {
        ledger::mark(id, lost());
        panic::resume_unwind(panic);
    }
}

impl<M: Shape> Door for Gate<M> {
    type Message = M;

    fn pass(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        ledger::mark(message.id(), fate::AT_DOOR);
        if *here != here.clone() {
            ledger::wrong("a door is not itself".to_owned());
        }
        let mood = match self.manner {
            Manner::HandsOn => return self.hand_on(message),
            Manner::Keeps => 0,
            Manner::Moody => mix(u64::from(message.id() ^ self.token.id())) % 16,
        };
        let has_fuel = round::now().is_some_and(|round| round.fuel.fetch_sub(1, SeqCst) > 0);
        match mood {
            0 | 1 => {
                keep(message);
                Ok(())
            }
            2 | 3 => Err(refuse(message)),
            4 | 5 if !thread::panicking() => {
                if has_fuel && mood == 4 {
                    self.other.send(Letter::bare());
                }
                ledger::mark(message.id(), lost());
                frame::fail();
                Ok(())
            }
            6..=8 if has_fuel => {
                self.other.send(Letter::plain(Cargo::default()));
                self.hand_on(message)
            }
            _ => self.hand_on(message),
        }
    }

    fn stop(&self) {
        self.behind.stop();
    }

    fn is_stopped(&self) -> bool {
        self.behind.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        if self.hands_watch_on {
            self.behind.forward_watch(notice);
        }
    }

    fn stands_for(&self) -> Option<TaskId> {
        self.stands_for
    }
}

/// The settings of a new door.
pub(crate) struct Plan {
    pub(crate) other: Peer,
    pub(crate) will: Will,
    /// The random number that determines all other settings.
    pub(crate) chance: u64,
}

/// Makes a door in front of a task.
pub(crate) fn before<M: Shape>(behind: &Address<M>, task: u32, plan: Plan) -> Peer {
    let manner = match plan.chance % 8 {
        0 => Manner::HandsOn,
        1 => Manner::Keeps,
        _ => Manner::Moody,
    };
    let hands_watch_on = plan.chance & 0x100 != 0;
    let stands_for = (plan.chance & 0x200 != 0).then(|| behind.id());
    let gate = Gate {
        token: Token::new(Kind::Door),
        manner,
        behind: behind.clone(),
        stands_for,
        hands_watch_on,
        other: plan.other,
        _will: plan.will.without_asks(),
    };
    peer(door(gate), task, hands_watch_on)
}

/// Makes a long row of doors in front of a task or another door. Nested calls of these doors would
/// need too much stack.
pub(crate) fn row<M: Shape>(behind: &Address<M>, task: u32, plan: Plan) -> Peer {
    let Plan { other, will, .. } = plan;
    let mut will = Some(will.without_asks());
    let last = (0..ROW).fold(behind.clone(), |behind, _| {
        door(Gate {
            token: Token::new(Kind::Door),
            manner: Manner::HandsOn,
            stands_for: None,
            behind,
            hands_watch_on: true,
            other: other.clone(),
            _will: will.take().unwrap_or_default(),
        })
    });
    peer(last, task, true)
}

/// Makes a door that keeps all its messages, for answers.
pub(crate) fn keeper<M: Shape>(behind: &Address<M>, other: Peer) -> Address<M> {
    door(Gate {
        token: Token::new(Kind::Door),
        manner: Manner::Keeps,
        behind: behind.clone(),
        stands_for: None,
        hands_watch_on: false,
        other,
        _will: Will::default(),
    })
}

fn peer<M: Shape>(address: Address<M>, task: u32, tells: bool) -> Peer {
    Peer {
        is_door: true,
        tells,
        ..Peer::task(address, task)
    }
}
