//! Routers and pools: four clerks behind one address, to which customers are assigned in turn or by
//! name, and a pool that computes sums.

use std::collections::BTreeMap;

use garrick::prelude::*;
use garrick::route::{ConsistentHash, Policy, Pool, RoundRobin, Router};

/// A clerk, which serves customers, and counts the visits of each customer.
struct Clerk {
    name: usize,
    served: BTreeMap<String, u32>,
}

struct Visit {
    customer: String,
    /// Reply with the clerk's name, and the number of times that this clerk has served this
    /// customer.
    reply: Reply<(usize, u32)>,
}

impl Actor for Clerk {
    type Msg = Visit;
    type Outcome = ();

    fn receive(&mut self, visit: Visit, _: &mut Context<'_, Visit>) {
        let times = self.served.entry(visit.customer).or_default();
        *times += 1;
        visit.reply.send((self.name, *times));
    }
}

fn visit_three_times(system: &System, policy: impl Policy<Visit>) -> Vec<(usize, u32)> {
    let router = Router::spawn(&system.handle(), policy).expect("the system runs");
    let mut names = 0..;
    let clerk = || Clerk {
        name: names.next().expect("the range of numbers does not end"),
        served: BTreeMap::new(),
    };
    router
        .fill(&system.handle(), 4, clerk)
        .expect("the system runs");
    let visit = |_| {
        let customer = "Ada".to_owned();
        let asked = router.ask(|reply| Visit { customer, reply });
        asked.wait().expect("clerks answer")
    };
    (0..3).map(visit).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;

    let by_turns = visit_three_times(&system, RoundRobin::new());
    println!("clerk and visit, round-robin: {by_turns:?}");
    assert_eq!(by_turns, [(0, 1), (1, 1), (2, 1)]);

    let by_customer = ConsistentHash::new(|visit: &Visit| visit.customer.clone());
    let by_customer = visit_three_times(&system, by_customer);
    println!("clerk and visit, by customer: {by_customer:?}");
    assert_eq!(by_customer[2], (by_customer[0].0, 3));

    let pool = Pool::spawn(&system.handle(), 2, || |n: u64| (1..=n).sum::<u64>())?;
    let sums: Vec<_> = (0..100).map(|n| pool.run(n)).collect();
    let mut total = 0;
    for sum in sums {
        total += sum.wait()?;
    }
    println!("100 sums, by two workers:     {total}");
    assert_eq!(total, 166_650);
    system.shutdown();
    Ok(())
}
