//! The smallest ones: they answer, pass on, mark and swallow.

use garrick_sched::{Address, Reply};

use super::stateless::stateless;
use crate::actor::{Actor, Next};
use crate::context::Context;

/// Answers every question with `value`. The seed's `const`.
///
/// Stateless. Costs a clone of the value and the answer.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors};
///
/// let local = Local::new()?;
/// let pi = local.spawn(behaviors::constant(3.14159));
/// let asked = pi.ask(|reply| reply);
/// local.run();
/// assert_eq!(asked.wait(), Ok(3.14159));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn constant<V>(value: V) -> impl Actor<Msg = Reply<V>> + Send
where
    V: Clone + Send + Sync + 'static,
{
    stateless(move |reply: Reply<V>, _| {
        reply.send(value.clone());
        Next::Continue
    })
}

/// Passes every message on to `to`: another address for the same receiver. The seed's `fwd`.
///
/// It can be stopped where its target must not be, which makes it a capability to be taken back; for one that
/// its holders cannot stop for each other see [`gatekeeper`](super::gatekeeper()).
///
/// Stateless. Costs one message. Stops when it finds that the target has stopped; that message is a dead letter.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, Next, behaviors};
///
/// let local = Local::new()?;
/// let target = local.spawn_behavior(|n: &u32, _| {
///     assert_eq!(*n, 1);
///     Next::Continue
/// });
/// let other_name = local.spawn(behaviors::forward(target));
/// other_name.send(1)?;
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn forward<M: Send + 'static>(to: Address<M>) -> impl Actor<Msg = M> + Send {
    stateless(move |msg, cx: &Context<'_, M>| cx.relay(&to, msg))
}

/// Passes every message on to `to`, with `label` before it, so that the receiver can tell this way from others. The
/// seed's `label`.
///
/// To make another shape of the message, such as a variant of an enum, use
/// [`contramap`](crate::Contramap::contramap).
///
/// Stateless. Costs a clone of the label and one message. Stops as [`forward`] does.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, Next, behaviors};
///
/// let local = Local::new()?;
/// let log = local.spawn_behavior(|(level, line): &(&str, &str), _| {
///     println!("{level}: {line}");
///     Next::Continue
/// });
/// let warn = local.spawn(behaviors::label(log.clone(), "warning"));
/// let note = local.spawn(behaviors::label(log, "note"));
/// warn.send("it is late")?;
/// note.send("the moon is up")?;
/// local.run();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn label<L, M>(to: Address<(L, M)>, label: L) -> impl Actor<Msg = M> + Send
where
    L: Clone + Send + Sync + 'static,
    M: Send + 'static,
{
    stateless(move |msg, cx: &Context<'_, M>| cx.relay(&to, (label.clone(), msg)))
}

/// Passes every message on to `to`, with its own address before it: a label that nobody else can make, because an
/// address cannot be guessed. The seed's `tag`.
///
/// Stateless. Costs one message. Stops as [`forward`] does.
///
/// # Examples
/// ```
/// use garrick_actor::{Address, Local, Next, behaviors};
///
/// let local = Local::new()?;
/// let judge = local.spawn_behavior(|(path, n): &(Address<u32>, u32), _| {
///     println!("{n} came by {path:?}");
///     Next::Continue
/// });
/// let one = local.spawn(behaviors::tag(judge.clone()));
/// let other = local.spawn(behaviors::tag(judge));
/// one.send(1)?;
/// other.send(2)?;
/// local.run();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tag<M: Send + 'static>(to: Address<(Address<M>, M)>) -> impl Actor<Msg = M> + Send {
    stateless(move |msg, cx: &Context<'_, M>| cx.relay(&to, (cx.address(), msg)))
}

/// Swallows every message. The seed's `sink`.
///
/// What it swallows is handled, hence no dead letter; a [`Reply`] in it answers that there is no answer.
///
/// Stateless.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, NoReply, Reply, behaviors};
///
/// let local = Local::new()?;
/// let sink = local.spawn(behaviors::sink::<Reply<u32>>());
/// let asked = sink.ask(|reply| reply);
/// local.run();
/// assert_eq!(asked.wait(), Err(NoReply::Dropped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sink<M: Send + 'static>() -> impl Actor<Msg = M> + Send {
    stateless(|_: M, _| Next::Continue)
}

/// Passes its first message on to `to`, and swallows the others. The seed's `once`, a customer that cannot be
/// answered twice; a [`Reply`] is one by its type.
///
/// It forgets `to` after the first message, which may be what lets the actor there go. A first message that finds
/// `to` stopped is a dead letter.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, Next, behaviors};
///
/// let local = Local::new()?;
/// let winner = local.spawn_behavior(|name: &&str, _| {
///     assert_eq!(*name, "Atalanta");
///     Next::Continue
/// });
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
    /// None after the first message.
    to: Option<Address<M>>,
}

impl<M: Send + 'static> Actor for Once<M> {
    type Msg = M;

    fn receive(&mut self, msg: M, cx: &mut Context<'_, M>) -> Next {
        match self.to.take() {
            Some(to) => cx.relay(&to, msg),
            None => Next::Continue,
        }
    }
}
