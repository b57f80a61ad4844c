//! The smallest behaviors, which answer, forward, label or discard messages.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use garrick_sched::{Address, Reply};

use super::passage::passage;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// Creates an address that answers every question with `value`.
///
/// The address is a [door](crate::behaviors#doors-and-actors). Each question costs one clone of the
/// value and one send for the answer.
///
/// # Examples
/// ```
/// use garrick_actor::behaviors;
///
/// let one = behaviors::constant(1);
/// assert_eq!(one.ask(|reply| reply).wait(), Ok(1));
/// ```
pub fn constant<V>(value: V) -> Address<Reply<V>>
where
    V: Clone + Send + Sync + 'static,
{
    passage(move |reply: Reply<V>| {
        reply.send(value.clone());
        Ok(())
    })
}

/// Creates an address that forwards every message to `to`.
///
/// Code that has only the new address cannot stop the target with [`Address::stop`]. To be able to
/// revoke the right to send, use a [`gatekeeper`](super::gatekeeper()) instead. The other methods
/// of the new address, such as [`Address::watch`] and [`Address::try_send`], have the same effect
/// as those of `to`.
///
/// The address is a [door](crate::behaviors#doors-and-actors), so forwarding costs only a function
/// call.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behavior, behaviors};
///
/// let local = Local::new()?;
/// let target = local.spawn(behavior(|n: u32, _| {
///     assert_eq!(n, 1);
/// }));
/// let other_name = behaviors::forward(target);
/// other_name.send(1)?;
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn forward<M: Send + 'static>(to: Address<M>) -> Address<M> {
    to.contramap_back(|msg| msg, |msg| msg)
}

/// Creates an address that adds `label` to every message and forwards the pair to `to`. The
/// receiver can use the label to distinguish messages to this address from other messages. Watches
/// and the bound of the mailbox are those of `to`, as for [`forward`].
///
/// The address is a [door](crate::behaviors#doors-and-actors). Each message costs a clone of the
/// label.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behavior, behaviors};
///
/// let local = Local::new()?;
/// let log = local.spawn(behavior(|(level, line): (&str, &str), _| {
///     println!("{level}: {line}");
/// }));
/// let warn = behaviors::label(log.clone(), "warning");
/// let note = behaviors::label(log, "note");
/// warn.send("it is late")?;
/// note.send("the moon is up")?;
/// local.run();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn label<L, M>(to: Address<(L, M)>, label: L) -> Address<M>
where
    L: Clone + Send + Sync + 'static,
    M: Send + 'static,
{
    to.contramap_back(move |msg| (label.clone(), msg), |(_, msg)| msg)
}

/// An unforgeable label, created by [`tag`].
#[derive(Clone)]
pub struct Tag(Arc<()>);

/// Creates an address and a unique [`Tag`]. The address adds the tag to every message and forwards
/// the pair to `to`.
///
/// The tag proves to the receiver that the message was sent to the new address. Other code can
/// forge such a message only if it has both the tag and `to`.
///
/// The address is a [door](crate::behaviors#doors-and-actors). Each message costs a clone of the
/// tag.
///
/// # Examples
/// ```
/// use garrick_actor::behaviors::{self, Tag};
/// use garrick_actor::{Local, behavior};
///
/// let local = Local::new()?;
/// let (to, heard) = std::sync::mpsc::channel();
/// let judge = local.spawn(behavior(move |tagged: (Tag, u32), _| {
///     to.send(tagged).unwrap();
/// }));
/// let (one, tag_of_one) = behaviors::tag(judge.clone());
/// let (other, tag_of_other) = behaviors::tag(judge);
/// one.send(1)?;
/// other.send(2)?;
/// local.run();
/// let heard: Vec<_> = heard.try_iter().collect();
/// assert!(heard.contains(&(tag_of_one, 1)));
/// assert!(heard.contains(&(tag_of_other, 2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tag<M: Send + 'static>(to: Address<(Tag, M)>) -> (Address<M>, Tag) {
    let tag = Tag(Arc::new(()));
    (label(to, tag.clone()), tag)
}

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tag {}

impl Hash for Tag {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({:p})", self.0)
    }
}

/// Creates an address that discards every message.
///
/// A discarded message counts as handled, so it is not a dead letter. If the message contains a
/// [`Reply`], the asker gets `NoReply::Dropped`.
///
/// The address is a [door](crate::behaviors#doors-and-actors).
///
/// # Examples
/// ```
/// use garrick_actor::{NoReply, Reply, behaviors};
///
/// let sink = behaviors::sink::<Reply<u32>>();
/// assert_eq!(sink.ask(|reply| reply).wait(), Err(NoReply::Dropped));
/// ```
pub fn sink<M: Send + 'static>() -> Address<M> {
    passage(|_| Ok(()))
}

/// Creates an actor that forwards its first message to `to` and discards all others.
///
/// Use this actor for a receiver that must not receive more than one message. A [`Reply`] does not
/// need this protection, because it can only be used once.
///
/// After the first message, the actor drops `to`, so it no longer keeps the receiver alive. If the
/// receiver has already stopped when the first message arrives, this message is a dead letter.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behavior, behaviors};
///
/// let local = Local::new()?;
/// let winner = local.spawn(behavior(|name: &str, _| {
///     assert_eq!(name, "Atalanta");
/// }));
/// let line = local.spawn(behaviors::once(winner));
/// line.send("Atalanta")?;
/// line.send("Hippomenes")?;
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn once<M: Send + 'static>(to: Address<M>) -> impl Actor<Msg = M> + Send {
    Once { to: Some(to) }
}

struct Once<M> {
    /// Receiver of the first message. `None` after this message has been forwarded.
    to: Option<Address<M>>,
}

impl<M: Send + 'static> Actor for Once<M> {
    type Msg = M;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: M, cx: &mut Context<'_, M>) -> Next {
        match self.to.take() {
            Some(to) => cx.relay(&to, msg),
            None => Next::Continue,
        }
    }
}
