//! Behaviors that distribute messages to several receivers.

use std::hash::Hash;

use garrick_sched::{Address, SendError};
use indexmap::IndexMap;

use super::passage::passage_to;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::roll::Roll;

/// Creates an address that sends every message to both `to` and `copy`.
///
/// The address is a [door](crate::behaviors#doors-and-actors). Each message costs two clones and
/// two sends. If one of the receivers has stopped, its copies are dropped. If both have stopped, a
/// send to the address fails and returns the message.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, Next, behavior, behaviors};
///
/// let local = Local::new()?;
/// let work = local.spawn(behavior(|_: u32, _| Next::Continue));
/// let log = local.spawn(behavior(|n: u32, _| {
///     println!("{n} came by");
/// }));
/// let logged = behaviors::tee(work, log);
/// logged.send(1)?;
/// local.run();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tee<M>(to: Address<M>, copy: Address<M>) -> Address<M>
where
    M: Clone + Send + 'static,
{
    broadcast(vec![to, copy])
}

/// Creates an address that sends every message to all of `targets`.
///
/// The address is a [door](crate::behaviors#doors-and-actors). Each message costs a clone and a
/// send for each target. If a target refuses its copy, because it has stopped or its mailbox is
/// full, the copy is dropped. If all targets refuse, a send to the address fails and returns the
/// message. If `targets` is empty, the address discards every message, like a
/// [`sink`](super::sink()). To change the targets at run time, use a [`subject`] instead.
///
/// # Examples
/// ```
/// use garrick_actor::Local;
/// use garrick_actor::behaviors::{self, Count};
///
/// let local = Local::new()?;
/// let counters: Vec<_> = (0..3).map(|_| local.spawn(behaviors::counter())).collect();
/// let resets = counters
///     .into_iter()
///     .map(|counter| counter.contramap(|()| Count::Reset));
/// let reset_all = behaviors::broadcast(resets.collect());
/// reset_all.send(())?;
/// local.run();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn broadcast<M>(targets: Vec<Address<M>>) -> Address<M>
where
    M: Clone + Send + 'static,
{
    let pass = |targets: &Vec<Address<M>>, msg: M| {
        let mut refused = 0;
        for target in targets {
            refused += usize::from(target.send(msg.clone()).is_err());
        }
        if refused == targets.len() && refused > 0 {
            return Err(SendError(msg));
        }
        Ok(())
    };
    let has_stopped =
        |targets: &Vec<Address<M>>| !targets.is_empty() && targets.iter().all(Address::is_stopped);
    passage_to(targets, pass, has_stopped)
}

/// Creates an address that receives pairs of a key and a message.
///
/// The address sends the message, without the key, to the target that has this key in `routes`.
/// Together with [`label`](super::label()), a demux lets several streams of messages share one
/// address.
///
/// The address is a [door](crate::behaviors#doors-and-actors). Each message costs a look-up in a
/// map. If no target has the key, or if the target has stopped, a send to the address fails and
/// returns the pair. If a key occurs more than once in `routes`, its last target is used. When the
/// last clone of the address is dropped, the targets are dropped in the order of `routes`.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behavior, behaviors};
///
/// let local = Local::new()?;
/// let even = local.spawn(behavior(|n: u32, _| {
///     assert_eq!(n % 2, 0);
/// }));
/// let odd = local.spawn(behavior(|n: u32, _| {
///     assert_eq!(n % 2, 1);
/// }));
/// let sorted = behaviors::demux([(0, even), (1, odd)]);
/// for n in 0..10 {
///     sorted.send((n % 2, n))?;
/// }
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn demux<K, M>(routes: impl IntoIterator<Item = (K, Address<M>)>) -> Address<(K, M)>
where
    K: Eq + Hash + Send + Sync + 'static,
    M: Send + 'static,
{
    let routes: IndexMap<K, Address<M>> = routes.into_iter().collect();
    let pass = |routes: &IndexMap<K, Address<M>>, (key, msg): (K, M)| match routes.get(&key) {
        Some(to) => {
            let sent = to.send(msg);
            sent.map_err(|SendError(msg)| SendError((key, msg)))
        }
        None => Err(SendError((key, msg))),
    };
    let has_stopped = |routes: &IndexMap<K, Address<M>>| routes.values().all(Address::is_stopped);
    passage_to(routes, pass, has_stopped)
}

/// A message to a [`subject`].
#[derive(Debug, Clone)]
pub enum Subject<M> {
    /// Subscribes this address to notifications. Has no effect if it is subscribed already.
    Subscribe(Address<M>),
    /// Unsubscribes this address.
    Unsubscribe(Address<M>),
    /// Sends this message to all subscribers.
    Notify(M),
}

/// Creates an actor that sends each notification to all of its subscribers, in the order of
/// subscription.
///
/// Some code may be allowed only to subscribe, or only to notify. Give that code an address that
/// [`contramap`] creates from the subject's address, as in the example.
///
/// Each notification costs a clone and a send for each subscriber. With `n` subscribers, adding or
/// removing a subscriber takes O(log n) on average. Subscribers that have stopped are removed at
/// the next notification. If the bounded mailbox of a subscriber is full, the subscriber misses the
/// notification, which becomes a dead letter. Without subscribers, notifications are dropped.
///
/// # Examples
/// ```
/// use garrick_actor::behaviors::{self, Subject};
/// use garrick_actor::{Local, Next, behavior};
///
/// let local = Local::new()?;
/// let weather = local.spawn(behaviors::subject());
/// let reader = local.spawn(behavior(|news: &str, _| {
///     assert_eq!(news, "rain");
///     Next::Stop
/// }));
/// weather.send(Subject::Subscribe(reader))?;
/// let station = weather.contramap(Subject::Notify);
/// station.send("rain")?;
/// station.send("sun")?;
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`contramap`]: garrick_sched::Address::contramap
pub fn subject<M: Clone + Send + 'static>() -> impl Actor<Msg = Subject<M>> + Send {
    Subscribers(Roll::new())
}

struct Subscribers<M>(Roll<Address<M>>);

impl<M: Clone + Send + 'static> Actor for Subscribers<M> {
    type Msg = Subject<M>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: Subject<M>, cx: &mut Context<'_, Subject<M>>) {
        let Self(subscribers) = self;
        match msg {
            Subject::Subscribe(new) => drop(subscribers.add(new.id(), new)),
            Subject::Unsubscribe(old) => drop(subscribers.remove(old.id())),
            Subject::Notify(msg) => {
                // A subscriber whose mailbox is full misses only this message.
                subscribers.extract(|subscriber| cx.send_or_skip(subscriber, msg.clone()).is_ok());
            }
        }
    }
}
