//! What a channel is to be.

/// What a channel is to be: how many values it holds, and, if you like, its name and the size of its batches.
///
/// A plain number does where the number is all there is to say.
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
    /// How many values it holds at least.
    pub(super) capacity: usize,
    /// What it is called.
    pub(super) name: Option<String>,
    /// How many values a batch has.
    pub(super) batch: Option<usize>,
    /// Whether it keeps to the memory of its values.
    pub(super) compact: bool,
}

impl Slots {
    /// Room for `capacity` values, rounded up to a power of two.
    pub fn of(capacity: usize) -> Self {
        Self {
            capacity,
            name: None,
            batch: None,
            compact: false,
        }
    }

    /// Names the channel, for those who watch the graph.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Has the stages work in batches of `values` values: at least one, and no more than the channel holds.
    #[must_use]
    pub fn batch(mut self, values: usize) -> Self {
        self.batch = Some(values);
        self
    }

    /// Keeps to the memory of its values.
    ///
    /// Otherwise a channel whose values take an eighth of a core's second-level cache or more goes round in at least
    /// twice that cache, as soon as its ends were seen to be used on different threads: that is up to twice as fast, and
    /// costs some MiB, where a graph has many such channels too many.
    #[must_use]
    pub fn compact(mut self) -> Self {
        self.compact = true;
        self
    }

    /// The same for number `index` of a bundle.
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
