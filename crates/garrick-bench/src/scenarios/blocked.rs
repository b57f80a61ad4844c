//! One actor that blocks its worker, while others are ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use garrick::{Actor, Address, Context, Next, System};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{send_in, sent};

pub(super) const BLOCKED: Scenario = Scenario {
    name: "blocked",
    operation: "1000 actors are made ready by one turn on a pool of 2 workers, and one of them blocks its \
                worker for 200 ms: the time until all 999 others are done; blocker is its place among them",
    contenders,
};

const ACTORS: usize = 1000;

const WORKERS: usize = 2;

/// How long the one actor blocks.
const BLOCK: Duration = Duration::from_millis(200);

/// Where the one stands in the order in which they are sent to.
const PLACES: [(&str, usize); 3] = [("first", 0), ("middle", ACTORS / 2), ("last", ACTORS - 1)];

fn contenders(effort: &Effort) -> Vec<Contender> {
    let rounds = effort.pick(11, 3);
    let at = |(name, place): (&str, usize)| {
        Contender::fixed("garrick", move || blocked(place))
            .with("actors", ACTORS)
            .with("workers", WORKERS)
            .with("blocker", name)
            .with("block_ms", BLOCK.as_millis() as u64)
            .rounds(rounds)
    };
    PLACES.into_iter().map(at).collect()
}

/// One of the ready actors.
struct Ready {
    /// Whether it is the one that blocks.
    blocks: bool,
    /// The others that are not done yet. Every other counts itself off.
    left: Arc<AtomicUsize>,
    /// Whom the last of the others tells.
    done: mpsc::Sender<()>,
}

impl Actor for Ready {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        if self.blocks {
            thread::sleep(BLOCK);
            return Next::Continue;
        }
        // AcqRel: pairs with itself in the other actors; the last one has all of them behind it.
        if self.left.fetch_sub(1, AcqRel) == 1 {
            return sent(&self.done.send(()));
        }
        Next::Continue
    }
}

/// Makes the actors in its first turn, and sends to all of them in its second.
struct Starter {
    /// The actors, once made.
    ready: Vec<Address<()>>,
    /// Which of them blocks.
    place: usize,
    /// Whom the last of the others tells, and the starter after its first turn.
    done: mpsc::Sender<()>,
}

impl Actor for Starter {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) -> Next {
        if self.ready.is_empty() {
            let left = Arc::new(AtomicUsize::new(ACTORS - 1));
            let ready = |index| Ready {
                blocks: index == self.place,
                left: left.clone(),
                done: self.done.clone(),
            };
            self.ready = (0..ACTORS).map(|index| cx.spawn(ready(index))).collect();
            return sent(&self.done.send(()));
        }
        sent(&self.ready.iter().try_for_each(|ready| cx.send(ready, ())))
    }
}

fn blocked(place: usize) -> Result<Measured> {
    let system = System::builder().workers(WORKERS).start()?;
    let (done, waiting) = mpsc::channel();
    let starter = system.spawn(Starter {
        ready: Vec::new(),
        place,
        done,
    })?;
    send_in(&starter, ());
    waiting.recv()?;
    let watch = Stopwatch::start(Clock::Process);
    send_in(&starter, ());
    waiting.recv()?;
    Ok(Measured::new(1, watch.stop()))
}
