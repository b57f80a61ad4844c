//! A bar that shows the progress of a measurement.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::engine::Progress;

/// Number of steps of the bar for each plan. A plan measures one set of contenders.
const PER_PLAN: u64 = 1000;

/// A bar on standard error. Nothing is drawn if standard error is not a terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// Creates a bar for the given number of plans. Each plan measures one set of contenders.
    pub(super) fn new(plans: usize) -> Self {
        let style = ProgressStyle::with_template("{wide_bar} {elapsed} {msg:32}");
        let bar = ProgressBar::new(plans as u64 * PER_PLAN);
        // No thread redraws the bar: its wake-ups would be part of the measurement.
        Self(
            bar.with_style(style.expect("the template is valid"))
                .with_elapsed(Duration::ZERO),
        )
    }

    pub(super) fn show(&self, progress: Progress<'_>) {
        let done = (progress.done * PER_PLAN as f64) as u64;
        self.0
            .set_message(format!("{} {}", progress.scenario, progress.contender));
        self.0.set_position(progress.plan as u64 * PER_PLAN + done);
    }

    pub(super) fn clear(self) {
        self.0.finish_and_clear();
    }
}
