//! All series of a recorder.
//!
//! ```text
//!   key as the program wrote it --handles--> cell <--series-- family <-- name as it is exported
//! ```
//!
//! A cell contains the value of one series. The map `handles` finds a cell quickly by the name and
//! the labels that the program uses. A family finds the same cell by the labels that are exported,
//! in which forbidden characters are replaced.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ::metrics::Key;

use super::cell::Cell;
use super::names::{self, Labels};
use super::refusals::Refusal;
use crate::snapshot::{Metric, MetricKind, MetricSeries};

/// Maximum number of entries in the table `handles`, as a multiple of the maximum number of series.
/// Several spellings of a name or a label can select the same series, and each spelling has its own
/// entry.
const HANDLES_PER_SERIES: usize = 2;

/// Default limits of the buckets of a histogram that measures seconds.
const SECONDS: &[f64] = &[
    1e-6, 1e-5, 1e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// Default limits of the buckets of a histogram that does not measure seconds: powers of 4.
const NUMBERS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
];

/// Description that is exported for a metric that the program has not described.
const NO_HELP: &str = "No description.";

/// A family: all series of one metric.
#[derive(Debug)]
struct Family {
    /// Name under which the metric is exported. For a counter, the name ends in `_total`.
    name: Arc<str>,
    kind: MetricKind,
    help: Arc<str>,
    /// Limits of the buckets, if the metric is a histogram.
    limits: Arc<[f64]>,
    series: Vec<(Arc<Labels>, Cell)>,
    /// Index of each series in `series`, by the labels of the series.
    positions: HashMap<Arc<Labels>, usize>,
}

/// The description that the program has given to a metric.
#[derive(Debug)]
struct Description {
    help: Arc<str>,
    is_seconds: bool,
}

/// All series of a recorder.
#[derive(Debug)]
pub(super) struct Registry {
    series_max: usize,
    /// Total number of series in all families.
    series: usize,
    families: Vec<Family>,
    /// Index of each family (all series of a metric) in `families`, by all names that the family
    /// uses.
    names: HashMap<String, usize>,
    /// Descriptions, by the names of their metrics without `_total`.
    descriptions: HashMap<String, Description>,
    /// Bucket limits that the program has set, by the names of the histograms.
    limits: HashMap<String, Arc<[f64]>>,
    /// The values of the series, by the keys (a name and labels) that the program has used. There
    /// is one map for each kind of metric.
    handles: [HashMap<Key, Cell>; 3],
}

impl Registry {
    /// Creates a registry without series. `limits` contains the bucket limits of histograms. The
    /// keys are the names of the histograms, in the form that Prometheus accepts.
    pub(super) fn new(series_max: usize, limits: HashMap<String, Arc<[f64]>>) -> Self {
        Self {
            series_max,
            series: 0,
            families: Vec::new(),
            names: HashMap::new(),
            descriptions: HashMap::new(),
            limits,
            handles: Default::default(),
        }
    }

    pub(super) fn series_max(&self) -> usize {
        self.series_max
    }

    /// Returns the value of the series with the given key, or `None` if the key is new.
    pub(super) fn find(&self, kind: MetricKind, key: &Key) -> Option<&Cell> {
        self.handles[kind as usize].get(key)
    }

    /// Returns the value of the series that the key selects. Creates the series if it does not
    /// exist. Stores the value in the table `handles` under the key, unless the table is full.
    ///
    /// # Errors
    ///
    /// Returns an error if the key has a bad name or bad labels, if its name belongs to a metric of
    /// another kind, or if a new series would exceed the maximum number of series.
    pub(super) fn add(&mut self, kind: MetricKind, key: &Key) -> Result<Cell, Refusal> {
        let name = names::metric(key.name())?;
        let labels = names::labels(key.labels().map(|label| (label.key(), label.value())))?;
        let cell = self.series_of(kind, &name, labels)?;
        let handles: usize = self.handles.iter().map(HashMap::len).sum();
        if handles < self.series_max * HANDLES_PER_SERIES {
            self.handles[kind as usize].insert(key.to_retained(), cell.clone());
        }
        Ok(cell)
    }

    fn series_of(&mut self, kind: MetricKind, name: &str, labels: Labels) -> Result<Cell, Refusal> {
        let base = base_of(kind, name);
        let known = self.known(kind, base)?;
        if let Some(family) = known {
            let family = &self.families[family];
            if let Some(position) = family.positions.get(&labels) {
                return Ok(family.series[*position].1.clone());
            }
        }
        if self.series >= self.series_max {
            return Err(Refusal::Series);
        }
        self.series += 1;
        let family = known.unwrap_or_else(|| self.add_family(kind, base));
        Ok(self.families[family].add(labels))
    }

    /// Returns the index of the family with the name `base`, or `None` if there is none. Returns
    /// [`Refusal::Kind`] if another family already uses a name that this family needs.
    fn known(&self, kind: MetricKind, base: &str) -> Result<Option<usize>, Refusal> {
        let same = self.names.get(base).copied();
        let same = same.filter(|at| self.families[*at].is(kind, base));
        if same.is_none() && claims(kind, base).any(|name| self.names.contains_key(&name)) {
            return Err(Refusal::Kind);
        }
        Ok(same)
    }

    fn add_family(&mut self, kind: MetricKind, base: &str) -> usize {
        let position = self.families.len();
        for name in claims(kind, base) {
            self.names.insert(name, position);
        }
        let description = self.descriptions.get(base);
        let is_seconds = description.is_some_and(|description| description.is_seconds);
        let usual = if is_seconds || base.ends_with("_seconds") {
            SECONDS
        } else {
            NUMBERS
        };
        let limits = match kind {
            MetricKind::Histogram => self.limits.get(base).cloned(),
            MetricKind::Counter | MetricKind::Gauge => Some(Arc::default()),
        };
        self.families.push(Family {
            name: exported(kind, base).into(),
            kind,
            help: description.map_or_else(|| NO_HELP.into(), |it| Arc::clone(&it.help)),
            limits: limits.unwrap_or_else(|| usual.into()),
            series: Vec::new(),
            positions: HashMap::new(),
        });
        position
    }

    /// Sets the description of a metric. Does nothing if the name is not allowed, or if the number
    /// of descriptions has reached the maximum number of series.
    pub(super) fn describe(&mut self, kind: MetricKind, name: &str, help: &str, is_seconds: bool) {
        let Ok(name) = names::metric(name) else {
            return;
        };
        let (base, help) = (base_of(kind, &name), names::help(help).into());
        if let Ok(Some(family)) = self.known(kind, base) {
            self.families[family].help = Arc::clone(&help);
        } else if self.descriptions.len() < self.series_max {
            let description = Description { help, is_seconds };
            self.descriptions.insert(base.to_owned(), description);
        }
    }

    /// Returns the current values of all series, without rates. Families and their series are in
    /// the order in which they were added.
    pub(super) fn read(&self) -> Vec<Metric> {
        self.families.iter().map(Family::read).collect()
    }
}

impl Family {
    fn is(&self, kind: MetricKind, base: &str) -> bool {
        self.kind == kind && *self.name == *exported(kind, base)
    }

    fn add(&mut self, labels: Labels) -> Cell {
        let (labels, cell) = (Arc::new(labels), Cell::new(self.kind, &self.limits));
        self.positions
            .insert(Arc::clone(&labels), self.series.len());
        self.series.push((labels, cell.clone()));
        cell
    }

    fn read(&self) -> Metric {
        let series = self.series.iter();
        Metric {
            name: Arc::clone(&self.name),
            kind: self.kind,
            help: Arc::clone(&self.help),
            series: series
                .map(|(labels, cell)| series_of(Arc::clone(labels), cell))
                .collect(),
        }
    }
}

fn series_of(labels: Arc<Labels>, cell: &Cell) -> MetricSeries {
    let (value, histogram) = match cell {
        Cell::Counter(count) => (count.load(Relaxed) as f64, None),
        Cell::Gauge(bits) => (f64::from_bits(bits.load(Relaxed)), None),
        Cell::Histogram(buckets) => {
            let histogram = buckets.read();
            let count: u64 = histogram.counts.iter().sum();
            (count as f64, Some(histogram))
        }
    };
    MetricSeries {
        labels,
        value,
        rate: None,
        histogram,
    }
}

/// Returns the name of a counter without `_total`, and other names unchanged. Returns `_` for the
/// counter `_total`, because a name must not be empty.
fn base_of(kind: MetricKind, name: &str) -> &str {
    match kind {
        MetricKind::Counter if name == "_total" => "_",
        MetricKind::Counter => name.strip_suffix("_total").unwrap_or(name),
        MetricKind::Gauge | MetricKind::Histogram => name,
    }
}

/// Returns the name under which a family (all series of a metric) is exported.
fn exported(kind: MetricKind, base: &str) -> String {
    match kind {
        MetricKind::Counter => format!("{base}_total"),
        MetricKind::Gauge | MetricKind::Histogram => base.to_owned(),
    }
}

/// Returns all names that a family (all series of a metric) uses. OpenMetrics does not allow
/// another family to use any of these names.
fn claims(kind: MetricKind, base: &str) -> impl Iterator<Item = String> {
    let suffixes: &[&str] = match kind {
        MetricKind::Counter => &["", "_total", "_created"],
        MetricKind::Gauge => &[""],
        MetricKind::Histogram => &["", "_bucket", "_count", "_sum", "_created"],
    };
    suffixes.iter().map(move |suffix| format!("{base}{suffix}"))
}
