//! Memory of an idle actor.
//!
//! Memory is measured as in `garrick bench`. The state of each actor is the address of the actor
//! created before it, and each crowd of actors lives in a fresh process. So the growth of that
//! process's resident memory is due to the actors alone.

use std::env;
use std::process::{Command, ExitCode};
use std::thread;

use garrick_bench::idle_memory;
use garrick_measure::{Contender, Effort, Measured, Result, Scenario, resident_bytes};

use super::framework::Framework;
use super::frameworks::{Actix, Kameo, Ractor, Tasks, Threads, Xtra};
use super::roles::{Idler, Tally};
use super::{measured, watch};

pub(crate) const IDLE_MEMORY: Scenario = Scenario {
    name: "idle-memory",
    operation: "one actor with 8 bytes of state, the address of the previous actor, that is \
                spawned, has handled one message, and is idle; bytes_per_actor is the growth of a \
                fresh process's resident memory per actor, everything included; an idle thread has \
                a stack of 64 KiB, of which only the touched part counts",
    contenders,
};

/// Hidden first argument of a process that creates a crowd of idle actors. The next arguments are
/// the name of a framework and the number of actors.
const CHILD: &str = "measure-idle-memory";

/// Panic message if the system does not report the resident memory.
const STATM: &str = "the system reports resident memory";

/// Number of actors that are spawned before the spawning code yields to them.
const LITTER: u64 = 64;

/// A function that creates idle actors in this process, and measures the growth of the process.
type Crowd = fn(u64) -> Result<Measured>;

/// The measured libraries. Each entry contains a name, a function that creates a crowd, and the
/// numbers of actors in a full run and in a quick run.
const CROWDS: [(&str, Crowd, u64, u64); 7] = [
    ("garrick", idle_memory, 10_000_000, 1_000_000),
    (Actix::NAME, crowd::<Actix>, 200_000, 32_000),
    (Ractor::NAME, crowd::<Ractor>, 200_000, 32_000),
    (Kameo::NAME, crowd::<Kameo>, 200_000, 32_000),
    (Xtra::NAME, crowd::<Xtra>, 200_000, 32_000),
    (Tasks::NAME, crowd::<Tasks>, 200_000, 32_000),
    (Threads::NAME, crowd::<Threads>, 3_200, 1_600),
];

fn contenders(effort: &Effort) -> Vec<Contender> {
    let contender = |(name, _, full, quick)| {
        let actors = effort.pick(full, quick);
        Contender::fixed(name, move || in_child(name, actors))
            .with("actors", actors)
            .rounds(3)
    };
    CROWDS.map(contender).into()
}

/// Creates a crowd of idle actors in a new process, and returns the measurement of their memory.
fn in_child(name: &str, actors: u64) -> Result<Measured> {
    let output = Command::new(env::current_exe()?)
        .args([CHILD, name, &actors.to_string()])
        .output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the process for idle-memory failed: {}", why.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Creates a crowd of idle actors if this process was started by [`in_child`], and returns the exit
/// code. Otherwise returns `None`.
pub(crate) fn child() -> Option<ExitCode> {
    let mut arguments = env::args().skip(1);
    if arguments.next()? != CHILD {
        return None;
    }
    let made = made_of(&arguments.collect::<Vec<_>>());
    Some(match made {
        Ok(measured) => {
            println!("{measured}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    })
}

/// Creates the crowd of idle actors that `words` describe: the name of a framework, and the number
/// of actors. Returns the measurement as JSON.
fn made_of(words: &[String]) -> Result<String> {
    let [name, actors] = words else {
        return Err(format!("{CHILD} takes a name and a number of actors").into());
    };
    let (_, crowd, ..) = CROWDS
        .iter()
        .find(|(known, ..)| known == name)
        .ok_or_else(|| format!("no contender is called '{name}'"))?;
    Ok(serde_json::to_string(&crowd(actors.parse()?)?)?)
}

/// Creates at least `actors` idle actors, and measures the memory that they take.
fn crowd<F: Framework>(actors: u64) -> Result<Measured> {
    let litters = actors.div_ceil(LITTER);
    let actors = litters * LITTER;
    F::run(1, async move {
        let (tally, _) = Tally::new(actors);
        let before = resident_bytes().expect(STATM);
        let watch = watch();
        let mut last = None;
        for _ in 0..litters {
            for _ in 0..LITTER {
                let idler = F::spawn(Idler::<F>::new(last.take()), None).await;
                F::tell::<Idler<F>>(&idler, tally.clone()).await;
                last = Some(idler);
            }
            F::pause().await;
        }
        // Threads may handle their messages later.
        while tally.handled() < actors {
            F::pause().await;
            thread::yield_now();
        }
        let mut measured = measured(actors, &watch);
        let grown = resident_bytes().expect(STATM).saturating_sub(before);
        measured.bytes_per_actor = Some(grown as f64 / actors as f64);
        // The address of the last actor has kept all actors alive until here, because each actor
        // holds the address of the previous one.
        drop(last);
        measured
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crowds_of_all_are_complete() {
        for (name, crowd, ..) in CROWDS {
            let measured = crowd(100).expect("threads are to be had");
            assert_eq!(measured.ops, 128, "{name}");
            assert!(measured.bytes_per_actor.is_some(), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        for words in [
            &["kameo"][..],
            &["nobody", "1"],
            &["kameo", "many"],
            &["kameo", "1", "2"],
        ] {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            assert!(made_of(&words).is_err(), "{words:?}");
        }
    }
}
