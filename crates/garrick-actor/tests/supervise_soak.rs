//! A tree of a thousand actors with random failures. All actors come back, all messages are handled
//! except for those that cause failures, and no memory remains in use.
//!
//! The environment variable `GARRICK_SOAK_SECONDS` sets the duration of the test. By default, the
//! test is short.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::{Actor, Address, Context, Next, Reply, System};
use garrick_sched::audit;
use garrick_testkit::{fail, setting, silence_panics};

const BRANCHES: usize = 50;
const LEAVES: usize = 19;
/// Number of messages that each leaf receives per round.
const BURST: u64 = 4;

#[derive(Default)]
struct Counts {
    made: AtomicU64,
    dropped: AtomicU64,
    handled: AtomicU64,
}

struct Worker(Arc<Counts>);

enum Msg {
    Work,
    Panic,
    Fail,
    Sync(Reply<()>),
}

impl Actor for Worker {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Work => {
                self.0.handled.fetch_add(1, Relaxed);
            }
            Msg::Panic => fail(),
            Msg::Fail => return cx.fail("as told"),
            Msg::Sync(reply) => reply.send(()),
        }
        Next::Continue
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Relaxed);
    }
}

fn seconds() -> Duration {
    setting("GARRICK_SOAK_SECONDS").map_or(Duration::from_millis(500), Duration::from_secs)
}

fn supervisor(strategy: Strategy) -> Supervisor {
    Supervisor::new("soak", strategy).intensity(usize::MAX, Duration::from_millis(1))
}

fn grow(system: &System, counts: &Arc<Counts>) -> (Tree, Vec<Address<Msg>>) {
    let tree = supervisor(Strategy::OneForOne)
        .spawn(&system.handle())
        .unwrap();
    let mut leaves = Vec::new();
    for branch in 0..BRANCHES {
        let strategy = [
            Strategy::OneForOne,
            Strategy::OneForAll,
            Strategy::RestForOne,
        ][branch % 3];
        let below = supervisor(strategy).spawn_under(&tree).unwrap();
        for _ in 0..LEAVES {
            let counts = counts.clone();
            let leaf = below.handle().actor(move || {
                counts.made.fetch_add(1, Relaxed);
                Worker(counts.clone())
            });
            leaves.push(leaf.supervised_by(&below).spawn().unwrap());
        }
    }
    (tree, leaves)
}

/// Returns the next pseudorandom number (xorshift).
fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

#[test]
fn a_thousand_actors_under_random_failures() {
    silence_panics();
    let before = audit();
    let counts = Arc::new(Counts::default());
    let system = System::builder()
        .workers(2)
        .on_failure(|_| {})
        .start()
        .unwrap();
    let (tree, leaves) = grow(&system, &counts);
    let (began, mut random, mut sent, mut blows) = (Instant::now(), 0x2545_f491_4f6c_dd1d, 0, 0u64);
    while began.elapsed() < seconds() {
        for leaf in &leaves {
            for at in 0..BURST {
                let fate = next(&mut random) % 64;
                let msg = match fate {
                    0 if at > 0 => Msg::Panic,
                    1 if at > 0 => Msg::Fail,
                    _ => Msg::Work,
                };
                let is_work = matches!(msg, Msg::Work);
                sent += u64::from(is_work);
                blows += u64::from(!is_work);
                assert!(leaf.send(msg).is_ok(), "nobody ends for good");
            }
        }
        // Everybody is up again, and has handled what was sent.
        for leaf in &leaves {
            assert_eq!(leaf.ask(Msg::Sync).wait(), Ok(()));
        }
        assert_eq!(counts.handled.load(Relaxed), sent);
    }
    assert_eq!(tree.stop().wait(), Ok(()));
    assert_eq!(counts.handled.load(Relaxed), sent);
    assert!(leaves.iter().all(Address::is_stopped));
    let restarts = counts.made.load(Relaxed) - leaves.len() as u64;
    println!("{sent} messages handled, {blows} failures, {restarts} restarts");
    drop((tree, leaves));
    assert_eq!(system.dead_letters(), 0);
    system.shutdown();
    let (made, dropped) = (counts.made.load(Relaxed), counts.dropped.load(Relaxed));
    assert_eq!(made, dropped, "no actor is left");
    assert_eq!(audit(), before, "nothing is left");
}
