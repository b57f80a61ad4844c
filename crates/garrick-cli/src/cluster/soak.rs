//! Subcommand `garrick cluster soak`.

use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use garrick_core::random::mix;
use garrick_measure::commands::{Ended, print};
use garrick_measure::{Result, Stop, units};

use super::demo::{time, unused_name};
use super::engine;
use super::leak::Watched;
use super::ledger::{Ledger, Totals};
use super::member::{Member, end_all};
use super::servers::Servers;
use super::trio::{SERVERS, Trio};

/// Number of nodes. The first node is never killed, so that its memory at the end can be compared
/// with its memory at an earlier time.
const NODES: usize = 3;

/// Time between two checks of the processes.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time limit for the servers to elect leaders, and for all nodes to join.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Time after which the resources are counted for the first time. In a run that is shorter than
/// twice this time, they are counted after half of the run.
const COUNT_AFTER: Duration = Duration::from_secs(120);

/// Maximum time in seconds for which a server is down or a node is paused. The minimum is one
/// second. The maximum is longer than the time after which other nodes take over.
const DOWN_SECONDS_MAX: u64 = 10;

/// Maximum number of minutes.
const MINUTES_MAX: u64 = 7 * 24 * 60;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Number of minutes for which the accounts are called.
    #[arg(long, value_name = "M", default_value_t = 60, value_parser = value_parser!(u64).range(1..=MINUTES_MAX))]
    minutes: u64,

    /// Time between two faults, such as 20s.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = time)]
    fault_every: Duration,

    /// Seed of the faults. The default differs in each run, and is printed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// A fault to cause, with the index of the affected node or server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    KillNode(usize),
    PauseNode(usize, Duration),
    KillServer(usize, Duration),
}

impl Fault {
    /// Returns the fault that the random number `chance` determines.
    fn of(chance: u64) -> Self {
        let time = Duration::from_secs(1 + (chance >> 8) % DOWN_SECONDS_MAX);
        let place = (chance >> 32) as usize;
        match chance % 3 {
            0 => Self::KillNode(1 + place % (NODES - 1)),
            1 => Self::PauseNode(place % NODES, time),
            _ => Self::KillServer(place % SERVERS, time),
        }
    }
}

/// Counts of the faults so far, one count for each kind. The field `tried_again` counts how often a
/// node had to be started again because it could not join.
#[derive(Default)]
struct Faults {
    killed: u64,
    paused: u64,
    servers: u64,
    tried_again: u64,
}

/// A run of the soak: its settings and its processes.
struct Run {
    servers: Servers,
    cluster: String,
    members: Vec<Member>,
    /// One flag for each member: true if the member has joined since its last start.
    joined: [bool; NODES],
    watched: Watched,
    faults: Faults,
    // The servers end last.
    trio: Trio,
    stop: Stop,
}

/// Runs the accounts on three nodes and three servers, causes faults, and checks the results.
pub(super) fn run(arguments: &Arguments) -> Result<Ended> {
    let stop = Stop::on_ctrl_c()?;
    let Some(program) = engine::find() else {
        return Ok(Ended::Refused(
            "there is no NATS server: install nats-server 2.12 or later (in this repository: \
             `cargo xtask tools`)"
                .to_owned(),
        ));
    };
    let cluster = unused_name();
    let seed = arguments
        .seed
        .unwrap_or_else(|| mix(std::process::id().into()));
    print(&format!(
        "{NODES} nodes, {SERVERS} servers, faults of seed {seed}"
    ));
    let trio = Trio::start(&program)?;
    let servers = Servers::at(trio.addresses()).replicas(SERVERS);
    let mut ledger = joined(&servers, &cluster, &stop)?;
    let mut run = Run {
        servers,
        cluster,
        members: Vec::new(),
        joined: [false; NODES],
        watched: Watched::default(),
        faults: Faults::default(),
        trio,
        stop,
    };
    for number in 0..NODES {
        let member = run.start(number)?;
        run.members.push(member);
    }
    run.work(arguments, seed, &mut ledger)?;
    let totals = ledger.end();
    end_all(&mut run.members)?;
    Ok(run.verdict(&totals))
}

/// Joins the cluster as the node through which threads call accounts. Retries, because the servers
/// need some seconds to elect leaders.
fn joined(servers: &Servers, cluster: &str, stop: &Stop) -> Result<Ledger> {
    let began = Instant::now();
    loop {
        match Ledger::join(servers, cluster) {
            Err(_) if began.elapsed() < READY_WITHIN && !stop.is_wanted() => {
                thread::sleep(LOOK_EVERY);
            }
            ended => return ended,
        }
    }
}

impl Run {
    fn start(&self, number: usize) -> Result<Member> {
        let name = format!("soak-{}", number + 1);
        Member::start(&name, &self.cluster, &self.servers, None)
    }

    /// Lets the callers call accounts, and causes faults at the same time. Counts resources when
    /// there has been no fault for a while.
    fn work(&mut self, arguments: &Arguments, seed: u64, ledger: &mut Ledger) -> Result<()> {
        self.are_ready()?;
        print("All nodes have joined.");
        ledger.begin();
        let began = Instant::now();
        let duration = Duration::from_secs(arguments.minutes * 60);
        let count_after = COUNT_AFTER.min(duration / 2);
        for number in 0.. {
            self.wait(arguments.fault_every)?;
            let (answered, wrong) = ledger.so_far();
            let elapsed = began.elapsed();
            if !self.watched.is_counted() && elapsed >= count_after {
                self.watched.count(&self.members)?;
            }
            if wrong.is_some() || elapsed >= duration || self.stop.is_wanted() {
                break;
            }
            let fault = Fault::of(mix(seed.wrapping_add(number)));
            print(&format!(
                "{:>6.1} min, {:>9} answers: {fault:?}",
                elapsed.as_secs_f64() / 60.0,
                units::whole(answered)
            ));
            self.cause(fault)?;
            self.are_ready()?;
        }
        self.watched.count_again(&self.members)
    }

    fn cause(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::KillNode(number) => {
                self.members[number].kill()?;
                self.members[number] = self.start(number)?;
                self.joined[number] = false;
                self.faults.killed += 1;
            }
            Fault::PauseNode(number, time) => {
                let process = self.members[number].process().to_string();
                engine::signal("STOP", &process)?;
                let waited = self.wait(time);
                engine::signal("CONT", &process)?;
                waited?;
                self.faults.paused += 1;
            }
            Fault::KillServer(number, time) => {
                self.trio.kill(number)?;
                let waited = self.wait(time);
                self.trio.start_again(number)?;
                waited?;
                self.faults.servers += 1;
            }
        }
        Ok(())
    }

    /// Waits for some time, or until the user stops the command.
    fn wait(&mut self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.stop.is_wanted() {
            thread::sleep(LOOK_EVERY);
            self.look()?;
        }
        Ok(())
    }

    /// Waits until all nodes have joined.
    fn are_ready(&mut self) -> Result<()> {
        let until = Instant::now() + READY_WITHIN;
        loop {
            self.look()?;
            if self.joined == [true; NODES] {
                return Ok(());
            }
            if Instant::now() >= until {
                let limit = READY_WITHIN.as_secs();
                return Err(format!("not all nodes have joined within {limit} s").into());
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Restarts a node that could not join, for example because a server is down. Returns an error
    /// if a node that had joined has ended by itself.
    fn look(&mut self) -> Result<()> {
        for number in 0..self.members.len() {
            self.joined[number] |= self.members[number].is_ready();
            let Some(status) = self.members[number].ended()? else {
                continue;
            };
            if self.joined[number] {
                let name = &self.members[number].name;
                return Err(format!("{name} has ended by itself: {status}").into());
            }
            self.faults.tried_again += 1;
            self.members[number] = self.start(number)?;
        }
        Ok(())
    }

    /// Prints the results, and returns the outcome of the command: [`Ended::Wrong`] if a result is
    /// wrong.
    fn verdict(&self, totals: &Totals) -> Ended {
        let (answered, unanswered) = (totals.answered, totals.unanswered);
        let faults = &self.faults;
        print(&format!(
            "{} calls: {} answered, {} unanswered, of which {} took effect; longest silence of an \
             account {:.1} s",
            units::whole(answered + unanswered),
            units::whole(answered),
            units::whole(unanswered),
            units::whole(totals.effective),
            totals.silence.as_secs_f64(),
        ));
        print(&format!(
            "{} kills of nodes, {} pauses of nodes, {} kills of servers; {} joins were tried again",
            faults.killed, faults.paused, faults.servers, faults.tried_again,
        ));
        let (found, expected) = totals.cents;
        print(&format!("total {found} cents, expected {expected}"));
        print(&self.watched.table());
        let wrong = totals.wrong.clone();
        let wrong = wrong.or_else(|| (found != expected).then(|| "the total is wrong".to_owned()));
        if let Some(wrong) = wrong.or_else(|| self.watched.grown()) {
            return Ended::Wrong(wrong);
        }
        print("Each answer and the total are right, and no process has grown.");
        match self.stop.is_wanted() {
            true => Ended::Interrupted("the calls until then were checked".to_owned()),
            false if answered == 0 => Ended::Wrong("no call was answered".to_owned()),
            false => Ended::Well,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, NODES, SERVERS};

    #[test]
    fn the_first_node_is_paused_and_never_killed() {
        let faults = || (0..1_000).map(|number| Fault::of(garrick_core::random::mix(number)));
        for number in 0..NODES {
            let kills = faults().any(|fault| fault == Fault::KillNode(number));
            assert_eq!(kills, number > 0, "{number}");
            let pauses = |fault| matches!(fault, Fault::PauseNode(found, _) if found == number);
            assert!(faults().any(pauses), "{number}");
        }
        for number in 0..SERVERS {
            let kills = |fault| matches!(fault, Fault::KillServer(found, _) if found == number);
            assert!(faults().any(kills), "{number}");
        }
    }
}
