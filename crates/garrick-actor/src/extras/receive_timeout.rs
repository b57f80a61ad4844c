//! Receive timeouts: messages to actors that have received no message for a certain time.
//!
//! An actor with a receive timeout has a watchman: a small separate task with one timer. The
//! wrapper of an actor with options notifies the watchman of each message and of the new deadline.
//! If the deadline has moved when the timer fires, the timer is set again for the new deadline. So
//! each message costs one reading of the clock and one message to the watchman, but does not change
//! the timer. The timer is cancelled when the actor stops.
//!
//! ```text
//!   actor ---- a message arrived; the new deadline is t -----------> watchman <---+ Due
//!     ^                                                                |   |      |
//!     +----------------- the timeout's message, at t ------------------+   +------+ timing wheel
//! ```
//!
//! While the timeout is armed, the watchman keeps the actor alive, but at most until the deadline.
//! The timeout's message usually does not arm the timeout again. So an actor that is not otherwise
//! reachable receives this message once and is then dropped.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use garrick_sched::{Address, Flow, Nanos, SendError, Task, Timer, Turn, nanos};

use crate::beside::{Beside, Patience};
use crate::model::context::Context;

/// A function that creates the message of a receive timeout.
type Make<M> = Arc<dyn Fn() -> M + Send + Sync>;

/// A message to the watchman, which is the task that sends the timeout's message.
enum Word<M> {
    /// The actor has received a message. If it receives no other message, the timeout's message is
    /// due at the given time.
    Came(Nanos, Address<M>),
    /// The turn that handled a message was undone or has panicked.
    Undone,
    /// The timeout was changed. The timeout's message is due at the given time.
    Arm(Nanos, Address<M>),
    /// The timeout is cancelled.
    Disarm,
    /// The timer has fired.
    Due,
}

/// The task that sends the timeout's message to an actor that has received no other message in
/// time.
struct Watchman<M> {
    make: Make<M>,
    /// Deadline of the timeout, and the address of the actor. `None` if the timeout is not running.
    armed: Option<(Nanos, Address<M>)>,
    timer: Timer,
    /// Time at which the timer fires, if the timer is set.
    due: Option<Nanos>,
    /// Set after the timeout's message was sent, until this task is notified of the next message.
    /// The notification is usually about the timeout's message itself. But if the actor was busy
    /// when the timeout's message was sent, the notification is about an earlier message. The value
    /// is the result of [`lost`] before the timeout's message was sent.
    told: Option<u64>,
}

/// Returns the number of messages that the mailbox of the actor has lost because it was full. The
/// timeout's message can be among these messages. Returns 0 for a mailbox that always accepts the
/// timeout's message.
fn lost<M: 'static>(actor: &Address<M>) -> u64 {
    match actor.room() {
        Some(_) => 0,
        None => actor.dropped(),
    }
}

impl<M: Send + 'static> Watchman<M> {
    fn arm(&mut self, deadline: Nanos, actor: Address<M>, turn: &Turn<'_, Word<M>>) {
        self.armed = Some((deadline, actor));
        self.set_timer(deadline, turn);
    }

    fn disarm(&mut self) {
        self.told = None;
        self.armed = None;
        self.due = None;
        self.timer.cancel();
        self.timer = Timer::repeating();
    }

    /// Ensures that the timer fires at `deadline` or earlier.
    fn set_timer(&mut self, deadline: Nanos, turn: &Turn<'_, Word<M>>) {
        if self.due.is_some_and(|due| due <= deadline) {
            return;
        }
        // The watchman does not stop, so it accepts the message.
        let _ = turn.set_timer(&self.timer, deadline, &turn.address(), Word::Due);
        self.due = Some(deadline);
    }

    fn look(&mut self, turn: &Turn<'_, Word<M>>) {
        let now = turn.now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
        }
        match self.armed.take() {
            Some((deadline, actor)) if deadline <= now => {
                let message = (self.make)();
                let lost_before = lost(&actor);
                // Most full mailboxes also accept this message. The send fails if the actor has
                // stopped. In this case, it does not need the message.
                let sent = actor.send_promised(message);
                self.told = sent.is_ok().then_some(lost_before);
            }
            Some((deadline, actor)) => self.arm(deadline, actor, turn),
            None => {}
        }
    }
}

impl<M: Send + 'static> Task for Watchman<M> {
    type Message = Word<M>;
    const INTERNAL: bool = true;

    fn receive(&mut self, word: Word<M>, turn: &Turn<'_, Word<M>>) -> Flow {
        match word {
            Word::Undone => self.told = None,
            // If the mailbox has lost a message meanwhile, this was possibly the timeout's message,
            // and the actor has received another one.
            Word::Came(deadline, actor) => {
                if self.told.take().is_none_or(|before| before != lost(&actor)) {
                    self.arm(deadline, actor, turn);
                }
            }
            Word::Arm(deadline, actor) => {
                self.told = None;
                self.arm(deadline, actor, turn);
            }
            Word::Disarm => self.disarm(),
            Word::Due => self.look(turn),
        }
        Flow::Continue
    }

    const RECOVERS: bool = true;

    /// Continues after the function that creates the message has panicked. No message is sent for
    /// this timeout, but later timeouts are not affected.
    fn recover(&mut self, _: &str, _: &Turn<'_, Word<M>>) -> Flow {
        Flow::Continue
    }
}

/// The receive timeout of an actor that is about to be spawned.
pub(crate) struct Timeout<M: 'static> {
    pub(crate) after: Duration,
    pub(crate) make: Make<M>,
    /// Function that notifies the watchman (the task that sends the timeout's message) of a turn.
    /// The function needs messages that are `Send`. It is stored as a function pointer, so only
    /// [`Timeout::new`] has the bound `M: Send`.
    tell: Tell<M>,
}

type Tell<M> = fn(&mut Silence<M>, Option<Patience>, &Context<'_, M>);

impl<M: Send + 'static> Timeout<M> {
    pub(crate) fn new(after: Duration, make: impl Fn() -> M + Send + Sync + 'static) -> Self {
        Self {
            after,
            make: Arc::new(make),
            tell: Silence::tell_watchman,
        }
    }
}

impl<M: 'static> Clone for Timeout<M> {
    fn clone(&self) -> Self {
        Self {
            after: self.after,
            make: self.make.clone(),
            tell: self.tell,
        }
    }
}

/// The state of a spawned actor's receive timeout, and the address of the watchman (the task that
/// sends the timeout's message).
pub(crate) struct Silence<M: 'static> {
    patience: Patience,
    timeout: Timeout<M>,
    watchman: Option<Address<Word<M>>>,
    /// True during a turn, and after a turn that was undone or has panicked.
    is_in_turn: bool,
}

impl<M: 'static> Silence<M> {
    pub(crate) fn new(timeout: Timeout<M>) -> Box<Self> {
        Box::new(Self {
            patience: Patience::For(nanos(timeout.after)),
            timeout,
            watchman: None,
            is_in_turn: false,
        })
    }

    /// Records that a turn begins. If the previous turn was undone or has panicked, notifies the
    /// watchman (the task that sends the timeout's message), because the previous turn may have
    /// handled the timeout's message.
    pub(crate) fn begins(&mut self, cx: &Context<'_, M>) {
        let is_undone = mem::replace(&mut self.is_in_turn, true);
        if is_undone && let Some(watchman) = &self.watchman {
            // The watchman does not stop before its system ends.
            let _ = cx.turn().send(watchman, Word::Undone);
        }
    }

    /// Records the end of a turn that has returned `Continue`. `wish` is the new timeout, if the
    /// turn has requested one.
    pub(crate) fn broken(&mut self, wish: Option<Patience>, cx: &Context<'_, M>) {
        self.is_in_turn = false;
        self.patience = wish.unwrap_or(self.patience);
        (self.timeout.tell)(self, wish, cx);
    }
}

impl<M: Send + 'static> Silence<M> {
    fn tell_watchman(&mut self, wish: Option<Patience>, cx: &Context<'_, M>) {
        let word = match self.patience {
            Patience::Endless if wish.is_none() => return,
            Patience::Endless => Word::Disarm,
            Patience::For(time) => {
                let deadline = cx.now().saturating_add(time);
                let word = if wish.is_some() {
                    Word::Arm
                } else {
                    Word::Came
                };
                word(deadline, cx.address())
            }
        };
        let turn = cx.turn();
        let word = match &self.watchman {
            Some(watchman) => match turn.send(watchman, word) {
                Ok(()) => return,
                // The actor has moved, and the system of its watchman has ended.
                Err(SendError(word)) => word,
            },
            None => word,
        };
        let watchman = turn.spawn(Watchman {
            make: self.timeout.make.clone(),
            armed: None,
            timer: Timer::repeating(),
            due: None,
            told: None,
        });
        // The watchman does not stop before its system ends.
        let _ = turn.send(&watchman, word);
        self.watchman = Some(watchman);
    }
}

impl<M: 'static> Drop for Silence<M> {
    /// Ends the timeout, because the actor has stopped or is being replaced by its supervisor.
    fn drop(&mut self) {
        if let Some(watchman) = self.watchman.take() {
            // A watchman whose system has ended sends nothing.
            let _ = watchman.send(Word::Disarm);
        }
    }
}

/// The error returned when an actor without a receive timeout tries to change or cancel its receive
/// timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NoReceiveTimeout;

impl fmt::Display for NoReceiveTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the actor has no receive timeout: spawn it with `.receive_timeout(timeout, make)`",
        )
    }
}

impl std::error::Error for NoReceiveTimeout {}

impl<M: 'static> Context<'_, M> {
    /// Changes the receive timeout if this turn commits. The new time is measured from the end of
    /// this turn.
    ///
    /// # Errors
    /// Returns [`NoReceiveTimeout`] if the actor was not spawned with
    /// [`Spawn::receive_timeout`](crate::spawn::Spawn::receive_timeout).
    pub fn set_receive_timeout(&self, timeout: Duration) -> Result<(), NoReceiveTimeout> {
        self.wish(Patience::For(nanos(timeout)))
    }

    /// Cancels the receive timeout if this turn commits. A timeout message that has already been
    /// sent still arrives. [`Context::set_receive_timeout`] starts the timeout again.
    ///
    /// # Errors
    /// Returns [`NoReceiveTimeout`] if the actor was not spawned with
    /// [`Spawn::receive_timeout`](crate::spawn::Spawn::receive_timeout).
    pub fn cancel_receive_timeout(&self) -> Result<(), NoReceiveTimeout> {
        self.wish(Patience::Endless)
    }

    fn wish(&self, patience: Patience) -> Result<(), NoReceiveTimeout> {
        let wish = self.beside().and_then(Beside::patience);
        wish.ok_or(NoReceiveTimeout)?.set(Some(patience));
        Ok(())
    }
}
