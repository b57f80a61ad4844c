//! Routers with routees on many nodes.

use std::fmt;
use std::hash::{Hash, Hasher};

use garrick_actor::ask::Request;
use garrick_actor::naming::{Key, Listing};
use garrick_actor::route::{Policy, Routees, Router, RouterMsg};
use garrick_actor::{Address, Context, Reply};
use garrick_core::random::mix;

use crate::directory::{Instance, ServiceError};
use crate::line::Travels;
use crate::members::hash;
use crate::named::{Named, Origin};
use crate::receptionist::{Receptionist, service_key};

impl Receptionist {
    /// Keeps the routees of a router up to date with the actors that serve a key, on all nodes.
    /// Routees that the program has added to the router itself stay in the router.
    ///
    /// If a node cannot be reached, the router still sends messages to actors of that node until
    /// the loss of the node is noticed. Messages to actors of the unreachable node are lost.
    ///
    /// Returns the address that is subscribed to the list of the actors. The receptionist keeps the
    /// router alive until this address is [unsubscribed](Receptionist::unsubscribe), or the router
    /// is stopped.
    ///
    /// # Errors
    /// Returns a [`ServiceError`] if the name of the key is not allowed, or if this node has left.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::naming::Key;
    /// use garrick_actor::route::{RoundRobin, Router};
    /// # use garrick_actor::{Actor, Context, System};
    /// # use garrick_cluster::placement::LocalPlacement;
    /// # use garrick_cluster::{Entities, LocalNet, Node};
    /// # struct Printer;
    /// # impl Actor for Printer {
    /// #     type Msg = String;
    /// #     type Outcome = ();
    /// #     fn receive(&mut self, _: String, _: &mut Context<'_, String>) {}
    /// # }
    ///
    /// const PRINTERS: Key<String> = Key::new("printers");
    ///
    /// # let system = System::new()?;
    /// # let placement = LocalPlacement::new(&system.handle())?;
    /// # let node = Node::join(&system.handle(), LocalNet::new(), "example", "node-1")?;
    /// # let receptionist = Entities::start(&node, placement)?.receptionist()?;
    /// let router = Router::spawn(&system.handle(), RoundRobin::new())?;
    /// receptionist.route(&PRINTERS, &router).wait()?;
    /// receptionist.serve(&PRINTERS, &system.spawn(Printer)?).wait()?;
    /// router.send("page".to_owned())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn route<M: Travels>(
        &self,
        key: &Key<M>,
        router: &Router<M>,
    ) -> Request<Address<Listing<M>>, ServiceError> {
        let (key, follower) = (service_key(key), router.follower());
        self.request(|reply: Reply<Result<Address<Listing<M>>, ServiceError>>| {
            Box::new(move |directory, _| {
                let subscribed = key.and_then(|key| directory.subscribe(&key, follower.clone()));
                reply.send(subscribed.map(|()| follower));
            })
        })
    }
}

/// A policy that sends messages with equal keys to the same routee on all nodes. Routers that know
/// the same actors choose the same actor for a key. The actors must be served by a
/// [`Receptionist`](crate::Receptionist) of the cluster.
///
/// If a routee is removed, only its keys move to other routees. A new routee takes over about the
/// same share of keys from each existing routee. After a change of the routees, routers on
/// different nodes may choose different routees for a short time. If messages with one key must
/// never go to two actors, use entities.
///
/// An actor has the same keys after its node has started again, if the node then serves its actors
/// in the same order.
///
/// # Examples
/// ```
/// use garrick_actor::System;
/// use garrick_actor::route::Router;
/// use garrick_cluster::{SameOnAllNodes, Wire};
///
/// #[derive(Wire)]
/// struct Order {
///     customer: String,
///     amount: u64,
/// }
///
/// let system = System::new()?;
/// let by_customer = SameOnAllNodes::new(|order: &Order| order.customer.clone());
/// let router = Router::spawn(&system.handle(), by_customer)?;
/// # assert!(router.send(Order { customer: String::new(), amount: 0 }).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SameOnAllNodes<F> {
    key: F,
    /// For each routee: its number in the router, and its hash. The entries have the same order as
    /// the routees.
    marks: Vec<(u64, u64)>,
}

impl<F> SameOnAllNodes<F> {
    /// Creates a policy that calls `key` to get the key of each message.
    pub fn new<M, K: Hash>(key: F) -> Self
    where
        F: Fn(&M) -> K,
    {
        let marks = Vec::new();
        Self { key, marks }
    }

    /// Recomputes the hashes for the current routees.
    fn mark<M: 'static>(&mut self, routees: &Routees<M>) {
        let numbers = (0..routees.len()).map(|index| routees.number(index));
        if numbers
            .clone()
            .eq(self.marks.iter().map(|(number, _)| *number))
        {
            return;
        }
        let marks = numbers.enumerate();
        let marks = marks.map(|(index, number)| (number, mark_of(routees.address(index), number)));
        self.marks = marks.collect();
    }
}

/// Returns the hash of a routee. If the routee is an entity or a service of a node, the hash is the
/// same on all nodes. Otherwise, returns the hash of the routee's number in the router.
fn mark_of<M: 'static>(address: &Address<M>, number: u64) -> u64 {
    let origin = address.origin();
    let origin: Option<&Origin> = origin.as_ref().and_then(|origin| origin.downcast_ref());
    match origin.map(|origin| &origin.named) {
        Some(Named::Service { node, name }) => {
            // Without the life, which changes with each start.
            let number = Instance::number_of(name).unwrap_or_else(|| hash(name));
            mix(hash(node) ^ mix(number))
        }
        Some(Named::Entity { kind, key }) => mix(hash(kind) ^ mix(hash(key))),
        None => mix(number),
    }
}

impl<M, K, F> Policy<M> for SameOnAllNodes<F>
where
    M: 'static,
    K: Hash,
    F: Fn(&M) -> K + Send + 'static,
{
    fn route(
        &mut self,
        msg: M,
        routees: &mut Routees<M>,
        _: &Context<'_, RouterMsg<M>>,
    ) -> Result<(), M> {
        let mut hasher = Fnv(FNV_START);
        (self.key)(&msg).hash(&mut hasher);
        let key = hasher.finish();
        // Another routee does not have the state that belongs to the key.
        routees.send_only_to(msg, |_, routees| {
            self.mark(routees);
            let draws = self.marks.iter().map(|(_, mark)| mix(key ^ mark));
            let best = draws.enumerate().max_by_key(|(_, draw)| *draw);
            best.map_or(0, |(index, _)| index)
        })
    }
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// The hasher FNV-1a with mixed bits. The hashes are the same on all machines and in all versions.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn write_u16(&mut self, number: u16) {
        self.write(&number.to_le_bytes());
    }

    fn write_u32(&mut self, number: u32) {
        self.write(&number.to_le_bytes());
    }

    fn write_u64(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }

    fn write_u128(&mut self, number: u128) {
        self.write(&number.to_le_bytes());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

impl<F> fmt::Debug for SameOnAllNodes<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SameOnAllNodes").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_same_hash_on_all_machines() {
        let hash = |key: &dyn Fn(&mut Fnv)| {
            let mut hasher = Fnv(FNV_START);
            key(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(&|fnv| 7_u32.hash(fnv)), 0x86d7_fdf1_c681_2375);
        let number = hash(&|fnv| 7_u64.hash(fnv));
        assert_eq!(hash(&|fnv| 7_usize.hash(fnv)), number);
        assert_eq!(hash(&|fnv| 7_i64.hash(fnv)), number);
        assert_ne!(hash(&|fnv| "a".hash(fnv)), hash(&|fnv| "b".hash(fnv)));
    }
}
