//! Circles of questions. A circle is a list of kinds of tasks that wait for each other's answers.
//! The list is stored as a number, which is small enough to be a part of an error.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A circle of tasks that are waiting for each other's answers. No task answers before it has the
/// answer of the next task. So without a timeout, all of them wait forever.
///
/// A `Circle` is stored as a number: the index of an entry in a table. The entry contains the names
/// of the circle's tasks, and is kept until the process exits. Equal circles share one entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Circle(u16);

/// The kinds of the tasks in a circle. Each task asks the next one in the list.
type Names = Arc<[&'static str]>;

/// All circles that were ever created.
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
    /// Returns the circle in which each task of `names` asks the next one, and the last task asks
    /// the first. Returns `None` if the circle is new, and 65,536 circles already exist.
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

    /// Returns the names of the tasks in the circle. Each task asks the next one, and the last task
    /// asks the first.
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
