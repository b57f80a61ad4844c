//! Counts of dead letters, by the type of the receiver and by the reason.
//!
//! The counts are in a small hash table, which any worker writes and any thread reads. The key of a
//! type is the function that returns the name of the type. This function is foreign code, so it is
//! not called when a dead letter is counted. The table is created when the first dead letter is
//! counted.

use std::sync::OnceLock;

use garrick_core::prim::atomic::Ordering::Relaxed;
use garrick_core::prim::unmodelled::AtomicU64;

use crate::quiet;

/// Maximum number of places of the table that are checked in one search for a type. So at least
/// this number of receiver types are counted separately. Types for which the search finds no place
/// are counted together, under the name `others`.
const TYPES_MAX: usize = 64;

/// Number of places in the hash table: twice the number of types that are sure to get a place. So
/// searches are usually short.
const PLACES: usize = 2 * TYPES_MAX;

/// The reason why an accepted message was not handled, and so became a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LetterReason {
    /// The receiver had already stopped when the message arrived, or stopped before it handled the
    /// message.
    Stopped,
    /// The receiver failed before it handled the message.
    Failed,
    /// The sponsor (thread pool or thread) of the receiver shut down before the message was
    /// handled.
    ShutDown,
    /// The mailbox of the receiver was full.
    Full,
    /// The code that had received the message discarded it, for example because the code could not
    /// forward the message, or because a [door](crate::Door) panicked.
    Discarded,
}

impl LetterReason {
    /// All reasons why a message can become a dead letter.
    const ALL: [Self; 5] = [
        Self::Stopped,
        Self::Failed,
        Self::ShutDown,
        Self::Full,
        Self::Discarded,
    ];

    /// Returns the name of the reason why messages were not handled, for example `shut_down`.
    /// Metrics use this name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::ShutDown => "shut_down",
            Self::Full => "full",
            Self::Discarded => "discarded",
        }
    }
}

/// Names that can stand for all types or kinds that are counted together.
const OTHERS: [&str; 2] = ["others", "others that are counted together"];

/// Returns a name for all types or kinds that are counted together. A type can have any name, so
/// this is a name for which `is_taken` returns false, if possible.
pub(crate) fn name_of_others(is_taken: impl Fn(&str) -> bool) -> &'static str {
    let free = OTHERS.into_iter().find(|name| !is_taken(name));
    free.unwrap_or(OTHERS[0])
}

/// The number of dead letters for one type of receiver and one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LetterSample {
    /// Name of the receiver's type. If the message was lost before it reached a receiver, this is
    /// the name of the message's type.
    ///
    /// At least 64 types are counted separately. If there are more types, the dead letters of some
    /// types are counted together, under the name `others`.
    pub name: &'static str,
    /// Reason why the messages were not handled.
    pub reason: LetterReason,
    /// Number of dead letters for this type and this reason.
    pub count: u64,
}

/// A function that returns the name of a type.
pub(crate) type NameOf = fn() -> &'static str;

/// Dead letters for one type of receiver, counted by reason. Written by any worker, read by any
/// thread.
#[derive(Default)]
struct Place {
    /// Key of the type: the function that returns the type's name. Written once, when the first
    /// dead letter for the type is counted.
    name: OnceLock<NameOf>,
    counts: [AtomicU64; LetterReason::ALL.len()],
}

impl Place {
    fn add(&self, reason: LetterReason, count: u64) {
        self.counts[reason as usize].fetch_add(count, Relaxed);
    }

    /// Adds the counts to `samples` under the name `name`.
    fn add_to(&self, name: &'static str, samples: &mut Vec<LetterSample>) {
        for reason in LetterReason::ALL {
            let count = self.counts[reason as usize].load(Relaxed);
            if count == 0 {
                continue;
            }
            // The compiler may have created several functions that return the same name.
            let same = |known: &&mut LetterSample| (known.name, known.reason) == (name, reason);
            match samples.iter_mut().find(same) {
                Some(known) => known.count += count,
                None => samples.push(LetterSample {
                    name,
                    reason,
                    count,
                }),
            }
        }
    }
}

/// Counts of the dead letters of a sponsor (a group of workers).
#[derive(Default)]
pub(crate) struct Letters {
    total: AtomicU64,
    /// Hash table with open addressing. A place is never freed.
    places: OnceLock<Box<[Place; PLACES]>>,
    /// Counts of the dead letters for all types without a place in the table.
    others: Place,
}

impl Letters {
    /// Counts `count` dead letters for one type of receiver. The function `name` returns the name
    /// of this type.
    pub(crate) fn add(&self, name: NameOf, reason: LetterReason, count: u64) {
        self.total.fetch_add(count, Relaxed);
        self.place_of(name).add(reason, count);
    }

    /// Returns the number of all dead letters.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Relaxed)
    }

    fn place_of(&self, name: NameOf) -> &Place {
        let places = self
            .places
            .get_or_init(|| Box::new([const { Place::new() }; PLACES]));
        let key = name as usize;
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
        let hash = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = (hash >> 32) as usize % PLACES;
        let mut chain = (first..first + TYPES_MAX).map(|place| &places[place % PLACES]);
        let is_its = |place: &&Place| *place.name.get_or_init(|| name) as usize == key;
        chain.find(is_its).unwrap_or(&self.others)
    }

    /// Returns the counts, sorted by name and reason. Calls foreign code: the functions that return
    /// the names.
    pub(crate) fn sample(&self) -> Vec<LetterSample> {
        let mut samples = Vec::new();
        for place in self.places.get().into_iter().flat_map(|places| &**places) {
            if let Some(name) = place.name.get() {
                let name = quiet::call(name).unwrap_or("a type whose name panics");
                place.add_to(name, &mut samples);
            }
        }
        let is_taken = |name: &str| samples.iter().any(|sample| sample.name == name);
        let others = name_of_others(is_taken);
        self.others.add_to(others, &mut samples);
        samples.sort_unstable_by_key(|sample| (sample.name, sample.reason));
        samples
    }
}

impl Place {
    const fn new() -> Self {
        Self {
            name: OnceLock::new(),
            counts: [const { AtomicU64::new(0) }; LetterReason::ALL.len()],
        }
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use std::any::type_name;

    use super::*;

    struct Numbered<const N: usize>;

    fn add<const N: usize>(letters: &Letters) {
        letters.add(type_name::<Numbered<N>>, LetterReason::Full, 1);
    }

    #[test]
    fn letters_are_counted_by_type_and_by_reason() {
        let letters = Letters::default();
        assert!(letters.sample().is_empty());
        letters.add(type_name::<u8>, LetterReason::Stopped, 2);
        letters.add(type_name::<u8>, LetterReason::ShutDown, 5);
        letters.add(type_name::<u16>, LetterReason::Stopped, 1);
        letters.add(type_name::<u8>, LetterReason::Stopped, 1);
        let found: Vec<_> = letters
            .sample()
            .iter()
            .map(|sample| (sample.name, sample.reason.name(), sample.count))
            .collect();
        let expected = [
            ("u16", "stopped", 1),
            ("u8", "stopped", 3),
            ("u8", "shut_down", 5),
        ];
        assert_eq!(found, expected);
        assert_eq!(letters.total(), 9);
    }

    /// For each number `n` in the list, calls `add` for the ten types from number `10 * n` to
    /// number `10 * n + 9`.
    macro_rules! hundred {
        ($letters:expr; $($tens:literal)*) => {
            $(
                add::<{ $tens * 10 }>($letters);
                add::<{ $tens * 10 + 1 }>($letters);
                add::<{ $tens * 10 + 2 }>($letters);
                add::<{ $tens * 10 + 3 }>($letters);
                add::<{ $tens * 10 + 4 }>($letters);
                add::<{ $tens * 10 + 5 }>($letters);
                add::<{ $tens * 10 + 6 }>($letters);
                add::<{ $tens * 10 + 7 }>($letters);
                add::<{ $tens * 10 + 8 }>($letters);
                add::<{ $tens * 10 + 9 }>($letters);
            )*
        };
    }

    #[test]
    fn a_type_may_have_the_name_of_the_others() {
        let letters = Letters::default();
        letters.add(|| "others", LetterReason::Full, 1);
        letters.others.add(LetterReason::Full, 2);
        let samples = letters.sample();
        let counts: Vec<_> = samples.iter().map(|one| (one.name, one.count)).collect();
        assert_eq!(counts, [("others", 1), (OTHERS[1], 2)]);
    }

    #[test]
    fn any_number_of_types_takes_a_bounded_number_of_places() {
        let letters = Letters::default();
        hundred!(&letters; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
        let samples = letters.sample();
        assert!(samples.len() <= PLACES + 1, "{}", samples.len());
        assert!(samples.iter().any(|sample| sample.name == "others"));
        let sum: u64 = samples.iter().map(|sample| sample.count).sum();
        assert_eq!((sum, letters.total()), (200, 200));
    }
}
