//! Random programs in which actors use the features of this crate, with exact accounting of all
//! values, actors and watches.
//!
//! The environment variables `GARRICK_CHAOS_ROUNDS`, `GARRICK_CHAOS_SEED`, `GARRICK_CHAOS_WORKERS`
//! and `GARRICK_CHAOS_SECONDS` make the test longer, or repeat a round. The seed determines the
//! program of a round, but not how its threads interleave.
#![forbid(unsafe_code)]

mod acts;
mod children;
mod guests;
mod ledger;
mod node;
mod peer;
mod random;
mod round;
mod town;
mod value;

use std::backtrace::Backtrace;
use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use garrick_testkit::{ON_PURPOSE, alone, setting};
use round::Plan;

/// Maximum duration of a round. A round that takes longer is reported as hanging.
const HANGS_AFTER: Duration = Duration::from_secs(240);

/// Messages of all panics that the test did not cause on purpose.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The seed of the current round.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Installs a panic hook that records all panics, except for those that the test causes on purpose.
fn write_panics_down() {
    panic::set_hook(Box::new(|info| {
        if info.to_string().contains("during cleanup") {
            // The process is about to end, and with it what tests have printed.
            let seed = SEED.load(SeqCst);
            let _ = writeln!(
                io::stderr(),
                "chaos, seed {seed}: {info}\n{}",
                Backtrace::force_capture()
            );
        }
        let is_on_purpose = info.payload().downcast_ref::<&str>() == Some(&ON_PURPOSE);
        if !is_on_purpose {
            let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
            panics.push(info.to_string());
        }
    }));
}

/// Runs one round in a separate thread, because a round may hang. Panics if anything went wrong.
fn round(plan: Plan) {
    SEED.store(plan.seed, SeqCst);
    let (told, heard) = mpsc::channel();
    let thread = thread::spawn(move || told.send(round::run(plan)));
    let wrong = heard.recv_timeout(HANGS_AFTER);
    let panics = std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner));
    match wrong {
        Ok(wrong) if wrong.is_empty() && panics.is_empty() => {
            let _ = thread.join();
        }
        Ok(wrong) => fail(plan, &format!("{wrong:#?}, panics: {panics:#?}")),
        Err(error) => fail(
            plan,
            &format!("{error}: it hangs, or has panicked: {panics:#?}"),
        ),
    }
}

fn fail(plan: Plan, what: &str) -> ! {
    let _ = panic::take_hook();
    let what = what.replace("\\n", "\n");
    panic!("{plan:?}: {what}");
}

/// Runs rounds with consecutive seeds.
fn rounds(count: u64, fuel: i64) {
    // Blocks are counted for the whole process.
    let _alone = alone();
    write_panics_down();
    let (began, first) = (Instant::now(), setting("GARRICK_CHAOS_SEED").unwrap_or(1));
    let count = setting("GARRICK_CHAOS_ROUNDS").unwrap_or(count);
    let seconds = setting("GARRICK_CHAOS_SECONDS").map(Duration::from_secs);
    let mut seed = first;
    while seconds.map_or(seed < first + count, |limit| began.elapsed() < limit) {
        let workers = setting("GARRICK_CHAOS_WORKERS").unwrap_or([1, 2, 4, 8][seed as usize % 4]);
        round(Plan {
            seed,
            workers,
            fuel,
        });
        seed += 1;
    }
    println!("{} rounds in {:?}", seed - first, began.elapsed());
}

#[test]
fn random_programs_leave_nothing_behind() {
    rounds(12, 4_000);
}

mod stress {
    #[test]
    fn longer_random_programs_leave_nothing_behind() {
        super::rounds(10, 20_000);
    }
}
