//! A bank, in which each node and the operator has its own NATS user.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::cluster;
use super::server::Server;

/// Starts a NATS server with a user for each of `names`, who has the permissions for a node in the
/// cluster `bank`. Another user, `stranger`, has no permissions. The password of each user is the
/// user's name.
pub(super) fn serve(names: &[&str]) -> Option<Server> {
    let user = |name: &&str| {
        let arguments = ["permissions", "--cluster", "bank", "--node", name];
        let output = cluster(&arguments).output().unwrap();
        assert!(output.status.success());
        let permissions = String::from_utf8(output.stdout).unwrap();
        format!("{{ user: {name}, password: {name}, permissions {permissions} }}\n")
    };
    let users: String = names.iter().map(user).collect();
    let nothing = "{ publish: { deny: \">\" } }";
    let stranger = format!("{{ user: stranger, password: stranger, permissions {nothing} }}");
    Server::start(&format!(
        "authorization {{ users = [ {users} {stranger} ] }}"
    ))
}

/// Returns the command `garrick cluster` that connects to the server as the given user.
pub(super) fn as_user(server: &Server, user: &str, arguments: &[&str]) -> Command {
    let mut command = cluster(arguments);
    command.args(["--nats", server.address(), "--user", user]);
    command.env("GARRICK_NATS_PASSWORD", user);
    command
}

/// A process with a node of the bank.
pub(super) struct Node(pub(super) Child);

impl Node {
    /// Starts the process, and waits until the node has joined.
    pub(super) fn start(server: &Server, name: &str) -> Self {
        let arguments = ["demo-member", "--cluster", "bank", "--node", name];
        let mut command = as_user(server, name, &arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let node = Self(child);
        assert_eq!(lines.next().unwrap().unwrap(), "joined");
        node
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
