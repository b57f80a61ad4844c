//! Finds cycles of stages. [`Wires`] is a directed graph with an edge from each sending stage to
//! its receiving stage.
//!
//! Feedback channels are left out. The edges that are known at the start are searched once
//! ([Tarjan's components](Wires::components)), in time proportional to the number of stages and
//! channels. An edge that is discovered later is checked by a search that begins at its receiving
//! stage.

use std::collections::VecDeque;

use crate::vote::StageId;

/// Edges from sending to receiving stages.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    /// Names of the stages, indexed by their ids.
    names: Vec<String>,
    /// For each stage, indexed by its id, the stages to which it sends messages.
    next: Vec<Vec<StageId>>,
}

impl Wires {
    /// Creates a directed graph of stages with the given names, without edges.
    pub(crate) fn new(names: Vec<String>) -> Self {
        let next = vec![Vec::new(); names.len()];
        Self { names, next }
    }

    /// Records that the stage `from` sends messages to the stage `to`.
    pub(crate) fn add(&mut self, from: StageId, to: StageId) {
        if let Some(next) = self.next.get_mut(from as usize) {
            next.push(to);
        }
    }

    /// Returns a shortest path from one stage to another, including both. The path from a stage to
    /// itself contains only that stage. Returns `None` if there is no path.
    pub(crate) fn path(&self, from: StageId, to: StageId) -> Option<Vec<StageId>> {
        let mut before = vec![None; self.next.len()];
        *before.get_mut(from as usize)? = Some(from);
        let mut queue = VecDeque::from([from]);
        while let Some(stage) = queue.pop_front() {
            if stage == to {
                let back = std::iter::successors(Some(to), |stage| {
                    before[*stage as usize].filter(|before| before != stage)
                });
                let mut path: Vec<_> = back.collect();
                path.reverse();
                return Some(path);
            }
            for &next in &self.next[stage as usize] {
                let place = &mut before[next as usize];
                if place.is_none() {
                    *place = Some(stage);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// Returns the stages of a cycle in order, with the first one repeated at the end. Returns
    /// `None` if there is no cycle.
    pub(crate) fn cycle(&self) -> Option<Vec<StageId>> {
        let components = self.components();
        for (from, next) in (0..).zip(&self.next) {
            let inside = |to: &&StageId| components[**to as usize] == components[from as usize];
            if let Some(&to) = next.iter().find(inside) {
                // Both stages are in one component, so there is a way back.
                return self.cycle_by(from, to);
            }
        }
        None
    }

    /// Returns the cycle that an additional channel from `from` to `to` would close, if any.
    pub(crate) fn cycle_by(&self, from: StageId, to: StageId) -> Option<Vec<StageId>> {
        let back = self.path(to, from)?;
        Some(std::iter::once(from).chain(back).collect())
    }

    /// Returns the index of each stage's strongly connected component. Two stages have the same
    /// index if each can be reached from the other.
    pub(crate) fn components(&self) -> Vec<usize> {
        let mut search = Search::new(self.next.len());
        for stage in 0..self.next.len() {
            search.visit(stage, &self.next);
        }
        search.components
    }

    pub(crate) fn names_of(&self, stages: &[StageId]) -> Vec<String> {
        let names = stages.iter().map(|stage| &self.names[*stage as usize]);
        names.cloned().collect()
    }
}

/// Placeholder for a position or component that is not assigned yet.
const NONE: usize = usize::MAX;

/// Tarjan's search for strongly connected components. The search does not recurse, because a graph
/// may be a chain of any length.
struct Search {
    /// For each stage, the number of stages that the search found before this stage. [`NONE`] for a
    /// stage that the search has not found yet.
    found: Vec<usize>,
    /// For each stage, the smallest known value of `found` among the stages that are on the stack
    /// and can be reached from this stage.
    low: Vec<usize>,
    /// The result: the component of each stage, or [`NONE`].
    components: Vec<usize>,
    /// The stack: stages that the search has found, but that are not in a component yet.
    stack: Vec<usize>,
    /// Path from the first stage to the current one. Each entry contains a stage, and the number of
    /// edges from this stage that the search has followed.
    path: Vec<(usize, usize)>,
    /// Number of stages that the search has found.
    count: usize,
}

impl Search {
    fn new(stages: usize) -> Self {
        Self {
            found: vec![NONE; stages],
            low: vec![NONE; stages],
            components: vec![NONE; stages],
            stack: Vec::new(),
            path: Vec::new(),
            count: 0,
        }
    }

    fn enter(&mut self, stage: usize) {
        self.found[stage] = self.count;
        self.low[stage] = self.count;
        self.count += 1;
        self.stack.push(stage);
        self.path.push((stage, 0));
    }

    /// Finds all stages that `stage` can reach. Does nothing if `stage` has already been found.
    fn visit(&mut self, stage: usize, all: &[Vec<StageId>]) {
        if self.found[stage] == NONE {
            self.enter(stage);
        }
        while let Some((stage, followed)) = self.path.last_mut() {
            let stage = *stage;
            let Some(&next) = all[stage].get(*followed) else {
                self.leave(stage);
                continue;
            };
            *followed += 1;
            let next = next as usize;
            if self.found[next] == NONE {
                self.enter(next);
            } else if self.components[next] == NONE {
                self.low[stage] = self.low[stage].min(self.found[next]);
            }
        }
    }

    /// Removes `stage` from the end of the path, after all its edges were followed.
    fn leave(&mut self, stage: usize) {
        self.path.pop();
        if let Some((before, _)) = self.path.last() {
            self.low[*before] = self.low[*before].min(self.low[stage]);
        }
        if self.low[stage] == self.found[stage] {
            while let Some(member) = self.stack.pop() {
                self.components[member] = stage;
                if member == stage {
                    break;
                }
            }
        }
    }
}

/// Returns the error message for a cycle of the named stages. The first name is repeated at the
/// end.
pub(crate) fn refusal(cycle: &[String]) -> String {
    let quoted: Vec<_> = cycle.iter().map(|name| format!("\"{name}\"")).collect();
    let subject = if cycle.len() > 2 {
        "the stages"
    } else {
        "the stage"
    };
    format!(
        "{subject} {} form{} a cycle, which would never end: if the cycle is intended, mark the channel that leads back \
         with `Graph::feedback`",
        quoted.join(" -> "),
        if cycle.len() > 2 { "" } else { "s" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wires(stages: usize, edges: &[(StageId, StageId)]) -> Wires {
        let mut wires = Wires::new((0..stages).map(|stage| stage.to_string()).collect());
        for (from, to) in edges {
            wires.add(*from, *to);
        }
        wires
    }

    #[test]
    fn a_cycle_is_named_in_order() {
        assert_eq!(wires(1, &[(0, 0)]).cycle(), Some(vec![0, 0]));
        assert_eq!(wires(2, &[(0, 1), (1, 0)]).cycle(), Some(vec![0, 1, 0]));
        let beside = wires(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 2), (3, 5)]);
        assert_eq!(beside.cycle(), Some(vec![2, 3, 4, 2]));
    }

    #[test]
    fn a_diamond_and_a_long_chain_have_no_cycle() {
        let diamond = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (0, 3)];
        assert_eq!(wires(4, &diamond).cycle(), None);
        let chain: Vec<_> = (0..100_000).map(|stage| (stage, stage + 1)).collect();
        let mut chain = wires(100_001, &chain);
        assert_eq!(chain.cycle(), None);
        chain.add(100_000, 0);
        assert_eq!(chain.cycle().map(|cycle| cycle.len()), Some(100_002));
    }

    #[test]
    fn stages_of_a_component_reach_one_another() {
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 3)];
        let wires = wires(5, &edges);
        let components = wires.components();
        for from in 0..5 {
            for to in 0..5 {
                let mutual = wires.path(from, to).is_some() && wires.path(to, from).is_some();
                let same = components[from as usize] == components[to as usize];
                assert_eq!(mutual, same, "{from} {to}");
            }
        }
    }
}
