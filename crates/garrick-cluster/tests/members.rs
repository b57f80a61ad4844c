//! Members of a cluster on one thread, whose clock the test sets.
#![forbid(unsafe_code)]

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{self, Poll, Waker};

use garrick_actor::{Actor, Address, Context, Local, NoReply, System};
use garrick_cluster::placement::{Change, LocalPlacement, News, Placement};
use garrick_cluster::{Entities, Kind, KindOptions, LocalNet, Node, Wire};
use garrick_testkit::{ByHand, ms};

#[derive(Wire)]
#[wire(name = "test.Job")]
struct Job(u64);

struct Idle;

impl Actor for Idle {
    type Msg = Job;
    type Outcome = ();

    fn receive(&mut self, Job(_): Job, _: &mut Context<'_, Job>) {}
}

const IDLE: Kind<Job> = Kind::new("idle");

/// Number of shards of the kind.
const SHARDS: u32 = 8;

/// A placement that a node reaches only while `is_cut` is false.
#[derive(Clone)]
struct Reached {
    placement: LocalPlacement,
    is_cut: Arc<AtomicBool>,
}

impl Placement for Reached {
    fn read(&self, since: u64, to: &Address<News>) {
        if !self.is_cut.load(Relaxed) {
            self.placement.read(since, to);
        }
    }

    fn change(&self, change: Change, to: &Address<News>) {
        if !self.is_cut.load(Relaxed) {
            self.placement.change(change, to);
        }
    }

    fn watch(&self, to: &Address<News>) {
        self.placement.watch(to);
    }
}

/// Returns true if a future is ready.
fn is_ready<F: Future + Unpin>(future: &mut F) -> bool {
    let polled = pin!(future).poll(&mut task::Context::from_waker(Waker::noop()));
    matches!(polled, Poll::Ready(_))
}

/// Two members of a cluster that run the same kind of entities.
struct Place {
    clock: Arc<ByHand>,
    local: Local,
    members: [Entities; 2],
    /// For each member: true if it cannot reach the placement.
    cuts: [Arc<AtomicBool>; 2],
}

impl Place {
    fn new(options: KindOptions) -> Self {
        let clock = ByHand::new();
        let local = System::builder().world(clock.clone()).local().unwrap();
        let (handle, net) = (local.handle(), LocalNet::new());
        let placement = LocalPlacement::new(&handle).unwrap();
        let cuts: [Arc<AtomicBool>; 2] = Default::default();
        let members = [("one", &cuts[0]), ("two", &cuts[1])].map(|(name, is_cut)| {
            let node = Node::join(&handle, net.clone(), "test", name).unwrap();
            let reached = Reached {
                placement: placement.clone(),
                is_cut: is_cut.clone(),
            };
            let entities = Entities::start(&node, reached).unwrap();
            let options = options.shards(SHARDS);
            entities.host(IDLE, options, |_| Idle).unwrap();
            entities
        });
        Self {
            clock,
            local,
            members,
            cuts,
        }
    }

    /// Lets time pass, a quarter of a second at a time.
    fn pass(&self, quarters: u32) {
        for _ in 0..quarters {
            self.clock.advance(ms(250));
            self.local.run();
        }
    }

    fn owned(&self) -> usize {
        let owned = self.members.iter().map(|member| member.members().owned);
        owned.sum()
    }
}

#[test]
fn members_that_are_paused_together_stay_members() {
    for options in [KindOptions::new(), KindOptions::new().fenced()] {
        let place = Place::new(options);
        place.pass(100);
        assert_eq!(place.owned(), SHARDS as usize);
        let before = [0, 1].map(|index| place.members[index].members().owned);
        // All threads stop, and the clocks go on.
        place.clock.advance(ms(60_000));
        place.pass(100);
        for (member, owned) in place.members.iter().zip(before) {
            let sample = member.members();
            assert_eq!((sample.joined, sample.lost, sample.removed), (1, 0, 0));
            assert_eq!((sample.fenced, sample.suspected), (0, 0));
            assert_eq!((sample.owned, sample.members.len()), (owned, 2));
        }
    }
}

#[test]
fn a_member_that_cannot_reach_the_placement_ends_its_drain() {
    let place = Place::new(KindOptions::new());
    place.pass(100);
    let [one, two] = &place.members;
    place.cuts[0].store(true, Relaxed);
    let mut drained = one.drain();
    // Its lease ends after 3.5 to 4.5 s, the drain 12 s later, and the removal of its record gives
    // up after 2 s.
    place.pass(4 * 15);
    assert!(!is_ready(&mut drained));
    assert!(one.members().is_member);
    place.pass(4 * 5);
    assert!(is_ready(&mut drained));
    assert!(is_ready(&mut one.left()));
    // The other member has removed it after 5 s.
    assert_eq!(
        (two.members().removed, two.members().owned),
        (1, SHARDS as usize)
    );
}

#[test]
fn a_member_that_reaches_the_placement_again_hands_its_shards_over() {
    let place = Place::new(KindOptions::new());
    place.pass(100);
    let [one, two] = &place.members;
    assert!(one.members().owned > 0);
    // Nobody can reach it, so nobody removes the other one.
    place.cuts.iter().for_each(|cut| cut.store(true, Relaxed));
    let mut drained = one.drain();
    place.pass(4 * 15);
    assert!(!is_ready(&mut drained));
    place.cuts.iter().for_each(|cut| cut.store(false, Relaxed));
    place.pass(4 * 10);
    assert!(is_ready(&mut drained));
    assert_eq!((one.members().lost, two.members().removed), (0, 0));
    assert!(one.members().handed_over > 0);
    assert_eq!(two.members().owned, SHARDS as usize);
}

#[test]
fn callers_that_wait_for_the_end_of_a_membership_have_a_bound() {
    let place = Place::new(KindOptions::new());
    place.pass(20);
    let [one, _] = &place.members;
    let waiting: Vec<_> = (0..1_024).map(|_| one.left()).collect();
    place.local.run();
    let refused = one.left();
    place.local.run();
    assert_eq!(refused.wait(), Err(NoReply::Refused));
    one.leave();
    place.pass(20);
    for ended in waiting {
        assert_eq!(ended.wait(), Ok(()));
    }
}
