//! Leases limit how long a node may act as the owner of its shards. A tenure is the time in which a
//! node owns one shard.

use std::mem;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use garrick_actor::{Due, Pending};
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
///
/// A turn that has waited takes effect only when its worker is free. By then, the lease may have
/// ended. So the worker checks the lease and the tenure again, immediately before the effects.
/// There is still some time between this check and the effects. For a turn that need not wait,
/// there is some time between the end of the handler and the effects. If the thread is paused in
/// between, or if the waker of an asker blocks before the turn's other answers are published,
/// effects may come after the end of the lease. Effects that other actors or nodes have seen are
/// never taken back.
pub(crate) struct Lease {
    /// Time at which the lease ends. 0 if the lease has ended for good.
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

    /// Returns the time at which the lease ends. Returns 0 if the lease has ended for good.
    pub(crate) fn until(&self) -> Nanos {
        self.until.load(Relaxed)
    }

    /// Returns the number of held turns: those that ended while the lease was not valid.
    pub(crate) fn held_turns(&self) -> usize {
        lock(&self.held).len()
    }

    /// Makes the lease valid until `until`, unless it has ended or is already valid for longer. If
    /// the lease is valid at `now`, commits the held turns, which ended while the lease was not
    /// valid. A renewal that is confirmed too late commits nothing: another node may have taken the
    /// shards over.
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

    /// Ends the lease for good, and undoes the held turns, which ended while the lease was not
    /// valid.
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
/// State of a tenure: the shard is being handed over. In this state, a turn that takes effect is
/// counted in `commits`. The shard is given away only when no turn is counted.
const CLOSES: u8 = 1;
/// State of a tenure: the node no longer owns the shard.
const CLOSED: u8 = 2;

/// The time in which a node owns a shard. All entities of the shard share the tenure.
///
/// A shard that is handed over gets its new owner when its entities have ended, or after a time
/// limit. As soon as the shard has a new owner, turns of entities that still run on the old owner
/// are undone. The state of a tenure first changes from open to closing, and later to closed. If a
/// turn finds an open tenure and a valid lease, the turn takes effect at once, long before the
/// tenure is closed.
pub(crate) struct Tenure {
    lease: Arc<Lease>,
    stage: AtomicU8,
    /// Number of turns that were held back, and whose commits are running just now. A commit wakes
    /// askers, so the lock is not held during a commit. The lock is taken when a commit begins and
    /// when the tenure ends, so that no commit begins after the end. Successive tenures of a shard
    /// share this number.
    commits: Arc<Mutex<usize>>,
}

/// Guard of a turn that is taking effect. The turn is counted until the guard is dropped.
struct Committing<'a>(&'a Mutex<usize>);

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        *lock(self.0) -= 1;
    }
}

// Relaxed everywhere: the stage publishes nothing.
impl Tenure {
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self {
            lease,
            stage: AtomicU8::new(OPEN),
            commits: Arc::default(),
        }
    }

    /// Creates the next tenure (time in which a node owns a shard) of the same shard. This tenure
    /// must be over.
    pub(crate) fn next(&self, lease: Arc<Lease>) -> Self {
        Self {
            commits: Arc::clone(&self.commits),
            ..Self::new(lease)
        }
    }

    /// Returns true if a turn that ends now may take effect at once.
    pub(crate) fn is_sure(&self, now: Nanos) -> bool {
        self.stage.load(Relaxed) == OPEN && self.lease.is_valid(now)
    }

    /// Returns true if this node still owns the shard and the lease is valid. Otherwise, the commit
    /// of an entity's first turn must not be left to a journal: the turn must be undone.
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

    /// Records that the shard is given to another node. From then on, no turn begins to take
    /// effect. Turns that are already taking effect continue ([`Tenure::is_committing`]).
    pub(crate) fn end(&self) {
        let _commits = lock(&self.commits);
        self.stage.store(CLOSED, Relaxed);
    }

    /// Returns true if some turns of the shard that were held back are taking effect just now. If
    /// the tenure is over and the result is false, no turn of the tenure will take effect.
    pub(crate) fn is_committing(&self) -> bool {
        *lock(&self.commits) > 0
    }

    /// Commits a turn that was not allowed to take effect immediately, undoes it, or holds it until
    /// the lease is renewed.
    pub(crate) fn hold(self: Arc<Self>, turn: Pending, now: Nanos) {
        if self.lease.is_valid(now) {
            self.settle(turn);
        } else {
            let lease = Arc::clone(&self.lease);
            lease.hold(self, turn, now);
        }
    }

    /// Lets the worker of a turn decide about the turn when the worker is free.
    fn settle(self: Arc<Self>, turn: Pending) {
        turn.when_due(move |due| self.decide(due));
    }

    /// Commits a turn, or undoes it if the shard was given to another node. If the lease is not
    /// valid any more, holds the turn again. Called by the worker of the turn.
    fn decide(self: Arc<Self>, due: Due<'_>) {
        let committing = self.begin_commit();
        let now = due.lease_now();
        if !self.lease.is_valid(now) {
            drop(committing);
            let lease = Arc::clone(&self.lease);
            lease.hold(self, due.wait(), now);
        } else if committing.is_some() {
            due.commit();
        } else {
            due.undo(TOO_LATE);
        }
    }

    /// Counts a turn that begins to take effect. Returns `None` if the shard was given to another
    /// node.
    fn begin_commit(&self) -> Option<Committing<'_>> {
        let mut commits = lock(&self.commits);
        if self.stage.load(Relaxed) == CLOSED {
            return None;
        }
        *commits += 1;
        Some(Committing(&self.commits))
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::task::{self, Wake, Waker};
    use std::thread;
    use std::time::Duration;

    use garrick_actor::{Actor, Address, Ask, Context, NoReply, Reply, System};
    use garrick_testkit::{ByHand, silence_panics};

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

    /// An actor whose turn ends when the test wants it.
    struct Busy;

    impl Actor for Busy {
        type Msg = (Sender<()>, Receiver<()>);
        type Outcome = ();

        fn receive(&mut self, (begins, ends): Self::Msg, _: &mut Context<'_, Self::Msg>) {
            begins.send(()).unwrap();
            let _ = ends.recv();
        }
    }

    /// A system with one worker, on which a turn of a [`Late`] waits until its lease is valid.
    struct Scene {
        clock: Arc<ByHand>,
        lease: Arc<Lease>,
        tenure: Arc<Tenure>,
        asked: Ask<()>,
        busy: Address<(Sender<()>, Receiver<()>)>,
        _system: System,
    }

    impl Scene {
        fn new() -> Self {
            let clock = ByHand::new();
            clock.advance(Duration::from_nanos(30));
            let system = System::builder().workers(1).world(clock.clone());
            let system = system.start().unwrap();
            let lease = Arc::new(Lease::new());
            lease.renew(10, 0);
            let tenure = Arc::new(Tenure::new(lease.clone()));
            let busy = system.spawn(Busy).unwrap();
            let asked = system
                .spawn(Late(tenure.clone()))
                .unwrap()
                .ask(|reply| reply);
            while lock(&lease.held).is_empty() {
                thread::yield_now();
            }
            Self {
                clock,
                lease,
                tenure,
                asked,
                busy,
                _system: system,
            }
        }

        /// Calls `act` while the worker is in a long turn of another actor.
        fn while_busy(&self, act: impl FnOnce()) {
            let ((begins, begun), (ends, end)) = (channel(), channel());
            self.busy.send((begins, end)).unwrap();
            begun.recv().unwrap();
            act();
            drop(ends);
        }
    }

    #[test]
    fn a_renewal_that_is_confirmed_too_late_commits_nothing() {
        let scene = Scene::new();
        scene.lease.renew(25, 30);
        assert_eq!(lock(&scene.lease.held).len(), 1);
        scene.lease.renew(40, 30);
        assert_eq!(scene.asked.wait(), Ok(()));
    }

    #[test]
    fn a_turn_that_was_held_is_undone_if_its_shard_was_given_away() {
        silence_panics();
        let scene = Scene::new();
        scene.tenure.close();
        scene.tenure.end();
        scene.tenure.open();
        scene.lease.renew(40, 30);
        assert_eq!(scene.asked.wait(), Err(NoReply::Dropped));
    }

    #[test]
    fn a_turn_is_undone_if_the_lease_ends_before_its_worker_is_free() {
        silence_panics();
        let scene = Scene::new();
        scene.while_busy(|| {
            scene.lease.renew(40, 30);
            scene.lease.end();
        });
        assert_eq!(scene.asked.wait(), Err(NoReply::Dropped));
    }

    #[test]
    fn a_turn_is_undone_if_its_shard_is_given_away_before_its_worker_is_free() {
        silence_panics();
        let scene = Scene::new();
        scene.while_busy(|| {
            scene.lease.renew(40, 30);
            scene.tenure.close();
            scene.tenure.end();
        });
        assert_eq!(scene.asked.wait(), Err(NoReply::Dropped));
    }

    #[test]
    fn a_turn_is_held_again_if_the_lease_runs_out_before_its_worker_is_free() {
        let scene = Scene::new();
        scene.while_busy(|| {
            scene.lease.renew(40, 30);
            assert_eq!(scene.lease.held_turns(), 0);
            scene.clock.advance(Duration::from_nanos(20));
        });
        // The worker has finished the long turn, and looked at the held one.
        scene.while_busy(|| assert_eq!(scene.lease.held_turns(), 1));
        scene.lease.renew(80, 50);
        assert_eq!(scene.asked.wait(), Ok(()));
    }

    /// A waker that reports its call, and then blocks until the test lets it go on.
    struct Blocks(Mutex<(Sender<()>, Receiver<()>)>);

    impl Wake for Blocks {
        fn wake(self: Arc<Self>) {
            let blocks = lock(&self.0);
            blocks.0.send(()).unwrap();
            let _ = blocks.1.recv();
        }
    }

    #[test]
    fn a_tenure_that_ends_while_a_turn_takes_effect_knows_the_turn() {
        let mut scene = Scene::new();
        let ((wakes, woken), (goes_on, blocks)) = (channel(), channel());
        let waker = Waker::from(Arc::new(Blocks(Mutex::new((wakes, blocks)))));
        let asked = Pin::new(&mut scene.asked);
        assert!(
            asked
                .poll(&mut task::Context::from_waker(&waker))
                .is_pending()
        );
        assert!(!scene.tenure.is_committing());
        scene.lease.renew(40, 30);
        woken.recv().unwrap();
        // The end of the tenure does not wait for the waker.
        scene.tenure.end();
        assert!(scene.tenure.is_committing());
        let next = scene.tenure.next(Arc::clone(&scene.lease));
        assert!(next.is_committing() && !next.is_over());
        drop(goes_on);
        assert_eq!(scene.asked.wait(), Ok(()));
        while scene.tenure.is_committing() {
            thread::yield_now();
        }
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
