//! One message for several.

use std::hash::Hash;

use garrick_sched::{Address, SendError};
use indexmap::IndexMap;

use super::passage::passage;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::roll::Roll;

/// Sends every message to both. The seed's `tee`.
///
/// A door. Costs a clone and two messages. Copies for one that has stopped vanish; when both have stopped, messages
/// come back.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, Next, behaviors};
///
/// let local = Local::new()?;
/// let work = local.spawn_behavior(|_: u32, _| Next::Continue);
/// let log = local.spawn_behavior(|n: u32, _| {
///     println!("{n} came by");
/// });
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

/// Sends every message to all `targets`. The seed's `send-to-all`, or `splay`.
///
/// A door. Costs a clone and a message for each of them. Copies for one that has stopped vanish; when all have
/// stopped, messages come back. With none it is a [`sink`](super::sink()). For targets that come and go see
/// [`subject`].
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors::{self, Count}};
///
/// let local = Local::new()?;
/// let counters: Vec<_> = (0..3).map(|_| local.spawn(behaviors::counter())).collect();
/// let resets = counters.into_iter().map(|counter| behaviors::adapter(counter, |()| Count::Reset));
/// let reset_all = behaviors::broadcast(resets.collect());
/// reset_all.send(())?;
/// local.run();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn broadcast<M>(targets: Vec<Address<M>>) -> Address<M>
where
    M: Clone + Send + 'static,
{
    passage(move |msg: M| {
        let mut stopped = 0;
        for target in &targets {
            stopped += usize::from(target.send(msg.clone()).is_err());
        }
        if stopped == targets.len() && stopped > 0 {
            return Err(SendError(msg));
        }
        Ok(())
    })
}

/// Sends every message to the one of `routes` that its key names. With [`label`](super::label()) at the other end,
/// many channels share one.
///
/// A door. Costs a look in a map. A message with a key that has no route, or whose target has stopped, comes back. Of
/// several routes with one key, the last counts. When the door ends, it lets go of the targets in the order in which
/// they were given.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors};
///
/// let local = Local::new()?;
/// let even = local.spawn_behavior(|n: u32, _| {
///     assert_eq!(n % 2, 0);
/// });
/// let odd = local.spawn_behavior(|n: u32, _| {
///     assert_eq!(n % 2, 1);
/// });
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
    passage(move |(key, msg): (K, M)| match routes.get(&key) {
        Some(to) => {
            let sent = to.send(msg);
            sent.map_err(|SendError(msg)| SendError((key, msg)))
        }
        None => Err(SendError((key, msg))),
    })
}

/// What a [`subject`] gets.
#[derive(Debug, Clone)]
pub enum Subject<M> {
    /// From here on, send this one what there is to notify of. Once is enough.
    Subscribe(Address<M>),
    /// No longer.
    Unsubscribe(Address<M>),
    /// To be sent to every subscriber.
    Notify(M),
}

/// Sends what it is notified of to whoever has subscribed, in the order of subscription. The seed's `subscribe`
/// and `notify`.
///
/// Whoever is to subscribe only, or to notify only, is given an [`adapter`](super::adapter()).
///
/// Costs a clone and a message for each subscriber; with `n` of them, one comes or goes in O(log n) on average. Those that have
/// stopped are forgotten at the next notification. Without subscribers a notification vanishes.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, Next, behaviors::{self, Subject}};
///
/// let local = Local::new()?;
/// let weather = local.spawn(behaviors::subject());
/// let reader = local.spawn_behavior(|news: &str, _| {
///     assert_eq!(news, "rain");
///     Next::Stop
/// });
/// weather.send(Subject::Subscribe(reader))?;
/// let station = behaviors::adapter(weather, Subject::Notify);
/// station.send("rain")?;
/// station.send("sun")?;
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
                subscribers.extract(|subscriber| cx.send(subscriber, msg.clone()).is_ok());
            }
        }
    }
}
