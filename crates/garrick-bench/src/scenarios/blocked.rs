//! One actor that blocks its worker while other actors are ready to run.

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
    operation: "the time until 999 actors are done: one turn makes them and one more actor ready \
                on a pool of 2 workers, and that actor blocks its worker for 200 ms; blocker is \
                the position of the blocking actor in the order of sending",
    contenders,
};

const ACTORS: usize = 1000;

const WORKERS: usize = 2;

/// Time for which the blocking actor blocks.
const BLOCK: Duration = Duration::from_millis(200);

/// Measured positions of the blocking actor, each with its name. The actors get their messages one
/// after another, in the order of their positions.
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

/// An actor that becomes ready to run when it gets its only message. One of these actors blocks.
struct Ready {
    /// True for the actor that blocks.
    blocks: bool,
    /// Number of non-blocking actors that are not done yet. Each such actor subtracts 1 when it is
    /// done.
    left: Arc<AtomicUsize>,
    /// Sender for the notification that the last non-blocking actor is done.
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
        // AcqRel: the decrements of all actors pair with each other, so the last actor's turn
        // happens after the turns of all others.
        if self.left.fetch_sub(1, AcqRel) == 1 {
            return sent(&self.done.send(()));
        }
        Next::Continue
    }
}

/// An actor that creates other actors in its first turn, and sends a message to each of them in its
/// second turn.
struct Starter {
    /// Actors that the first turn created.
    ready: Vec<Address<()>>,
    /// Index of the actor that blocks.
    place: usize,
    /// Sender for two notifications: the first turn of this actor has run, and the last
    /// non-blocking actor is done.
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
