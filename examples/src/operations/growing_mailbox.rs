//! A website whose pages send 5,000 records per second to an actor that can write only 1,000
//! records per second.

use std::error::Error;
use std::thread;
use std::time::Duration;

use garrick::telemetry::{Snapshot, Telemetry};
use garrick::{Actor, Address, Context, SendError, System};

use super::program::{Clients, Program};
use super::seen;

/// Number of pages. Each page is an actor.
const PAGES: usize = 100;

/// Time between two groups of visits. The next constant is the number of visits in a group.
const PERIOD: Duration = Duration::from_millis(10);
const VISITS: usize = 50;

/// Number of groups after which the visits end, so that the program does not use all memory.
const GROUPS_MAX: u64 = 20_000;

/// Time that the disk takes for each record.
const DISK: Duration = Duration::from_millis(1);

/// A visit to a page, with the number of the visitor.
#[derive(Debug, Clone, Copy)]
struct Visit(usize);

/// A page: an actor that sends each visit to the log.
struct Page(Address<Visit>);

impl Actor for Page {
    type Msg = Visit;
    type Outcome = Result<(), SendError<Visit>>;

    fn receive(&mut self, visit: Visit, cx: &mut Context<'_, Visit>) -> Self::Outcome {
        cx.send(&self.0, visit)
    }
}

/// An actor that writes visits to a slow disk.
#[derive(Default)]
struct AuditLog {
    checksum: usize,
}

impl Actor for AuditLog {
    type Msg = Visit;
    type Outcome = ();

    fn receive(&mut self, visit: Visit, _: &mut Context<'_, Visit>) {
        thread::sleep(DISK);
        self.checksum ^= visit.0;
    }
}

pub(super) fn start(telemetry: &Telemetry) -> Result<Program, Box<dyn Error>> {
    let system = System::builder().name("website").workers(2).probes(true);
    let system = system.start()?;
    telemetry.watch(system.handle());
    let log = system.actor(AuditLog::default()).named("audit-log");
    let log = log.spawn()?;
    let page = |_| system.spawn(Page(log.clone()));
    let pages: Vec<_> = (0..PAGES).map(page).collect::<Result<_, _>>()?;
    let clients = Clients::every(PERIOD, move |group| {
        if group >= GROUPS_MAX {
            return;
        }
        for visitor in group as usize * VISITS..(group as usize + 1) * VISITS {
            // After the end of the system, there are no pages.
            let _ = pages[visitor % PAGES].send(Visit(visitor));
        }
    });
    Ok(Program::of((clients, system)))
}

pub(super) fn found(seen: &Snapshot) -> Option<String> {
    let node = seen.nodes.iter().max_by_key(|node| node.longest)?;
    let alert = seen::alert(seen, node, "longest")?;
    let actor = seen.actors.iter().find(|actor| actor.node == node.id)?;
    Some(format!(
        "{alert} It is the mailbox of {}. It grows by {:.0} messages/s, and the actor handles \
         {:.0} messages/s.",
        actor.name, node.growth?, node.rate
    ))
}
