//! The properties of a channel that is to be created.

/// The properties of a channel to create: its capacity, and optionally its name and the size of its
/// batches.
///
/// To set only the capacity, pass a plain number instead of a `Slots`.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, Slots};
///
/// let mut graph = Graph::new();
/// let (plain, _) = graph.channel::<u64>(1000)?;
/// assert_eq!(plain.capacity(), 1024);
///
/// let slots = Slots::of(1000).named("numbers").batch(64);
/// let (numbers, _) = graph.channel::<u64>(slots)?;
/// assert_eq!(numbers.batch(), 64);
/// # Ok::<(), garrick_flow::CapacityError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots {
    /// Minimum capacity of the channel, as a number of values.
    pub(super) capacity: usize,
    pub(super) name: Option<String>,
    /// Number of values in a batch.
    pub(super) batch: Option<usize>,
    /// True if the channel must not use more memory than its values need.
    pub(super) compact: bool,
}

impl Slots {
    /// Describes a channel with room for at least `capacity` values. The capacity is rounded up to
    /// a power of two.
    pub fn of(capacity: usize) -> Self {
        Self {
            capacity,
            name: None,
            batch: None,
            compact: false,
        }
    }

    /// Sets the name of the channel. Samples and reports contain this name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the number of values in a batch. A number of 0 is treated as 1. A number above the
    /// channel's capacity is treated as the capacity.
    #[must_use]
    pub fn batch(mut self, values: usize) -> Self {
        self.batch = Some(values);
        self
    }

    /// Limits the channel to the memory that its values need.
    ///
    /// A channel counts as large if its values need memory of at least an eighth of a core's
    /// second-level cache. By default, a large channel gets memory of at least twice the size of
    /// that cache. When the ends are used on different threads, the values cycle through all of
    /// this memory. The additional memory makes the channel up to twice as fast, but takes a few
    /// MiB per channel. Use `compact` in a graph with many large channels.
    #[must_use]
    pub fn compact(mut self) -> Self {
        self.compact = true;
        self
    }

    /// Returns the properties of the channel with the index `index` in a bundle.
    pub(crate) fn numbered(&self, index: usize) -> Self {
        let name = self.name.as_ref().map(|name| format!("{name} {index}"));
        Self {
            name,
            ..self.clone()
        }
    }
}

impl From<usize> for Slots {
    fn from(capacity: usize) -> Self {
        Self::of(capacity)
    }
}
