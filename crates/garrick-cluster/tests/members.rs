//! Members of a cluster on one thread, whose clock the test sets.
#![forbid(unsafe_code)]

use std::sync::Arc;

use garrick_actor::{Actor, Context, Local, System};
use garrick_cluster::placement::LocalPlacement;
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

/// Two members of a cluster that run the same kind of entities.
struct Place {
    clock: Arc<ByHand>,
    local: Local,
    members: [Entities; 2],
}

impl Place {
    fn new(options: KindOptions) -> Self {
        let clock = ByHand::new();
        let local = System::builder().world(clock.clone()).local().unwrap();
        let (handle, net) = (local.handle(), LocalNet::new());
        let placement = LocalPlacement::new(&handle).unwrap();
        let members = ["one", "two"].map(|name| {
            let node = Node::join(&handle, net.clone(), "test", name).unwrap();
            let entities = Entities::start(&node, placement.clone()).unwrap();
            let options = options.shards(SHARDS);
            entities.host(IDLE, options, |_| Idle).unwrap();
            entities
        });
        Self {
            clock,
            local,
            members,
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
