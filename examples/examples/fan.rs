//! Orders are partitioned by customer, handled by four parallel stages, and merged again. The
//! orders of each customer stay in order.
//!
//! Run it with `cargo run --release -p garrick-examples --example fan`.
use std::error::Error;

use garrick::flow::{Graph, Slots, stages};

/// An order: the number of the customer, and the number of the order for this customer.
type Order = (u32, u32);

const CUSTOMERS: u32 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut graph = Graph::new();
    let (orders, orders_in) = graph.channel::<Order>(Slots::of(4096).named("orders"))?;
    let (parts, parts_in) = graph.bundle::<Order>(4, Slots::of(4096).named("part"))?;
    let (handled, handled_in) = graph.bundle::<Order>(4, Slots::of(4096).named("handled"))?;
    let (all, all_in) = graph.channel::<Order>(Slots::of(4096).named("all"))?;

    let numbers = 0..CUSTOMERS * 1_000;
    let made = numbers.map(|number| (number % CUSTOMERS, number / CUSTOMERS));
    graph.source("orders", stages::produce(orders, made));
    let part = stages::partition(orders_in, parts, |(customer, _)| *customer);
    graph.stage("by customer", part);

    // The four stages share two threads.
    let mut stages = parts_in.into_iter().zip(handled);
    for team in ["left", "right"] {
        let two = stages.by_ref().take(2).enumerate();
        two.fold(graph.team(team), |team, (index, (part, handled))| {
            team.stage(
                format!("handle {index}"),
                stages::map(part, handled, |o| *o),
            )
        });
    }
    graph.stage("gather", stages::merge(handled_in, all));
    let mut next = vec![0; CUSTOMERS as usize];
    let check = move |orders: &[Order]| {
        for (customer, number) in orders {
            let next = &mut next[*customer as usize];
            assert_eq!(number, next, "an order of customer {customer}");
            *next += 1;
        }
    };
    graph.stage("check", stages::consume(all_in, check));

    let report = graph.start()?.join();
    for channel in report.channels() {
        println!(
            "{:>10}: {:>9} messages; {} times full, {} times empty",
            channel.name.as_deref().unwrap_or("?"),
            channel.taken,
            channel.sender_stalls,
            channel.receiver_stalls
        );
    }
    match report.failures() {
        [] => Ok(()),
        [first, ..] => Err(first.message.clone().into()),
    }
}
