//! Garrick's own sources: pipelines, and the sponsors of actors.

mod flow;
mod names;
mod sponsor;

pub use sponsor::SponsorSource;

use crate::reading::Source;

/// What can be watched: a [`Source`], or something that has one.
///
/// - a pipeline's [`Monitor`](garrick_flow::Monitor);
/// - the handle of a system of actors, or of a sponsor. The types of its actors are seen if it was built with
///   `probes(true)`.
pub trait IntoSource {
    /// The source that it has.
    type Source: Source + 'static;

    /// Makes it.
    fn into_source(self) -> Self::Source;
}

impl<S: Source + 'static> IntoSource for S {
    type Source = S;

    fn into_source(self) -> S {
        self
    }
}

impl IntoSource for garrick_sched::Handle {
    type Source = SponsorSource;

    fn into_source(self) -> SponsorSource {
        SponsorSource::new(move || self.sample())
    }
}

impl IntoSource for garrick_actor::Handle {
    type Source = SponsorSource;

    fn into_source(self) -> SponsorSource {
        SponsorSource::new(move || self.sample())
    }
}
