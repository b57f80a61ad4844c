//! Subcommand `garrick cluster`.

mod refusal;
mod servers;
mod usage;

mod observed;

mod drain;
mod shards;
mod status;

mod account;
mod model;

mod member;

mod engine;
mod leak;

mod callers;
mod trio;

mod demo;
mod ledger;

mod soak;

use clap::{Args, Subcommand};
use garrick_cluster::nats;
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a bank on several processes of this machine, kill them while they work, and check the
    /// results.
    Demo(demo::Arguments),
    /// Run a bank on three processes and three NATS servers of this machine, and kill and pause
    /// them at random for an hour. Check each answer, the total, and the resources of the
    /// processes.
    Soak(soak::Arguments),
    /// Show the members and the kinds of entities of a cluster.
    Status(status::Arguments),
    /// Show which nodes own the shards of a kind of entities.
    Shards(shards::Arguments),
    /// Order a node to hand its shards over to other nodes and to leave. Wait until the node has
    /// left.
    Drain(drain::Arguments),
    /// Print the permissions of a node, or of an operator, for the configuration of the NATS
    /// server.
    Permissions(Permissions),
    #[command(name = member::NAME, hide = true)]
    Member(member::Arguments),
    #[command(name = engine::NAME, hide = true)]
    Engine(engine::Arguments),
}

#[derive(Debug, Args)]
pub(crate) struct Permissions {
    /// Name of the cluster.
    #[arg(long, value_name = "NAME")]
    cluster: String,

    /// Name of the node. For an operator, any name that no node has. The operator passes this name
    /// to the other commands by --as.
    #[arg(long, value_name = "NAME")]
    node: String,
}

pub(crate) fn run(command: Command) -> Result<Ended> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Shards(arguments) => shards::run(&arguments),
        Command::Drain(arguments) => drain::run(&arguments),
        Command::Permissions(arguments) => Ok(permissions(&arguments)),
        Command::Member(arguments) => member::run(&arguments),
        Command::Engine(arguments) => engine::run(&arguments),
    }
}

fn permissions(arguments: &Permissions) -> Ended {
    match nats::permissions(&arguments.cluster, &arguments.node) {
        Ok(permissions) => {
            print(&permissions);
            Ended::Well
        }
        Err(error) => Ended::Refused(error.to_string()),
    }
}
