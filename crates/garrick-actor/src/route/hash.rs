//! Routing by key: messages with equal keys go to the same routee.
//!
//! This module uses rendezvous hashing (Thaler and Ravishankar, "Using Name-Based Mappings to
//! Increase Hit Rates", 1998). For each key, every routee gets a pseudorandom number, and the
//! routee with the highest number is chosen. If a routee is removed, only its keys move, and they
//! are distributed evenly over the other routees. A new routee takes over some keys from every
//! existing routee, about the same share from each, and no other key moves. Unlike a hash ring with
//! virtual nodes, rendezvous hashing needs no table and no tuning. A choice takes a few nanoseconds
//! for each routee.

use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use super::policy::Policy;
use super::random::{GOLDEN, mix};
use super::routees::Routees;
use super::router::RouterMsg;
use crate::model::context::Context;

/// A policy that sends messages with equal keys to the same routee.
///
/// If a routee is removed, only its keys move to other routees. A new routee takes over some keys
/// from every existing routee, about the same share from each.
///
/// The choice depends only on the key and on the order in which the routees were added. So the
/// choice is the same in every run of a program.
///
/// # Examples
/// ```
/// use garrick_actor::System;
/// use garrick_actor::route::{ConsistentHash, Router};
///
/// struct Order {
///     customer: String,
///     amount: u64,
/// }
///
/// let system = System::new()?;
/// let by_customer = ConsistentHash::new(|order: &Order| order.customer.clone());
/// let router = Router::spawn(&system.handle(), by_customer)?;
/// # assert!(router.send(Order { customer: String::new(), amount: 0 }).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ConsistentHash<F> {
    key: F,
}

impl<F> ConsistentHash<F> {
    /// Creates a policy that calls `key` to get the key of each message.
    pub fn new<M, K: Hash>(key: F) -> Self
    where
        F: Fn(&M) -> K,
    {
        Self { key }
    }
}

impl<M, K, F> Policy<M> for ConsistentHash<F>
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
        // This hasher has no random seed, unlike the hasher of the standard maps.
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((self.key)(&msg));
        // Another routee does not have the state that belongs to the key.
        routees.send_only_to(msg, |_, routees| {
            winner(hash, routees.numbers()).expect("there is a routee")
        })
    }
}

/// Returns the index of the routee that gets messages whose key has the hash `key`. The argument
/// `numbers` yields the number that identifies each routee, in the order of the routees. Returns
/// `None` if there are no routees.
fn winner(key: u64, numbers: impl Iterator<Item = u64>) -> Option<usize> {
    let draws = numbers.map(|number| mix(key ^ mix(number.wrapping_mul(GOLDEN))));
    draws
        .enumerate()
        .max_by_key(|(_, draw)| *draw)
        .map(|(index, _)| index)
}

impl<F> fmt::Debug for ConsistentHash<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsistentHash").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn home_of(key: u64, routees: &BTreeSet<u64>) -> Option<u64> {
        let index = winner(key, routees.iter().copied());
        index.and_then(|index| routees.iter().nth(index).copied())
    }

    proptest! {
        #[test]
        fn only_the_keys_of_the_one_who_leaves_move(
            routees in prop::collection::btree_set(1_u64..200, 2..20),
            leaver in any::<prop::sample::Index>(),
            keys in prop::collection::vec(any::<u64>(), 1..200),
        ) {
            let mut left = routees.clone();
            let leaver = *leaver.get(&routees.iter().copied().collect::<Vec<_>>());
            left.remove(&leaver);
            for key in keys {
                let (before, after) = (home_of(key, &routees), home_of(key, &left));
                prop_assert!(before == after || before == Some(leaver));
                prop_assert_ne!(after, Some(leaver));
            }
        }
    }

    #[test]
    fn keys_are_spread_evenly_even_if_they_count_up() {
        let mut won = [0_u32; 8];
        for key in 0..80_000 {
            won[winner(key, 1..=8).unwrap()] += 1;
        }
        assert!(won.iter().all(|n| (9_500..10_500).contains(n)), "{won:?}");
    }
}
