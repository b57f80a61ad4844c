//! Live telemetry of a process: a dashboard, metrics, alerts and events.
//!
//! [`Telemetry`] samples the counters of pipelines and actor systems, and serves their values over
//! HTTP. A [`Snapshot`] contains all values of one sample. The server returns the newest snapshot
//! at `/graph.json`, and streams new snapshots at `/events`.
#![forbid(unsafe_code)]

mod quiet;
mod warning;

mod window;

mod trouble;

mod snapshot;

mod reading;

mod process;

#[cfg(feature = "metrics")]
mod recorder;

mod alert;

mod history;

mod sources;

mod bottleneck;

mod sampler;

mod metrics;

mod render;

mod hub;

mod page;

mod server;

mod live;

mod export;

pub use alert::{Of, Probe, Threshold, Transition};
#[cfg(feature = "otel")]
pub use export::otel::observe_with;
#[cfg(feature = "tracing")]
pub use export::trace::trace_events;
pub use history::{HistoryReport, Series};
pub use live::{Builder, Observer, StartError, Telemetry, View};
pub use reading::{
    ActorReading, ActorsReading, ChannelReading, HeldReading, JournalReading, KindReading,
    LinkReading, MemberReading, MessageReading, OwnMemberReading, Reading, Source, SponsorReading,
    StageReading,
};
#[cfg(feature = "metrics")]
pub use recorder::{BucketsError, InstallError, Recorder, RecorderBuilder};
pub use render::prometheus::{MetricsText, metrics_text};
pub use sampler::{Moment, Sampler, Settings, SettingsError, SourceId};
pub use server::TokenError;
pub use snapshot::{
    ActorStatus, Alert, Batches, Edge, Held, Histogram, JournalPhase, JournalStatus, KindStatus,
    Level, LinkState, LinkStatus, MemberState, MemberStatus, MessageStatus, Metric, MetricKind,
    MetricSeries, Node, NodeKind, OwnMember, Pipeline, Process, Snapshot, SponsorStatus, State,
};
pub use sources::{IntoSource, SponsorSource, SystemSource};
pub use trouble::{
    ChildStatus, DeadLetters, Effect, FailureReading, FailureReport, LastFailure, LetterReading,
    RecentFailure, RestartedChild, Supervision, SupervisorStatus, TreeReading, TreeReport,
};
