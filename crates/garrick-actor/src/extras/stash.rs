//! Messages put aside, to be handled later.
//!
//! A wrapper around an actor keeps them, and looks how each turn ends: what the turn has put aside stays, and what it
//! has taken back is sent to the actor, if it ends well; if not, the stash is as it was. An actor without the wrapper
//! pays nothing.
//!
//! What is taken back goes to the end of the mailbox, so messages that wait there already are handled before it.

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

/// Gives an actor a stash for up to `capacity` messages, which it uses by [`Context::stash`] and
/// [`Context::unstash_all`].
///
/// Messages that are still in there when the actor ends, however it ends, are dead letters.
///
/// # Examples
/// A door that keeps callers waiting until it is opened, as two behaviors:
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
///             // One too many is dropped, and with it its reply.
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

/// An actor with a stash, made by [`with_stash`].
pub struct Stashing<A: Actor<Msg: Send>> {
    actor: A,
    shelf: RefCell<Shelf<A::Msg>>,
    /// Who runs it, known once there was something in the stash.
    sponsor: Option<Handle>,
}

/// Why a message was not put aside. It comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StashError<M> {
    /// As many messages are put aside as were said to [`with_stash`].
    Full(M),
    /// The actor was not made by [`with_stash`].
    Missing(M),
}

impl<M: 'static> Context<'_, M> {
    /// Puts a message aside, if this turn ends well.
    ///
    /// # Errors
    /// Gives the message back if the stash is full, or if there is none.
    ///
    /// # Examples
    /// See [`with_stash`].
    pub fn stash(&self, msg: M) -> Result<(), StashError<M>> {
        match self.beside().stash {
            Some(shelf) => shelf.borrow_mut().add(msg).map_err(StashError::Full),
            None => Err(StashError::Missing(msg)),
        }
    }

    /// Takes all messages back that were put aside so far, if this turn ends well, and says how many they are: this
    /// actor receives them again, in the order in which they were put aside, behind those that wait already.
    pub fn unstash_all(&self) -> usize {
        self.unstash(usize::MAX)
    }

    /// Takes the oldest messages back that were put aside, `count` of them or all there are; see
    /// [`Context::unstash_all`].
    pub fn unstash(&self, count: usize) -> usize {
        let shelf = self.beside().stash;
        shelf.map_or(0, |shelf| shelf.borrow_mut().release(count))
    }

    /// How many messages are put aside.
    #[must_use]
    pub fn stash_len(&self) -> usize {
        let shelf = self.beside().stash;
        shelf.map_or(0, |shelf| shelf.borrow().len())
    }
}

impl<A: Actor<Msg: Send>> Stashing<A> {
    /// A turn of the actor, and what its end means for the stash.
    fn turn(
        &mut self,
        cx: &mut Context<'_, A::Msg>,
        turn: impl FnOnce(&mut A, &mut Context<'_, A::Msg>) -> Next,
    ) -> Next {
        // What a turn that panicked has left behind, if the actor has survived it.
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
            // An actor that is stopped by others at this moment does not get it any more.
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

/// Makes dead letters of messages: sends them to a task that stops before the first.
fn bury<M: Send + 'static>(sponsor: &Handle, mut letters: Several<VecDeque<M>>) {
    if letters.is_empty() {
        return;
    }
    // A sponsor that has ended counts nothing any more.
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
            Self::Full(_) => {
                "the stash is full: it holds as many messages as `with_stash` was told"
            }
            Self::Missing(_) => "the actor has no stash: spawn it by `with_stash`",
        })
    }
}

impl<M> std::error::Error for StashError<M> {}
