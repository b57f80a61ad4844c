//! Runs a benchmark of the suite on one or several workers, measures its time, and collects the
//! reports of its actors.
//!
//! A benchmark with one worker runs on a [`Local`]. The thread that creates the actors also runs
//! them, and its CPU time is measured. A benchmark with several workers runs on a [`System`], and
//! the CPU time of the whole process is measured. The actors run on the system's threads while the
//! main thread is still creating actors and sending to them.
//!
//! The measured time includes the creation of the actors, but not the start of the system's
//! threads. With one worker, wall time and CPU time end when no actor has work left. With several
//! workers, wall time ends with the last report, and CPU time ends when the threads have exited.
//! For a thread that is still running, the operating system reports a CPU time that is some
//! milliseconds old. Such a value would be too inaccurate, because the whole run of the shortest
//! benchmark takes only some milliseconds.

use std::fmt::Display;
use std::sync::mpsc;
use std::time::Duration;

use garrick::{Handle, Local, Next, System};
use garrick_measure::{Clock, Contender, Measured, Result, Scenario, Span, Stopwatch};
use serde_json::Value;

/// Numbers of workers for which each benchmark is measured.
const WORKERS: [usize; 2] = [1, 2];

/// Time without a report after which a benchmark counts as stuck. The longest benchmark takes a few
/// seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Channel by which actors send reports to the measuring thread. A report is not a message to an
/// actor, so it is not counted as a message.
pub(super) struct Reports<R>(mpsc::Sender<R>);

impl<R> Reports<R> {
    pub(super) fn tell(&self, report: R) {
        // The measuring thread no longer receives reports after it has given up.
        let _ = self.0.send(report);
    }
}

impl<R> Clone for Reports<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Returns two contenders for `scenario`: one with one worker, and one with two workers. Each
/// contender calls `run` with `size` and its number of workers. `params` are shown next to the
/// figures. Errors contain the name of the scenario.
pub(super) fn ours<S: Copy + 'static>(
    scenario: &Scenario,
    size: S,
    params: &[(&str, Value)],
    run: fn(S, usize) -> Result<Measured>,
) -> Vec<Contender> {
    let name = scenario.name;
    let with = |workers| {
        let measure = move || {
            let measured = run(size, workers);
            measured.map_err(|error| format!("{name}, workers {workers}: {error}").into())
        };
        let ours = Contender::fixed("garrick", measure);
        let ours = ours.with("workers", workers);
        let noted = params.iter();
        noted.fold(ours, |ours, (key, value)| ours.with(key, value.clone()))
    };
    WORKERS.map(with).into()
}

/// Runs `begin`, which creates and starts the actors. Waits until they have sent `count` reports.
/// Returns the reports and the measured time, which begins before `begin` is called.
///
/// # Errors
/// Returns the error of `begin`. Fails if the actors send fewer or more than `count` reports, if an
/// actor failed, or if a message was not handled.
pub(super) fn run<R>(
    workers: usize,
    count: usize,
    begin: impl FnOnce(&Handle, &Reports<R>) -> Result<()>,
) -> Result<(Vec<R>, Span)> {
    let (sender, reports) = mpsc::channel();
    let sender = Reports(sender);
    match workers {
        1 => on_this_thread(count, &reports, |on| begin(on, &sender)),
        _ => on_a_pool(workers, count, &reports, |on| begin(on, &sender)),
    }
}

fn on_this_thread<R>(
    count: usize,
    reports: &mpsc::Receiver<R>,
    begin: impl FnOnce(&Handle) -> Result<()>,
) -> Result<(Vec<R>, Span)> {
    let local = Local::new()?;
    let handle = local.handle();
    let watch = Stopwatch::start(Clock::Thread);
    begin(&handle)?;
    local.run();
    let span = watch.stop();
    let reports: Vec<R> = reports.try_iter().collect();
    all_well(&handle)?;
    agree("reports when all actors are idle", reports.len(), count)?;
    Ok((reports, span))
}

fn on_a_pool<R>(
    workers: usize,
    count: usize,
    reports: &mpsc::Receiver<R>,
    begin: impl FnOnce(&Handle) -> Result<()>,
) -> Result<(Vec<R>, Span)> {
    let system = System::builder().workers(workers).start()?;
    let handle = system.handle();
    let watch = Stopwatch::start(Clock::Process);
    begin(&handle)?;
    let mut came = Vec::with_capacity(count);
    while came.len() < count {
        let Ok(report) = reports.recv_timeout(PATIENCE) else {
            all_well(&handle)?;
            let (came, seconds) = (came.len(), PATIENCE.as_secs());
            return Err(format!(
                "{came} of {count} reports have arrived, and no other for {seconds} s"
            )
            .into());
        };
        came.push(report);
    }
    let wall = watch.stop().wall;
    system.shutdown();
    let cpu = watch.stop().cpu;
    came.extend(reports.try_iter());
    all_well(&handle)?;
    agree("reports when the system has ended", came.len(), count)?;
    Ok((came, Span { cpu, wall }))
}

/// Fails if an actor failed or a message was not handled.
fn all_well(on: &Handle) -> Result<()> {
    agree("actors that failed", on.failures(), 0)?;
    agree("messages that were not handled", on.dead_letters(), 0)
}

/// Compares a result with its expected value.
///
/// # Errors
/// Fails if the two values differ. The error contains both values.
pub(super) fn agree<T: Copy + PartialEq + Display>(
    what: impl Display,
    found: T,
    expected: T,
) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: {found}, not {expected}").into())
}

/// Returns the result of a turn that has sent messages. The actor continues if `well` is true,
/// which means that all sends were accepted. Otherwise a receiver has stopped, so the actor fails,
/// and the run reports the failure.
pub(super) fn go_on(well: bool) -> Next {
    if well { Next::Continue } else { Next::Fail }
}

/// Returns the result of an actor's last turn, which has sent messages. The actor stops if `well`
/// is true, which means that all sends were accepted. Otherwise the actor fails.
pub(super) fn end(well: bool) -> Next {
    if well { Next::Stop } else { Next::Fail }
}

#[cfg(test)]
pub(super) mod tests {
    use garrick::behavior;

    use super::*;

    /// Returns the error text of a check that must fail.
    #[track_caller]
    pub(in super::super) fn refused(checked: Result<()>) -> String {
        checked.expect_err("it is wrong").to_string()
    }

    /// Returns the error text of a run that must fail. The run calls `begin`, and expects one
    /// report.
    #[track_caller]
    fn wrong(workers: usize, begin: fn(&Handle, &Reports<u32>) -> Result<()>) -> String {
        refused(run(workers, 1, begin).map(|_| ()))
    }

    #[test]
    fn reports_come_back() {
        for workers in WORKERS {
            let (reports, _) = run(workers, 2, |on, reports| {
                for number in [1, 2] {
                    let reports = reports.clone();
                    let tell = on.spawn(behavior(move |(): (), _| {
                        reports.tell(number);
                        Next::Stop
                    }))?;
                    tell.send(())?;
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(reports.iter().sum::<i32>(), 3, "{workers}");
        }
    }

    #[test]
    fn actors_that_fail_are_told() {
        for workers in WORKERS {
            let said = wrong(workers, |on, reports| {
                let reports = reports.clone();
                let failing = on.spawn(behavior(move |(): (), _| {
                    reports.tell(1);
                    Next::Fail
                }))?;
                Ok(failing.send(())?)
            });
            assert_eq!(said, "actors that failed: 1, not 0");
        }
    }

    #[test]
    fn messages_that_are_left_are_told() {
        for workers in WORKERS {
            let said = wrong(workers, |on, reports| {
                let told = reports.clone();
                let deaf = on.spawn(behavior(move |(): (), _| {
                    told.tell(1);
                    Next::Stop
                }))?;
                let twice = on.spawn(behavior(move |(): (), cx| {
                    go_on(cx.send(&deaf, ()).is_ok() && cx.send(&deaf, ()).is_ok())
                }))?;
                Ok(twice.send(())?)
            });
            assert_eq!(said, "messages that were not handled: 1, not 0");
        }
    }

    #[test]
    fn missing_reports_are_told_on_one_thread_and_too_many_on_any() {
        let said = wrong(1, |_, _| Ok(()));
        assert_eq!(said, "reports when all actors are idle: 0, not 1");
        for workers in WORKERS {
            let said = wrong(workers, |_, reports| {
                reports.tell(1);
                reports.tell(2);
                Ok(())
            });
            assert!(said.ends_with(": 2, not 1"), "{said}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_the_scenario_and_its_workers() {
        let scenario = Scenario {
            name: "meals",
            operation: "one meal",
            contenders: |_| Vec::new(),
        };
        let meals = |size: u64, _| {
            agree("meals", size, 4)?;
            Ok(Measured::new(size, Span::default()))
        };
        let of = |size: u64| ours(&scenario, size, &[("size", size.into())], meals);
        for mut contender in of(4) {
            assert_eq!(contender.params["size"], 4);
            assert_eq!((contender.measure)(0).unwrap().ops, 4);
        }
        let mut three = of(3);
        let said = refused((three[1].measure)(0).map(|_| ()));
        assert_eq!(said, "meals, workers 2: meals: 3, not 4");
    }

    #[test]
    fn what_is_not_as_expected_is_named() {
        assert!(agree("meals", 3, 3).is_ok());
        assert_eq!(refused(agree("meals", 2, 3)), "meals: 2, not 3");
    }
}
