//! Live telemetry of a process: a dashboard, metrics, alerts and events.
//!
//! [`Telemetry`] samples the counters of pipelines and actor systems, and serves their values over
//! HTTP. A [`Snapshot`] contains all values of one sample. The server returns the newest snapshot
//! at `/graph.json`, and streams new snapshots at `/events`.
#![forbid(unsafe_code)]

mod quiet;

mod snapshot;

mod reading;

mod window;

mod process;

mod alert;

mod history;

mod sampler;

mod hub;

mod metrics;

mod render;

mod page;

mod server;

mod sources;

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
    ActorsReading, ChannelReading, HeldReading, Reading, Source, SponsorReading, StageReading,
};
pub use sampler::{Moment, Sampler, Settings, SettingsError, SourceId};
pub use server::TokenError;
pub use snapshot::{
    Alert, Batches, Edge, Held, Level, Node, NodeKind, Process, Snapshot, SponsorStatus, State,
};
pub use sources::{IntoSource, SponsorSource};
