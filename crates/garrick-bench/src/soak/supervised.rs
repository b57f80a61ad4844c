//! Work of a soak: actors that fail and are restarted by their supervisor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick::supervise::{Shutdown, Strategy, Supervisor, Tree};
use garrick::{Actor, Address, Ask, Context, Handle, Next, Reply, System};
use garrick_measure::Result;

use super::part::{PATIENCE, Part, same};

/// Number of children of the supervisor.
const CHILDREN: u64 = 16;

/// Number of messages that each child handles in a round.
const MESSAGES: u64 = 60;

/// Number of failures of each child in a round. Each failure is caused by an additional message.
const FAILURES: u64 = 4;

pub(super) struct Supervised {
    tree: Tree,
    children: Vec<Address<Msg>>,
    counts: Arc<Counts>,
    rounds: u64,
    /// Questions to the children, one for each child. A child answers after it has handled all its
    /// other messages.
    ends: Vec<Ask<()>>,
}

/// Counts of created children and of handled messages. The thread that sends to the children reads
/// the counts after all children have answered.
#[derive(Default)]
struct Counts {
    made: AtomicU64,
    handled: AtomicU64,
}

impl Supervised {
    pub(super) fn new(system: &System) -> Result<Self> {
        let tree = Supervisor::new("soak", Strategy::OneForOne)
            .intensity(usize::MAX, Duration::from_secs(1))
            .spawn(&system.handle())?;
        let counts = Arc::new(Counts::default());
        let mut children = Vec::new();
        for number in 0..CHILDREN {
            let counts = counts.clone();
            let child = system.actor(move || {
                counts.made.fetch_add(1, Relaxed);
                Worker(counts.clone())
            });
            let child = child.named(format!("worker-{number}")).supervised_by(&tree);
            children.push(child.shutdown(Shutdown::DrainAll).spawn()?);
        }
        Ok(Self {
            tree,
            children,
            counts,
            rounds: 0,
            ends: Vec::new(),
        })
    }
}

impl Part for Supervised {
    fn name(&self) -> &'static str {
        "supervised actors"
    }

    fn begin(&mut self, _: &Handle) -> Result<()> {
        self.rounds += 1;
        for child in &self.children {
            for message in 0..MESSAGES {
                child.send(Msg::Work)?;
                if message % (MESSAGES / FAILURES) == 0 {
                    child.send(Msg::Fail)?;
                }
            }
        }
        self.ends.clear();
        let ends = self.children.iter().map(|child| child.ask(Msg::IsDone));
        self.ends.extend(ends);
        Ok(())
    }

    fn end(&mut self) -> Result<u64> {
        for end in self.ends.drain(..) {
            end.wait_timeout(PATIENCE)
                .map_err(|why| format!("a child did not answer: {why}"))?;
        }
        let handled = self.counts.handled.load(Relaxed);
        same(
            "messages handled",
            handled,
            self.rounds * CHILDREN * MESSAGES,
        )?;
        let made = self.counts.made.load(Relaxed);
        let expected = CHILDREN + self.rounds * CHILDREN * FAILURES;
        same("children started and restarted", made, expected)?;
        Ok(CHILDREN * (MESSAGES + FAILURES))
    }

    fn stop(&mut self) -> Result<()> {
        self.tree
            .stop()
            .wait_timeout(PATIENCE)
            .map_err(|why| format!("the supervisor did not stop: {why}"))?;
        if self.children.iter().all(Address::is_stopped) {
            Ok(())
        } else {
            Err("a child is still running after its supervisor has stopped".into())
        }
    }
}

enum Msg {
    Work,
    Fail,
    IsDone(Reply<()>),
}

struct Worker(Arc<Counts>);

impl Actor for Worker {
    type Msg = Msg;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Work => {
                self.0.handled.fetch_add(1, Relaxed);
            }
            Msg::Fail => return cx.fail("as told"),
            Msg::IsDone(reply) => reply.send(()),
        }
        Next::Continue
    }
}
