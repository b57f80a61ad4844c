//! A process that runs one member. The member runs the entities of one test.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use garrick_actor::System;
use garrick_cluster::nats::{NatsLog, NatsNet, NatsPlacement};
use garrick_cluster::{Entities, JoinError, Node};
use garrick_journal::Journal;
use garrick_testkit::HANGS_AFTER;

/// Environment variable with the name of the member. The next variable contains the address of the
/// server.
const NAME: &str = "GARRICK_CLUSTER_MEMBER";
const SERVER: &str = "GARRICK_CLUSTER_SERVER";

/// Name of the cluster.
pub(crate) const CLUSTER: &str = "processes";

/// Line that the process prints when it has joined.
const READY: &str = "the member has joined";

/// Returns true if this process is a member.
pub(crate) fn runs_here() -> bool {
    env::var_os(NAME).is_some()
}

/// Joins the cluster as a node. After a process was killed, the name of its node is reserved for
/// some time.
pub(crate) fn join(system: &System, net: &NatsNet, name: &str) -> Node {
    let began = Instant::now();
    loop {
        match Node::join(&system.handle(), net.clone(), CLUSTER, name) {
            Ok(node) => return node,
            Err(JoinError::Taken { .. }) if began.elapsed() < HANGS_AFTER => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Runs the member until its standard input ends. `host` adds the kind of the test.
pub(crate) fn run(host: impl FnOnce(&Entities, Journal)) {
    let [name, server] = [NAME, SERVER].map(|name| env::var(name).unwrap());
    let system = System::new().unwrap();
    let net = NatsNet::builder(&server).start().unwrap();
    let node = join(&system, &net, &name);
    let servers = || NatsNet::builder(&server);
    let placement = NatsPlacement::open(&system.handle(), servers(), CLUSTER, &name).unwrap();
    let log = NatsLog::open(servers(), CLUSTER, &name).unwrap();
    let journal = Journal::new(&system.handle(), log).unwrap();
    let entities = Entities::start(&node, placement).unwrap();
    host(&entities, journal);
    // Ends the line of the test runner.
    println!("\n{READY}");
    io::stdout().flush().unwrap();
    let _ = io::stdin().lines().next();
    entities.drain().wait().unwrap();
    node.leave();
    net.close(Duration::from_secs(2));
    println!("{:?}", entities.sample());
}

/// A process that was started.
pub(crate) struct Member {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Member {
    /// Starts the process of a member. `test` is the name of the test function that runs it.
    pub(crate) fn start(test: &str, number: usize, server: &str) -> Self {
        Self::start_with(test, number, server, [])
    }

    /// Starts the process of a member with more environment variables.
    pub(crate) fn start_with<const N: usize>(
        test: &str,
        number: usize,
        server: &str,
        variables: [(&str, &Path); N],
    ) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(NAME, format!("member-{number}"))
            .env(SERVER, server)
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits until the member has joined.
    pub(crate) fn is_ready(&mut self) {
        let mut line = String::new();
        while line.trim() != READY {
            line.clear();
            assert_ne!(
                self.lines.read_line(&mut line).unwrap(),
                0,
                "the member has ended"
            );
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status().unwrap();
        assert!(status.success());
    }

    /// Makes the member hand its shards over and leave.
    pub(crate) fn end(&mut self) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        while self.lines.read_line(&mut rest).unwrap() > 0 {}
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {rest}");
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
