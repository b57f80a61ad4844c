//! Random programs of actors: whatever they can do, and whatever can be done to them, with exact
//! accounting.
//!
//! `GARRICK_CHAOS_ROUNDS`, `_SEED`, `_WORKERS` and `_SECONDS` make it longer, or repeat a round. A
//! round is the program of its seed; how its threads take turns is not.
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

/// Time limit of a round. Nothing is measured by it.
const HANGS_AFTER: Duration = Duration::from_secs(240);

/// Panics that are not on purpose.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The seed of the round under way.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Writes down all panics but those on purpose.
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

/// One round, in a thread of its own, since it may hang.
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

/// Rounds with a growing seed.
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
