//! Memory of an idle actor.
//!
//! Measured as in `garrick bench`: each actor's state is the address of the actor created before
//! it, and each crowd lives in a fresh process. The growth of that process in resident memory is
//! due to the actors alone.

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
    operation: "one actor with 8 bytes of state, the address of the one before it, that is spawned, has handled one \
                message, and is idle; bytes_per_actor is what a fresh process has grown by in resident memory for \
                each, all included; an idle thread has a stack of 64 KiB of which it has touched what it needs",
    contenders,
};

/// Hidden first word of a command that creates a crowd. A framework's name and a number of actors
/// follow.
const CHILD: &str = "measure-idle-memory";

/// Reason why a process knows its size.
const STATM: &str = "the system says what is resident";

/// Number of actors that are spawned before other actors run.
const LITTER: u64 = 64;

/// Function that creates idle actors in this process, and returns the growth of the process.
type Crowd = fn(u64) -> Result<Measured>;

/// Names, crowds, and numbers of actors in a full run and in a quick one.
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

/// Creates a crowd in a fresh process.
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

/// Creates a crowd if this process was started for that: the other end of [`in_child`].
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

/// Creates the crowd that the words ask for, and returns the result as JSON.
fn made_of(words: &[String]) -> Result<String> {
    let [name, actors] = words else {
        return Err(format!("{CHILD} takes a name and a number of actors").into());
    };
    let (_, crowd, ..) = CROWDS
        .iter()
        .find(|(known, ..)| known == name)
        .ok_or_else(|| format!("nobody is called '{name}'"))?;
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
        // Threads handle their messages at any later time.
        while tally.handled() < actors {
            F::pause().await;
            thread::yield_now();
        }
        let mut measured = measured(actors, &watch);
        let grown = resident_bytes().expect(STATM).saturating_sub(before);
        measured.bytes_per_actor = Some(grown as f64 / actors as f64);
        // Until here the address of the last actor is held, which holds that of the actor before
        // it.
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
