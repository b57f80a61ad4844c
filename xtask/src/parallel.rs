//! Work that is done in parallel, such as running test programs.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::process::{Ended, Executable, Job, Watched, tests_passed};

/// Default time limit of a test program. Several programs run at the same time, and some compile
/// code or start browsers. So the limit is many times the usual time of a program.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Maximum number of lines that a summary contains of the output of a failed test or program.
const LINES_MAX: usize = 8;

/// Names of test programs that start first, because they take longest.
const LONG: &[&str] = &[
    "dashboard",
    "nats",
    "journals",
    "garrick_top",
    "actor_macro_errors",
    "xtask",
    "bench",
];

/// Calls `work` for each item, `jobs` at a time, and returns all results, or the first error.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<R>)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let result = work(item);
                    results
                        .lock()
                        .expect("no worker panics with the lock")
                        .push((index, result));
                }
            });
        }
    });
    let mut results = results
        .into_inner()
        .expect("no worker panics with the lock");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs test programs: one more at a time than the machine has cores. `prepare` can add arguments
/// and environment variables to the command of a program. Prints the output of each program when it
/// has ended. Returns the number of tests that passed, for each program.
///
/// Cargo runs one program after another, and many tests wait for timers, processes, browsers or
/// compilers. While the only running program waits, a core is idle.
///
/// # Errors
///
/// The error names each program that failed, did not run its test harness to the end, or exceeded
/// the time limit. All programs run, even after one has failed, so that one call shows all
/// failures.
pub(crate) fn run_tests(
    programs: &[Executable],
    prepare: impl Fn(Job) -> Job + Sync,
) -> Result<Vec<usize>> {
    let libraries = libraries()?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let outcomes = in_parallel(&in_order(programs), cores + 1, |program| {
        Ok(run(program, &prepare(job(program, &libraries))))
    })?;
    all_passed(outcomes)
}

/// Returns the numbers of tests, or an error that contains all texts of failures.
fn all_passed(outcomes: Vec<Result<usize, String>>) -> Result<Vec<usize>> {
    let (passed, failed): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    if failed.is_empty() {
        return Ok(passed.into_iter().flatten().collect());
    }
    let failed: Vec<String> = failed.into_iter().filter_map(Result::err).collect();
    bail!("test programs failed:\n  {}", failed.join("\n  "))
}

/// Returns `programs` in the order in which they start.
fn in_order(programs: &[Executable]) -> Vec<&Executable> {
    let mut ordered = Vec::from_iter(programs);
    let rank = |program: &&Executable| LONG.iter().position(|name| *name == program.name);
    ordered.sort_by_key(|program| rank(program).unwrap_or(LONG.len()));
    ordered
}

/// Returns the folder of the shared libraries of the toolchain, which tests of procedural macros
/// load.
fn libraries() -> Result<PathBuf> {
    let rustc = Job::new("rustc").arguments(&["--print", "target-libdir"]);
    let found = rustc.watch()?;
    if found.ended != Ended::Passed {
        bail!("`{rustc}` failed: {}", found.output);
    }
    Ok(PathBuf::from(found.output.trim()))
}

/// Returns the command that runs a test program in the folder and with the environment that cargo
/// would use.
fn job(program: &Executable, libraries: &Path) -> Job {
    Job::new(&program.path)
        .folder(&program.folder)
        .environment("CARGO_MANIFEST_DIR", &program.folder)
        .environment("CARGO_PKG_NAME", &program.package)
        .environment("LD_LIBRARY_PATH", libraries)
        .limit(LIMIT)
}

/// Returns the names of the failed tests in the output of a test program, with the first lines that
/// each of them printed. Returns the last lines of the output if the harness named no test, because
/// the program crashed or hung. A summary with these lines tells what failed although the output is
/// long.
fn complaints(output: &str) -> String {
    let mut found = Vec::new();
    let mut left = 0;
    for line in output.lines() {
        let heading = line.strip_prefix("---- ");
        if let Some(test) = heading.and_then(|line| line.strip_suffix(" stdout ----")) {
            found.push(format!("\n    {test}"));
            left = LINES_MAX;
        } else if line == "stack backtrace:" || line.starts_with("note: ") {
            left = 0;
        } else if left > 0 && !line.is_empty() {
            found.push(format!("\n      {line}"));
            left -= 1;
        }
    }
    if found.is_empty() {
        let lines: Vec<&str> = output.lines().collect();
        let last = &lines[lines.len().saturating_sub(LINES_MAX)..];
        found = last.iter().map(|line| format!("\n    {line}")).collect();
    }
    found.concat()
}

/// Runs a test program, and prints its output. Returns the number of tests that passed, or what is
/// wrong with the program.
fn run(program: &Executable, job: &Job) -> Result<usize, String> {
    let name = format!("{} of {}", program.name, program.package);
    let watched = job
        .watch()
        .map_err(|error| format!("cannot run {name}: {error:#}"))?;
    // One call, so that the outputs of two programs do not mix.
    let seconds = watched.time.as_secs_f64();
    print!("{name}: {seconds:.1} s\n{}", watched.output);
    outcome(&name, &watched, job.seconds_max())
}

/// Returns the number of tests that passed, or what is wrong with the program.
fn outcome(name: &str, watched: &Watched, seconds_max: u64) -> Result<usize, String> {
    let passed: Vec<usize> = watched.output.lines().filter_map(tests_passed).collect();
    match watched.ended {
        Ended::Passed if passed.is_empty() => Err(format!("{name}: no test harness ended")),
        Ended::Passed => Ok(passed.iter().sum()),
        Ended::Failed => Err(format!("{name}{}", complaints(&watched.output))),
        Ended::Hung => Err(format!(
            "{name}: did not end within {seconds_max} s{}",
            complaints(&watched.output)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str, path: &str) -> Executable {
        Executable {
            name: name.to_owned(),
            package: "parts".to_owned(),
            folder: PathBuf::from("/"),
            kind: Vec::new(),
            is_test: true,
            path: PathBuf::from(path),
        }
    }

    #[test]
    fn every_program_that_fails_is_named() {
        let programs = [
            program("first", "/bin/false"),
            program("second", "/bin/pwd"),
            program("third", "/bin/no-such-program"),
        ];
        let error = run_tests(&programs, |job| job).unwrap_err().to_string();
        for part in [
            "first of parts",
            "second of parts: no test",
            "third of parts",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_tests_of_all_programs_are_counted() {
        let ended = |ended, output: &str| {
            let time = Duration::from_secs(1);
            let output = output.to_owned();
            outcome(
                "one",
                &Watched {
                    ended,
                    output,
                    time,
                },
                900,
            )
        };
        let line = "test result: ok. 3 passed; 0 failed; 0 ignored\n";
        let passed = || ended(Ended::Passed, line);
        assert_eq!(all_passed(vec![passed(), passed()]).unwrap(), [3, 3]);
        let hung = all_passed(vec![passed(), ended(Ended::Hung, "")]).unwrap_err();
        assert!(hung.to_string().contains("did not end within 900 s"));
    }

    #[test]
    fn the_summary_contains_what_a_failed_test_printed_first() {
        let output = "test it::fails ... FAILED\n\nfailures:\n\n---- it::fails stdout ----\n\n\
                      thread 'it::fails' (7) panicked at tests/it.rs:5:9:\nassertion failed\n\
                      stack backtrace:\n   0: main\n\n\nfailures:\n    it::fails\n";
        let watched = Watched {
            ended: Ended::Failed,
            output: output.to_owned(),
            time: Duration::from_secs(1),
        };
        assert_eq!(
            outcome("it of parts", &watched, 900).unwrap_err(),
            "it of parts\n    it::fails\n      thread 'it::fails' (7) panicked at tests/it.rs:5:9:\
             \n      assertion failed"
        );
    }

    #[test]
    fn the_summary_contains_the_last_lines_of_a_program_that_crashed() {
        let watched = Watched {
            ended: Ended::Failed,
            output: "running 2 tests\ntest a ... ok\nfatal: out of memory\n".to_owned(),
            time: Duration::from_secs(1),
        };
        let error = outcome("it of parts", &watched, 900).unwrap_err();
        assert!(error.ends_with("\n    fatal: out of memory"), "{error}");
    }

    #[test]
    fn what_is_done_in_parallel_comes_back_in_order() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = in_parallel(&items, 3, |item| Ok(item * 2)).unwrap();
        assert_eq!(doubled[99], 198);
        assert_eq!(doubled.len(), 100);
        let failed = in_parallel(&items, 3, |item| {
            if *item == 7 {
                bail!("seven");
            }
            Ok(())
        });
        assert_eq!(failed.unwrap_err().to_string(), "seven");
    }
}
