//! The clock of a simulation, and the clock and the world of each node.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use garrick_actor::system::World;
use garrick_core::random::mix;
use garrick_sched::{Nanos, ThreadSpec};

use crate::chance::{draw_time, nanos_of, rng_of};
use crate::search::Rng;

/// Date at which simulations begin, in seconds since the epoch: 2026-01-01.
const BEGAN_SECONDS: u64 = 1_767_225_600;

/// A number that distinguishes the random generators for the clocks of nodes from other generators
/// with the same seed.
const AHEAD: u64 = 0x61_6865_6164;
const DRIFT: u64 = 0x64_7269_6674;

/// One million, for parts per million.
const MILLION: i32 = 1_000_000;
/// Minimum drift of a clock, in parts per million. The clock then runs at half speed.
const DRIFT_MIN: i32 = -MILLION / 2;
const DRIFT_MAX: i32 = MILLION;

/// The clock of a simulation. Only the simulation advances it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    /// Returns the time in nanoseconds since the start of the run.
    pub(crate) fn now(&self) -> Nanos {
        self.0.load(Relaxed)
    }

    /// Advances the clock to `time`, unless the clock is already past `time`.
    pub(crate) fn advance_to(&self, time: Nanos) {
        self.0.fetch_max(time, Relaxed);
    }
}

/// The clock of a node. It may be ahead of the clock of the simulation, and it may run faster or
/// slower.
#[derive(Debug, Clone)]
pub(crate) struct NodeClock {
    clock: Clock,
    skew: Arc<Skew>,
}

/// The difference between the clock of a node and the clock of the simulation.
#[derive(Debug, Default)]
struct Skew {
    ahead: AtomicU64,
    /// Parts per million by which the clock of the node is faster than the clock of the simulation.
    /// Negative if the clock of the node is slower.
    drift: AtomicI32,
}

impl NodeClock {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            skew: Arc::default(),
        }
    }

    /// Returns the time of the node.
    pub(crate) fn now(&self) -> Nanos {
        let passed = scaled(
            self.clock.now(),
            self.rate(),
            MILLION as u64,
            u128::div_euclid,
        );
        passed.saturating_add(self.skew.ahead.load(Relaxed))
    }

    /// Returns the earliest time of the simulation at which the clock of the node shows at least
    /// `time`.
    pub(crate) fn to_simulation(&self, time: Nanos) -> Nanos {
        let passed = time.saturating_sub(self.skew.ahead.load(Relaxed));
        scaled(passed, MILLION as u64, self.rate(), u128::div_ceil)
    }

    /// Returns the number of microseconds that pass on this clock in a second of the simulation.
    fn rate(&self) -> u64 {
        u64::from((MILLION + self.skew.drift.load(Relaxed)).unsigned_abs())
    }
}

/// Returns `time` x `by` / `of`, rounded by `divide`.
fn scaled(time: Nanos, by: u64, of: u64, divide: fn(u128, u128) -> u128) -> Nanos {
    if by == of {
        return time;
    }
    let product = u128::from(time) * u128::from(by);
    Nanos::try_from(divide(product, of.into())).unwrap_or(Nanos::MAX)
}

/// The clocks of the nodes. By default, all of these clocks show the time of the simulation.
///
/// Timers and [`Context::now`](garrick_actor::Context::now) use the clock of their node. The clock
/// of the simulation determines everything else: the delays of links, the lengths of outages, the
/// time limits of `eventually`, and the times in traces. A crash does not change the clock of a
/// node. Set the clocks before the setup spawns actors.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_sim::Sim;
///
/// fn setup(sim: &mut Sim) {
///     let second = Duration::from_secs(1);
///     sim.clocks().ahead("n1", Duration::ZERO..second);
///     sim.clocks().drifts("n2", -200..200);
///     for name in ["n0", "n1", "n2"] {
///         sim.node(name);
///     }
/// }
/// # let _ = setup;
/// ```
#[derive(Debug)]
pub struct Clocks {
    clock: Clock,
    seed: u64,
    of_nodes: BTreeMap<String, NodeClock>,
}

impl Clocks {
    pub(crate) fn new(clock: Clock, seed: u64) -> Self {
        Self {
            clock,
            seed,
            of_nodes: BTreeMap::new(),
        }
    }

    /// Sets the clock of a node ahead of the clock of the simulation, by a random time in the range
    /// `by`. Each run has its own random time.
    pub fn ahead(&mut self, node: impl AsRef<str>, by: Range<Duration>) -> &mut Self {
        let node = node.as_ref();
        let ahead = draw_time(&mut self.rng(AHEAD, node), &nanos_of(&by));
        self.of(node).skew.ahead.store(ahead, Relaxed);
        self
    }

    /// Makes the clock of a node faster or slower by a random number of parts per million in the
    /// range `by`. Each run has its own random number. Negative numbers make the clock slower.
    ///
    /// # Panics
    /// Panics if the clock may be more than twice as fast, or less than half as fast, as the clock
    /// of the simulation.
    #[track_caller]
    pub fn drifts(&mut self, node: impl AsRef<str>, by: Range<i32>) -> &mut Self {
        assert!(
            by.start >= DRIFT_MIN && by.end <= DRIFT_MAX,
            "a drift of {} to {} parts per million: it must be from {DRIFT_MIN} to {DRIFT_MAX}",
            by.start,
            by.end
        );
        let node = node.as_ref();
        let width = by.end.saturating_sub(by.start).max(1);
        let drawn = self.rng(DRIFT, node).below(width as usize);
        self.of(node)
            .skew
            .drift
            .store(by.start + drawn as i32, Relaxed);
        self
    }

    fn rng(&self, what: u64, node: &str) -> Rng {
        let name = node.bytes().map(u64::from);
        let numbers: Vec<_> = [what, self.seed].into_iter().chain(name).collect();
        rng_of(&numbers)
    }

    /// Returns the clock of a node.
    pub(crate) fn of(&mut self, node: &str) -> &NodeClock {
        let clock = &self.clock;
        self.of_nodes
            .entry(node.to_owned())
            .or_insert_with(|| NodeClock::new(clock.clone()))
    }

    /// Returns the names of all nodes for which a clock was created.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.of_nodes.keys().map(String::as_str)
    }
}

/// The world of one node: its clock and its seeds.
pub(crate) struct SimWorld {
    clock: NodeClock,
    /// Number from which the next seed is computed.
    seeds: AtomicU64,
}

impl SimWorld {
    /// Creates the world of a node, which gives the node its time and its seeds. All seeds depend
    /// only on `seed`.
    pub(crate) fn new(clock: NodeClock, seed: u64) -> Self {
        Self {
            clock,
            seeds: AtomicU64::new(seed),
        }
    }
}

impl World for SimWorld {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn date(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(BEGAN_SECONDS) + Duration::from_nanos(self.clock.now())
    }

    fn seed(&self) -> u64 {
        mix(self.seeds.fetch_add(1, Relaxed))
    }

    fn spawn_thread(
        &self,
        _: ThreadSpec,
        _: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        Err(io::Error::other(
            "a simulation has no threads: spawn an actor on a node instead",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ops::Range;
    use std::panic::catch_unwind;
    use std::time::Duration;

    use garrick_actor::{Actor, Context};
    use garrick_sched::{Nanos, nanos};
    use proptest::prelude::*;

    use super::{Clock, Clocks, NodeClock};
    use crate::{Check, Sim};

    /// Returns the clock of a node. This clock is ahead of `clock` by `ahead`, and has a drift of
    /// `ppm` parts per million.
    fn clock_of(clock: &Clock, ahead: Nanos, ppm: i32) -> NodeClock {
        let mut clocks = Clocks::new(clock.clone(), 7);
        let ahead = Duration::from_nanos(ahead);
        clocks.ahead("n", ahead..ahead).drifts("n", ppm..ppm + 1);
        clocks.of("n").clone()
    }

    proptest! {
        #[test]
        fn the_first_time_at_which_a_node_has_a_time_is_exact(
            time in 0..1_u64 << 62,
            ahead in 0..1_u64 << 40,
            ppm in -500_000..1_000_000_i32,
        ) {
            let clock = Clock::default();
            let node = clock_of(&clock, ahead, ppm);
            let first = node.to_simulation(time);
            if first > 0 {
                clock.advance_to(first - 1);
                prop_assert!(node.now() < time);
            }
            clock.advance_to(first);
            prop_assert!(node.now() >= time);
        }
    }

    /// A fact: a timer has fired. Contains the time on the clock of the timer's node.
    #[derive(Debug)]
    struct Fired(Nanos);

    /// An actor that sends a message to itself after a minute.
    struct Waits;

    impl Actor for Waits {
        type Msg = bool;
        type Outcome = ();

        fn receive(&mut self, has_fired: bool, cx: &mut Context<'_, bool>) {
            if has_fired {
                cx.note(Fired(cx.now()));
            } else {
                let _ = cx.send_after(MINUTE, &cx.address(), true);
            }
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    fn waits(sim: &mut Sim) {
        sim.node("n").spawn(Waits).unwrap().send(false).unwrap();
    }

    #[test]
    fn a_timer_fires_at_its_deadline_by_the_clock_of_its_node() {
        let passed = Check::new("clock").run(|sim| {
            let hour = 60 * MINUTE;
            sim.clocks()
                .ahead("n", hour..hour)
                .drifts("n", 200_000..200_001);
            waits(sim);
            sim.at_end("after 50 s of the simulation", move |facts| {
                let fired = facts
                    .timed::<Fired>()
                    .next()
                    .map(|(at, fired)| (at, fired.0));
                fired == Some((nanos(Duration::from_secs(50)), nanos(hour + MINUTE)))
            });
        });
        passed.unwrap_or_else(|failed| panic!("{failed}"));
    }

    #[test]
    fn each_run_draws_other_clocks() {
        let ahead = |seed| {
            let mut clocks = Clocks::new(Clock::default(), seed);
            clocks.ahead("n", Duration::ZERO..MINUTE);
            clocks.of("n").now()
        };
        let drawn = (0..20).map(ahead).collect::<BTreeSet<_>>();
        assert_eq!(drawn.len(), 20);
        assert!(drawn.iter().all(|ahead| *ahead < nanos(MINUTE)));
        assert_eq!(ahead(3), ahead(3));
    }

    #[test]
    #[should_panic(expected = "there is no node \"m\", only [\"n\"]")]
    fn a_clock_of_no_node_is_refused() {
        Sim::check(|sim| {
            sim.clocks().drifts("m", 0..1);
            waits(sim);
        });
    }

    #[track_caller]
    fn assert_refused(drift: Range<i32>) {
        let refused = catch_unwind(|| {
            Clocks::new(Clock::default(), 0).drifts("n", drift.clone());
        });
        let refused = refused.unwrap_err();
        let text = refused.downcast_ref::<String>().unwrap();
        assert!(
            text.ends_with("it must be from -500000 to 1000000"),
            "{text}"
        );
    }

    #[test]
    fn a_clock_that_is_too_slow_or_too_fast_is_refused() {
        assert_refused(-500_001..0);
        assert_refused(0..1_000_001);
    }
}
