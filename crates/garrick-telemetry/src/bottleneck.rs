//! Finds the stage that limits each pipeline.
//!
//! ```text
//!   generator ==== full ====> worker --- not full ---> logger
//!   back-pressured            busy                     starved
//! ```
//!
//! Messages wait in front of the bottleneck, and not behind it. So the stages before the bottleneck
//! wait for room, the stages after it wait for messages, and the bottleneck itself waits for
//! nothing.

mod words;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::snapshot::{Edge, Node, NodeKind, Pipeline, Snapshot, State};

/// Minimum fill at which a channel counts as full. This limit is below 1, because a sender often
/// waits until there is room for a whole batch.
pub(crate) const FULL_MIN: f64 = 0.75;

/// Minimum load of a stage that can be a bottleneck. A stage with a lower load has time for more
/// messages.
const LOAD_MIN: f64 = 0.8;

/// Maximum difference at which the loads of two stages count as equal.
const LOAD_EQUAL: f64 = 0.02;

/// Time for which a channel must be stalled before its pipeline counts as stuck, in seconds.
const STUCK_SECONDS: f64 = 1.0;

/// A stage with its channels.
struct Stage<'a> {
    node: &'a Node,
    inputs: Vec<&'a Edge>,
    outputs: Vec<&'a Edge>,
}

/// Sets [`Snapshot::pipelines`]. Also resets the stall time of each channel whose stall is caused
/// by another stalled channel.
pub(crate) fn find(snapshot: &mut Snapshot) {
    keep_causes(&mut snapshot.edges);
    let pipelines = grouped(&snapshot.nodes, &snapshot.edges);
    snapshot.pipelines = pipelines.iter().map(|stages| pipeline_of(stages)).collect();
}

/// Resets the stall time of each channel whose stall is caused by another stalled channel. A
/// receiver whose output is stalled cannot take messages, so only the last stalled channel of a
/// chain is the cause. If stalled channels form a cycle, each of them keeps its time.
fn keep_causes(edges: &mut [Edge]) {
    let mut into: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut senders: HashSet<&str> = HashSet::new();
    let stalled = (0..)
        .zip(&*edges)
        .filter(|(_, edge)| edge.stalled_seconds > 0.0);
    for (at, edge) in stalled.clone() {
        senders.extend(edge.from.as_deref());
        if let Some(to) = edge.to.as_deref() {
            into.entry(to).or_default().push(at);
        }
    }
    let is_cause = |edge: &Edge| edge.to.as_deref().is_none_or(|to| !senders.contains(to));
    let causes = stalled.filter(|(_, edge)| is_cause(edge));
    let mut next: Vec<usize> = causes.map(|(at, _)| at).collect();
    let mut follows: Vec<usize> = Vec::new();
    while let Some(at) = next.pop() {
        // `remove` takes each entry once, so the search ends even if there is a cycle before the
        // cause.
        let sender = edges[at].from.as_deref();
        let before = sender
            .and_then(|sender| into.remove(sender))
            .unwrap_or_default();
        follows.extend(&before);
        next.extend(before);
    }
    for at in follows {
        edges[at].stalled_seconds = 0.0;
    }
}

/// Returns the stages of each pipeline, in the order of the snapshot.
fn grouped<'a>(nodes: &'a [Node], edges: &'a [Edge]) -> Vec<Vec<Stage<'a>>> {
    let is_stage = |node: &&Node| node.kind == NodeKind::Stage;
    let mut stages: Vec<_> = nodes.iter().filter(is_stage).map(Stage::new).collect();
    let ids: HashMap<&str, usize> = (stages.iter().zip(0..))
        .map(|(stage, at)| (&*stage.node.id, at))
        .collect();
    let at = |id: &Option<String>| id.as_deref().and_then(|id| ids.get(id).copied());
    let mut groups = Groups((0..stages.len()).collect());
    for edge in edges {
        let (from, to) = (at(&edge.from), at(&edge.to));
        from.inspect(|from| stages[*from].outputs.push(edge));
        to.inspect(|to| stages[*to].inputs.push(edge));
        if let (Some(from), Some(to)) = (from, to) {
            groups.join(from, to);
        }
    }
    let mut pipelines: BTreeMap<usize, Vec<Stage<'_>>> = BTreeMap::new();
    for (at, stage) in stages.into_iter().enumerate() {
        pipelines.entry(groups.first(at)).or_default().push(stage);
    }
    let pipelines = pipelines.into_values();
    pipelines.filter(|stages| stages.len() > 1).collect()
}

/// Disjoint sets of numbers (union-find). The entry at the index `n` is a smaller number of the
/// same set, or `n` itself if `n` is the smallest number of its set.
struct Groups(Vec<usize>);

impl Groups {
    /// Returns the smallest number in the set that contains the number `at`.
    fn first(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            // Halve the path, so that later searches are short.
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other)] = one.min(other);
    }
}

fn pipeline_of(stages: &[Stage<'_>]) -> Pipeline {
    let bottleneck = bottleneck(stages);
    Pipeline {
        id: stages[0].node.id.clone(),
        name: words::name(stages),
        stages: stages.len() as u64,
        bottleneck: bottleneck.map(|stage| stage.node.id.clone()),
        text: match bottleneck {
            Some(stage) => words::bottleneck(stage),
            None => words::no_bottleneck(stages),
        },
    }
}

/// Returns the stage that limits the pipeline, or `None` if there is none. Prefers a stage whose
/// input is full and whose output is not, and then a stage with a higher load. If several stages
/// have equal loads, returns the last of these stages: the earlier ones may be busy only because
/// they send more messages to the last one.
fn bottleneck<'a, 's>(stages: &'a [Stage<'s>]) -> Option<&'a Stage<'s>> {
    let loaded = stages.iter().filter(|stage| stage.load() >= LOAD_MIN);
    loaded.reduce(|best, next| {
        let closer = next.is_dammed().cmp(&best.is_dammed());
        let is_worse = closer.is_lt() || closer.is_eq() && next.load() < best.load() - LOAD_EQUAL;
        if is_worse { best } else { next }
    })
}

impl<'a> Stage<'a> {
    fn new(node: &'a Node) -> Self {
        Self {
            node,
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Returns the load of the stage: the share of the window, from 0 to 1, in which it was busy.
    /// If an input is full, the time for which the stage waited for a timer, for a future or for
    /// its thread counts as well. If no input is full, this waiting does not slow the pipeline
    /// down. A stage that has ended has the load 0.
    fn load(&self) -> f64 {
        let busy = self.node.busy.unwrap_or_default();
        if self.node.state != State::Running || !self.inputs.iter().any(|edge| is_full(edge)) {
            return if self.node.state == State::Running {
                busy
            } else {
                0.0
            };
        }
        let waits = [self.node.starved, self.node.back_pressured];
        let [Some(starved), Some(back_pressured)] = waits else {
            return busy;
        };
        busy.max(1.0 - starved - back_pressured)
    }

    /// Returns true if an input channel of the stage is full, and no output channel is full.
    fn is_dammed(&self) -> bool {
        let is_full = |edges: &[&Edge]| edges.iter().any(|edge| is_full(edge));
        is_full(&self.inputs) && !is_full(&self.outputs)
    }
}

fn is_full(edge: &Edge) -> bool {
    !edge.closed && edge.fill_p80 >= FULL_MIN
}

#[cfg(test)]
mod tests;
