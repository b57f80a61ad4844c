//! The values of series. Threads change these values by atomic operations, without locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ::metrics::{GaugeFn as _, HistogramFn};

use crate::snapshot::{Histogram, MetricKind};

/// The value of a series. Written by the threads of the program, read by the sampler.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    Counter(Arc<AtomicU64>),
    /// Bits of the value, which is an `f64`.
    Gauge(Arc<AtomicU64>),
    Histogram(Arc<Buckets>),
}

impl Cell {
    /// Creates a counter or gauge with the value 0, or an empty histogram whose buckets have the
    /// given limits.
    pub(super) fn new(kind: MetricKind, limits: &Arc<[f64]>) -> Self {
        match kind {
            MetricKind::Counter => Self::Counter(Arc::default()),
            MetricKind::Gauge => Self::Gauge(Arc::default()),
            MetricKind::Histogram => Self::Histogram(Arc::new(Buckets::new(Arc::clone(limits)))),
        }
    }
}

/// A histogram with fixed buckets.
#[derive(Debug)]
pub(super) struct Buckets {
    limits: Arc<[f64]>,
    /// Number of values in each bucket. The last entry is the number of values above the last
    /// limit.
    counts: Box<[AtomicU64]>,
    /// Bits of the sum of all values, which is an `f64`.
    sum: AtomicU64,
}

impl Buckets {
    fn new(limits: Arc<[f64]>) -> Self {
        Self {
            counts: (0..=limits.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            limits,
        }
    }

    /// Returns the current counts.
    pub(super) fn read(&self) -> Histogram {
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        let sum = f64::from_bits(self.sum.load(Relaxed));
        Histogram::new(Arc::clone(&self.limits), counts.collect(), sum)
    }
}

impl HistogramFn for Buckets {
    fn record(&self, value: f64) {
        self.record_many(value, 1);
    }

    fn record_many(&self, value: f64, count: usize) {
        // NaN belongs to no bucket, and the sum would be NaN from then on.
        if value.is_nan() {
            return;
        }
        let bucket = self.limits.partition_point(|limit| *limit < value);
        self.counts[bucket].fetch_add(count as u64, Relaxed);
        self.sum.increment(value * count as f64);
    }
}
