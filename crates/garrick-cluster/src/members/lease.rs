//! Leases: how long a node may act as the owner of its shards.

use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use garrick_actor::Pending;
use garrick_sched::Nanos;

use crate::lock::lock;

/// Reason why turns are undone.
const OVER: &str = "the node has lost its shards";

/// The right of a node to act as the owner of its shards, until some time. Each membership has one.
///
/// Other nodes take shards over only after the lease has ended by their own clocks. So what a turn
/// does while the lease is valid takes place before that. A turn that ends later is held: it is
/// committed if the node is confirmed to be a member still, and undone if not.
pub(crate) struct Lease {
    /// End of the lease. 0 if it is over for good.
    until: AtomicU64,
    /// Turns that have ended when the lease was not valid.
    held: Mutex<Vec<Pending>>,
}

impl Lease {
    /// Creates a lease that is not valid yet.
    pub(crate) fn new() -> Self {
        Self {
            until: AtomicU64::new(1),
            held: Mutex::default(),
        }
    }

    /// Returns true if the lease is valid at a time.
    pub(crate) fn is_valid(&self, now: Nanos) -> bool {
        // Relaxed: the number publishes nothing. If it was changed meanwhile, the caller has acted
        // before the change.
        now < self.until.load(Relaxed)
    }

    /// Returns true if the lease will never be valid again.
    pub(crate) fn is_over(&self) -> bool {
        self.until.load(Relaxed) == 0
    }

    /// Makes the lease valid until a time, unless it is valid for longer or over. If it is valid
    /// now, commits the turns that were held. A renewal that is confirmed too late commits nothing:
    /// another node may have taken the shards over.
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
        turns.into_iter().for_each(Pending::commit);
    }

    /// Ends the lease for good. Undoes the turns that were held.
    pub(crate) fn end(&self) {
        let mut held = lock(&self.held);
        self.until.store(0, Relaxed);
        let turns = mem::take(&mut *held);
        drop(held);
        for turn in turns {
            turn.undo(OVER);
        }
    }

    /// Holds a turn that has ended when the lease was not valid.
    pub(crate) fn hold(&self, turn: Pending, now: Nanos) {
        let mut held = lock(&self.held);
        if self.is_over() {
            drop(held);
            turn.undo(OVER);
        } else if self.is_valid(now) {
            drop(held);
            turn.commit();
        } else {
            held.push(turn);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use garrick_actor::{Actor, Context, Reply, System};

    use super::{Lease, lock};

    /// Answers in turns that end at time 20.
    struct Late(Arc<Lease>);

    impl Actor for Late {
        type Msg = Reply<()>;
        type Outcome = ();
        const COMMITS_LATER: bool = true;

        fn receive(&mut self, reply: Reply<()>, cx: &mut Context<'_, Reply<()>>) {
            reply.send(());
            let lease = self.0.clone();
            cx.commit_later(move |turn| lease.hold(turn, 20));
        }
    }

    #[test]
    fn a_renewal_that_is_confirmed_too_late_commits_nothing() {
        let system = System::new().unwrap();
        let lease = Arc::new(Lease::new());
        lease.renew(10, 0);
        let late = system.spawn(Late(lease.clone())).unwrap();
        let asked = late.ask(|reply| reply);
        while lock(&lease.held).is_empty() {
            thread::yield_now();
        }
        lease.renew(25, 30);
        assert_eq!(lock(&lease.held).len(), 1);
        lease.renew(40, 30);
        assert_eq!(asked.wait(), Ok(()));
    }
}
