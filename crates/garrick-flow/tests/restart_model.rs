//! Compares random graphs, whose stages panic at random points, with a model without stages: every
//! value arrives once, and in order where the order is defined.
//!
//! A random graph grows from sources by adding stages that map, that distribute one channel over
//! two, or that merge two channels into one. In the model, each channel is the list of the values
//! that go through it.

use std::sync::mpsc::{self, Sender as Tell};

use garrick_core::random::mix;
use garrick_flow::testing::Stepper;
use garrick_flow::{Cx, Graph, Receiver, Report, Restarts, Sender, Wait, map_batch, restarting};
use garrick_testkit::{fail, silence_panics};
use proptest::prelude::*;

/// Number of steps after which each of the random graphs has certainly ended.
const STEPS_MAX: u64 = 200_000;

/// The type of the values in all channels.
type Value = u64;

/// One step of a graph's growth.
#[derive(Debug, Clone)]
enum Grow {
    /// Adds a source that sends the contained number of values.
    Source(u64),
    /// Adds a stage that maps values by [`map_batch`], or value by value.
    Map { channel: usize, by_hand: bool },
    /// Adds a stage that distributes values over two channels. The value determines the channel.
    Deal(usize),
    /// Adds a stage that merges two channels.
    Merge(usize, usize),
}

/// Generates one step of a graph's growth, and the size of the channels that this step creates.
fn grow() -> impl Strategy<Value = (Grow, usize)> {
    let any_channel = 0..16usize;
    let grow = prop_oneof![
        (0..60u64).prop_map(Grow::Source),
        (any_channel.clone(), any::<bool>())
            .prop_map(|(channel, by_hand)| Grow::Map { channel, by_hand }),
        any_channel.clone().prop_map(Grow::Deal),
        (any_channel.clone(), any_channel).prop_map(|(one, other)| Grow::Merge(one, other)),
    ];
    (grow, 1..9usize)
}

/// Makes a step panic now and then. The counter outlives the panic, so that the next step does not
/// panic at the same place.
struct Fate {
    state: u64,
    /// Number of calls of which one panics, or 0 if no call must panic.
    one_in: u64,
}

impl Fate {
    /// Panics now and then. A stage calls this method at each place where its step may panic.
    fn tempt(&mut self) {
        self.state = mix(self.state);
        if self.one_in > 0 && self.state.is_multiple_of(self.one_in) {
            fail();
        }
    }
}

/// A channel that no stage reads yet, and the values that the model expects in it.
struct Open {
    receiver: Receiver<Value>,
    values: Vec<Value>,
    /// True if the order of the values is defined, because there is no merge before this channel.
    ordered: bool,
}

/// A random graph that grows, and its model.
struct Growing {
    graph: Graph,
    open: Vec<Open>,
    stages: usize,
    seed: u64,
    one_in: u64,
}

impl Growing {
    fn new(seed: u64, one_in: u64) -> Self {
        let graph = Graph::new();
        Self {
            graph,
            open: Vec::new(),
            stages: 0,
            seed,
            one_in,
        }
    }

    fn channel(&mut self, slots: usize, values: Vec<Value>, ordered: bool) -> Sender<Value> {
        let (sender, receiver) = self.graph.channel(slots).expect("a small channel");
        self.open.push(Open {
            receiver,
            values,
            ordered,
        });
        sender
    }

    fn take(&mut self, index: usize) -> Option<Open> {
        let count = self.open.len();
        (count > 0).then(|| self.open.swap_remove(index % count))
    }

    /// Adds a stage whose `step` works with `ends`.
    fn add<E: Send + 'static>(
        &mut self,
        ends: E,
        step: impl Fn(&mut E, &mut Fate) -> Wait + Send + 'static,
    ) {
        self.stages += 1;
        let state = mix(self.seed ^ self.stages as u64);
        let fate = Fate {
            state,
            one_in: self.one_in,
        };
        let stage = restarting(
            (ends, fate),
            |_| (),
            move |(), (ends, fate), _: &mut Cx<'_>| step(ends, fate),
        );
        let name = format!("stage {}", self.stages);
        self.graph.stage(name, stage.policy(Restarts::unlimited()));
    }

    fn grow(&mut self, grow: &Grow, slots: usize) {
        match *grow {
            Grow::Source(count) => {
                let sender = self.channel(slots, (0..count).collect(), true);
                self.add(sender, move |output, fate| source(output, fate, count));
            }
            Grow::Map { channel, by_hand } => {
                let Some(from) = self.take(channel) else {
                    return;
                };
                let values = from.values.iter().map(|value| mix(*value)).collect();
                let sender = self.channel(slots, values, from.ordered);
                let step = if by_hand { map_by_hand } else { map };
                self.add((from.receiver, sender), step);
            }
            Grow::Deal(channel) => {
                let Some(from) = self.take(channel) else {
                    return;
                };
                let (even, odd) = from.values.iter().partition(|value| **value % 2 == 0);
                let senders = [even, odd].map(|values| self.channel(slots, values, from.ordered));
                self.add((from.receiver, senders), deal);
            }
            Grow::Merge(..) if self.open.len() < 2 => {}
            Grow::Merge(one, other) => {
                let (Some(one), Some(other)) = (self.take(one), self.take(other)) else {
                    return;
                };
                let values = [one.values, other.values].concat();
                let sender = self.channel(slots, values, false);
                self.add(([one.receiver, other.receiver], sender), merge);
            }
        }
    }

    /// Adds a sink for each open channel, and returns the values that the model predicts for the
    /// sinks.
    fn finish(mut self, tell: &Tell<(usize, Vec<Value>)>) -> (Graph, Vec<(Vec<Value>, bool)>) {
        let mut expected = Vec::new();
        for (number, open) in std::mem::take(&mut self.open).into_iter().enumerate() {
            expected.push((open.values, open.ordered));
            let tell = tell.clone();
            self.add((open.receiver, Vec::new()), move |(input, seen), fate| {
                log(input, seen, fate, |seen| {
                    // The receiver of the result still waits for it.
                    let _ = tell.send((number, seen));
                })
            });
        }
        (self.graph, expected)
    }
}

fn source(output: &mut Sender<Value>, fate: &mut Fate, count: u64) -> Wait {
    let sent = output.sent();
    let mut poke = output.poke(3);
    poke.extend((sent..count).inspect(|_| fate.tempt()));
    poke.commit();
    fate.tempt();
    if output.sent() == count {
        return Wait::done();
    }
    Wait::free(output, 1)
}

type Ends = (Receiver<Value>, Sender<Value>);

fn rest(input: &mut Receiver<Value>, output: &Sender<Value>) -> Wait {
    if input.is_finished() {
        return Wait::done();
    }
    Wait::readable(input, 1).and(Wait::free(output, 1))
}

fn map((input, output): &mut Ends, fate: &mut Fate) -> Wait {
    map_batch(input, output, 5, |value| {
        fate.tempt();
        mix(*value)
    });
    fate.tempt();
    rest(input, output)
}

fn map_by_hand((input, output): &mut Ends, fate: &mut Fate) -> Wait {
    let mut peek = input.peek();
    let mut poke = output.poke(peek.len().min(4));
    for value in &*peek {
        fate.tempt();
        if poke.push(mix(*value)).is_err() {
            break;
        }
    }
    fate.tempt();
    let count = poke.commit();
    peek.advance(count);
    fate.tempt();
    rest(input, output)
}

fn deal((input, outputs): &mut (Receiver<Value>, [Sender<Value>; 2]), fate: &mut Fate) -> Wait {
    while let Some(value) = input.peek().get(0).copied() {
        fate.tempt();
        let output = &mut outputs[(value % 2) as usize];
        if output.try_push(value).is_err() {
            return Wait::free(output, 1);
        }
        input.peek().advance(1);
        fate.tempt();
    }
    if input.is_finished() {
        return Wait::done();
    }
    Wait::readable(input, 1)
}

fn merge((inputs, output): &mut ([Receiver<Value>; 2], Sender<Value>), fate: &mut Fate) -> Wait {
    let mut wait = None;
    for input in inputs {
        map_batch(input, output, 2, |value| {
            fate.tempt();
            *value
        });
        if !input.is_finished() {
            let ready = Wait::readable(input, 1).and(Wait::free(output, 1));
            wait = Some(wait.map_or(ready, |wait: Wait| wait.or(ready)));
        }
    }
    wait.unwrap_or_else(Wait::done)
}

/// Takes a step of a sink that logs its input in `seen`. When the input is finished, the sink
/// passes the log to `tell`.
fn log(
    input: &mut Receiver<Value>,
    seen: &mut Vec<Value>,
    fate: &mut Fate,
    tell: impl FnOnce(Vec<Value>),
) -> Wait {
    let mut peek = input.peek();
    fate.tempt();
    let count = peek.len().min(3);
    seen.extend(peek.iter().take(count));
    peek.advance(count);
    fate.tempt();
    if input.is_finished() {
        tell(std::mem::take(seen));
        return Wait::done();
    }
    Wait::readable(input, 1)
}

/// Grows a random graph, runs it, and compares its results with the model.
fn check(growth: &[(Grow, usize)], seed: u64, one_in: u64, run: impl FnOnce(Graph) -> Report) {
    silence_panics();
    let mut growing = Growing::new(seed, one_in);
    for (grow, slots) in growth {
        growing.grow(grow, *slots);
    }
    let (tell, told) = mpsc::channel();
    let (graph, expected) = growing.finish(&tell);
    drop(tell);
    let report = run(graph);
    assert!(report.failures().is_empty(), "{report:?}");
    let mut logs: Vec<_> = told.iter().collect();
    logs.sort_unstable();
    assert_eq!(logs.len(), expected.len(), "each sink tells once");
    for ((_, mut seen), (mut values, ordered)) in logs.into_iter().zip(expected) {
        if !ordered {
            seen.sort_unstable();
            values.sort_unstable();
        }
        assert_eq!(seen, values);
    }
    for channel in report.channels() {
        assert_eq!(channel.left(), 0, "{report:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 1000 } else { 5000 }))]

    #[test]
    fn every_value_arrives_once_whatever_the_order_of_steps(
        growth in prop::collection::vec(grow(), 1..14),
        seed in any::<u64>(),
        one_in in prop_oneof![Just(0), 2..40u64],
    ) {
        check(&growth, seed, one_in, |graph| {
            let mut stepper = Stepper::new(graph).seeded(seed);
            stepper.run(STEPS_MAX);
            assert!(stepper.has_ended(), "nobody waits or runs for ever: {stepper:#?}");
            stepper.finish()
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 500 }))]

    #[test]
    fn every_value_arrives_once_on_threads(
        growth in prop::collection::vec(grow(), 1..8),
        seed in any::<u64>(),
        one_in in prop_oneof![Just(0), 4..60u64],
    ) {
        check(&growth, seed, one_in, |graph| {
            graph.start().expect("threads are to be had").join()
        });
    }
}

#[test]
fn the_same_seed_takes_the_same_steps() {
    let growth = [
        (Grow::Source(50), 4),
        (
            Grow::Map {
                channel: 0,
                by_hand: true,
            },
            2,
        ),
        (Grow::Deal(0), 3),
        (Grow::Merge(0, 1), 5),
    ];
    let steps = |seed| {
        silence_panics();
        let mut growing = Growing::new(7, 9);
        for (grow, slots) in &growth {
            growing.grow(grow, *slots);
        }
        let (graph, _) = growing.finish(&mpsc::channel().0);
        let mut stepper = Stepper::new(graph).seeded(seed);
        let mut names = Vec::new();
        while let Some(name) = stepper.step() {
            names.push(name.to_owned());
        }
        names
    };
    assert_eq!(steps(1), steps(1));
    assert_ne!(steps(1), steps(2));
}
