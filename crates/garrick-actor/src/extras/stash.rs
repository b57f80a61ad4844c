//! Messages set aside for later.
//!
//! A wrapper around the actor keeps the messages, and checks how each turn ends. If the turn ends
//! well, messages that it stashed stay stashed, and messages that it unstashed are sent to the
//! actor. If not, the stash is as it was before the turn. An actor without the wrapper pays
//! nothing.
//!
//! Unstashed messages go to the end of the mailbox. Messages that wait there already are handled
//! first.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;

use garrick_sched::{Flow, Handle, Task, Turn};

use crate::beside::Beside;
use crate::beside::shelf::Shelf;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::model::outcome::Outcome;
use crate::quiet::{self, Several};

/// Gives an actor a stash of up to `capacity` messages. The actor uses it by [`Context::stash`] and
/// [`Context::unstash_all`].
///
/// Messages that are still stashed when the actor ends, however it ends, become dead letters.
///
/// # Examples
/// A door that makes callers wait until it is opened, as two behaviors:
/// ```
/// use garrick_actor::{Behavior, Local, Reply, behavior, with_stash};
///
/// enum Msg {
///     Open,
///     Enter(Reply<&'static str>),
/// }
///
/// fn closed() -> Behavior<Msg> {
///     behavior(|msg, cx| {
///         match msg {
///             Msg::Open => {
///                 cx.unstash_all();
///                 cx.becomes_behavior(open());
///             }
///             // A message over the capacity is dropped with its reply.
///             caller => drop(cx.stash(caller)),
///         }
///     })
/// }
///
/// fn open() -> Behavior<Msg> {
///     behavior(|msg, _| {
///         if let Msg::Enter(reply) = msg {
///             reply.send("welcome");
///         }
///     })
/// }
///
/// let local = Local::new()?;
/// let door = local.spawn(with_stash(100, closed()));
/// let caller = door.ask(Msg::Enter);
/// door.send(Msg::Open).unwrap();
/// assert_eq!(local.block_on(caller), Ok("welcome"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_stash<A>(capacity: usize, actor: A) -> Stashing<A>
where
    A: Actor<Msg: Send>,
{
    Stashing {
        actor,
        shelf: RefCell::new(Shelf::new(capacity)),
        sponsor: None,
    }
}

/// An actor with a stash, created by [`with_stash`].
pub struct Stashing<A: Actor<Msg: Send>> {
    actor: A,
    shelf: RefCell<Shelf<A::Msg>>,
    /// Sponsor that runs the actor. Set once a message has been stashed.
    sponsor: Option<Handle>,
}

/// The reason why a message was not stashed. Returns the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StashError<M> {
    /// The stash holds the number of messages that was passed to [`with_stash`].
    Full(M),
    /// The actor was not created by [`with_stash`].
    Missing(M),
}

impl<M: 'static> Context<'_, M> {
    /// Stashes a message if this turn ends well.
    ///
    /// # Errors
    /// Returns the message if the stash is full, or if the actor has no stash.
    ///
    /// # Examples
    /// See [`with_stash`].
    pub fn stash(&self, msg: M) -> Result<(), StashError<M>> {
        match self.beside().stash {
            Some(shelf) => shelf.borrow_mut().add(msg).map_err(StashError::Full),
            None => Err(StashError::Missing(msg)),
        }
    }

    /// Unstashes all messages if this turn ends well, and returns their number. This actor receives
    /// them again in the order in which they were stashed, after the messages that wait already.
    pub fn unstash_all(&self) -> usize {
        self.unstash(usize::MAX)
    }

    /// Unstashes the oldest messages, at most `count` of them, and returns their number. See
    /// [`Context::unstash_all`].
    pub fn unstash(&self, count: usize) -> usize {
        let shelf = self.beside().stash;
        shelf.map_or(0, |shelf| shelf.borrow_mut().release(count))
    }

    /// Returns the number of stashed messages.
    #[must_use]
    pub fn stash_len(&self) -> usize {
        let shelf = self.beside().stash;
        shelf.map_or(0, |shelf| shelf.borrow().len())
    }
}

impl<A: Actor<Msg: Send>> Stashing<A> {
    /// Runs a turn of the actor, and commits or undoes its changes to the stash.
    fn turn(
        &mut self,
        cx: &mut Context<'_, A::Msg>,
        turn: impl FnOnce(&mut A, &mut Context<'_, A::Msg>) -> Next,
    ) -> Next {
        // Undo the changes of a turn that panicked, if the actor has survived it.
        self.shelf.get_mut().undo();
        let beside = Beside {
            stash: Some(&self.shelf),
            ..cx.beside()
        };
        let next = turn(&mut self.actor, &mut cx.with(&beside));
        let shelf = self.shelf.get_mut();
        if matches!(next, Next::Undo | Next::Fail) {
            shelf.undo();
            return next;
        }
        for msg in shelf.commit() {
            // An actor that another thread stops at this moment no longer receives the message.
            let _ = cx.send(&cx.address(), msg);
        }
        if shelf.len() > 0 && self.sponsor.is_none() {
            self.sponsor = Some(cx.turn().sponsor());
        }
        next
    }
}

impl<A: Actor<Msg: Send>> Actor for Stashing<A> {
    type Msg = A::Msg;
    type Outcome = Next;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> Next {
        self.turn(cx, |actor, cx| actor.started(cx).into_next())
    }

    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> Next {
        self.turn(cx, |actor, cx| actor.receive(msg, cx).into_next())
    }

    fn name() -> &'static str {
        A::name()
    }
}

impl<A: Actor<Msg: Send>> Drop for Stashing<A> {
    fn drop(&mut self) {
        let left = Several::from(self.shelf.get_mut().take_all());
        if let Some(sponsor) = self.sponsor.take() {
            bury(&sponsor, left);
        }
    }
}

/// Turns messages into dead letters: sends them to a task that stops before the first.
fn bury<M: Send + 'static>(sponsor: &Handle, mut letters: Several<VecDeque<M>>) {
    if letters.is_empty() {
        return;
    }
    // A sponsor that has ended no longer counts.
    if let Ok(grave) = sponsor.spawn(Grave(std::marker::PhantomData)) {
        for letter in letters.drain(..) {
            quiet::drop(grave.send(letter));
        }
    }
}

/// Stops before the first message.
struct Grave<M>(std::marker::PhantomData<fn(M)>);

impl<M: 'static> Task for Grave<M> {
    type Message = M;
    const STARTS: bool = true;

    fn start(&mut self, _: &Turn<'_, M>) -> Flow {
        Flow::Stop
    }

    fn receive(&mut self, _: M, _: &Turn<'_, M>) -> Flow {
        Flow::Stop
    }
}

impl<A: Actor<Msg: Send>> fmt::Debug for Stashing<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stashing")
            .field("stash", &self.shelf)
            .finish_non_exhaustive()
    }
}

impl<M> fmt::Debug for StashError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Missing(_) => "Missing(..)",
        })
    }
}

impl<M> fmt::Display for StashError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the stash is full: it holds as many messages as `with_stash` allows",
            Self::Missing(_) => "the actor has no stash: spawn it by `with_stash`",
        })
    }
}

impl<M> std::error::Error for StashError<M> {}
