//! What is known of the stages and channels of a graph, whoever steps them.

use std::sync::Arc;

use garrick_core::count::CounterReader;

use super::ended::Ended;
use super::report::{ChannelTotals, Failure, Report, StageTotals, Totals};
use crate::channel::Line;
use crate::post::StageId;
use crate::stage::{Outcome, RestartsReader};
use crate::wait::Lines;

/// What is known of a stage.
pub(crate) struct Member {
    pub(crate) name: String,
    /// Steps that it took.
    pub(super) steps: CounterReader,
    /// How often it went to rest.
    pub(super) rests: CounterReader,
    /// How often it was started again.
    pub(super) restarts: RestartsReader,
}

/// What is known of a graph that has been started.
pub(crate) struct Watched {
    pub(super) lines: Lines,
    pub(super) members: Vec<Member>,
    pub(super) ended: Arc<Ended>,
}

impl Watched {
    /// The name of a stage.
    pub(super) fn name(&self, stage: StageId) -> String {
        self.members[stage as usize].name.clone()
    }

    /// The stages in the order in which they were added.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// What was done so far.
    pub(crate) fn totals(&self) -> Totals {
        let channels: Vec<_> = self.lines.iter().map(|line| totals_of(line)).collect();
        let sum = |count: fn(&ChannelTotals) -> (Option<usize>, u64), stage| {
            let counts = channels.iter().map(count);
            counts
                .filter_map(|(user, count)| (user == Some(stage)).then_some(count))
                .sum()
        };
        let stage = |(stage, member): (usize, &Member)| StageTotals {
            name: member.name.clone(),
            steps: member.steps.get(),
            rests: member.rests.get(),
            restarts: member.restarts.count(),
            last_panic: member.restarts.last_panic(),
            messages_in: sum(|channel| (channel.to, channel.taken), stage),
            messages_out: sum(|channel| (channel.from, channel.sent), stage),
        };
        Totals {
            stages: self.members.iter().enumerate().map(stage).collect(),
            channels,
        }
    }

    /// What was done and what went wrong, now that nothing goes on.
    pub(crate) fn report(&self) -> Report {
        let outcomes = self.ended.lock();
        let failure = |(stage, outcome): &(StageId, Outcome)| match outcome {
            Outcome::Panicked(message) => Some(Failure {
                stage: self.name(*stage),
                message: message.clone(),
            }),
            Outcome::Done | Outcome::Dropped => None,
        };
        let cut_short = |(stage, outcome): &(StageId, Outcome)| {
            (*outcome == Outcome::Dropped).then(|| self.name(*stage))
        };
        Report {
            failures: outcomes.ended.iter().filter_map(failure).collect(),
            cut_short: outcomes.ended.iter().filter_map(cut_short).collect(),
            totals: self.totals(),
        }
    }
}

fn totals_of(line: &Line) -> ChannelTotals {
    let taken = line.taken.count();
    // What was taken was sent, even if its sender has not counted it yet.
    let sent = line.sent.count().max(taken);
    let [from, to] = line.users().map(|user| user.map(|stage| stage as usize));
    ChannelTotals {
        capacity: line.capacity,
        sent,
        taken,
        from,
        to,
    }
}
