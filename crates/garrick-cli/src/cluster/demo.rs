//! Subcommand `garrick cluster demo`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Args, value_parser};
use garrick_cluster::nats::NatsObserver;
use garrick_measure::commands::{Ended, print};
use garrick_measure::{Result, Stop, units};

use super::callers::{Callers, Calls};
use super::engine::{self, Engine};
use super::member::{Member, end_all};
use super::model::check;
use super::refusal::refusal;
use super::servers::Servers;

/// Time between two checks of the processes.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time limit for all nodes to join the cluster.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Name of the observer that reads which shards the nodes own.
const OBSERVER: &str = "observer";

/// Maximum value of the option `--seconds`.
const SECONDS_MAX: u64 = 24 * 60 * 60;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    servers: Servers,

    /// Number of nodes, each in a separate process.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u8).range(1..=16))]
    nodes: u8,

    /// Time between two kills of a process, such as 5s or 500ms. With 0s, no process is killed. The
    /// node with the most shards is killed. If the demonstration has several nodes, none is killed
    /// while fewer than two of them have joined. After about 6 s, other nodes take over the shards
    /// of the killed node.
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    kill_every: Duration,

    /// Number of seconds for which the accounts are called.
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = value_parser!(u64).range(1..=SECONDS_MAX))]
    seconds: u64,

    /// Make the accounts of each node forget every Nth deposit, to see that the check of the
    /// results finds this error.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    forget: Option<u64>,
}

/// Parses a time with its unit.
pub(super) fn time(text: &str) -> std::result::Result<Duration, String> {
    let units = [("ms", 1), ("s", 1_000), ("min", 60_000)];
    let parsed = units.into_iter().find_map(|(unit, ms)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(ms)
    });
    let parsed = parsed.filter(|ms| *ms <= SECONDS_MAX * 1_000);
    parsed.map(Duration::from_millis).ok_or_else(|| {
        "not a time of at most a day with its unit, such as 5s, 500ms or 1min".to_owned()
    })
}

/// A run of the demonstration: its settings and its processes.
struct Run<'a> {
    arguments: &'a Arguments,
    servers: Servers,
    cluster: String,
    members: Vec<Member>,
    kills: u64,
    observer: NatsObserver,
    stop: Stop,
}

/// Runs the bank, kills processes, and checks the results.
pub(super) fn run(arguments: &Arguments) -> Result<Ended> {
    let stop = Stop::on_ctrl_c()?;
    let engine = match engine_of(arguments)? {
        Ok(engine) => engine,
        Err(ended) => return Ok(ended),
    };
    let servers = engine
        .as_ref()
        .map(|engine| Servers::at(engine.address.clone()));
    let servers = servers.unwrap_or_else(|| arguments.servers.clone());
    // Before processes are started that would all say the same.
    let net = match servers.builder().start() {
        Ok(net) => net,
        Err(error) => return refusal(&error),
    };
    let cluster = unused_name();
    let mut callers = Callers::join(net, &servers, &cluster)?;
    let observer = NatsObserver::open(servers.builder(), &cluster, OBSERVER)?;
    let mut run = Run {
        arguments,
        servers,
        cluster,
        members: Vec::new(),
        kills: 0,
        observer,
        stop,
    };
    for number in 1..=arguments.nodes {
        let member = run.start(&format!("bank-{number}"))?;
        run.members.push(member);
    }
    run.work(&mut callers)?;
    let calls = callers.end();
    let left = end_all(&mut run.members);
    if engine.is_none() {
        print(&format!(
            "The buckets and streams g_{}_* stay on the NATS server.",
            run.cluster
        ));
    }
    let verdict = verdict(&calls, run.kills, run.stop.is_wanted());
    if !matches!(verdict, Ended::Wrong(_)) {
        left?;
    }
    Ok(verdict)
}

/// Returns a name for a new cluster. No other run on the same server uses this name.
pub(super) fn unused_name() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!("demo-{}-{}", now.as_millis(), std::process::id())
}

/// Starts a NATS server, unless the user has named one. Prints which server is used.
fn engine_of(arguments: &Arguments) -> Result<std::result::Result<Option<Engine>, Ended>> {
    let durable = "The accounts are durable: their journals are on";
    if arguments.servers.are_named() {
        print(&format!("{durable} the NATS server that you have named."));
        return Ok(Ok(None));
    }
    let Some(program) = engine::find() else {
        return Ok(Err(Ended::Refused(
            "processes meet on a NATS server, and there is none: name one by --nats, or install \
             nats-server 2.12 or later (in this repository: `cargo xtask tools`)"
                .to_owned(),
        )));
    };
    let engine = Engine::start(&program)?;
    let (program, address) = (program.display(), &engine.address);
    print(&format!(
        "{durable} {program}, which was started at {address} and ends with this command."
    ));
    Ok(Ok(Some(engine)))
}

impl Run<'_> {
    fn start(&self, name: &str) -> Result<Member> {
        Member::start(name, &self.cluster, &self.servers, self.arguments.forget)
    }

    /// Waits until all nodes have joined. Then lets the callers call accounts, and kills processes
    /// at the same time.
    fn work(&mut self, callers: &mut Callers) -> Result<()> {
        self.are_ready()?;
        print("All nodes have joined.");
        callers.begin();
        let began = Instant::now();
        let end = began + Duration::from_secs(self.arguments.seconds);
        let every = self.arguments.kill_every;
        let mut next_kill = began + every;
        while Instant::now() < end && !self.stop.is_wanted() {
            std::thread::sleep(LOOK_EVERY);
            self.all_run()?;
            let is_time = !every.is_zero() && Instant::now() >= next_kill;
            if is_time && let Some((victim, owned)) = self.victim()? {
                self.kill(victim, owned, began.elapsed(), callers.answered())?;
                next_kill = Instant::now() + every;
            }
        }
        self.are_ready()
    }

    /// Chooses the node with the most shards as the node to kill. Returns the index of this node,
    /// and the number of its shards. Returns `None` if the demonstration has several nodes but
    /// fewer than two of them have joined, or if the joined nodes own no shards yet.
    fn victim(&self) -> Result<Option<(usize, usize)>> {
        let ready = || (0..self.members.len()).filter(|number| self.members[*number].is_ready());
        if ready().count() < self.members.len().min(2) {
            return Ok(None);
        }
        let overview = self.observer.overview()?;
        let owned = |number: usize| {
            let name = self.members[number].name.as_str();
            let member = overview
                .members
                .iter()
                .find(|member| member.name.as_str() == name);
            (number, member.map_or(0, |member| member.owned))
        };
        let most = ready().map(owned).max_by_key(|(_, owned)| *owned);
        Ok(most.filter(|(_, owned)| *owned > 0))
    }

    fn kill(
        &mut self,
        victim: usize,
        owned: usize,
        elapsed: Duration,
        answered: u64,
    ) -> Result<()> {
        let name = self.members[victim].name.clone();
        self.members[victim].kill()?;
        self.kills += 1;
        print(&format!(
            "{:>5.1} s  {name} is killed, which owns {owned} shards, after {} answers, and started again",
            elapsed.as_secs_f64(),
            units::whole(answered)
        ));
        self.members[victim] = self.start(&name)?;
        Ok(())
    }

    /// Waits until all nodes have joined.
    fn are_ready(&mut self) -> Result<()> {
        let until = Instant::now() + READY_WITHIN;
        while !self.members.iter().all(Member::is_ready) {
            self.all_run()?;
            if Instant::now() >= until {
                let limit = READY_WITHIN.as_secs();
                return Err(format!("not all nodes have joined within {limit} s").into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Returns an error if a process has ended although the demonstration has not killed it.
    fn all_run(&mut self) -> Result<()> {
        for member in &mut self.members {
            if let Some(status) = member.ended()? {
                return Err(format!("{} has ended by itself: {status}", member.name).into());
            }
        }
        Ok(())
    }
}

/// Prints how many calls were answered, and checks the history of the calls.
fn verdict(calls: &Calls, kills: u64, was_stopped: bool) -> Ended {
    let (answered, unanswered) = (calls.answered, calls.unanswered);
    print(&format!(
        "{} calls: {} answered, {} unanswered; {kills} kills; longest silence of an account {:.1} s",
        units::whole(answered + unanswered),
        units::whole(answered),
        units::whole(unanswered),
        calls.silence.as_secs_f64(),
    ));
    if let Err(why) = check(&calls.history, calls.total) {
        print(why.trim_end());
        return Ended::Wrong("the accounts did not do what they must: see above".to_owned());
    }
    print("The history of each account is linearizable, and the total of all balances is right.");
    match was_stopped {
        true => Ended::Interrupted("the calls until then were checked".to_owned()),
        false if answered == 0 => Ended::Wrong("no call was answered".to_owned()),
        false => Ended::Well,
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, time};

    #[test]
    fn a_time_has_a_unit() {
        for (text, ms) in [("5s", 5_000), ("500ms", 500), ("1min", 60_000), ("0s", 0)] {
            assert_eq!(time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "-1s",
            "1h",
            "86401s",
            "99999999999999999999ms",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
