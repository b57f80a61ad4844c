//! Properties that a simulation checks.

use std::fmt;
use std::time::Duration;

use garrick_core::quiet;
use garrick_sched::Nanos;

use crate::facts::Facts;

/// Function that returns true if a property holds.
type Holds = Box<dyn FnMut(&Facts) -> bool>;

/// Function that checks a property at the end of the run. If the property does not hold, the error
/// explains why.
type Explains = Box<dyn FnOnce(&Facts) -> Result<(), String>>;

/// The properties that a run must have.
#[derive(Default)]
pub(crate) struct Properties {
    always: Vec<(String, Holds)>,
    eventually: Vec<Awaited>,
    at_end: Vec<(String, Explains)>,
    phase: Phase,
}

/// The parts of a run, in their order.
#[derive(Debug, Clone, Copy, Default)]
enum Phase {
    /// Faults are possible.
    #[default]
    Faulty,
    /// The faults have ceased. The time limits of properties have not begun.
    Repairing,
    /// The faults have ceased, and the time limits have begun at this time.
    Calm(Nanos),
}

/// A property that must become true at some time, after the faults have ceased.
struct Awaited {
    name: String,
    /// Time limit for the property. This time is counted from the beginning of [`Phase::Calm`].
    within: Nanos,
    holds: Holds,
    held: bool,
}

/// A property that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The name of the property.
    pub property: String,
    /// The reason why the property does not hold. May be empty.
    pub why: String,
    /// The kind of the property.
    pub kind: Kind,
}

/// Kinds of properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A property that must hold after each step.
    Always,
    /// A property that must become true at some time, after the faults have ceased.
    Eventually,
    /// A property that must hold at the end of the run.
    AtEnd,
    /// The property that no actor or stage fails, except for failures that the simulation causes.
    NoFailure,
}

impl Broken {
    /// Returns true if both values name the same property.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.property == other.property && self.kind == other.kind
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let property = &self.property;
        match self.kind {
            Kind::Always => write!(f, "\"{property}\" does not always hold")?,
            Kind::Eventually => write!(f, "\"{property}\" never came true")?,
            Kind::AtEnd => write!(f, "\"{property}\" does not hold at the end")?,
            Kind::NoFailure => write!(f, "{property} failed")?,
        }
        if self.why.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", self.why)
    }
}

impl Properties {
    pub(crate) fn add_always(&mut self, name: String, holds: Holds) {
        self.always.push((name, holds));
    }

    pub(crate) fn add_eventually(&mut self, name: String, within: Duration, holds: Holds) {
        self.eventually.push(Awaited {
            name,
            within: garrick_sched::nanos(within),
            holds,
            held: false,
        });
    }

    pub(crate) fn add_at_end(
        &mut self,
        name: String,
        check: impl FnOnce(&Facts) -> Result<(), String> + 'static,
    ) {
        self.at_end.push((name, Box::new(check)));
    }

    /// Checks the properties at the time `now`, after a step that has recorded facts.
    pub(crate) fn check_step(&mut self, facts: &Facts, now: Nanos) -> Result<(), Broken> {
        for (name, holds) in &mut self.always {
            check(name, Kind::Always, || holds(facts))?;
        }
        self.check_calm(facts, now)
    }

    /// Records that the faults have ceased, and checks the properties that must become true at some
    /// time.
    pub(crate) fn begin_calm(&mut self, facts: &Facts, now: Nanos) -> Result<(), Broken> {
        self.phase = Phase::Repairing;
        self.check_calm(facts, now)
    }

    /// Begins the time limits of the properties that must become true.
    pub(crate) fn begin_limits(&mut self, now: Nanos) {
        self.phase = Phase::Calm(now);
    }

    /// If the faults have ceased, checks the properties that must become true at some time and
    /// whose time limits have not passed. Records which of these properties hold now.
    fn check_calm(&mut self, facts: &Facts, now: Nanos) -> Result<(), Broken> {
        let phase = self.phase;
        if matches!(phase, Phase::Faulty) {
            return Ok(());
        }
        let awaited = self.eventually.iter_mut();
        for awaited in awaited.filter(|awaited| !awaited.held && !awaited.is_overdue(phase, now)) {
            let holds = &mut awaited.holds;
            awaited.held = caught(|| holds(facts)).map_err(|why| Broken {
                property: awaited.name.clone(),
                why,
                kind: Kind::Eventually,
            })?;
        }
        Ok(())
    }

    /// Returns true if a property that must become true has not been true since the faults have
    /// ceased.
    pub(crate) fn awaits_any(&self) -> bool {
        self.eventually.iter().any(|awaited| !awaited.held)
    }

    /// Returns an error if the time limit of a property has passed at the time `now`, and the
    /// property was never true within the limit. If there are several such properties, the error
    /// names the one whose limit passed first.
    pub(crate) fn check_overdue(&self, now: Nanos) -> Result<(), Broken> {
        let awaited = self.eventually.iter().filter(|awaited| !awaited.held);
        let overdue = awaited.filter(|awaited| awaited.is_overdue(self.phase, now));
        never_true(overdue.min_by_key(|awaited| awaited.within), |awaited| {
            let limit = Duration::from_nanos(awaited.within);
            format!("its time limit of {limit:?} has passed")
        })
    }

    /// Returns an error if a property that must become true has not been true since the faults have
    /// ceased.
    pub(crate) fn check_awaited(&self) -> Result<(), Broken> {
        let mut awaited = self.eventually.iter();
        never_true(awaited.find(|awaited| !awaited.held), |_| String::new())
    }

    /// Checks the properties that must hold at the end of a run.
    pub(crate) fn check_end(&mut self, facts: &Facts) -> Result<(), Broken> {
        for (name, holds) in self.at_end.drain(..) {
            let result = caught(|| holds(facts)).and_then(|result| result);
            result.map_err(|why| Broken {
                property: name,
                why,
                kind: Kind::AtEnd,
            })?;
        }
        Ok(())
    }
}

impl Awaited {
    /// Returns true if the time limit has passed at the time `now`.
    fn is_overdue(&self, phase: Phase, now: Nanos) -> bool {
        matches!(phase, Phase::Calm(since) if now > since.saturating_add(self.within))
    }
}

/// Returns the error for the property `awaited`, which has not become true. `why` returns the
/// explanation for the error. Returns `Ok` if `awaited` is `None`.
fn never_true(
    awaited: Option<&Awaited>,
    why: impl FnOnce(&Awaited) -> String,
) -> Result<(), Broken> {
    awaited.map_or(Ok(()), |awaited| {
        Err(Broken {
            property: awaited.name.clone(),
            why: why(awaited),
            kind: Kind::Eventually,
        })
    })
}

fn check(name: &str, kind: Kind, holds: impl FnOnce() -> bool) -> Result<(), Broken> {
    let why = match caught(holds) {
        Ok(true) => return Ok(()),
        Ok(false) => String::new(),
        Err(why) => why,
    };
    Err(Broken {
        property: name.to_owned(),
        why,
        kind,
    })
}

/// Calls the code of a property. If the code panics, returns the panic message as an error.
fn caught<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    quiet::call(f).map_err(|panic| format!("the property panicked: {}", panic.message()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    /// Returns one property for each of the time limits `within`, and a flag that makes all these
    /// properties true. All time limits begin at 100 ns.
    fn limited(within: &[u64]) -> (Properties, Rc<Cell<bool>>) {
        let mut properties = Properties::default();
        let is_true = Rc::new(Cell::new(false));
        for within in within {
            let is_true = Rc::clone(&is_true);
            properties.add_eventually(
                format!("within {within}"),
                Duration::from_nanos(*within),
                Box::new(move |_| is_true.get()),
            );
        }
        properties.begin_calm(&Facts::default(), 90).unwrap();
        properties.begin_limits(100);
        (properties, is_true)
    }

    #[test]
    fn a_property_may_become_true_at_the_end_of_its_limit_and_not_later() {
        let (mut properties, is_true) = limited(&[10]);
        is_true.set(true);
        properties.check_overdue(110).unwrap();
        properties.check_step(&Facts::default(), 110).unwrap();
        assert!(!properties.awaits_any());
        properties.check_overdue(111).unwrap();

        let (mut properties, is_true) = limited(&[10]);
        is_true.set(true);
        properties.check_step(&Facts::default(), 111).unwrap();
        assert!(properties.awaits_any());
        let broken = properties.check_overdue(111).unwrap_err();
        assert_eq!(
            broken.to_string(),
            "\"within 10\" never came true: its time limit of 10ns has passed"
        );
    }

    #[test]
    fn the_property_whose_limit_passed_first_is_named() {
        let (properties, _) = limited(&[20, 10, 30]);
        let broken = properties.check_overdue(125).unwrap_err();
        assert_eq!(broken.property, "within 10");
        let broken = properties.check_awaited().unwrap_err();
        assert_eq!((&*broken.property, &*broken.why), ("within 20", ""));
    }
}
