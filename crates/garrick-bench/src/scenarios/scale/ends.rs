//! Ends of small systems beside many actors of another system.

use garrick::{Actor, Context, Local};
use garrick_measure::{Clock, Effort, Measured, Result, Scenario, Stopwatch};

use super::{Counted, Tally, sized};

pub(crate) const ENDS: Scenario = Scenario {
    name: "scale-ends",
    operation: "one system with one actor that is created, and ends together with its actor, on a \
                thread where another system has size idle actors",
    contenders: |effort: &Effort| sized(effort, &[1_000, 10_000, 100_000, 1_000_000], ended),
};

/// Number of systems in a measurement.
pub(super) const SYSTEMS: u64 = 100;

/// An actor that waits for messages until its system ends.
struct Waits(Counted);

impl Actor for Waits {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) {
        let _ = &self.0;
    }
}

fn ended(size: u64) -> Result<Measured> {
    let others = Local::new()?;
    let others_dropped = Tally::default();
    let crowd: Vec<_> = (0..size)
        .map(|_| others.spawn(Waits(Counted(others_dropped.clone()))))
        .collect();
    others.run();
    let dropped = Tally::default();
    let stopwatch = Stopwatch::start(Clock::Thread);
    for _ in 0..SYSTEMS {
        let local = Local::new()?;
        let actor = local.spawn(Waits(Counted(dropped.clone())));
        actor.send(())?;
        local.run();
        drop(local);
        assert!(actor.is_stopped());
    }
    let span = stopwatch.stop();
    assert_eq!(dropped.get(), SYSTEMS, "each system ends its actor");
    assert_eq!(others_dropped.get(), 0, "the other system goes on");
    drop((others, crowd));
    Ok(Measured::new(SYSTEMS, span))
}
