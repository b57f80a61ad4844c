//! Many watchers of one actor.

use garrick::{Actor, Context, Local, Next};
use garrick_measure::{Clock, Effort, Measured, Result, Scenario, Stopwatch};

use super::{Tally, sized};

pub(crate) const WATCHERS: Scenario = Scenario {
    name: "scale-watchers",
    operation: "one of size watches of one actor, on one thread: it is set, and is notified when \
                the actor stops",
    contenders: |effort: &Effort| sized(effort, &[1_000, 10_000, 100_000, 1_000_000], watched),
};

struct Watched;

impl Actor for Watched {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        Next::Stop
    }
}

fn watched(size: u64) -> Result<Measured> {
    let local = Local::new()?;
    let (actor, told) = (local.spawn(Watched), Tally::default());
    let stopwatch = Stopwatch::start(Clock::Thread);
    for _ in 0..size {
        let told = told.clone();
        actor.watch(move |_| told.count());
    }
    actor.send(())?;
    local.run();
    let span = stopwatch.stop();
    assert_eq!(told.get(), size, "every watch is notified");
    Ok(Measured::new(size, span))
}
