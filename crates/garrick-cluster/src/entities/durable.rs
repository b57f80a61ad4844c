//! Hosts of durable entities. For each shard, a host has a durable list of the entities that have
//! something to do, and that must start on each node that gets the shard.

use std::sync::{Arc, Mutex};

use garrick_actor::{Ask, Internal};
use garrick_journal::{DurableActor, DutyList, DutyWaiters, Entity, Journal};
use hashbrown::HashMap;

use super::host::{Created, Host, KindOptions, Stage};
use super::leased::Leased;
use crate::lock::lock;
use crate::members::Tenure;

/// A host of durable entities. (A host is an object that creates the entities of a kind.)
pub(super) struct DurableHost<F> {
    stage: Stage,
    kind: &'static str,
    make: Arc<F>,
    journal: Journal,
    options: KindOptions,
    /// The open lists, by the numbers of their shards.
    lists: Mutex<HashMap<u32, DutyList>>,
    _exists: Arc<()>,
}

impl<F> DurableHost<F> {
    pub(super) fn new(
        stage: Stage,
        kind: &'static str,
        options: KindOptions,
        journal: Journal,
        make: F,
        exists: Arc<()>,
    ) -> Self {
        Self {
            stage,
            kind,
            make: Arc::new(make),
            journal,
            options,
            lists: Mutex::default(),
            _exists: exists,
        }
    }

    /// Spawns the actor of the list of a shard. Like an entity, it has effects only while this node
    /// owns the shard.
    fn spawn_list(&self, shard: u32, tenure: &Arc<Tenure>) -> Option<DutyList> {
        let name: Arc<str> = format!("garrick.duties/{}/{shard}", self.kind).into();
        let (journal, tenure) = (self.journal.clone(), tenure.clone());
        let waiters = DutyWaiters::default();
        let of_actor = waiters.clone();
        let make = move || {
            let list = DutyList::entity(&journal, &name, of_actor.clone()).fenced_at_start();
            Internal(Leased::<_, true>::new(list, tenure.clone(), name.clone()))
        };
        Some(DutyList::at(self.stage.spawn(make, None)?, waiters))
    }
}

impl<M, D, F> Host<M> for DurableHost<F>
where
    M: Send + 'static,
    D: DurableActor<Msg = M>,
    F: Fn(&str) -> Entity<D> + Send + Sync + 'static,
{
    fn create(&self, shard: u32, key: &Arc<str>, tenure: &Arc<Tenure>) -> Option<Created<M>> {
        let list = lock(&self.lists).get(&shard).cloned()?;
        let listing = list.listing(key.clone());
        let (make, key, tenure) = (self.make.clone(), key.clone(), tenure.clone());
        let of_entity = listing.clone();
        let make = move || {
            let entity = make(&key).fenced_at_start().listed_as(of_entity.clone());
            Leased::<_, true>::new(entity, tenure.clone(), key.clone())
        };
        Some(Created {
            address: self.stage.spawn(make, self.options.capacity)?,
            has_duties: Some(Box::new(move || listing.has_duties())),
        })
    }

    fn open_list(&self, shard: u32, tenure: &Arc<Tenure>) -> Option<Ask<Vec<String>>> {
        let mut lists = lock(&self.lists);
        if !lists.contains_key(&shard) {
            lists.insert(shard, self.spawn_list(shard, tenure)?);
        }
        lists.get(&shard).map(DutyList::names)
    }

    fn close_list(&self, shard: u32) {
        let closed = lock(&self.lists).remove(&shard);
        if let Some(list) = closed {
            list.stop();
        }
    }

    fn options(&self) -> &KindOptions {
        &self.options
    }
}
