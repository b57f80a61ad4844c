//! A bar that shows how much of a log has been read.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use garrick_journal::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time after which the bar appears. Most logs are read faster than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error. Nothing is drawn before [`PATIENCE`] is over, or if standard error is
/// not a terminal.
pub(super) struct Bar {
    bar: ProgressBar,
    began: Instant,
    is_shown: Mutex<bool>,
}

impl Bar {
    pub(super) fn new() -> Self {
        let template = "reading the log {wide_bar} {bytes}/{total_bytes} {eta}";
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self {
            bar: bar.with_style(style),
            began: Instant::now(),
            is_shown: Mutex::new(false),
        }
    }

    /// Shows the progress. Removes the bar at the end.
    pub(super) fn show(&self, progress: Progress) {
        self.show_at(progress, self.began.elapsed(), ProgressDrawTarget::stderr);
    }

    /// Shows the progress at the time `after`, counted from the creation of the bar. The bar
    /// appears only if `after` is at least [`PATIENCE`]. `target` returns the place where the bar
    /// is drawn.
    fn show_at(
        &self,
        progress: Progress,
        after: Duration,
        target: impl FnOnce() -> ProgressDrawTarget,
    ) {
        let mut is_shown = (self.is_shown.lock()).unwrap_or_else(PoisonError::into_inner);
        self.bar.set_length(progress.all);
        self.bar.set_position(progress.read);
        if progress.read == progress.all {
            self.bar.finish_and_clear();
        } else if !*is_shown && after >= PATIENCE {
            *is_shown = true;
            self.bar.set_draw_target(target());
            self.bar.tick();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        // After an error, too.
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use garrick_actor::files::{Files, Folder};
    use garrick_journal::{Event, EventKind, Group, Options};

    use super::*;

    /// Creates a log of slightly more than 3 MiB, reads this log, and returns all reports of
    /// progress.
    fn reports() -> Vec<Progress> {
        let folder = format!("garrick-cli-bar-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let files: Arc<dyn Files> = Arc::new(Folder::create(&folder).unwrap());
        let (mut log, _) = Options::new().open(files.clone()).unwrap();
        let (journal, mut group) = (log.journal("a").unwrap(), Group::new());
        let event = Event {
            number: 1,
            kind: EventKind::default(),
            is_whole: false,
            payload: &vec![0; 3 << 20],
        };
        group.add(journal, event).unwrap();
        log.append(&group).unwrap();
        drop(log);
        let reports = Arc::<Mutex<Vec<_>>>::default();
        let told = reports.clone();
        let options = Options::new().progress(move |progress| told.lock().unwrap().push(progress));
        options.inspect(files).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        std::mem::take(&mut *reports.lock().unwrap())
    }

    #[test]
    fn a_bar_is_shown_only_after_a_second_and_removed_at_the_end() {
        let reports = reports();
        let read = reports.iter().map(|report| report.read >> 20);
        assert_eq!(read.collect::<Vec<_>>(), [0, 1, 2, 3, 3]);
        // The time of each report, and whether the bar is shown by it.
        for (times, shows) in [
            ([0, 400, 800, 900, 950], [false; 5]),
            ([0, 400, 800, 900, 1_500], [false; 5]),
            (
                [0, 1_100, 2_200, 3_300, 4_400],
                [false, true, false, false, false],
            ),
        ] {
            let bar = Bar::new();
            for ((report, time), shows) in reports.iter().zip(times).zip(shows) {
                let is_asked = Cell::new(false);
                bar.show_at(*report, Duration::from_millis(time), || {
                    is_asked.set(true);
                    ProgressDrawTarget::hidden()
                });
                assert_eq!(is_asked.get(), shows, "{report:?} at {time}");
                assert_eq!(bar.bar.position(), report.read);
            }
            assert!(bar.bar.is_finished());
        }
    }
}
