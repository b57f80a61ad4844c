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

/// Properties of a run.
#[derive(Default)]
pub(crate) struct Properties {
    always: Vec<(String, Holds)>,
    eventually: Vec<Awaited>,
    at_end: Vec<(String, Explains)>,
    /// True after the faults have ceased.
    is_calm: bool,
}

/// A property that must become true at some time, after the faults have ceased.
struct Awaited {
    name: String,
    /// Time limit for the property, from the moment at which the faults have ceased.
    within: Nanos,
    holds: Holds,
    held: bool,
}

/// A property that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The name of the property.
    pub property: String,
    /// An explanation, which may be empty.
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

    /// Checks the properties after a step that has recorded facts.
    pub(crate) fn check_step(&mut self, facts: &Facts) -> Result<(), Broken> {
        for (name, holds) in &mut self.always {
            check(name, Kind::Always, || holds(facts))?;
        }
        if self.is_calm {
            self.check_calm(facts)?;
        }
        Ok(())
    }

    /// Records that the faults have ceased, and checks the properties that must become true at some
    /// time.
    pub(crate) fn begin_calm(&mut self, facts: &Facts) -> Result<(), Broken> {
        self.is_calm = true;
        self.check_calm(facts)
    }

    /// Checks the properties that must become true at some time. Records which of these properties
    /// hold now.
    fn check_calm(&mut self, facts: &Facts) -> Result<(), Broken> {
        for awaited in self.eventually.iter_mut().filter(|awaited| !awaited.held) {
            let holds = &mut awaited.holds;
            awaited.held = caught(|| holds(facts)).map_err(|why| Broken {
                property: awaited.name.clone(),
                why,
                kind: Kind::Eventually,
            })?;
        }
        Ok(())
    }

    /// Returns the longest time limit of the properties that must become true but have not been
    /// true yet.
    pub(crate) fn awaited(&self) -> Option<Nanos> {
        let open = self.eventually.iter().filter(|awaited| !awaited.held);
        open.map(|awaited| awaited.within).max()
    }

    /// Returns an error if a property that must become true has not been true since the faults have
    /// ceased.
    pub(crate) fn check_awaited(&self) -> Result<(), Broken> {
        match self.eventually.iter().find(|awaited| !awaited.held) {
            None => Ok(()),
            Some(awaited) => Err(Broken {
                property: awaited.name.clone(),
                why: String::new(),
                kind: Kind::Eventually,
            }),
        }
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
