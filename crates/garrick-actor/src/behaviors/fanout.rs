//! Behaviors that distribute messages to several receivers.
//!
//! An address that leads to several receivers has no bound of its own. `Several` gives senders
//! access to the bounded mailboxes of the receivers.

use std::any::type_name;
use std::hash::Hash;
use std::sync::Arc;

use garrick_sched::{
    Address, Door, Ended, Gauged, LetterReason, Notice, Place, Room, SendError, Several,
    TrySendError, Waits, count_dead_letters, door, in_turn,
};
use indexmap::IndexMap;

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::quiet;
use crate::roll::Roll;

/// Creates an address that sends every message to both `to` and `copy`.
///
/// The address is a [door](crate::behaviors#doors-and-actors). Each message costs two clones and
/// two sends. If one of the receivers has stopped, its copies are dropped. If both have stopped, a
/// send to the address fails and returns the message. Full mailboxes and watches have the same
/// effects as for a [`broadcast`].
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
/// send for each target. If `targets` is empty, the address discards every message, like a
/// [`sink`](super::sink()). To change the targets at run time, use a [`subject`] instead.
///
/// If one of several targets has stopped, its copies are dropped. The address has stopped when all
/// targets have stopped. Its watches are then notified, with the reason of the last target, and a
/// send fails and returns the message.
///
/// # Full mailboxes
/// The address has no bound of its own: [`Address::capacity`] and [`Address::waiting`] return
/// `None`. The effect of a full mailbox depends on the way of sending:
///
/// - [`Address::send_async`] and [`Address::send_blocking`] wait until all targets that have not
///   stopped have room. So the slowest target determines the speed, and no copy is lost.
/// - [`Address::try_send`] sends either to all of them or to none. If a mailbox is full, it returns
///   the message.
/// - [`Address::send`] sends to each target as its mailbox demands. It may wait, one target after
///   the other. If a target refuses its copy, the other targets still get theirs. The refused copy
///   is a dead letter if an actor has sent it, and is counted by the target's [`Address::dropped`]
///   otherwise. If all targets refuse, the send fails and returns the message.
///
/// Waiting is not exact if several targets share one mailbox, or if a target refuses messages
/// although it had room, for example because it is a [`demux`] and has no route for the key. Such a
/// copy is refused as by [`Address::send`].
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
    door(ToAll {
        is_limited: targets.iter().any(Address::is_limited),
        targets,
    })
}

/// A place that was taken in the mailbox of a target, with the room that contains it. `None` if the
/// target needs no place.
type Taken = Option<(Arc<Room>, Place)>;

/// The door behind a [`broadcast`].
struct ToAll<M> {
    targets: Vec<Address<M>>,
    /// True if the mailbox of a target has a bound.
    is_limited: bool,
}

/// The result of sending a message to no target.
struct Refused<M> {
    message: M,
    /// True if a target has not stopped.
    is_full: bool,
}

impl<M: Clone + Send + 'static> ToAll<M> {
    /// Sends a copy to each target by `send`. Fails if all targets refuse their copies.
    fn send_each(
        &self,
        message: M,
        mut send: impl FnMut(&Address<M>, M) -> Result<(), M>,
    ) -> Result<(), Refused<M>> {
        let (mut accepted, mut full) = (0, Vec::new());
        for target in &self.targets {
            match send(target, message.clone()) {
                Ok(()) => accepted += 1,
                Err(copy) if target.is_stopped() => quiet::drop(copy),
                // A door may need the copy to find the mailbox that counts it.
                Err(copy) => full.push((target, copy)),
            }
        }
        if accepted == 0 && !self.targets.is_empty() {
            let is_full = !full.is_empty();
            full.into_iter().for_each(|(_, copy)| quiet::drop(copy));
            return Err(Refused { message, is_full });
        }
        for (target, copy) in full {
            count_refused(target, copy);
        }
        Ok(())
    }

    /// Takes a place in each mailbox that has a bound. Returns `None` if a mailbox is full.
    ///
    /// Several targets may have the same mailbox, perhaps with too few places for all of them. So
    /// only the first of them must find a place.
    fn take_places(&self, message: &mut Option<M>) -> Option<Vec<Taken>> {
        let mut places: Vec<Taken> = Vec::with_capacity(self.targets.len());
        for target in &self.targets {
            let taken = match target.room() {
                Some(room) => match room.try_take() {
                    Some(place) => Some((room, place)),
                    None if places
                        .iter()
                        .flatten()
                        .any(|known| Arc::ptr_eq(&known.0, &room)) =>
                    {
                        None
                    }
                    None => return None,
                },
                None if !target.is_stopped() && target.in_the_way(message).is_some() => {
                    return None;
                }
                None => None,
            };
            places.push(taken);
        }
        Some(places)
    }
}

/// Counts and drops a copy that a target has refused although it has not stopped.
fn count_refused<M: 'static>(target: &Address<M>, copy: M) {
    let mut copy = Some(copy);
    if in_turn() {
        count_dead_letters(type_name::<M>, LetterReason::Full, 1);
    } else {
        target.count_refused(&mut copy);
    }
    quiet::drop(copy);
}

impl<M: Clone + Send + 'static> Door for ToAll<M> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        let send = |target: &Address<M>, copy| target.send(copy).map_err(|SendError(copy)| copy);
        let sent = self.send_each(message, send);
        sent.map_err(|refused| SendError(refused.message))
    }

    fn is_stopped(&self) -> bool {
        !self.targets.is_empty() && self.targets.iter().all(Address::is_stopped)
    }

    fn watch(&self, notice: Notice) {
        watch_all(self.targets.iter(), notice);
    }

    fn gauged(&self) -> Option<&dyn Gauged<M>> {
        self.is_limited.then_some(self as &dyn Gauged<M>)
    }
}

/// Notifies the watcher when all targets have ended.
fn watch_all<'a, M: 'static>(
    targets: impl ExactSizeIterator<Item = &'a Address<M>>,
    notice: Notice,
) {
    let parts = notice.split(targets.len());
    for (target, part) in targets.zip(parts) {
        target.forward_watch(part);
    }
}

impl<M: Clone + Send + 'static> Gauged<M> for ToAll<M> {
    /// Counts the message at each target, because each of them has missed a copy.
    fn count_refused(&self, message: &mut Option<M>) {
        for target in &self.targets {
            let mut copy = message.clone();
            target.count_refused(&mut copy);
            quiet::drop(copy);
        }
    }

    fn several(&self) -> Option<&dyn Several<M>> {
        Some(self)
    }
}

impl<M: Clone + Send + 'static> Several<M> for ToAll<M> {
    fn try_send(&self, message: M) -> Result<(), TrySendError<M>> {
        let mut message = Some(message);
        let places = self.take_places(&mut message);
        let Some(message) = message else {
            return Ok(());
        };
        let Some(places) = places else {
            return Err(TrySendError::Full(message));
        };
        let mut places = places.into_iter();
        let sent = self.send_each(message, |target, copy| match places.next().flatten() {
            Some((_, place)) => target.send_in(place, copy).map_err(|SendError(copy)| copy),
            None => target.try_send(copy).map_err(|refused| match refused {
                TrySendError::Full(copy) | TrySendError::Stopped(copy) => copy,
            }),
        });
        sent.map_err(|refused| match refused.is_full {
            true => TrySendError::Full(refused.message),
            false => TrySendError::Stopped(refused.message),
        })
    }

    fn full(&self, message: &mut Option<M>) -> Option<&(dyn Waits + Sync)> {
        let mut targets = self.targets.iter().filter(|target| !target.is_stopped());
        targets.find_map(|target| target.in_the_way(message))
    }
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
/// If the mailbox of the target is full, [`Address::send`], [`Address::try_send`],
/// [`Address::send_async`] and [`Address::send_blocking`] have the same effect as for the target
/// itself. But [`Address::capacity`] and [`Address::waiting`] return `None`, because each target
/// has its own mailbox. The address has stopped when all targets have stopped. Its watches are then
/// notified, with the reason of the last target.
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
    door(ByKey {
        is_limited: routes.values().any(Address::is_limited),
        routes,
    })
}

/// The door behind a [`demux`].
struct ByKey<K, M> {
    routes: IndexMap<K, Address<M>>,
    /// True if the mailbox of a target has a bound.
    is_limited: bool,
}

impl<K, M> Door for ByKey<K, M>
where
    K: Eq + Hash + Send + Sync + 'static,
    M: Send + 'static,
{
    type Message = (K, M);

    fn pass(&self, (key, msg): (K, M), _: &Address<(K, M)>) -> Result<(), SendError<(K, M)>> {
        let Some(to) = self.routes.get(&key) else {
            return Err(SendError((key, msg)));
        };
        let sent = to.send(msg);
        sent.map_err(|SendError(msg)| SendError((key, msg)))
    }

    fn is_stopped(&self) -> bool {
        self.routes.values().all(Address::is_stopped)
    }

    fn watch(&self, notice: Notice) {
        if self.routes.is_empty() {
            return notice.tell(Ended::Before);
        }
        watch_all(self.routes.values(), notice);
    }

    fn gauged(&self) -> Option<&dyn Gauged<(K, M)>> {
        self.is_limited.then_some(self as &dyn Gauged<(K, M)>)
    }
}

impl<K, M> Gauged<(K, M)> for ByKey<K, M>
where
    K: Eq + Hash + Send + Sync + 'static,
    M: Send + 'static,
{
    /// Counts the message at the target that has its key.
    fn count_refused(&self, pair: &mut Option<(K, M)>) {
        let Some((key, msg)) = pair.take() else {
            return;
        };
        let mut msg = Some(msg);
        if let Some(to) = self.routes.get(&key) {
            to.count_refused(&mut msg);
        }
        *pair = msg.map(|msg| (key, msg));
    }

    fn several(&self) -> Option<&dyn Several<(K, M)>> {
        Some(self)
    }
}

impl<K, M> Several<(K, M)> for ByKey<K, M>
where
    K: Eq + Hash + Send + Sync + 'static,
    M: Send + 'static,
{
    fn try_send(&self, (key, msg): (K, M)) -> Result<(), TrySendError<(K, M)>> {
        let Some(to) = self.routes.get(&key) else {
            return Err(TrySendError::Stopped((key, msg)));
        };
        to.try_send(msg).map_err(|refused| match refused {
            TrySendError::Full(msg) => TrySendError::Full((key, msg)),
            TrySendError::Stopped(msg) => TrySendError::Stopped((key, msg)),
        })
    }

    fn full(&self, message: &mut Option<(K, M)>) -> Option<&(dyn Waits + Sync)> {
        let (key, msg) = message.take()?;
        let mut msg = Some(msg);
        let to = self.routes.get(&key);
        let full = to.and_then(|to| to.in_the_way(&mut msg));
        *message = msg.map(|msg| (key, msg));
        full
    }
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
