//! Counts the refused uses of metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::quiet;
use crate::warning::warn;

/// Maximum length of the name of a metric or a label in bytes.
pub(super) const NAME_MAX: usize = 200;

/// Maximum number of labels of a series.
pub(super) const LABELS_MAX: usize = 16;

/// The reason why a use of a metric is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The maximum number of series is reached.
    Series,
    /// The name is empty, too long, or reserved.
    Name,
    /// The name belongs to a metric of another kind, or to a part of a metric, such as `x_sum`.
    Kind,
    /// There are too many labels, or the name of a label is empty or too long.
    Labels,
}

impl Refusal {
    const ALL: [Self; 4] = [Self::Series, Self::Name, Self::Kind, Self::Labels];

    /// Returns the value of the label `reason` for this reason.
    fn label(self) -> &'static str {
        match self {
            Self::Series => "series",
            Self::Name => "name",
            Self::Kind => "kind",
            Self::Labels => "labels",
        }
    }

    /// Returns the reason as a sentence about the metric `name`.
    fn sentence(self, name: &str, series_max: usize) -> String {
        match self {
            Self::Series => format!(
                "the metric {name:?} has a new series, but there are {series_max} series already, \
                 which is the maximum; `RecorderBuilder::series_max` changes it"
            ),
            Self::Name => format!(
                "the metric {name:?} has a bad name: a name has 1 to {NAME_MAX} bytes, and begins \
                 with neither `garrick_` nor `process_`"
            ),
            Self::Kind => format!(
                "the metric {name:?} has the same name as a metric of another kind, or as a part \
                 of a metric, such as `x_sum` of the histogram `x`"
            ),
            Self::Labels => format!(
                "the metric {name:?} has bad labels: at most {LABELS_MAX} labels are allowed, and \
                 their names have 1 to {NAME_MAX} bytes"
            ),
        }
    }
}

/// The number of refused uses for each reason.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// Number of refused uses for each reason. Written by the threads that use metrics, read by the
    /// sampler.
    counts: [AtomicU64; Refusal::ALL.len()],
}

impl Refusals {
    /// Counts a refused use of the metric `name`. Logs a warning at the first refusal for each
    /// reason. Catches panics of the subscriber that receives the warning.
    pub(super) fn count(&self, refusal: Refusal, name: &str, series_max: usize) {
        if self.counts[refusal as usize].fetch_add(1, Relaxed) == 0 {
            let sentence = refusal.sentence(name, series_max);
            let text = format!(
                "{sentence}. This use of the metric has no effect. Further uses that are refused \
                 for this reason are not reported; `garrick_metrics_refused_total` counts them"
            );
            quiet::call(|| warn(&text));
        }
    }

    /// Returns the number of refused uses of metrics, for each reason.
    pub(super) fn by_reason(&self) -> BTreeMap<String, u64> {
        let reasons = Refusal::ALL.into_iter();
        reasons
            .map(|reason| {
                let count = self.counts[reason as usize].load(Relaxed);
                (reason.label().to_owned(), count)
            })
            .collect()
    }
}
