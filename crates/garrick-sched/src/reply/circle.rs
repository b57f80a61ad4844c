//! Circles of questions: the kinds of tasks in them, by a number that is small enough for an error.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tasks that wait for one another's answers, and so for ever: each of them holds its own answer back until it has
/// the next one's.
///
/// It is a number; the names that belong to it are kept for as long as the process lives, once for each different
/// circle.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Circle(u16);

/// The kinds of a circle's tasks, in the order in which they ask.
type Names = Arc<[&'static str]>;

/// All circles that there were.
struct Circles {
    by_number: Vec<Names>,
    numbers: BTreeMap<Names, u16>,
}

static CIRCLES: Mutex<Circles> = Mutex::new(Circles {
    by_number: Vec::new(),
    numbers: BTreeMap::new(),
});

fn circles() -> MutexGuard<'static, Circles> {
    CIRCLES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Circle {
    /// The circle of tasks of these kinds: each asks the next, and the last one the first. None if there were more
    /// than 65,536 different ones before.
    ///
    /// # Examples
    /// ```
    /// let circle = garrick_sched::Circle::of(&["app::Stock", "app::Orders"]).unwrap();
    /// assert_eq!(circle.to_string(), "app::Stock -> app::Orders -> app::Stock");
    /// ```
    #[doc(hidden)]
    pub fn of(names: &[&'static str]) -> Option<Self> {
        let mut circles = circles();
        if let Some(known) = circles.numbers.get(names) {
            return Some(Self(*known));
        }
        let number = u16::try_from(circles.by_number.len()).ok()?;
        let names: Names = names.into();
        circles.by_number.push(names.clone());
        circles.numbers.insert(names, number);
        Some(Self(number))
    }

    /// The kinds of the tasks, in the order in which they ask.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        circles().by_number[usize::from(self.0)].to_vec()
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        for name in &names {
            write!(f, "{name} -> ")?;
        }
        f.write_str(names.first().copied().unwrap_or_default())
    }
}

impl fmt::Debug for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Circle").field(&self.names()).finish()
    }
}
