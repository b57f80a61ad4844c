//! The consensus algorithm Raft as actors. The simulation checks the five safety properties of the
//! paper, and finds mistakes that are known from the paper and from practice.

mod client;
mod cluster;
mod directory;
mod disk;
mod facts;
mod log;
mod mutation;
mod properties;
mod server;

use std::time::Duration;

use garrick_sim::{Check, Choosing, Sim};
use mutation::Mutation;

#[test]
fn explore() {
    let env = |name: &str, default: u64| -> u64 {
        std::env::var(name)
            .ok()
            .map_or(default, |text| text.parse().unwrap())
    };
    let mutation = match env("M", 0) {
        0 => Mutation::None,
        1 => Mutation::VotesForAnyLog,
        2 => Mutation::CommitsOldTerms,
        3 => Mutation::ForgetsVote,
        4 => Mutation::AlwaysTruncates,
        _ => Mutation::CommitsUnchecked,
    };
    let strategy = match env("STRATEGY", 0) {
        0 => Choosing::Portfolio,
        1 => Choosing::Walk,
        2 => Choosing::Pos,
        n => Choosing::Pct(n as u32),
    };
    let setup = |sim: &mut Sim| {
        let servers = env("SERVERS", 3) as usize;
        cluster::set_up(sim, servers, env("CLIENTS", 1) as usize, mutation);
        if env("LATENCY", 0) > 0 {
            sim.latency(Duration::from_millis(1)..Duration::from_millis(env("LATENCY", 0)));
        }
        if env("TIMES", 0) > 0 {
            let mut read = 0;
            sim.always("print", move |facts| {
                for (at, started) in facts.timed::<server::Started>().skip(read) {
                    println!("started {:?} at {}", started, at / 1000);
                    read += 1;
                }
                true
            });
        }
        sim.links().all().loses(env("LOSS", 0) as u32);
        let crashes = env("CRASHES", 0) as u32;
        if crashes > 0 {
            for id in 0..env("CRASHERS", servers as u64) as usize {
                let after = Duration::ZERO..Duration::from_millis(500);
                sim.faults()
                    .crash_and_restart(cluster::name_of(id), crashes, after);
            }
        }
    };
    let mut seed = 0;
    let mut found = 0;
    while seed < env("SEEDS", 1000) {
        let check = Check::new(format!("explore {mutation:?}"))
            .seeds(env("SEEDS", 1000) - seed)
            .first_seed(seed)
            .strategy(strategy)
            .steps(env("STEPS", 300) as u32);
        match check.run(setup) {
            Ok(report) => {
                println!("{report}");
                break;
            }
            Err(failed) => {
                found += 1;
                println!(
                    "seed {} {} {} moves {} steps {:?} {}",
                    failed.seed(),
                    failed.broken(),
                    failed.moves().len(),
                    failed.steps(),
                    failed.shortening(),
                    failed.report(),
                );
                if env("SHOW", 0) == found {
                    println!("{failed}");
                }
                seed = failed.seed() + 1;
                if found >= env("FOUND", 5) {
                    break;
                }
            }
        }
    }
}
