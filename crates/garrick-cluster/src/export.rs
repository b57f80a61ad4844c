//! Exported addresses. An exported address leads to an actor on this node. Other nodes hold the
//! address, or send to it by the name of a service.

use std::any::Any;
use std::sync::Arc;

use garrick_actor::{Address, Ended, SendError, Watch};
use garrick_sched::TaskId;
use garrick_wire::{MessageId, Wire};
use hashbrown::{HashMap, HashSet};

use crate::frame::Slot;
use crate::line::{Carrier, Exported, Held, Key, Travels, Undelivered};
use crate::name::NodeName;
use crate::options::WIRE_LIMITS;

/// An address to which other nodes can send messages.
struct Export<M>(Address<M>);

impl<M: Travels> Export<M> {
    /// Returns true if a message that was refused may be accepted later.
    fn may_have_room(&self) -> bool {
        has_bound(&self.0) && !self.0.is_stopped()
    }
}

/// Returns true if the address may refuse messages because there is no room: it leads to a bounded
/// mailbox, or to another node, which may have a bounded mailbox and whose link has bounds.
fn has_bound<M: 'static>(address: &Address<M>) -> bool {
    address.capacity().is_some() || address.id().is_far()
}

/// A message that waits for room in a mailbox.
struct Waiting<M> {
    address: Address<M>,
    message: M,
}

impl<M: Travels> Held for Waiting<M> {
    fn retry(self: Box<Self>) -> Result<(), Box<dyn Held>> {
        let Self { address, message } = *self;
        match address.send(message) {
            Err(SendError(message)) if !address.is_stopped() => {
                Err(Box::new(Self { address, message }))
            }
            // A message to an actor that has stopped is lost.
            _ => Ok(()),
        }
    }
}

impl<M: Travels> Exported for Export<M> {
    fn task(&self) -> TaskId {
        self.0.id()
    }

    fn message(&self) -> MessageId {
        <M as Wire<Carrier>>::ID
    }

    fn deliver(
        &self,
        content: &[u8],
        carrier: &mut Carrier,
        waits: bool,
    ) -> Result<(), Undelivered> {
        let message: M = WIRE_LIMITS
            .decode_with(content, carrier)
            .map_err(Undelivered::Wire)?;
        let message = match waits {
            true => message,
            false => match self.0.send(message) {
                Ok(()) => return Ok(()),
                Err(SendError(_)) if !self.may_have_room() => return Err(Undelivered::Refused),
                Err(SendError(message)) => message,
            },
        };
        let address = self.0.clone();
        Err(Undelivered::Full(Box::new(Waiting { address, message })))
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn watch(&self, notice: Box<dyn FnOnce(Ended) + Send>) -> Watch {
        self.0.watch(notice)
    }

    fn address(&self) -> &dyn Any {
        &self.0
    }
}

/// Converts an address into a trait object that hides the type of its messages.
pub(crate) fn exported<M: Travels>(address: Address<M>) -> Arc<dyn Exported> {
    Arc::new(Export(address))
}

/// An entry in the table of exported addresses.
#[derive(Default)]
struct Place {
    generation: u32,
    exported: Option<(Key, Arc<dyn Exported>)>,
    /// Number of times that the address was sent to each node that holds it, minus the number of
    /// times that the node has already released.
    holders: HashMap<NodeName, u64>,
}

/// The addresses that other nodes hold. An address is removed when no other node holds it any more.
#[derive(Default)]
pub(crate) struct Exports {
    places: Vec<Place>,
    free: Vec<u32>,
    by_task: HashMap<Key, u32>,
    /// For each node: the places whose addresses it holds. So the loss of a node costs only as much
    /// as the number of addresses that this node holds. No set is empty.
    by_holder: HashMap<NodeName, HashSet<u32>>,
}

impl Exports {
    /// Returns the place in the table of exported addresses for an address that is sent to a node.
    /// If the table already contained the address, also returns `exported`, which the caller must
    /// drop while it holds no lock. `key` is the key of the address.
    pub(crate) fn give(
        &mut self,
        key: Key,
        exported: Arc<dyn Exported>,
        to: &NodeName,
    ) -> (Slot, Option<Arc<dyn Exported>>) {
        let mut exported = Some(exported);
        let index = match self.by_task.get(&key) {
            Some(index) => *index,
            None => {
                let index = self.free.pop().unwrap_or_else(|| {
                    self.places.push(Place::default());
                    self.places.len() as u32 - 1
                });
                self.by_task.insert(key, index);
                let place = &mut self.places[index as usize];
                place.exported = exported.take().map(|exported| (key, exported));
                index
            }
        };
        let place = &mut self.places[index as usize];
        if let Some(travels) = place.holders.get_mut(to) {
            *travels += 1;
        } else {
            place.holders.insert(to.clone(), 1);
            self.by_holder.entry(to.clone()).or_default().insert(index);
        }
        let slot = Slot {
            index,
            generation: place.generation,
        };
        (slot, exported)
    }

    fn place(&mut self, slot: Slot) -> Option<&mut Place> {
        let place = self.places.get_mut(slot.index as usize)?;
        (place.generation == slot.generation).then_some(place)
    }

    /// Returns the address at a place of the table of exported addresses, if the node `holder`
    /// holds this address.
    pub(crate) fn get(&mut self, slot: Slot, holder: &NodeName) -> Option<Arc<dyn Exported>> {
        let place = self.place(slot)?;
        place.holders.get(holder)?;
        place
            .exported
            .as_ref()
            .map(|(_, exported)| Arc::clone(exported))
    }

    /// Records that the node `holder` has released an address. `travels` is the number of times
    /// that the address had arrived at `holder`. If this node has sent the address more often,
    /// `holder` still holds it. Returns the address if no other node holds it any more. The caller
    /// must drop the address while it holds no lock.
    pub(crate) fn release(
        &mut self,
        slot: Slot,
        holder: &NodeName,
        travels: u64,
    ) -> Option<Arc<dyn Exported>> {
        let place = self.place(slot)?;
        let held = place.holders.get_mut(holder)?;
        *held = held.saturating_sub(travels);
        if *held == 0 {
            place.holders.remove(holder);
            self.holds_no_more(holder, slot.index);
        }
        self.take_if_free(slot.index)
    }

    /// Removes a place from the places whose addresses a node holds.
    fn holds_no_more(&mut self, holder: &NodeName, index: u32) {
        let Some(places) = self.by_holder.get_mut(holder) else {
            return;
        };
        places.remove(&index);
        if places.is_empty() {
            self.by_holder.remove(holder);
        }
    }

    /// Removes the node `holder`, which was lost, from the holders of all addresses. Returns the
    /// addresses that no node holds any longer, in the order of their places. Visits only the
    /// places whose addresses the node holds.
    pub(crate) fn strike(&mut self, holder: &NodeName) -> Vec<Arc<dyn Exported>> {
        let held = self.by_holder.remove(holder).unwrap_or_default();
        let mut held: Vec<_> = held.into_iter().collect();
        // The order is the same in each run of a simulation.
        held.sort_unstable();
        let freed = held.into_iter().filter_map(|index| {
            self.places[index as usize].holders.remove(holder)?;
            self.take_if_free(index)
        });
        freed.collect()
    }

    fn take_if_free(&mut self, index: u32) -> Option<Arc<dyn Exported>> {
        let place = &mut self.places[index as usize];
        if !place.holders.is_empty() {
            return None;
        }
        let (key, exported) = place.exported.take()?;
        self.by_task.remove(&key);
        // After as many addresses, the place is not used again.
        if let Some(next) = place.generation.checked_add(1) {
            place.generation = next;
            self.free.push(index);
        }
        Some(exported)
    }

    /// Returns the number of addresses that other nodes hold.
    pub(crate) fn len(&self) -> usize {
        self.by_task.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use garrick_testkit::HANGS_AFTER;

    use super::*;

    /// An address without an actor.
    struct Numbered(u64);

    impl Exported for Numbered {
        fn task(&self) -> TaskId {
            TaskId::far(self.0)
        }

        fn message(&self) -> MessageId {
            MessageId::of("test.Numbered")
        }

        fn deliver(&self, _: &[u8], _: &mut Carrier, _: bool) -> Result<(), Undelivered> {
            Err(Undelivered::Refused)
        }

        fn stop(&self) {}

        fn watch(&self, _: Box<dyn FnOnce(Ended) + Send>) -> Watch {
            unreachable!("nobody watches it")
        }

        fn address(&self) -> &dyn Any {
            self
        }
    }

    fn give(exports: &mut Exports, number: u64, to: &NodeName) -> Slot {
        let numbered = Arc::new(Numbered(number));
        let key = (numbered.task(), numbered.message());
        exports.give(key, numbered, to).0
    }

    fn names<const N: usize>(names: [&str; N]) -> [NodeName; N] {
        names.map(|name| NodeName::new(name).unwrap())
    }

    #[test]
    fn the_loss_of_a_node_frees_exactly_what_only_it_has_held() {
        let mut exports = Exports::default();
        let [a, b] = names(["a", "b"]);
        for number in 0..6 {
            give(&mut exports, number, &a);
        }
        // The second address travels twice, and so is not free after one release.
        give(&mut exports, 1, &a);
        let shared = give(&mut exports, 2, &b);
        let own = give(&mut exports, 6, &b);
        let released = give(&mut exports, 7, &a);
        assert!(exports.release(released, &a, 1).is_some());
        assert!(exports.release(shared, &a, 1).is_none(), "the other has it");
        let freed = exports.strike(&a);
        let freed: Vec<_> = freed.iter().map(|freed| freed.task()).collect();
        assert_eq!(freed, [0, 1, 3, 4, 5].map(TaskId::far));
        assert!(exports.strike(&a).is_empty() && exports.len() == 2);
        assert!(exports.get(own, &b).is_some() && exports.get(own, &a).is_none());
        assert_eq!(exports.strike(&b).len(), 2);
        assert!(exports.by_holder.is_empty() && exports.by_task.is_empty());
    }

    #[test]
    fn the_loss_of_a_node_does_not_visit_the_addresses_of_other_nodes() {
        const HELD: u64 = 1 << 17;
        const LOSSES: u64 = 1 << 17;
        let mut exports = Exports::default();
        let [stays, goes] = names(["stays", "goes"]);
        for number in 0..HELD {
            give(&mut exports, number, &stays);
        }
        // Visits of all places would take many minutes.
        let began = Instant::now();
        for number in 0..LOSSES {
            give(&mut exports, HELD + number % 2, &goes);
            assert_eq!(exports.strike(&goes).len(), 1);
            assert!(began.elapsed() < HANGS_AFTER);
        }
        assert_eq!(exports.len() as u64, HELD);
    }
}
