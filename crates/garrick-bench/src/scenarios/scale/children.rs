//! Many children of one supervisor.

use std::time::Duration;

use garrick::supervise::{Restart, Strategy, SuperviseError, Supervisor};
use garrick::{Actor, Address, Context, Local, Next};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::{Tally, sized};

pub(crate) const CHILDREN: Scenario = Scenario {
    name: "scale-children",
    operation: "one of size children of a supervisor, on one thread: all children are started, all \
                fail at the same time, each is restarted unless it is temporary, and all are \
                stopped; with a strategy that restarts all children when one fails, only the \
                oldest child fails",
    contenders,
};

const SIZES: [u64; 3] = [1_000, 10_000, 100_000];

const STRATEGIES: [(&str, Strategy); 3] = [
    ("one for one", Strategy::OneForOne),
    ("one for all", Strategy::OneForAll),
    ("rest for one", Strategy::RestForOne),
];

fn contenders(effort: &Effort) -> Vec<Contender> {
    let mut rows = Vec::new();
    for (name, strategy) in STRATEGIES {
        for restart in [Restart::Permanent, Restart::Temporary] {
            let sized = sized(effort, &SIZES, move |size| failed(size, strategy, restart));
            let is_temporary = restart == Restart::Temporary;
            let tell = |row: Contender| row.with("strategy", name).with("temporary", is_temporary);
            rows.extend(sized.into_iter().map(tell));
        }
    }
    rows
}

/// An actor that fails for every message.
struct Failing;

impl Actor for Failing {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) -> Next {
        cx.fail("as told")
    }
}

fn failed(size: u64, strategy: Strategy, restart: Restart) -> Result<Measured> {
    let local = Local::new()?;
    let made = Tally::default();
    let stopwatch = Stopwatch::start(Clock::Thread);
    let tree = Supervisor::new("tree", strategy)
        .intensity(usize::MAX, Duration::from_secs(1))
        .spawn(&local.handle())?;
    let start = |number: u64| {
        let made = made.clone();
        let child = local.actor(move || {
            made.count();
            Failing
        });
        let child = child.named(number.to_string()).supervised_by(&tree);
        child.restart(restart).spawn()
    };
    let started: std::result::Result<Vec<Address<()>>, SuperviseError> =
        (0..size).map(start).collect();
    let children = started?;
    local.run();
    assert_eq!(made.get(), size, "every child is started");
    let is_temporary = restart == Restart::Temporary;
    let each = strategy == Strategy::OneForOne || is_temporary;
    for child in children.iter().take(if each { children.len() } else { 1 }) {
        child.send(())?;
    }
    local.run();
    let again = if is_temporary { 0 } else { size };
    assert_eq!(
        made.get(),
        size + again,
        "each child that is not temporary is restarted once"
    );
    drop(tree.stop());
    local.run();
    let span = stopwatch.stop();
    assert!(tree.is_stopped());
    Ok(Measured::new(size, span))
}
