//! A placement within a process.

use std::fmt;

use garrick_actor::{Actor, Address, Context, Handle, Internal};

use super::table::Table;
use super::{Change, News, Outcome, Placement, Request};
use crate::error::JoinError;

/// A placement within a process, for clusters without a server, for tests and for simulations.
/// Clones are handles to the same placement.
///
/// An actor owns the records. The 1,024 latest deletions are kept for nodes that read only the
/// changes since an earlier read. In a simulation, requests of other nodes and the answers to them
/// are messages between nodes, so links and partitions can delay and lose them.
#[derive(Clone)]
pub struct LocalPlacement {
    store: Address<Request>,
}

/// The records of a placement within a process.
#[derive(Default)]
struct Store {
    table: Table,
    /// Revision of the newest change.
    revision: u64,
    watchers: Vec<Address<News>>,
}

impl LocalPlacement {
    /// Creates a placement without records. The placement lives as long as the system of `handle`.
    ///
    /// # Errors
    /// Returns [`JoinError::Closed`] if the system is shutting down.
    pub fn new(handle: &Handle) -> Result<Self, JoinError> {
        let store = handle.spawn(Internal(Store::default()));
        Ok(Self {
            store: store.map_err(|_| JoinError::Closed)?,
        })
    }

    fn request(&self, request: Request) {
        // If the actor has ended, there is no answer.
        let _ = self.store.send(request);
    }
}

impl Placement for LocalPlacement {
    fn read(&self, since: u64, to: &Address<News>) {
        let to = to.clone();
        self.request(Request::Read { since, to });
    }

    fn change(&self, change: Change, to: &Address<News>) {
        let to = to.clone();
        self.request(Request::Change { change, to });
    }

    fn watch(&self, to: &Address<News>) {
        self.request(Request::Watch(to.clone()));
    }
}

impl Store {
    fn change(&mut self, change: Change) -> Outcome {
        if let Err(error) = change.check() {
            return Outcome::Invalid(error);
        }
        let Change {
            key,
            expected,
            value,
            ..
        } = change;
        let current = match self.table.get(&key) {
            Some((revision, Some(_))) => revision,
            // The record was deleted, or there was none.
            Some((_, None)) | None => 0,
        };
        if current != expected {
            return Outcome::Refused;
        }
        if current == 0 && value.is_none() {
            // Nothing is deleted.
            return Outcome::Refused;
        }
        self.revision += 1;
        self.table.apply(key, self.revision, value);
        Outcome::Changed(self.revision)
    }

    /// Notifies all watchers of a change.
    fn hint(&mut self, cx: &Context<'_, Request>) {
        self.watchers.retain(|watcher| !watcher.is_stopped());
        for watcher in &self.watchers {
            let _ = cx.send(watcher, News::Hint);
        }
    }
}

impl Actor for Store {
    type Msg = Request;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) {
        match request {
            Request::Read { since, to } => {
                let _ = cx.send(&to, self.table.read(since, self.revision));
            }
            Request::Change { change, to } => {
                let (key, ticket) = (change.key.clone(), change.ticket);
                let outcome = self.change(change);
                let is_changed = matches!(outcome, Outcome::Changed(_));
                let answer = News::Outcome {
                    key,
                    ticket,
                    outcome,
                };
                let _ = cx.send(&to, answer);
                if is_changed {
                    self.hint(cx);
                }
            }
            Request::Watch(to) => self.watchers.push(to),
        }
    }
}

impl fmt::Debug for LocalPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalPlacement").finish_non_exhaustive()
    }
}
