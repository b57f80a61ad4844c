//! A process of the cluster demonstration. Its node runs the entities of the accounts.

use std::io::{self, BufRead, BufReader};
use std::process::{self, Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clap::Args;
use garrick_actor::{NoReply, System};
use garrick_cluster::nats::{NatsLog, NatsNet, NatsPlacement};
use garrick_cluster::{Entities, JoinError, KindOptions, Node};
use garrick_journal::Journal;
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};

use super::account::{ACCOUNT, Account};
use super::servers::Servers;

/// Name of the subcommand that runs a member.
pub(super) const NAME: &str = "demo-member";

/// Line that the process prints when it has joined.
const READY: &str = "joined";

/// Time limit for a node to join the cluster. The limit is generous because the name of a killed
/// node remains reserved for some seconds.
const JOIN_WITHIN: Duration = Duration::from_secs(30);

/// Time limit for writing the remaining data of a connection that is being closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Time limit for a node to hand its shards over.
const DRAIN_WITHIN: Duration = Duration::from_secs(20);

/// Time limit for a process to end after its node was told to leave.
const END_WITHIN: Duration = Duration::from_secs(30);
/// Time between two checks for the end of the process.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Number of workers of the process. This number is small because all processes share one machine.
const WORKERS: usize = 1;

/// Number of shards into which the accounts are divided.
const SHARDS: u32 = 64;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    servers: Servers,
    #[arg(long)]
    cluster: String,
    #[arg(long)]
    node: String,
    #[arg(long)]
    forget: Option<u64>,
}

/// Joins the cluster as a node. Waits until the name of the node is free.
pub(super) fn join(system: &System, net: &NatsNet, cluster: &str, name: &str) -> Result<Node> {
    let began = Instant::now();
    loop {
        match Node::join(&system.handle(), net.clone(), cluster, name) {
            Ok(node) => return Ok(node),
            Err(JoinError::Taken { .. }) if began.elapsed() < JOIN_WITHIN => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs the node until it has left the cluster. When standard input ends, the node hands its shards
/// over to other nodes, and then leaves.
pub(super) fn run(arguments: &Arguments) -> Result<Ended> {
    let (cluster, name) = (&*arguments.cluster, &*arguments.node);
    let servers = || arguments.servers.builder();
    let system = System::builder().workers(WORKERS).start()?;
    let net = servers().start()?;
    let node = join(&system, &net, cluster, name)?;
    let placement = NatsPlacement::open(&system.handle(), servers(), cluster, name)?;
    let log = NatsLog::open(servers(), cluster, name)?;
    let journal = Journal::new(&system.handle(), log)?;
    let entities = Entities::start(&node, placement)?;
    let account = Account::new(arguments.forget);
    let make = move |key: &str| {
        let entity = journal.entity(format!("account/{key}"), account.clone());
        entity.expect("an account has a short name").fenced()
    };
    let options = KindOptions::new().shards(SHARDS);
    entities.host(ACCOUNT, options, make)?;
    print(READY);
    let left = entities.left();
    thread::spawn(move || {
        let _ = io::stdin().lines().next();
        // Without a server, the node never leaves in order.
        if entities.drain().wait_timeout(DRAIN_WITHIN) == Err(NoReply::TimedOut) {
            process::exit(1);
        }
    });
    left.wait()?;
    node.leave();
    net.close(CLOSE_WITHIN);
    Ok(Ended::Well)
}

/// A child process that runs a member of the cluster.
pub(super) struct Member {
    pub(super) name: String,
    child: Child,
    input: Option<ChildStdin>,
    is_ready: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Member {
    /// Starts a process that runs a member.
    pub(super) fn start(
        name: &str,
        cluster: &str,
        servers: &Servers,
        forget: Option<u64>,
    ) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["cluster", NAME, "--cluster", cluster, "--node", name]);
        if let Some(each) = forget {
            command.args(["--forget", &each.to_string()]);
        }
        servers.pass_on(&mut command);
        in_its_own_group(&mut command);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let is_ready = Arc::<AtomicBool>::default();
        let tells = is_ready.clone();
        let reader = output.map(|output| {
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(io::Result::ok) {
                    if line == READY {
                        tells.store(true, SeqCst);
                    }
                }
                tells.store(false, SeqCst);
            })
        });
        Ok(Self {
            name: name.to_owned(),
            child,
            input,
            is_ready,
            reader,
        })
    }

    /// Returns true if the node has joined and its process is running.
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready.load(SeqCst)
    }

    /// Returns the process ID of the member.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Returns the exit status of the process, if it has ended.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    pub(super) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.join_reader();
        Ok(())
    }

    /// Makes the node hand its shards over and leave. Returns an error if that takes too long.
    fn end(&mut self) -> Result<ExitStatus> {
        drop(self.input.take());
        let until = Instant::now() + END_WITHIN;
        loop {
            if let Some(status) = self.ended()? {
                self.join_reader();
                return Ok(status);
            }
            if Instant::now() >= until {
                let (name, limit) = (&self.name, END_WITHIN.as_secs());
                return Err(format!("{name} has not left within {limit} s").into());
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn join_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            // It does not panic.
            let _ = reader.join();
        }
    }
}

/// Tells the nodes to leave, one after another. Waits each time until the process of the node has
/// ended.
pub(super) fn end_all(members: &mut [Member]) -> Result<()> {
    for member in members {
        let status = member.end()?;
        if !status.success() {
            return Err(format!("{} has not left in order: {status}", member.name).into());
        }
    }
    Ok(())
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Protects a child process from Ctrl-C in the terminal. The demonstration itself ends its
/// processes, one after another.
pub(super) fn in_its_own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}
