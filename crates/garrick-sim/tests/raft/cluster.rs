//! The setup of a run: servers and a client, each on a separate node.

use std::time::Duration;

use garrick_sim::Sim;

use crate::client::Client;
use crate::directory::Directory;
use crate::disk::Disk;
use crate::mutation::Mutation;
use crate::properties;
use crate::server::{Cluster, Server};

/// Number of commands of each client.
const COMMANDS: u32 = 3;

/// Longest time from a crash to the restart of the server.
const DOWN_MAX: Duration = Duration::from_millis(500);

/// Order of the messages and timers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// Messages and timers come in any order, and links lose 10 of 1,000 messages.
    AnyOrder,
    /// Each message takes 1 to 20 ms, and none is lost.
    Latency,
}

/// Sets up a cluster with one client. Its servers can crash twice. Declares the five properties of
/// the paper.
pub(crate) fn set_up(sim: &mut Sim, servers: usize, mutation: Mutation, times: Times) {
    let directory = Directory::new(servers);
    let client = Client::new(0, COMMANDS, directory.clone(), servers);
    let client = sim.node("client").spawn(client).unwrap();
    let cluster = Cluster {
        count: servers,
        servers: directory.clone(),
        client,
        mutation,
    };
    for id in 0..servers {
        start_server(sim, id, &cluster);
        let down = Duration::ZERO..DOWN_MAX;
        sim.faults().crash_and_restart(name_of(id), 2, down);
    }
    match times {
        Times::AnyOrder => {
            sim.links().all().loses(10);
        }
        Times::Latency => {
            sim.latency(Duration::from_millis(1)..Duration::from_millis(20));
        }
    }
    properties::declare(sim, servers);
}

/// Opens the node of a server, which keeps its disk and gets new timeouts when it starts again.
fn start_server(sim: &mut Sim, id: usize, cluster: &Cluster) {
    let cluster = cluster.clone();
    let disk = Disk::default();
    // Seeds of different servers and incarnations differ.
    let mut seed = sim.seed() << 16 | (id as u64) << 8;
    sim.restarting(name_of(id), move |node| {
        let server = Server::new(id, cluster.clone(), disk.clone(), seed);
        cluster.servers.set(id, node.spawn(server).unwrap());
        seed += 1;
    });
}

/// Returns the name of the node of a server.
pub(crate) fn name_of(id: usize) -> String {
    format!("s{id}")
}
