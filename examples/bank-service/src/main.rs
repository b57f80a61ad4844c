//! An HTTP service for bank accounts, which are durable actors. The service runs in one process
//! without another server, or on several nodes that are connected by NATS. The README shows how to
//! run the service.
#![forbid(unsafe_code)]

mod account;

mod bank;

mod http;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use garrick::System;
use garrick::cluster::nats::{NatsNet, permissions};
use garrick::telemetry::{Recorder, Telemetry};
use garrick::tokio::Signals;
use tokio::net::TcpListener;

use bank::{Bank, CLUSTER, Place};
use http::Front;

/// Time between two checks of the cluster.
const LOOKS_EVERY: Duration = Duration::from_millis(200);

/// A service for bank accounts.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    service: Service,
}

#[derive(Subcommand)]
enum Command {
    /// Print the part of the NATS server's configuration that defines a user for each of the given
    /// nodes. The server takes the passwords from its environment.
    Users { nodes: Vec<String> },
}

#[derive(Args)]
struct Service {
    /// Address on which the service accepts HTTP requests.
    #[arg(long, default_value = "127.0.0.1:8080")]
    address: SocketAddr,
    /// Time limit of a request in milliseconds. If a node is killed, its accounts are on other
    /// nodes after at most 6 s.
    #[arg(long, default_value_t = 15_000, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    timeout_ms: u64,
    /// Folder of the journals, if the service runs without NATS.
    #[arg(long, default_value = "bank-data")]
    folder: PathBuf,
    /// Addresses of NATS servers, separated by commas. With this option, the service runs as one of
    /// several nodes.
    #[arg(long, requires = "node")]
    nats: Option<String>,
    /// Name of this node, which must differ from the names of the other nodes.
    #[arg(long, requires = "nats")]
    node: Option<String>,
    /// Number of NATS servers that store a copy of each record and event.
    #[arg(long, default_value_t = 1)]
    replicas: usize,
    /// PEM file with the certificate of the authority that has signed the certificates of the NATS
    /// servers.
    #[arg(long)]
    authority: Option<PathBuf>,
    /// Password for the NATS servers. The user name is the name of the node.
    #[arg(long, env = "BANK_PASSWORD", hide_env_values = true)]
    password: Option<String>,
}

impl Service {
    fn place(&self) -> Place {
        let (Some(servers), Some(node)) = (&self.nats, &self.node) else {
            return Place::Alone(self.folder.clone());
        };
        let mut servers = NatsNet::builder(servers).replicas(self.replicas);
        if let Some(file) = &self.authority {
            servers = servers.root_certificates(file);
        }
        if let Some(password) = &self.password {
            servers = servers.user(node, password);
        }
        Place::Among(Box::new(servers), node.clone())
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Some(Command::Users { nodes }) => print_users(&nodes),
        None => run(&arguments.service),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(service: &Service) -> Result<(), Box<dyn Error>> {
    let system = System::builder().name("bank").probes(true).start()?;
    let recorder = Recorder::default();
    recorder.install()?;
    http::describe();
    let telemetry = Telemetry::builder()
        .without_server()
        .recorder(&recorder)
        .start()?;
    telemetry.watch(system.handle());
    let bank = Arc::new(Bank::open(&system.handle(), service.place())?);
    telemetry.watch(bank.node().clone());
    telemetry.watch(bank.journal().monitor("bank"));

    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(serve(service, &bank, &telemetry));
    // If the accounts are still being handed over, a thread of the runtime waits for that.
    runtime.shutdown_background();
    if served.is_ok() {
        system.shutdown();
    }
    served
}

/// Serves requests until a signal arrives, or until this node must be restarted. Then hands the
/// accounts over to other nodes.
async fn serve(
    service: &Service,
    bank: &Arc<Bank>,
    telemetry: &Telemetry,
) -> Result<(), Box<dyn Error>> {
    let mut signals = Signals::listen()?;
    let listener = TcpListener::bind(service.address).await?;
    println!(
        "{} listens at http://{}",
        bank.name(),
        listener.local_addr()?
    );
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let ended = async {
        let _ = ended.await;
    };
    let within = Duration::from_millis(service.timeout_ms);
    let front = Front::new(Arc::clone(bank), telemetry.view(), within);
    let serving = tokio::spawn(http::serve(listener, front, ended));
    let over = tokio::select! {
        signal = signals.recv() => {
            println!("{} ends: it has received {signal:?}", bank.name());
            Ok(())
        }
        why = look(bank) => Err(why.into()),
    };
    bank.begin_end();
    let _ = end.send(());
    // Requests that were accepted are answered. A connection that asks for nothing is no reason to
    // wait, and a second signal is a wish not to.
    tokio::select! {
        _ = tokio::time::timeout(within, serving) => {}
        _ = signals.recv() => {}
    }
    println!("{} hands its accounts over", bank.name());
    let closing = Arc::clone(bank);
    tokio::select! {
        closed = tokio::task::spawn_blocking(move || closing.close()) => closed?,
        _ = signals.recv() => return Err("it was told to end at once".into()),
    }
    println!("{} has ended", bank.name());
    over
}

/// Prints the members of the cluster at each change. When this node must be restarted, returns the
/// reason.
async fn look(bank: &Bank) -> String {
    let mut told = None;
    let mut times = tokio::time::interval(LOOKS_EVERY);
    loop {
        times.tick().await;
        if let Some(why) = bank.is_over() {
            return why;
        }
        let members = bank.entities().members();
        let names: Vec<_> = members.members.iter().map(|name| name.as_str()).collect();
        let names = names.join(", ");
        if members.is_member && told.as_ref() != Some(&names) {
            println!("members: {names}");
            told = Some(names);
        }
    }
}

fn print_users(nodes: &[String]) -> Result<(), Box<dyn Error>> {
    println!("users = [");
    for node in nodes {
        let variable = node.to_uppercase().replace('-', "_");
        let permissions = permissions(CLUSTER, node)?;
        println!("{{ user: {node}, password: ${variable}_PASSWORD, permissions: {permissions} }}");
    }
    println!("]");
    Ok(())
}
