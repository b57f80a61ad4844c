//! A pipeline of payments that ends in a supervised actor, and a web page that shows both while
//! they run.
//!
//! Run it with `cargo run --release`, and test it with `cargo test`.
#![forbid(unsafe_code)]

mod ledger;

use std::error::Error;
use std::io;

use garrick::flow::{Graph, Restarts, stages};
use garrick::prelude::*;
use garrick::supervise::{Strategy, Supervisor};
use garrick::telemetry::Telemetry;

use ledger::{Entry, Ledger};

/// Number of payments.
const PAYMENTS: u64 = 5_000_000;

/// Maximum number of asks in flight from the pipeline to the ledger.
const AT_ONCE: usize = 64;

/// Builds the pipeline: payments of 2, 3, 4, .. cents. A fee of one cent is deducted from each
/// payment, and the ledger books the rest.
fn pipeline(payments: u64, ledger: Address<Entry>) -> Result<Graph, Box<dyn Error>> {
    let mut graph = Graph::new();
    let (paid, paid_in) = graph.channel::<u64>(4096)?;
    let (charged, charged_in) = graph.channel::<u64>(4096)?;
    graph.source("payments", stages::produce(paid, 2..payments + 2));
    let charge = stages::map(paid_in, charged, |cents: &u64| cents - 1);
    graph.stage("charge", charge.restarting(Restarts::default()));
    let book = move |cents| {
        let booked = ledger.ask(|reply| Entry::Book(cents, reply));
        async move {
            if booked.await.is_err() {
                eprintln!("{cents} cents were not booked");
            }
        }
    };
    graph.stage(
        "book",
        stages::for_each_async(charged_in, book).at_once(AT_ONCE),
    );
    Ok(graph)
}

fn main() -> Result<(), Box<dyn Error>> {
    let system = System::builder().probes(true).start()?;
    let tree = Supervisor::new("bank", Strategy::OneForOne).spawn(&system.handle())?;
    let ledger = system
        .actor(Ledger::default)
        .named("ledger")
        .supervised_by(&tree)
        .spawn()?;

    let telemetry = Telemetry::start()?;
    telemetry.watch(system.handle());
    let running = pipeline(PAYMENTS, ledger.clone())?.start()?;
    telemetry.watch(running.monitor());
    println!("see {}", telemetry.url());

    let report = running.join();
    for stage in report.stages() {
        println!(
            "{}: {} in, {} out",
            stage.name, stage.messages_in, stage.messages_out
        );
    }
    println!(
        "the ledger has {} cents; press Enter to exit",
        ledger.ask(Entry::Sum).wait()?
    );
    io::stdin().read_line(&mut String::new())?;
    tree.stop().wait()?;
    system.shutdown();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_payment_is_booked_but_for_the_fee() -> Result<(), Box<dyn Error>> {
        let system = System::new()?;
        let ledger = system.spawn(Ledger::default())?;
        let report = pipeline(100, ledger.clone())?.start()?.join();
        assert!(report.failures().is_empty());
        assert_eq!(ledger.ask(Entry::Sum).wait(), Ok((1..=100).sum()));
        system.shutdown();
        Ok(())
    }
}
