//! A monitor as a source of telemetry.

use std::time::Duration;

use garrick_telemetry::{JournalPhase, JournalReading, Reading, Source};

use super::monitor::{JournalState, Monitor};
use super::sample::JournalSample;

impl Source for Monitor {
    fn read(&mut self, reading: &mut Reading) {
        let (openings, state, sample) = (self.openings(), self.state(), self.sample());
        let (failure, notice) = (self.failure(), self.notice());
        let phase = match state {
            JournalState::New => JournalPhase::New,
            JournalState::Opening(_) => JournalPhase::Opening,
            JournalState::Open if sample.is_broken => JournalPhase::Broken,
            JournalState::Open => JournalPhase::Open,
            JournalState::Closed => JournalPhase::Closed,
            JournalState::Failed(_) => JournalPhase::Failed,
        };
        let (progress, refused) = match state {
            JournalState::Opening(progress) => (progress, None),
            JournalState::Failed(why) => (Default::default(), Some(why)),
            _ => Default::default(),
        };
        reading.journals.push(JournalReading {
            id: "journal".to_owned(),
            name: self.name().to_owned(),
            openings,
            phase,
            opening_read_bytes: progress.read,
            opening_bytes: progress.all,
            failure: refused.or_else(|| failure.map(|text| text.as_ref().to_owned())),
            notice: notice.map(|text| text.as_ref().to_owned()),
            ..reading_of(&sample)
        });
    }
}

fn reading_of(sample: &JournalSample) -> JournalReading {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    JournalReading {
        groups: sample.groups,
        turns: sample.turns,
        events: sample.events,
        event_bytes: sample.bytes,
        failed_groups: sample.failed,
        failing_groups: sample.failing,
        waiting_turns: sample.waiting as u64,
        oldest_wait_nanos: nanos(sample.oldest),
        syncs: sample.syncs,
        written_bytes: sample.written,
        writing_nanos: nanos(sample.writing),
        longest_group_nanos: nanos(sample.longest),
        entities: sample.entities as u64,
        segments: sample.segments as u64,
        size_bytes: sample.size,
        compactions: sample.compactions,
        copied_bytes: sample.copied,
        saved_states: sample.saved,
        notices: sample.notices,
        recoveries: sample.recoveries,
        recovered_events: sample.recovered,
        recovery_nanos: nanos(sample.recovering),
        ..JournalReading::default()
    }
}
