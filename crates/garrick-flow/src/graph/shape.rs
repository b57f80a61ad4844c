//! Finds the cycles and intended loops of a graph, from the channel ends that its stages declare.

use std::collections::BTreeMap;
use std::sync::Arc;

use garrick_sched::{Nanos, nanos};

use super::{Graph, StartError};
use crate::channel::{Line, Side};
use crate::feedback::{Loop, Loops, Member, Pace};
use crate::post::{Post, StageId};
use crate::wait::Lines;
use crate::wires::Wires;
use crate::wiring::Wiring;

/// The structure of a valid graph: its edges, strongly connected components and sources.
pub(super) struct Shape {
    /// The stages that declared the ends of each channel, the sending stage first.
    users: Vec<[Option<StageId>; 2]>,
    /// Edges from sending stages to receiving stages. Feedback channels are not included.
    wires: Wires,
    /// Index of the strongly connected component of each stage. The components include feedback
    /// channels.
    components: Vec<usize>,
    /// For each stage, true if it is a source.
    sources: Vec<bool>,
    /// Time for which a loop may continue after the sources are stopped.
    grace: Nanos,
}

/// The loops of a graph, and the loop that each stage is in. A loop is a cycle of stages that
/// contains a feedback channel.
pub(super) struct Looped {
    pub(super) all: Loops,
    /// For each stage, the index of the loop that the stage is in, if any.
    pub(super) of_stage: Vec<Option<usize>>,
}

impl Shape {
    /// Returns the shape of `graph`, or an error if the graph is not valid. The time is
    /// proportional to the number of stages and channels.
    pub(super) fn of(graph: &Graph) -> Result<Self, StartError> {
        if let Some(channel) = &graph.foreign_feedback {
            return Err(StartError::Feedback {
                channel: channel.clone(),
                missing: "another graph has created it".to_owned(),
            });
        }
        let users = users(graph)?;
        let names = || {
            graph
                .stages
                .iter()
                .map(|stage| stage.name.clone())
                .collect()
        };
        let (mut wires, mut all) = (Wires::new(names()), Wires::new(names()));
        for (line, users) in graph.lines.iter().zip(&users) {
            if let [Some(from), Some(to)] = *users {
                all.add(from, to);
                if !line.is_feedback() {
                    wires.add(from, to);
                }
            }
        }
        if let Some(cycle) = wires.cycle() {
            let stages = wires.names_of(&cycle);
            return Err(StartError::Cycle { stages });
        }
        let components = all.components();
        for (line, users) in graph.lines.iter().zip(&users) {
            if line.is_feedback() {
                check(line, *users, &components, &wires)?;
            }
        }
        Ok(Self {
            users,
            wires,
            components,
            sources: graph.stages.iter().map(|stage| stage.is_source).collect(),
            grace: nanos(graph.grace),
        })
    }

    /// Stores in each channel the stages that have declared its two ends. Passes the edges between
    /// the stages to `post`. Returns the loops of the graph.
    pub(super) fn open(self, post: &Post, lines: &Lines) -> Looped {
        for (line, users) in lines.iter().zip(&self.users) {
            for (side, user) in [Side::Sender, Side::Receiver].into_iter().zip(users) {
                if let Some(stage) = user {
                    line.is_told_of(side, *stage);
                }
            }
        }
        let looped = self.loops(lines);
        post.know(self.wires);
        looped
    }

    fn loops(&self, lines: &Lines) -> Looped {
        let mut parts = BTreeMap::<usize, Parts>::new();
        for (line, users) in lines.iter().zip(&self.users) {
            if let (true, Some(to)) = (line.is_feedback(), users[1]) {
                parts.entry(self.components[to as usize]).or_default();
            }
        }
        for (line, users) in lines.iter().zip(&self.users) {
            let [from, to] = users.map(|user| user.map(|stage| self.components[stage as usize]));
            if let Some(parts) = to.and_then(|to| parts.get_mut(&to)) {
                parts.add(line, from == to);
            }
        }
        let mut of_stage = vec![None; self.components.len()];
        for (stage, component) in self.components.iter().enumerate() {
            if let Some(part) = parts.get_mut(component) {
                part.members.push(Member {
                    stage: stage as StageId,
                    is_source: self.sources[stage],
                    pace: Pace::Works,
                });
            }
        }
        for (number, part) in parts.values().enumerate() {
            for member in &part.members {
                of_stage[member.stage as usize] = Some(number);
            }
        }
        let close = |part: Parts| part.close(self.grace);
        let all = parts.into_values().map(close).collect();
        Looped { all, of_stage }
    }
}

/// The stages and channels of a loop.
#[derive(Default)]
struct Parts {
    members: Vec<Member>,
    inside: Vec<u32>,
    entering: Vec<u32>,
    feedback: Vec<u32>,
}

impl Parts {
    /// Adds a channel that leads to a stage of the loop. `is_inside` is true if the channel also
    /// comes from a stage of the loop.
    fn add(&mut self, line: &Line, is_inside: bool) {
        if !is_inside {
            self.entering.push(line.id);
            return;
        }
        self.inside.push(line.id);
        if line.is_feedback() {
            self.feedback.push(line.id);
        }
    }

    fn close(self, grace: Nanos) -> Loop {
        Loop::new(
            self.members,
            self.inside,
            self.entering,
            self.feedback,
            grace,
        )
    }
}

/// Collects the ends that the stages declare. Returns an error if an end belongs to another graph.
fn users(graph: &Graph) -> Result<Vec<[Option<StageId>; 2]>, StartError> {
    let mut users = vec![[None; 2]; graph.lines.len()];
    for (stage, planned) in (0..).zip(&graph.stages) {
        let mut wiring = Wiring::new(graph.post.graph());
        planned.stage.tell(&mut wiring);
        if let Some(channel) = wiring.foreign {
            let stage = planned.name.clone();
            return Err(StartError::OtherGraph { stage, channel });
        }
        for (line, side) in wiring.ends {
            users[line as usize][side as usize] = Some(stage);
        }
    }
    Ok(users)
}

/// Returns an error if the declared ends do not show that the feedback channel `line` leads back to
/// an earlier stage.
fn check(
    line: &Arc<Line>,
    users: [Option<StageId>; 2],
    components: &[usize],
    wires: &Wires,
) -> Result<(), StartError> {
    let component = |stage: StageId| components[stage as usize];
    let missing = match users {
        [None, _] => {
            "no stage declares its sender; declare the ends of a closure with `with_ends`".into()
        }
        [_, None] => {
            "no stage declares its receiver; declare the ends of a closure with `with_ends`".into()
        }
        [Some(from), Some(to)] if component(from) == component(to) => return Ok(()),
        [Some(from), Some(to)] => {
            let names = wires.names_of(&[from, to]);
            format!(
                "no path of declared channel ends leads from \"{}\", which has its receiver, back to \"{}\", which has \
                 its sender; declare the ends of a closure with `with_ends`",
                names[1], names[0],
            )
        }
    };
    Err(StartError::Feedback {
        channel: line.label(),
        missing,
    })
}
