//! Sources for Garrick's own parts: pipelines, and the sponsors (thread pools or threads) that run
//! actors.

mod names;

mod outstanding;

mod flow;
mod sponsor;

mod system;

pub use sponsor::SponsorSource;
pub use system::SystemSource;

use crate::reading::Source;

/// A value that can be converted into a [`Source`]. The trait is implemented for:
///
/// - every [`Source`], such as a closure or a pipeline's [`Monitor`](garrick_flow::Monitor),
/// - the [`Handle`](garrick_actor::Handle) of a system of actors, or of another sponsor (thread
///   pool or thread). Snapshots contain the groups of actors only if the system or sponsor was
///   built with [`probes(true)`](garrick_actor::system::Builder::probes).
pub trait IntoSource {
    /// The type of the resulting source.
    type Source: Source + 'static;

    /// Converts the value into a source.
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
    type Source = SystemSource;

    fn into_source(self) -> SystemSource {
        SystemSource::new(self)
    }
}
