//! Names of actors. At any time, a name belongs to one node.

use std::sync::Arc;

use garrick_actor::{Address, Context, NoReply, Reply};
use garrick_sched::TaskId;
use garrick_wire::Wire;

use super::actor::{Directory, ToDirectory};
use super::error::NameError;
use super::names::{Claim, Watcher as _, WatcherOf};
use super::own::held;
use super::record::{CALLS_MAX, Holder, Instance, Key, NAMES_MAX, Registered};
use super::view::Membership;
use crate::line::{Carrier, Travels};
use crate::members::encode;
use crate::watching::Watching;

impl Directory {
    /// Registers an actor of this node under a name.
    pub(crate) fn register<M: Travels>(
        &mut self,
        name: &Arc<str>,
        address: &Address<M>,
        reply: Reply<Result<(), NameError>>,
        cx: &Context<'_, ToDirectory>,
    ) {
        if let Some(claim) = self.names.claims.get_mut(name) {
            if claim.id == address.id() {
                if claim.waiting.len() >= CALLS_MAX {
                    let name = name.to_string();
                    return reply.send(Err(NameError::Calls { name }));
                }
                claim.waiting.push(reply);
                return self.settle_name(name, cx);
            }
            return reply.send(Err(NameError::Taken {
                name: name.to_string(),
                node: self.node.name().clone(),
            }));
        }
        if self.names.claims.len() >= NAMES_MAX {
            return reply.send(Err(NameError::Names));
        }
        let number = self.node.next_served();
        let service = Instance::service(self.node.life(), number);
        self.node.offer(&service, address);
        let of_watch = name.clone();
        let watching = Watching::begin(|| {
            cx.watch(address, move |_| ToDirectory::NameEnded {
                name: of_watch,
                number,
            })
        });
        let id = address.id();
        let address = held(address.clone(), self.node.origin_of(service.into()));
        let claim = Claim {
            number,
            of: <M as Wire<Carrier>>::ID,
            id,
            address: Box::new(address),
            _watching: watching,
            waiting: vec![reply],
        };
        self.names.claims.insert(name.clone(), claim);
        self.settle_name(name, cx);
    }

    /// Unregisters an actor from a name. Has no effect if another actor has the name.
    pub(crate) fn unregister(
        &mut self,
        name: &Arc<str>,
        id: TaskId,
        cx: &Context<'_, ToDirectory>,
    ) {
        let claim = self.names.claims.get(name);
        if let Some(number) = claim
            .filter(|claim| claim.id == id)
            .map(|claim| claim.number)
        {
            self.name_ended(name, number, cx);
        }
    }

    /// Handles the end of an actor that has a name.
    pub(super) fn name_ended(
        &mut self,
        name: &Arc<str>,
        number: u64,
        cx: &Context<'_, ToDirectory>,
    ) {
        let claim = self.names.claims.get(name);
        if claim.is_some_and(|claim| claim.number == number) {
            self.give_up(name, || {
                let name = name.to_string();
                Err(NameError::Ended { name })
            });
            self.settle_name(name, cx);
            self.tell_watchers(name);
        }
    }

    /// Removes the claim of an actor to a name, and answers the callers that wait for the name.
    fn give_up(&mut self, name: &Arc<str>, answer: impl Fn() -> Result<(), NameError>) {
        if let Some(claim) = self.names.claims.remove(name) {
            let service = Instance::service(self.node.life(), claim.number);
            self.node.withdraw(&service);
            for reply in claim.waiting {
                reply.send(answer());
            }
        }
    }

    /// Returns the actor that has a name.
    fn holder(&self, name: &str) -> Option<Holder> {
        let holder = self.view.holder(name)?;
        if holder.instance.node == *self.node.name() {
            // It may have ended, or its record may be that of an earlier one.
            let claim = self.names.claims.get(name)?;
            return (claim.number == holder.instance.number).then_some(holder);
        }
        Some(holder)
    }

    /// Returns the address of the actor that has a name.
    pub(crate) fn lookup<M: Travels>(&self, name: &str) -> Result<Address<M>, NameError> {
        let holder = self
            .holder(name)
            .ok_or_else(|| NameError::Unknown { name: name.into() })?;
        let address = self.names.address(name, &holder, &self.node);
        address.ok_or_else(|| NameError::Message {
            name: name.into(),
            node: holder.instance.node,
        })
    }

    /// Sends the address of the actor with the given name to `to`, now and after each change.
    pub(crate) fn watch_name<M: Travels>(
        &mut self,
        name: Arc<str>,
        to: Address<Option<Address<M>>>,
    ) {
        let mut watcher = WatcherOf {
            to,
            name: name.clone(),
            told: None,
        };
        let holder = self.holder(&name);
        if watcher.tell(holder.as_ref(), &self.names, &self.node) {
            let watchers = self.names.watchers.entry(name).or_default();
            watchers.retain(|known| !known.is_over());
            watchers.push(Box::new(watcher));
        }
    }

    /// Tells the subscribers of a name which actor has the name.
    pub(super) fn tell_watchers(&mut self, name: &Arc<str>) {
        let Some(mut watchers) = self.names.watchers.remove(name) else {
            return;
        };
        let holder = self.holder(name);
        watchers.retain_mut(|watcher| watcher.tell(holder.as_ref(), &self.names, &self.node));
        if !watchers.is_empty() {
            self.names.watchers.insert(name.clone(), watchers);
        }
    }

    /// Informs subscribers that have missed a change because their mailboxes were full, and removes
    /// subscribers that have ended.
    pub(super) fn tend_watchers(&mut self) {
        let names: Vec<_> = self.names.watchers.keys().cloned().collect();
        for name in names {
            self.tell_watchers(&name);
        }
    }

    /// Updates the record of a name if the record is out of date. Answers the waiting callers if it
    /// is known which actor has the name.
    pub(super) fn settle_name(&mut self, name: &Arc<str>, cx: &Context<'_, ToDirectory>) {
        let (Some(Membership { life, epoch }), true) = (self.membership(), self.view.is_read())
        else {
            // The record of another membership would not hold.
            return;
        };
        let own = self.node.name().clone();
        let known = self.view.name(name);
        let expected = known.map_or(0, |seen| seen.revision);
        let is_of_own = known
            .and_then(|seen| seen.registered.as_ref())
            .is_some_and(|registered| registered.node == own.as_str());
        let holder = self.view.holder(name);
        let Some(claim) = self.names.claims.get_mut(name) else {
            if is_of_own {
                self.change_name(name, expected, None, cx);
            }
            return;
        };
        match holder {
            Some(holder) if holder.instance.node != own => {
                let node = holder.instance.node;
                let name_of = name.clone();
                self.give_up(name, || {
                    Err(NameError::Taken {
                        name: name_of.to_string(),
                        node: node.clone(),
                    })
                });
                self.tell_watchers(name);
            }
            Some(holder) if holder.instance.number == claim.number => {
                for reply in std::mem::take(&mut claim.waiting) {
                    reply.send(Ok(()));
                }
            }
            _ => {
                let registered = Registered {
                    node: own.to_string(),
                    epoch,
                    life,
                    number: claim.number,
                    of: u64::from_be_bytes(claim.of.to_bytes()),
                };
                self.change_name(name, expected, Some(encode(registered)), cx);
            }
        }
    }

    fn change_name(
        &mut self,
        name: &Arc<str>,
        expected: u64,
        value: Option<bytes::Bytes>,
        cx: &Context<'_, ToDirectory>,
    ) {
        let (key, to) = (Key::Name(name.clone()).text(), Self::news(cx));
        self.changes.change(key, expected, value, cx.now(), &to);
    }

    /// Updates all out-of-date records of names.
    pub(super) fn settle_names(&mut self, cx: &Context<'_, ToDirectory>) {
        let mut names = self.view.names_of(self.node.name());
        names.extend(self.names.claims.keys().cloned());
        for name in names {
            self.settle_name(&name, cx);
        }
    }

    /// Removes all names, because the node has left.
    pub(super) fn end_names(&mut self) {
        let names: Vec<_> = self.names.claims.keys().cloned().collect();
        for name in names {
            self.give_up(&name, || Err(NameError::NoAnswer(NoReply::Dropped)));
        }
        for mut watcher in std::mem::take(&mut self.names.watchers)
            .into_values()
            .flatten()
        {
            watcher.tell(None, &self.names, &self.node);
        }
    }
}
