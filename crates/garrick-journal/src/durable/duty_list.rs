//! The actor of a [`DutyList`].

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::supervise::{Backoff, Restart, Strategy, Supervisor};
use garrick_actor::{Actor, Context, Handle, Internal};

use super::actor::{Decide, DurableActor};
use super::entity::Entity;
use super::journal::Journal;
use super::letters::{put_bytes, take, take_text};
use super::listing::{DutyList, DutyListMsg, DutyWaiters, ListKeeper, Listed, Request};
use super::stored::{BoxError, Stored};
use crate::error::JournalError;
use crate::event::EventKind;
use crate::name::check_name;

/// Time before the actor of a list is created again after a failure. The time doubles with each
/// failure.
const BACKOFF: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// The durable actor of a list. The state contains the names, each with the number of its latest
/// addition.
///
/// If the actor cannot start, the turns that wait for it are undone. If it fails later, these turns
/// wait for the next start.
#[doc(hidden)]
#[derive(Debug)]
pub struct DutyNames {
    waiters: DutyWaiters,
    /// True if the actor has handled a message.
    has_started: Cell<bool>,
}

impl Drop for DutyNames {
    fn drop(&mut self) {
        if !self.has_started.get() {
            self.waiters.drop_all();
        }
    }
}

/// A change to a list.
#[doc(hidden)]
#[derive(Debug)]
pub enum ListChange {
    Added(Arc<str>, u64),
    Removed(Arc<str>),
}

const ADDED: u16 = 1;
const REMOVED: u16 = 2;

/// Kind of the saved state: the number of names (`u32`), and then for each name its length in bytes
/// (`u32`), the name in UTF-8, and the number of its addition (`u64`). All numbers are in
/// little-endian order.
const STATE: EventKind = EventKind { tag: 3, version: 1 };

impl Stored for ListChange {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        let (tag, name) = match self {
            Self::Added(name, number) => {
                bytes.extend(number.to_le_bytes());
                (ADDED, name)
            }
            Self::Removed(name) => (REMOVED, name),
        };
        bytes.extend(name.as_bytes());
        EventKind { tag, version: 1 }
    }

    fn decode(kind: EventKind, mut bytes: &[u8]) -> Result<Self, BoxError> {
        match kind.tag {
            ADDED => {
                let number = u64::from_le_bytes(take(&mut bytes)?);
                Ok(Self::Added(str::from_utf8(bytes)?.into(), number))
            }
            REMOVED => Ok(Self::Removed(str::from_utf8(bytes)?.into())),
            tag => Err(format!("a list of entities has no event with the tag {tag}").into()),
        }
    }
}

/// An actor that calls a function, and then ends.
struct Caller;

impl Actor for Caller {
    type Msg = Listed;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, call: Listed, _: &mut Context<'_, Listed>) {
        call();
    }
}

/// Calls `then` when the turn is durable. If the turn is undone, drops `then`.
fn call_when_durable(then: Listed, cx: &Decide<'_, '_, DutyNames>) {
    let caller = cx.spawn(Internal(Caller));
    // The actor is new, so it accepts the message.
    let _ = cx.send(&caller, then);
}

impl DurableActor for DutyNames {
    type Msg = DutyListMsg;
    type State = BTreeMap<Arc<str>, u64>;
    type Event = ListChange;
    type Outcome = ();

    fn decide(
        &self,
        names: &BTreeMap<Arc<str>, u64>,
        DutyListMsg(request): DutyListMsg,
        cx: &mut Decide<'_, '_, Self>,
    ) {
        self.has_started.set(true);
        match request {
            Request::Add {
                name,
                number,
                is_new,
                then,
            } => {
                let known = names.get(&name);
                if known.is_none_or(|known| is_new && *known < number) {
                    cx.record(ListChange::Added(name, number));
                }
                if let Some(then) = then.and_then(|then| then.take()) {
                    call_when_durable(then, cx);
                }
            }
            Request::Remove { name, number } => {
                if names.get(&name).is_some_and(|known| *known <= number) {
                    cx.record(ListChange::Removed(name));
                }
            }
            Request::Names(reply) => {
                reply.send(names.keys().map(ToString::to_string).collect());
            }
        }
    }

    fn apply(names: &mut BTreeMap<Arc<str>, u64>, change: &ListChange) {
        match change {
            ListChange::Added(name, number) => names.insert(name.clone(), *number),
            ListChange::Removed(name) => names.remove(name),
        };
    }

    fn save(names: &BTreeMap<Arc<str>, u64>, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend((names.len() as u32).to_le_bytes());
        for (name, number) in names {
            put_bytes(name.as_bytes(), bytes);
            bytes.extend(number.to_le_bytes());
        }
        Some(STATE)
    }

    fn load(kind: EventKind, mut bytes: &[u8]) -> Result<BTreeMap<Arc<str>, u64>, BoxError> {
        if kind != STATE {
            return Err("a list of entities has another kind of state".into());
        }
        let mut names = BTreeMap::new();
        for _ in 0..u32::from_le_bytes(take(&mut bytes)?) {
            let name = take_text(&mut bytes)?;
            names.insert(name.into(), u64::from_le_bytes(take(&mut bytes)?));
        }
        Ok(names)
    }
}

impl DutyList {
    /// Opens the list that is stored in the journal with the name `name`. Creates an empty list if
    /// the journal has no events. `system` runs the actor of the list. Open a list only once at a
    /// time: a second list of the same journal starts when the first list is closed. While a list
    /// cannot start, turns that need an entry in the list are undone.
    ///
    /// # Errors
    /// Returns [`JournalError::Name`] if the name is not accepted by
    /// [`check_name`](crate::check_name), and [`JournalError::Closed`] if the system is shutting
    /// down.
    pub fn open(
        system: &Handle,
        journal: &Journal,
        name: impl Into<String>,
    ) -> Result<Self, JournalError> {
        let name = name.into();
        check_name(&name)?;
        let supervisor = Supervisor::new("list of duties", Strategy::OneForOne);
        // A list that fails again and again is tried again, because entities wait for it.
        let supervisor = supervisor.intensity(usize::MAX, Duration::from_nanos(1));
        let tree = supervisor.spawn(system).map_err(|_| JournalError::Closed)?;
        let (journal, waiters) = (journal.clone(), DutyWaiters::default());
        let of_actor = waiters.clone();
        let make = move || Internal(Self::entity(&journal, &name, of_actor.clone()));
        let list = system.actor(make).supervised_by(&tree);
        let list = list.restart(Restart::Transient);
        let list = list.backoff(Backoff::exponential(BACKOFF, BACKOFF_MAX));
        let list = list.spawn().map_err(|_| JournalError::Closed)?;
        Ok(Self::at(list, waiters).kept(ListKeeper(tree)))
    }

    /// Returns the entity of the list with a name, which must be accepted by
    /// [`check_name`](crate::check_name).
    #[doc(hidden)]
    #[must_use]
    pub fn entity(journal: &Journal, name: &str, waiters: DutyWaiters) -> Entity<DutyNames> {
        let names = DutyNames {
            waiters,
            has_started: Cell::new(false),
        };
        Entity::new(journal.clone(), name.to_owned(), names).pipelined()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::{DutyNames, ListChange};
    use crate::{DurableActor, EventKind, Stored};

    proptest! {
        #[test]
        fn lists_are_read_as_they_were_written(changes in prop::collection::vec(
            ("[a-d]{1,3}", any::<u64>(), any::<bool>()), 0..20)
        ) {
            let mut names = BTreeMap::<Arc<str>, u64>::new();
            for (name, number, is_added) in changes {
                let name: Arc<str> = name.into();
                let change = if is_added {
                    ListChange::Added(name.clone(), number)
                } else {
                    ListChange::Removed(name.clone())
                };
                let mut bytes = Vec::new();
                let kind = change.encode(&mut bytes);
                DutyNames::apply(&mut names, &ListChange::decode(kind, &bytes).unwrap());
                prop_assert_eq!(names.get(&name), is_added.then_some(&number));
            }
            let mut bytes = Vec::new();
            let kind = DutyNames::save(&names, &mut bytes).unwrap();
            prop_assert_eq!(&DutyNames::load(kind, &bytes).unwrap(), &names);
            for cut in 0..bytes.len() {
                prop_assert!(DutyNames::load(kind, &bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_can_be_decoded(tag in 0..5_u16, bytes: Vec<u8>) {
            let kind = EventKind { tag, version: 1 };
            let _ = ListChange::decode(kind, &bytes);
            let _ = DutyNames::load(kind, &bytes);
        }
    }
}
