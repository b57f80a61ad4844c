//! Sentences about the bottlenecks of pipelines.

use super::{LOAD_MIN, STUCK_SECONDS, Stage, is_full};
use crate::snapshot::{Edge, State};

/// Returns the name of a pipeline: the names of its first and its last stage, with an arrow between
/// them.
pub(super) fn name(stages: &[Stage<'_>]) -> String {
    let forward = |edges: &[&Edge]| edges.iter().any(|edge| !edge.feedback);
    let first = stages.iter().find(|stage| !forward(&stage.inputs));
    let last = stages.iter().rfind(|stage| !forward(&stage.outputs));
    let [first, last] = [first.or(stages.first()), last.or(stages.last())]
        .map(|stage| stage.map_or("", |stage| &*stage.node.name));
    format!("{first} \u{2192} {last}")
}

/// Returns the sentence that names the bottleneck `stage`, and the reasons.
pub(super) fn bottleneck(stage: &Stage<'_>) -> String {
    let name = &stage.node.name;
    let busy = stage.node.busy.unwrap_or_default();
    let mut work = format!("{} busy", percent(busy));
    if busy < LOAD_MIN {
        let pause = percent(stage.load() - busy);
        work += &format!(" and {pause} waiting for a time, a future or its thread");
    }
    let ends = ends(side(&stage.inputs, "input"), side(&stage.outputs, "output"));
    format!("{name} is the bottleneck: {work}{ends}.")
}

/// Returns the sentence for a pipeline without a bottleneck.
pub(super) fn no_bottleneck(stages: &[Stage<'_>]) -> String {
    let has_ended = |stage: &&Stage<'_>| stage.node.state != State::Running;
    if stages.iter().all(|stage| has_ended(&stage)) {
        return "All stages have ended.".to_owned();
    }
    let mut inputs = stages
        .iter()
        .flat_map(|stage| stage.inputs.iter().map(move |edge| (stage, edge)));
    let stuck = inputs.find(|(_, edge)| edge.stalled_seconds >= STUCK_SECONDS);
    if let Some((receiver, edge)) = stuck {
        let of = |edge: &Edge| {
            edge.name
                .as_ref()
                .map_or(String::new(), |name| format!(" {name}"))
        };
        return format!(
            "The pipeline is stuck: {} takes nothing from its full input{}.",
            receiver.node.name,
            of(edge)
        );
    }
    if stages.iter().all(|stage| stage.node.rate == 0.0) {
        return "No messages flow.".to_owned();
    }
    let busy = |stage: &&Stage<'_>| stage.node.busy.unwrap_or_default();
    let busiest = stages
        .iter()
        .filter(|stage| !has_ended(stage))
        .max_by(|one, other| busy(one).total_cmp(&busy(other)));
    busiest.map_or(String::new(), |stage| {
        let (name, busy) = (&stage.node.name, percent(busy(&stage)));
        format!("No stage is the bottleneck: the busiest stage, {name}, is {busy} busy.")
    })
}

/// A description of the inputs or the outputs of a stage.
struct Side {
    /// Subject of a sentence about the channels, such as `its input` or `2 of its 3 inputs`.
    subject: String,
    is_plural: bool,
    is_full: bool,
}

impl Side {
    fn verb(&self) -> &'static str {
        if self.is_plural { "are" } else { "is" }
    }
}

fn side(edges: &[&Edge], word: &str) -> Option<Side> {
    let (all, full) = (
        edges.len(),
        edges.iter().filter(|edge| is_full(edge)).count(),
    );
    let subject = match all {
        0 => return None,
        1 => format!("its {word}"),
        _ if full == 0 || full == all => format!("its {word}s"),
        _ => format!("{full} of its {all} {word}s"),
    };
    Some(Side {
        subject,
        is_plural: all > 1 && full != 1,
        is_full: full > 0,
    })
}

/// Returns the part of a sentence that says whether the inputs and outputs of a stage are full.
fn ends(input: Option<Side>, output: Option<Side>) -> String {
    let not = |side: &Side| if side.is_full { "" } else { " not" };
    let full = |side: &Side| format!("{} {}{} full", side.subject, side.verb(), not(side));
    match (input, output) {
        (None, None) => String::new(),
        (Some(side), None) | (None, Some(side)) => format!(", {}", full(&side)),
        (Some(input), Some(output)) if input.is_full == output.is_full => {
            let (one, other) = (input.subject, output.subject);
            let [neither, nor] = if input.is_full {
                ["", "and"]
            } else {
                ["neither ", "nor"]
            };
            let are = if input.is_full || output.is_plural {
                "are"
            } else {
                "is"
            };
            format!(", {neither}{one} {nor} {other} {are} full")
        }
        (Some(input), Some(output)) => {
            let (subject, verb, not) = (&output.subject, output.verb(), not(&output));
            format!(", {}, {subject} {verb}{not}", full(&input))
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
