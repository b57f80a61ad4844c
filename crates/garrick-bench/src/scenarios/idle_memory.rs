//! Memory use of an idle actor.
//!
//! The state of each actor is 8 bytes: the address of the actor created before it. These addresses
//! keep the actors alive, so there is no list of addresses whose memory would have to be
//! subtracted. The growth of the process is the memory of the actors alone. The growth is measured
//! in a new process, where no earlier scenario has left memory that could be reused.

use std::sync::mpsc;

use garrick::{Actor, Address, Context, Local, Next};
use garrick_measure::{
    Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch, resident_bytes,
};

use super::actors::{send_in, sent};
use super::child;

pub(crate) const IDLE_MEMORY: Scenario = Scenario {
    name: "idle-memory",
    operation: "one actor with 8 bytes of state that is spawned, has handled one message, and is \
                idle; bytes_per_actor is the growth of a fresh process's resident memory per \
                actor, everything included, with all actors alive at the same time; the state of \
                each actor is the address of the previous actor, so there is no list of addresses",
    contenders,
};

/// Number of actors in a full run.
const ACTORS: u64 = 33_000_000;

/// Number of actors in a quick run.
const ACTORS_QUICK: u64 = 1_000_000;

/// Number of actors that are spawned in one turn.
const LITTER: u64 = 64;

/// Hidden subcommand with which this scenario starts its child process.
pub(crate) const CHILD: &str = "measure-idle-memory";

fn contenders(effort: &Effort) -> Vec<Contender> {
    let actors = effort.pick(ACTORS, ACTORS_QUICK);
    vec![
        Contender::fixed("garrick", move || in_child(actors))
            .with("actors", actors)
            .rounds(effort.pick(1, 3)),
    ]
}

/// Runs [`in_this_process`] in a new process.
fn in_child(actors: u64) -> Result<Measured> {
    child::measured(CHILD, &[actors])
}

struct Idler {
    /// Address of the actor that was created before this one. The address keeps that actor alive,
    /// and is never read.
    _before: Option<Address<()>>,
}

impl Actor for Idler {
    type Msg = ();
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) {}
}

/// An actor that spawns idle actors in several turns. Each message contains the number of remaining
/// turns.
pub(super) struct Crowd {
    /// The actor that was created last.
    last: Option<Address<()>>,
    /// Sender for a notification after the last turn.
    done: mpsc::Sender<()>,
}

impl Crowd {
    /// Creates an actor that begins to spawn idle actors at its first message.
    pub(super) fn new(done: mpsc::Sender<()>) -> Self {
        Self { last: None, done }
    }

    /// Returns the number of turns that are needed to spawn at least this many actors.
    pub(super) fn turns_for(actors: u64) -> u64 {
        actors.div_ceil(LITTER)
    }
}

impl Actor for Crowd {
    type Msg = u64;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, turns_left: u64, cx: &mut Context<'_, u64>) -> Next {
        for _ in 0..LITTER {
            let idler = cx.spawn(Idler {
                _before: self.last.take(),
            });
            if cx.send(&idler, ()).is_err() {
                return Next::Stop;
            }
            self.last = Some(idler);
        }
        if turns_left == 1 {
            return sent(&self.done.send(()));
        }
        sent(&cx.send(&cx.address(), turns_left - 1))
    }
}

/// Creates at least `actors` idle actors in this process. Measures the time, and the additional
/// resident memory for each actor. The scenario `idle-memory` of `garrick bench` calls this
/// function in a new process.
///
/// # Errors
/// Fails if actors cannot run on this thread, or if the system does not report the resident memory.
///
/// # Examples
/// ```
/// let measured = garrick_bench::idle_memory(10_000)?;
/// assert!(measured.ops >= 10_000 && measured.bytes_per_actor.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn in_this_process(actors: u64) -> Result<Measured> {
    let turns = Crowd::turns_for(actors);
    let local = Local::new()?;
    let (done, waiting) = mpsc::channel();
    let crowd = local.spawn(Crowd::new(done));
    let before = resident_bytes()?;
    let watch = Stopwatch::start(Clock::Thread);
    send_in(&crowd, turns);
    local.run();
    let span = watch.stop();
    waiting.try_recv()?;
    let grown = resident_bytes()?.saturating_sub(before);
    let mut measured = Measured::new(turns * LITTER, span);
    measured.bytes_per_actor = Some(grown as f64 / measured.ops as f64);
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_actors_state_is_8_bytes() {
        assert_eq!(size_of::<Idler>(), 8);
    }

    #[test]
    fn as_many_actors_are_made_as_asked_for() {
        let measured = in_this_process(200_000).unwrap();
        assert_eq!(measured.ops, 200_000);
        // The amount is only meaningful in a process without other tests.
        assert!(measured.bytes_per_actor.is_some_and(f64::is_finite));
    }
}
