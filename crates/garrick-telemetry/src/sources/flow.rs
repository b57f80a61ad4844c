//! A source that reads the counters of a pipeline.

use garrick_flow::{ChannelSample, Monitor, StageSample, StageState};

use crate::reading::{ChannelReading, Reading, Source, StageReading};
use crate::snapshot::State;

use super::names::short;

impl Source for Monitor {
    fn read(&mut self, reading: &mut Reading) {
        let sample = self.sample();
        let takes = |stage| sample.channels.iter().any(|c| c.to == Some(stage));
        let stages = sample.stages.into_iter().enumerate();
        reading.stages = stages
            .map(|(number, stage)| stage_of(number, stage, takes(number)))
            .collect();
        let channels = sample.channels.into_iter().enumerate();
        reading.channels = channels
            .map(|(n, channel)| channel_of(n, channel))
            .collect();
    }
}

fn id_of_stage(number: usize) -> String {
    format!("s{number}")
}

fn stage_of(number: usize, stage: StageSample, takes: bool) -> StageReading {
    let (state, note) = match stage.state {
        StageState::Running => (State::Running, None),
        StageState::Ended => (State::Ended, None),
        StageState::Failed(words) => (State::Failed, Some(words)),
    };
    StageReading {
        id: id_of_stage(number),
        name: stage.name,
        place: stage.team,
        state,
        messages: if takes {
            stage.messages_in
        } else {
            stage.messages_out
        },
        turns: stage.steps,
        busy_nanos: Some(stage.busy_nanos),
        starved_nanos: Some(stage.starved_nanos),
        back_pressured_nanos: Some(stage.back_pressured_nanos),
        restarts: stage.restarts,
        slow: stage.slow_steps,
        note,
    }
}

fn channel_of(number: usize, channel: ChannelSample) -> ChannelReading {
    ChannelReading {
        id: format!("c{number}"),
        from: channel.from.map(id_of_stage),
        to: channel.to.map(id_of_stage),
        name: channel.name,
        message: short(channel.message),
        capacity: channel.capacity,
        fill: channel.sent.saturating_sub(channel.taken),
        taken: channel.taken,
        batches: channel.batches,
        sender_stalls: channel.sender_stalls,
        receiver_stalls: channel.receiver_stalls,
        feedback: channel.feedback,
        closed: channel.closed,
    }
}
