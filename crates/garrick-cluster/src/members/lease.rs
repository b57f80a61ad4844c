//! Leases limit how long a node may act as the owner of its shards. A tenure is the time in which a
//! node owns one shard.

use std::mem;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use garrick_actor::Pending;
use garrick_sched::Nanos;

use crate::lock::lock;

/// Reason that is reported for undone turns if the node has lost its shards.
const OVER: &str = "the node has lost its shards";
const TOO_LATE: &str = "the shard was handed over before the turn has ended";

/// The right of a node to act as the owner of its shards until a given time. Each membership has a
/// lease.
///
/// Other nodes take shards over only after the lease has ended by their own clocks. So a turn that
/// ends while the lease is valid has its effects before another node can own the shard. A turn that
/// ends after the end of the lease must wait: it is committed if the node is still a member, and is
/// undone otherwise.
pub(crate) struct Lease {
    /// End of the lease. 0 if the lease has ended for good.
    until: AtomicU64,
    /// Turns that ended while the lease was not valid.
    held: Mutex<Vec<(Arc<Tenure>, Pending)>>,
}

impl Lease {
    /// Creates a lease that is not valid yet.
    pub(crate) fn new() -> Self {
        Self {
            until: AtomicU64::new(1),
            held: Mutex::default(),
        }
    }

    /// Returns true if the lease is valid at the given time.
    pub(crate) fn is_valid(&self, now: Nanos) -> bool {
        // Relaxed: the number publishes nothing. If it was changed meanwhile, the caller has acted
        // before the change.
        now < self.until.load(Relaxed)
    }

    /// Returns true if the lease will never be valid again.
    pub(crate) fn is_over(&self) -> bool {
        self.until.load(Relaxed) == 0
    }

    /// Returns the end of the lease. 0 if the lease has ended for good.
    pub(crate) fn until(&self) -> Nanos {
        self.until.load(Relaxed)
    }

    /// Returns the number of held turns.
    pub(crate) fn held_turns(&self) -> usize {
        lock(&self.held).len()
    }

    /// Makes the lease valid until `until`, unless it has ended or is already valid for longer. If
    /// the lease is valid at `now`, commits the held turns. A renewal that is confirmed too late
    /// commits nothing: another node may have taken the shards over.
    pub(crate) fn renew(&self, until: Nanos, now: Nanos) {
        let mut held = lock(&self.held);
        if self.is_over() {
            return;
        }
        self.until.fetch_max(until, Relaxed);
        if !self.is_valid(now) {
            return;
        }
        let turns = mem::take(&mut *held);
        drop(held);
        for (tenure, turn) in turns {
            tenure.settle(turn);
        }
    }

    /// Ends the lease for good, and undoes the held turns.
    pub(crate) fn end(&self) {
        let mut held = lock(&self.held);
        self.until.store(0, Relaxed);
        let turns = mem::take(&mut *held);
        drop(held);
        for (_, turn) in turns {
            turn.undo(OVER);
        }
    }

    /// Holds a turn that ended while the lease was not valid.
    fn hold(&self, tenure: Arc<Tenure>, turn: Pending, now: Nanos) {
        let mut held = lock(&self.held);
        if self.is_over() {
            drop(held);
            turn.undo(OVER);
        } else if self.is_valid(now) {
            drop(held);
            tenure.settle(turn);
        } else {
            held.push((tenure, turn));
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
    }
}

/// State of a tenure (the time in which a node owns a shard): the shard is not being handed over.
const OPEN: u8 = 0;
/// State of a tenure: the shard is being handed over. In this state, a turn that has ended takes
/// effect only under the lock `deciding`, so that the tenure cannot end at the same time.
const CLOSES: u8 = 1;
/// State of a tenure: the node no longer owns the shard.
const CLOSED: u8 = 2;

/// The time in which a node owns a shard. All entities of the shard share the tenure.
///
/// A shard that is handed over gets its new owner when its entities have ended, or after a time
/// limit. After the shard has a new owner, turns of entities that have not ended are undone. The
/// state of a tenure first changes from open to closing, and later to closed. If a turn finds an
/// open tenure and a valid lease, the turn takes effect at once, long before the tenure is closed.
pub(crate) struct Tenure {
    lease: Arc<Lease>,
    stage: AtomicU8,
    /// Locked while `settle` decides about a turn and commits it, and while the tenure ends.
    deciding: Mutex<()>,
}

// Relaxed everywhere: the stage publishes nothing.
impl Tenure {
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self {
            lease,
            stage: AtomicU8::new(OPEN),
            deciding: Mutex::default(),
        }
    }

    /// Returns true if a turn that ends now may take effect at once.
    pub(crate) fn is_sure(&self, now: Nanos) -> bool {
        self.stage.load(Relaxed) == OPEN && self.lease.is_valid(now)
    }

    /// Returns true if the commit of an entity's first turn may be left to a journal, because this
    /// node still owns the shard and the lease is valid. Otherwise, the turn must be undone.
    pub(crate) fn may_begin(&self, now: Nanos) -> bool {
        !self.is_over() && self.lease.is_valid(now)
    }

    /// Returns true if no turn may take effect any more.
    pub(crate) fn is_over(&self) -> bool {
        self.stage.load(Relaxed) == CLOSED || self.lease.is_over()
    }

    /// Records that the shard is being handed over.
    pub(crate) fn close(&self) {
        let _ = (self.stage).compare_exchange(OPEN, CLOSES, Relaxed, Relaxed);
    }

    /// Records that the shard stays with this node.
    pub(crate) fn open(&self) {
        let _ = (self.stage).compare_exchange(CLOSES, OPEN, Relaxed, Relaxed);
    }

    /// Records that the shard was given to another node. From then on, no turn has an effect.
    pub(crate) fn end(&self) {
        let _deciding = lock(&self.deciding);
        self.stage.store(CLOSED, Relaxed);
    }

    /// Commits, undoes or holds a turn that may not take effect at once.
    pub(crate) fn hold(self: Arc<Self>, turn: Pending, now: Nanos) {
        if self.lease.is_valid(now) {
            self.settle(turn);
        } else {
            let lease = Arc::clone(&self.lease);
            lease.hold(self, turn, now);
        }
    }

    /// Commits a turn, or undoes it if the shard was given to another node.
    fn settle(&self, turn: Pending) {
        let deciding = lock(&self.deciding);
        if self.stage.load(Relaxed) == CLOSED {
            drop(deciding);
            turn.undo(TOO_LATE);
        } else {
            turn.commit();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use garrick_actor::{Actor, Context, NoReply, Reply, System};
    use garrick_testkit::silence_panics;

    use super::{Lease, Tenure, lock};

    /// An actor whose turns answer one question each, and end at time 20.
    struct Late(Arc<Tenure>);

    impl Actor for Late {
        type Msg = Reply<()>;
        type Outcome = ();
        const COMMITS_LATER: bool = true;

        fn receive(&mut self, reply: Reply<()>, cx: &mut Context<'_, Reply<()>>) {
            reply.send(());
            let tenure = self.0.clone();
            cx.commit_later(move |turn| tenure.hold(turn, 20));
        }
    }

    #[test]
    fn a_renewal_that_is_confirmed_too_late_commits_nothing() {
        let system = System::new().unwrap();
        let lease = Arc::new(Lease::new());
        lease.renew(10, 0);
        let tenure = Arc::new(Tenure::new(lease.clone()));
        let late = system.spawn(Late(tenure)).unwrap();
        let asked = late.ask(|reply| reply);
        while lock(&lease.held).is_empty() {
            thread::yield_now();
        }
        lease.renew(25, 30);
        assert_eq!(lock(&lease.held).len(), 1);
        lease.renew(40, 30);
        assert_eq!(asked.wait(), Ok(()));
    }

    #[test]
    fn a_turn_that_was_held_is_undone_if_its_shard_was_given_away() {
        silence_panics();
        let system = System::new().unwrap();
        let lease = Arc::new(Lease::new());
        let tenure = Arc::new(Tenure::new(lease.clone()));
        let late = system.spawn(Late(tenure.clone())).unwrap();
        let asked = late.ask(|reply| reply);
        while lock(&lease.held).is_empty() {
            thread::yield_now();
        }
        tenure.close();
        tenure.end();
        tenure.open();
        lease.renew(40, 30);
        assert_eq!(asked.wait(), Err(NoReply::Dropped));
    }

    #[test]
    fn a_turn_is_sure_only_if_its_shard_is_not_handed_over() {
        let lease = Arc::new(Lease::new());
        let tenure = Tenure::new(lease.clone());
        assert!(!tenure.is_sure(5), "there is no lease yet");
        lease.renew(10, 0);
        assert!(tenure.is_sure(5) && !tenure.is_sure(10));
        tenure.close();
        assert!(!tenure.is_sure(5) && !tenure.is_over());
        tenure.open();
        assert!(tenure.is_sure(5));
        tenure.close();
        tenure.end();
        assert!(!tenure.is_sure(5) && tenure.is_over());
    }
}
