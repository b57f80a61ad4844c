//! The setup of a run: servers and clients, each on a node of its own.

use garrick_sim::Sim;

use crate::client::Client;
use crate::directory::Directory;
use crate::disk::Disk;
use crate::mutation::Mutation;
use crate::properties;
use crate::server::{Cluster, Server};

/// Number of commands of each client.
const COMMANDS: u32 = 3;

/// Sets up a cluster, whose servers can crash, and declares the five properties of the paper.
pub(crate) fn set_up(sim: &mut Sim, servers: usize, clients: usize, mutation: Mutation) {
    let directory = Directory::new(servers);
    let clients = (0..clients).map(|id| {
        let client = Client::new(id, COMMANDS, directory.clone(), servers);
        sim.node(format!("client{id}")).spawn(client).unwrap()
    });
    let cluster = Cluster {
        count: servers,
        servers: directory.clone(),
        clients: clients.collect(),
        mutation,
    };
    for id in 0..servers {
        start_server(sim, id, &cluster);
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
