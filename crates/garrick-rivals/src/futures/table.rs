//! The tables of the study: three tables as in the original benchmark, and a table of bursts of
//! sleeps. Unlike in the original benchmark, the table of rounds has a column for the CPU time.

use std::time::Duration;

use comfy_table::{Table, presets::UTF8_FULL};

use super::budget::Burst;
use super::rounds::Measured;

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL).set_header(head);
    table
}

fn time(time: Duration) -> String {
    format!("{time:.2?}")
}

/// Returns the rate in millions of tasks per second, if `tasks` tasks take the time `time`.
fn rate(tasks: usize, time: Duration) -> String {
    format!("{:.3}M", tasks as f64 / time.as_secs_f64() / 1e6)
}

/// Returns the quantile of the sorted `times` at `share`: the median for 0.5, and the maximum for
/// 1.
pub(super) fn quantile(times: &[Duration], share: f64) -> Duration {
    let last = times.len().saturating_sub(1);
    let place = (last as f64 * share).round() as usize;
    times.get(place).copied().unwrap_or_default()
}

fn mean(times: &[Duration]) -> Duration {
    let sum: Duration = times.iter().sum();
    sum.div_f64(times.len().max(1) as f64)
}

/// Returns the table of task latencies. A latency does not include the time for which the task
/// sleeps.
pub(super) fn latency(measured: &[Measured]) -> Table {
    let mut table = table(&["actor", "mean", "median", "min", "max", "p10", "p90", "p99"]);
    for one in measured {
        let times = &one.latencies;
        let mut row = vec![one.name.to_owned(), time(mean(times))];
        row.extend([0.5, 0.0, 1.0, 0.1, 0.9, 0.99].map(|share| time(quantile(times, share))));
        table.add_row(row);
    }
    table
}

/// Returns the table of rounds: how long they took, and how many tasks were in flight.
pub(super) fn throughput(measured: &[Measured]) -> Table {
    let mut table = table(&[
        "actor",
        "mean",
        "tasks/s",
        "median",
        "tasks/s",
        "min",
        "max",
        "slowest/s",
        "fastest/s",
        "max pending",
        "CPU a task",
    ]);
    for one in measured {
        let times = &one.durations;
        let (mean, median) = (mean(times), quantile(times, 0.5));
        let (min, max) = (quantile(times, 0.0), quantile(times, 1.0));
        table.add_row([
            one.name.to_owned(),
            time(mean),
            rate(one.tasks, mean),
            time(median),
            rate(one.tasks, median),
            time(min),
            time(max),
            rate(one.tasks, max),
            rate(one.tasks, min),
            one.pending_max.to_string(),
            format!("{} ns", one.cpu_per_task().as_nanos()),
        ]);
    }
    table
}

/// Returns the table that shows what the polls of each actor cost per round.
pub(super) fn load(measured: &[Measured]) -> Table {
    let mut table = table(&[
        "actor",
        "polls",
        "polling",
        "slow polls",
        "idled",
        "idle",
        "scheduled",
        "waiting",
    ]);
    for one in measured {
        let rounds = one.rounds_of_load.max(1);
        let (count, span) = (
            |count: u64| (count / rounds as u64).to_string(),
            |span: Duration| time(span / rounds as u32),
        );
        let load = one.load;
        table.add_row([
            one.name.to_owned(),
            count(load.polls),
            span(load.polling),
            count(load.slow_polls),
            count(load.idled),
            span(load.idle),
            count(load.scheduled),
            span(load.waiting),
        ]);
    }
    table
}

/// Returns the table that shows what it costs to wait for many sleeps that are due at the same
/// time.
pub(super) fn bursts(bursts: &[Burst]) -> Table {
    let mut table = table(&["task", "sleeps", "polls", "of them in vain", "CPU a sleep"]);
    for burst in bursts {
        let in_vain = burst.polls.saturating_sub(2 * burst.children as u64);
        let cpu = burst.cpu.div_f64(burst.children as f64);
        table.add_row([
            burst.name.to_owned(),
            burst.children.to_string(),
            burst.polls.to_string(),
            in_vain.to_string(),
            format!("{} ns", cpu.as_nanos()),
        ]);
    }
    table
}
