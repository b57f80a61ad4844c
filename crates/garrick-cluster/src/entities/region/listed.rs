//! The start of entities that have something to do. Each shard of durable entities has a list of
//! them, which the region of the owner opens.

use std::sync::Arc;
use std::time::Duration;

use garrick_actor::Context;
use garrick_sched::nanos;

use super::{LOOK, Region};
use crate::entities::message::RegionMsg;
use crate::entities::shard::{List, Place};
use crate::line::Travels;

/// Maximum number of listed entities that a region creates at each check.
pub(super) const CREATED_MAX: usize = 256;

/// Time after which a list that could not be read is read again, and after which an entity that has
/// stopped by itself with something to do is created again.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

impl<M: Travels> Region<M> {
    /// Opens the list of a shard that this node owns, if it is closed and the entities are durable.
    /// Asks for the keys of the entities that have something to do.
    pub(super) fn open_list(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        if self.shards[number as usize].list == List::Closed {
            self.ask_list(number, cx);
        }
    }

    fn ask_list(&mut self, number: u32, cx: &Context<'_, RegionMsg<M>>) {
        let (Some(host), Some(lease)) = (&self.host, &self.lease) else {
            return;
        };
        let shard = &mut self.shards[number as usize];
        let tenure = shard.tenure(lease);
        let Some(keys) = host.open_list(number, &tenure) else {
            return;
        };
        self.generation += 1;
        let asked = self.generation;
        shard.list = List::Asked(asked);
        cx.pipe_answer(keys, move |keys| RegionMsg::Listed {
            shard: number,
            asked,
            keys: keys.ok(),
        });
    }

    /// Handles the keys of the entities that have something to do, as an answer to the request with
    /// the number `asked`.
    pub(super) fn listed(
        &mut self,
        number: u32,
        asked: u64,
        keys: Option<Vec<String>>,
        cx: &Context<'_, RegionMsg<M>>,
    ) {
        let shard = &mut self.shards[number as usize];
        if shard.list != List::Asked(asked) {
            // The node has lost the shard since.
            return;
        }
        if let Some(keys) = keys {
            shard.list = List::Read;
            shard.listed = keys.into_iter().map(Arc::from).collect();
        } else {
            shard.list = List::AskAgain(cx.now().saturating_add(nanos(AGAIN)));
        }
        if shard.is_unsettled() {
            self.unsettled.insert(number);
            self.look_within(LOOK, cx);
        }
    }

    /// Reads the list of a shard again, if this is due. Creates at most `left` entities that have
    /// something to do, and subtracts their number from `left`.
    pub(super) fn create_listed(
        &mut self,
        number: u32,
        left: &mut usize,
        cx: &Context<'_, RegionMsg<M>>,
    ) {
        let shard = &self.shards[number as usize];
        if !matches!(shard.place, Place::Here { .. }) {
            return;
        }
        if let List::AskAgain(at) = shard.list
            && at <= cx.now()
        {
            self.ask_list(number, cx);
        }
        while *left > 0 {
            let shard = &mut self.shards[number as usize];
            let Some(key) = shard.listed.pop_front() else {
                return;
            };
            match shard.entities.get_mut(&key) {
                None => {
                    *left -= 1;
                    self.create_idle(number, &key, true, cx);
                }
                // It was told to stop before this node got the shard again, and may not know that
                // it has something to do. `ended` adds its key again.
                Some(entity) if entity.stops => entity.has_duties = Some(Box::new(|| Some(true))),
                // It has started for a message. If it ends with something to do, `ended` knows.
                Some(entity) => entity.is_listed = true,
            }
        }
    }

    /// Adds the key of an entity that has ended with something to do, so that the entity is created
    /// again.
    pub(super) fn list_again(
        &mut self,
        number: u32,
        key: Arc<str>,
        cx: &Context<'_, RegionMsg<M>>,
    ) {
        let shard = &mut self.shards[number as usize];
        if shard.list != List::Closed {
            shard.listed.push_back(key);
            self.unsettled.insert(number);
            self.look_within(LOOK, cx);
        }
    }

    /// Closes the list of a shard whose entities have ended, or may have no more effects.
    pub(super) fn close_list(&mut self, number: u32) {
        let shard = &mut self.shards[number as usize];
        shard.listed.clear();
        if shard.list != List::Closed {
            shard.list = List::Closed;
            if let Some(host) = &self.host {
                host.close_list(number);
            }
        }
    }
}
