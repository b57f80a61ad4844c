//! The setup of a run: servers and clients, each on a node of its own.

use std::time::Duration;

use garrick_sim::Sim;

use crate::client::{Client, Confirmed};
use crate::directory::Directory;
use crate::disk::Disk;
use crate::facts::Led;
use crate::mutation::Mutation;
use crate::properties;
use crate::server::{Cluster, Server};

/// Time within which the cluster must confirm all commands after the end of the faults.
const RECOVERY: Duration = Duration::from_secs(20);

/// Properties that the runs of a check have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) servers: usize,
    pub(crate) clients: usize,
    /// Number of commands of each client.
    pub(crate) commands: u32,
    /// Number of times that a candidate repeats its requests during an election timeout.
    pub(crate) repeats: u32,
    pub(crate) mutation: Mutation,
    /// Number of servers that crash, and the maximum number of crashes of each of them.
    pub(crate) crashes: (usize, u32),
    /// Number of lost messages per thousand.
    pub(crate) lost_per_mille: u32,
    /// Number of steps after which a run is cut.
    pub(crate) steps_max: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            servers: 3,
            clients: 1,
            commands: 3,
            repeats: 0,
            mutation: Mutation::None,
            crashes: (0, 0),
            lost_per_mille: 0,
            steps_max: 300,
        }
    }
}

/// Sets up a cluster with faults, and declares the five properties of the paper.
pub(crate) fn set_up(sim: &mut Sim, settings: &Settings) {
    let servers = Directory::new(settings.servers);
    let clients = (0..settings.clients).map(|id| {
        let client = Client::new(id, settings.commands, servers.clone(), settings.servers);
        sim.node(format!("client{id}")).spawn(client).unwrap()
    });
    let cluster = Cluster {
        count: settings.servers,
        clients: clients.collect(),
        servers,
        repeats: settings.repeats,
        mutation: settings.mutation,
    };
    for id in 0..settings.servers {
        start_server(sim, id, &cluster);
    }
    add_faults(sim, settings);
    properties::declare(sim, settings.servers);
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

fn add_faults(sim: &mut Sim, settings: &Settings) {
    sim.links().all().loses(settings.lost_per_mille);
    let (crashing, times) = settings.crashes;
    for id in 0..crashing {
        let after = Duration::ZERO..Duration::from_millis(500);
        sim.faults().crash_and_restart(name_of(id), times, after);
    }
}

/// Declares that the cluster makes progress, if its messages have delays.
pub(crate) fn await_progress(sim: &mut Sim, settings: &Settings) {
    sim.eventually("a leader is elected", RECOVERY, |facts| {
        facts.seen::<Led>().len() > 0
    });
    let commands = settings.clients * settings.commands as usize;
    sim.eventually("all commands are confirmed", RECOVERY, move |facts| {
        facts.seen::<Confirmed>().len() == commands
    });
}

/// Returns the name of the node of a server.
fn name_of(id: usize) -> String {
    format!("s{id}")
}
