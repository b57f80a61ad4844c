//! A message to an actor that has received nothing for a while.
//!
//! A wrapper around the actor notifies a watchman of each message and of the time when the timeout
//! will be over. The watchman is a small separate task with one timer. If a message has come when
//! the timer fires, the timer is set again for the rest. So a message costs a look at the clock and
//! a message to the watchman, not a timer. The timer ends with the actor.
//!
//! ```text
//!   actor ---- a message has come; timeout if none before t -------> watchman <---+ Due
//!     ^                                                                |   |      |
//!     +----------------- the timeout's message, at t ------------------+   +------+ timing wheel
//! ```
//!
//! The watchman keeps the actor alive while it is armed, that is until t at the latest. Its own
//! message does not arm it again. So an actor that is not otherwise reachable gets the message
//! once, and then ends.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use garrick_sched::{Address, Flow, Nanos, Task, Timer, Turn, nanos};

use crate::beside::{Beside, Patience};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::model::outcome::Outcome;

/// A message to a watchman.
enum Word<M> {
    /// A message has come. The timeout's message is due if no other message comes until then.
    Came(Nanos, Address<M>),
    /// The timeout's message is due at that time, whatever came before.
    Arm(Nanos, Address<M>),
    /// The timeout is cancelled.
    Disarm,
    /// The timer has fired.
    Due,
}

/// Sends an actor the timeout's message when nothing came.
struct Watchman<M, F> {
    make: F,
    /// Time of the timeout, and the actor that it is for.
    armed: Option<(Nanos, Address<M>)>,
    timer: Timer,
    /// Time when the timer fires, if it is set.
    due: Option<Nanos>,
    /// True if the actor was sent the timeout's message and has had no message since. The next
    /// message is then the watchman's own.
    told: bool,
}

impl<M: Send + 'static, F: FnMut() -> M> Watchman<M, F> {
    fn arm(&mut self, deadline: Nanos, actor: Address<M>, turn: &Turn<'_, Word<M>>) {
        self.armed = Some((deadline, actor));
        self.set_timer(deadline, turn);
    }

    fn disarm(&mut self) {
        self.told = false;
        self.armed = None;
        self.due = None;
        self.timer.cancel();
        self.timer = Timer::repeating();
    }

    /// Makes the timer fire at `deadline` or earlier.
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
                self.told = true;
                // An actor that has stopped does not need the message.
                let _ = turn.send(&actor, message);
            }
            Some((deadline, actor)) => self.arm(deadline, actor, turn),
            None => {}
        }
    }
}

impl<M: Send + 'static, F: FnMut() -> M + 'static> Task for Watchman<M, F> {
    type Message = Word<M>;

    fn receive(&mut self, word: Word<M>, turn: &Turn<'_, Word<M>>) -> Flow {
        match word {
            Word::Came(..) if self.told => self.told = false,
            Word::Came(deadline, actor) => self.arm(deadline, actor, turn),
            Word::Arm(deadline, actor) => {
                self.told = false;
                self.arm(deadline, actor, turn);
            }
            Word::Disarm => self.disarm(),
            Word::Due => self.look(turn),
        }
        Flow::Continue
    }

    const RECOVERS: bool = true;

    /// Continues after the message could not be made. This silence has no message, the next one
    /// may.
    fn recover(&mut self, _: &str, _: &Turn<'_, Word<M>>) -> Flow {
        Flow::Continue
    }
}

/// Makes an actor receive the result of `make` when no message has come to it for `timeout`,
/// counted from its last message or from its start. Each silence yields one such message. The
/// message itself does not begin a new silence. Any other message does, and so does
/// [`Context::set_receive_timeout`]. A turn that is undone does not count. If `make` panics, the
/// panic is reported, and this silence has no message.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{Actor, Context, Local, Next, with_receive_timeout};
///
/// struct Session;
///
/// enum Msg {
///     Request,
///     Idle,
/// }
///
/// impl Actor for Session {
///     type Msg = Msg;
///     type Outcome = Next;
///
///     fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) -> Next {
///         match msg {
///             Msg::Request => Next::Continue,
///             Msg::Idle => Next::Stop,
///         }
///     }
/// }
///
/// let local = Local::new()?;
/// let timeout = Duration::from_millis(1);
/// let session = local.spawn(with_receive_timeout(timeout, || Msg::Idle, Session));
/// session.send(Msg::Request).unwrap();
/// while !session.is_stopped() {
///     local.run();
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_receive_timeout<A, F>(timeout: Duration, make: F, actor: A) -> WithReceiveTimeout<A, F>
where
    A: Actor<Msg: Send>,
    F: FnMut() -> A::Msg + Send + 'static,
{
    WithReceiveTimeout {
        actor,
        patience: Patience::For(nanos(timeout)),
        wish: Cell::new(None),
        make: Some(make),
        watchman: None,
    }
}

/// An actor with a receive timeout, created by [`with_receive_timeout`].
pub struct WithReceiveTimeout<A: Actor, F> {
    actor: A,
    patience: Patience,
    /// Timeout requested by the turn under way.
    wish: Cell<Option<Patience>>,
    /// Message constructor for the watchman. `None` once there is a watchman.
    make: Option<F>,
    watchman: Option<Address<Word<A::Msg>>>,
}

impl<M: 'static> Context<'_, M> {
    /// Changes the receive timeout if this turn ends well. The new timeout counts from now on.
    ///
    /// # Panics
    /// Panics if the actor was not created by [`with_receive_timeout`].
    #[track_caller]
    pub fn set_receive_timeout(&self, timeout: Duration) {
        self.wish(Patience::For(nanos(timeout)));
    }

    /// Cancels the receive timeout if this turn ends well, until [`Context::set_receive_timeout`].
    /// A timeout message that is already on its way still arrives.
    ///
    /// # Panics
    /// Panics if the actor was not created by [`with_receive_timeout`].
    #[track_caller]
    pub fn cancel_receive_timeout(&self) {
        self.wish(Patience::Endless);
    }

    #[track_caller]
    fn wish(&self, patience: Patience) {
        let wish = self.beside().patience;
        let wish =
            wish.expect("an actor with a receive timeout must be made by `with_receive_timeout`");
        wish.set(Some(patience));
    }
}

impl<A, F> WithReceiveTimeout<A, F>
where
    A: Actor<Msg: Send>,
    F: FnMut() -> A::Msg + Send + 'static,
{
    fn turn(
        &mut self,
        cx: &mut Context<'_, A::Msg>,
        turn: impl FnOnce(&mut A, &mut Context<'_, A::Msg>) -> Next,
    ) -> Next {
        // Discard the request of a turn that panicked, if the actor has survived it.
        self.wish.set(None);
        let beside = Beside {
            patience: Some(&self.wish),
            ..cx.beside()
        };
        let next = turn(&mut self.actor, &mut cx.with(&beside));
        let wish = self.wish.take();
        if next == Next::Continue {
            self.patience = wish.unwrap_or(self.patience);
            self.tell_watchman(wish.is_some(), cx);
        }
        next
    }

    fn tell_watchman(&mut self, anew: bool, cx: &Context<'_, A::Msg>) {
        let word = match self.patience {
            Patience::Endless if !anew => return,
            Patience::Endless => Word::Disarm,
            Patience::For(time) => {
                let deadline = cx.now().saturating_add(time);
                let word = if anew { Word::Arm } else { Word::Came };
                word(deadline, cx.address())
            }
        };
        let turn = cx.turn();
        if let Some(make) = self.make.take() {
            self.watchman = Some(turn.spawn(Watchman {
                make,
                armed: None,
                timer: Timer::repeating(),
                due: None,
                told: false,
            }));
        }
        if let Some(watchman) = &self.watchman {
            // The watchman does not stop before its system ends.
            let _ = turn.send(watchman, word);
        }
    }
}

impl<A, F> Actor for WithReceiveTimeout<A, F>
where
    A: Actor<Msg: Send>,
    F: FnMut() -> A::Msg + Send + 'static,
{
    type Msg = A::Msg;
    type Outcome = Next;
    const BLOCKS: bool = A::BLOCKS;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> Next {
        self.turn(cx, |actor, cx| {
            if A::STARTS {
                actor.started(cx).into_next()
            } else {
                Next::Continue
            }
        })
    }

    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> Next {
        self.turn(cx, |actor, cx| actor.receive(msg, cx).into_next())
    }

    fn name() -> &'static str {
        A::name()
    }
}

impl<A: Actor, F> Drop for WithReceiveTimeout<A, F> {
    /// Disarms the watchman: the actor has ended, or a supervisor replaces it.
    fn drop(&mut self) {
        if let Some(watchman) = self.watchman.take() {
            // A watchman whose system has ended sends nothing.
            let _ = watchman.send(Word::Disarm);
        }
    }
}

impl<A: Actor, F> fmt::Debug for WithReceiveTimeout<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithReceiveTimeout").finish_non_exhaustive()
    }
}
