//! Metrics of the program itself, recorded through the crate `metrics`.
//!
//! ```text
//!   counter!, gauge!, histogram!  --key-->  Recorder  --cell-->  handle
//!                                               |
//!                        sampler  <--read-- Registry
//! ```
//!
//! A handle changes the value of its series by an atomic operation. To look up a handle by its key,
//! a thread takes a read lock. The first use of a key takes a write lock. The number of series is
//! bounded.

mod refusals;

mod names;

mod cell;

mod registry;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ::metrics::{Counter, Gauge, Key, KeyName, Metadata, SharedString, Unit};

use crate::snapshot::{Metric, MetricKind};
use cell::Cell;
use refusals::Refusals;
use registry::Registry;

/// Default maximum number of series.
const SERIES_MAX: usize = 1000;

/// Maximum number of limits of a histogram's buckets.
const LIMITS_MAX: usize = 64;

/// A recorder for the crate [`metrics`](https://docs.rs/metrics). Stores the metrics that the
/// program itself records. Clones of a recorder share their metrics.
///
/// After [`install`](Self::install), the macros `counter!`, `gauge!` and `histogram!` of the crate
/// `metrics` record their values in this recorder. The macros can be used in actors, in stages and
/// anywhere else. [`Builder::recorder`](crate::Builder::recorder) makes telemetry show the recorded
/// values.
///
/// The first use of a name with certain labels creates a *series*, which exists from then on. By
/// default, there are at most 1,000 series. Further series are refused.
///
/// # Examples
///
/// ```
/// use garrick_telemetry::{Recorder, Telemetry};
/// use metrics::{counter, describe_counter, histogram};
///
/// let recorder = Recorder::default();
/// recorder.install()?;
/// let telemetry = Telemetry::builder().recorder(&recorder).without_server().start()?;
///
/// describe_counter!("orders", "Orders that were accepted.");
/// counter!("orders", "shop" => "north").increment(2);
/// histogram!("order_seconds").record(0.25);
///
/// telemetry.look();
/// let seen = telemetry.latest();
/// let orders = &seen.metrics[0];
/// assert_eq!((&*orders.name, orders.series[0].value), ("orders_total", 2.0));
/// assert_eq!(orders.series[0].labels["shop"], "north");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

struct Shared {
    registry: RwLock<Registry>,
    refusals: Refusals,
}

/// A builder for a [`Recorder`]. Returned by [`Recorder::builder`].
#[derive(Debug, Clone)]
pub struct RecorderBuilder {
    series_max: usize,
    buckets: Vec<(String, Vec<f64>)>,
}

/// The error returned by [`RecorderBuilder::build`] if the limits or the name of a histogram are
/// not allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct BucketsError {
    name: String,
    limits: Vec<f64>,
}

/// The error returned by [`Recorder::install`] if the process already has a recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallError;

impl Default for Recorder {
    fn default() -> Self {
        Self::new(SERIES_MAX, HashMap::new())
    }
}

impl Recorder {
    fn new(series_max: usize, limits: HashMap<String, Arc<[f64]>>) -> Self {
        Self {
            shared: Arc::new(Shared {
                registry: RwLock::new(Registry::new(series_max, limits)),
                refusals: Refusals::default(),
            }),
        }
    }

    /// Returns a builder, which can set the maximum number of series and the buckets of histograms.
    pub fn builder() -> RecorderBuilder {
        RecorderBuilder {
            series_max: SERIES_MAX,
            buckets: Vec::new(),
        }
    }

    /// Installs this recorder for the process. After the call, the macros of the crate `metrics`
    /// send all values to this recorder. Values that were recorded before are lost. A process can
    /// have only one recorder.
    ///
    /// # Errors
    ///
    /// Returns an error if the process already has a recorder. To use two recorders together,
    /// install a recorder that passes all values to both, such as the `Fanout` of the crate
    /// `metrics-util`.
    pub fn install(&self) -> Result<(), InstallError> {
        ::metrics::set_global_recorder(self.clone()).map_err(|_| InstallError)
    }

    /// Returns the current values of all series, without rates.
    pub(crate) fn read(&self) -> Vec<Metric> {
        self.registry().read()
    }

    /// Returns the number of refused uses of metrics, for each reason.
    pub(crate) fn refused(&self) -> BTreeMap<String, u64> {
        self.shared.refusals.by_reason()
    }

    fn registry(&self) -> RwLockReadGuard<'_, Registry> {
        let registry = self.shared.registry.read();
        registry.unwrap_or_else(PoisonError::into_inner)
    }

    fn registry_mut(&self) -> RwLockWriteGuard<'_, Registry> {
        let registry = self.shared.registry.write();
        registry.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value of the series with the given `key`, or `None` if this use of the key is
    /// refused.
    fn cell(&self, kind: MetricKind, key: &Key) -> Option<Cell> {
        let found = self.registry().find(kind, key).cloned();
        if found.is_some() {
            return found;
        }
        let mut registry = self.registry_mut();
        let (added, series_max) = (registry.add(kind, key), registry.series_max());
        // The lock is released first: a warning takes long, and its receiver may itself use a
        // metric.
        drop(registry);
        let refuse = |refusal| {
            let refusals = &self.shared.refusals;
            refusals.count(refusal, key.name(), series_max);
        };
        added.map_err(refuse).ok()
    }

    fn describe(&self, kind: MetricKind, name: &KeyName, unit: Option<Unit>, help: &SharedString) {
        let is_seconds = unit == Some(Unit::Seconds);
        let mut registry = self.registry_mut();
        registry.describe(kind, name.as_str(), help, is_seconds);
    }
}

impl ::metrics::Recorder for Recorder {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(MetricKind::Counter, &name, unit, &help);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(MetricKind::Gauge, &name, unit, &help);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(MetricKind::Histogram, &name, unit, &help);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        match self.cell(MetricKind::Counter, key) {
            Some(Cell::Counter(count)) => Counter::from_arc(count),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        match self.cell(MetricKind::Gauge, key) {
            Some(Cell::Gauge(bits)) => Gauge::from_arc(bits),
            _ => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> ::metrics::Histogram {
        match self.cell(MetricKind::Histogram, key) {
            Some(Cell::Histogram(buckets)) => ::metrics::Histogram::from_arc(buckets),
            _ => ::metrics::Histogram::noop(),
        }
    }
}

impl RecorderBuilder {
    /// Sets the maximum number of series of all metrics together. The default is 1,000. Uses of
    /// further series have no effect, and `garrick_metrics_refused_total` counts them. With the
    /// default interval and window of telemetry, a series takes about 3.4 KB of memory.
    #[must_use]
    pub fn series_max(mut self, max: usize) -> Self {
        self.series_max = max;
        self
    }

    /// Sets the upper limits of the buckets of the histogram `name`. A value that is equal to a
    /// limit belongs to the bucket below this limit. The limits must be 1 to 64 finite numbers in
    /// ascending order. The recorder adds a last bucket for all values above the last limit.
    ///
    /// By default, a histogram of seconds has 16 limits from 1 us to 10 s. A histogram counts
    /// seconds if its name ends in `_seconds`, or if it is described with `Unit::Seconds` before
    /// its first use. Otherwise the limits are the powers of 4 from 1 to 1,048,576.
    #[must_use]
    pub fn buckets(mut self, name: &str, limits: &[f64]) -> Self {
        self.buckets.push((name.to_owned(), limits.to_vec()));
        self
    }

    /// Creates the recorder.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits or the name that were passed to [`buckets`](Self::buckets)
    /// are not allowed.
    pub fn build(self) -> Result<Recorder, BucketsError> {
        let mut all = HashMap::new();
        for (name, limits) in self.buckets {
            let ascends = limits.windows(2).all(|pair| pair[0] < pair[1]);
            let is_finite = limits.iter().all(|limit| limit.is_finite());
            let fits = ascends && is_finite && (1..=LIMITS_MAX).contains(&limits.len());
            match names::metric(&name) {
                Ok(mended) if fits => all.insert(mended.into_owned(), limits.into()),
                _ => return Err(BucketsError { name, limits }),
            };
        }
        Ok(Recorder::new(self.series_max, all))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl fmt::Display for BucketsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, limits } = self;
        write!(
            f,
            "the buckets of the histogram {name:?} have the limits {limits:?}, but 1 to \
             {LIMITS_MAX} finite limits in ascending order are needed, and a name of 1 to {} bytes \
             that begins with neither `garrick_` nor `process_`",
            refusals::NAME_MAX
        )
    }
}

impl std::error::Error for BucketsError {}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the process already has a recorder of metrics; it can have only one")
    }
}

impl std::error::Error for InstallError {}
