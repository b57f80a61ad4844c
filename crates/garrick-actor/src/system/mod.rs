//! Systems, their builder, and their handles.

pub(crate) mod workload;

pub(crate) mod attached;

pub(crate) mod handle;

pub(crate) mod builder;

pub(crate) mod local;
pub(crate) mod pool;

pub use crate::failure::path::ActorPath;
pub use crate::failure::{Consequence, Failure, FailureRecord};
pub use builder::Builder;
pub use garrick_sched::{
    AwaySample, BLOCKING_THREADS_MAX, Driver, Drivers, Ending, KindSample, LetterReason,
    LetterSample, MESSAGE_BYTES_MAX, Nanos, RealWorld, STACK_BYTES_MAX, STACK_BYTES_MIN, Sample,
    TaskId, ThreadSpec, WorkerSample, World,
};
