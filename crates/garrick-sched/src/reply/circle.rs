//! Circles of questions: the kinds of tasks in them, by a number that is small enough for an error.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tasks that wait for one another's answers, and so for ever: each of them holds its own answer back until it has
/// the next one's.
///
/// It is a number; the names that belong to it are kept for as long as the process lives, once for each different
/// circle.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Circle(u16);

/// All circles that there were, each as the kinds of its tasks in the order in which they ask.
static CIRCLES: Mutex<Vec<Vec<&'static str>>> = Mutex::new(Vec::new());

fn circles() -> MutexGuard<'static, Vec<Vec<&'static str>>> {
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
        let known = circles.iter().position(|circle| circle == names);
        let number = u16::try_from(known.unwrap_or(circles.len())).ok()?;
        if known.is_none() {
            circles.push(names.to_vec());
        }
        Some(Self(number))
    }

    /// The kinds of the tasks, in the order in which they ask.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        circles()[usize::from(self.0)].clone()
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
