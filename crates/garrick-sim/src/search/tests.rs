//! Tests of the strategies on small systems without actors.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;

/// A message: its sender and its receiver. Task 0 is the setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Pair(u8, u8);

impl Action for Pair {
    fn changes(&self) -> Option<u64> {
        Some(self.1.into())
    }

    fn chain(&self) -> u64 {
        u64::from(self.0) << 8 | u64::from(self.1)
    }
}

/// A system of tasks. Each task has a number as its state.
trait System {
    /// Returns the messages of the setup: receivers and contents.
    fn setup(&self) -> Vec<(u8, u64)>;

    /// Handles a message: changes the state of the task, and returns messages to send.
    fn handle(&self, task: u8, state: &mut u64, message: u64) -> Vec<(u8, u64)>;
}

/// Makes one run. Returns the states at the end and the actions, or `None` if the strategy has
/// ended the run.
fn run(
    system: &impl System,
    strategy: &mut dyn Strategy<Pair>,
) -> Option<(BTreeMap<u8, u64>, Vec<Pair>)> {
    let mut states = BTreeMap::new();
    let mut pairs: BTreeMap<Pair, VecDeque<u64>> = BTreeMap::new();
    let mut actions = Vec::new();
    let mut sent = (0, system.setup());
    loop {
        for (to, message) in sent.1 {
            let pair = Pair(sent.0, to);
            pairs.entry(pair).or_default().push_back(message);
            strategy.caused(pair);
        }
        let enabled: Vec<Pair> = pairs.keys().copied().collect();
        if enabled.is_empty() {
            return Some((states, actions));
        }
        let chosen = enabled[strategy.choose(&enabled)?];
        actions.push(chosen);
        let queue = pairs.get_mut(&chosen).expect("it is enabled");
        let message = queue.pop_front().expect("it is not empty");
        if queue.is_empty() {
            pairs.remove(&chosen);
        }
        let state = states.entry(chosen.1).or_default();
        sent = (chosen.1, system.handle(chosen.1, state, message));
    }
}

/// Results of an exhaustive search.
#[derive(Debug, Default)]
struct Tried {
    runs: usize,
    redundant: usize,
    ends: BTreeSet<BTreeMap<u8, u64>>,
}

fn try_all(system: &impl System, mut search: Exhaustive<Pair>, runs_max: usize) -> Tried {
    let mut tried = Tried::default();
    while search.begin() {
        assert!(tried.runs < runs_max, "too many runs: {}", tried.runs);
        tried.runs += 1;
        match run(system, &mut search) {
            Some((states, _)) => drop(tried.ends.insert(states)),
            None => tried.redundant += 1,
        }
    }
    tried
}

/// Each of some senders sends its number to one receiver, which keeps the order.
struct Order(u8);

impl System for Order {
    fn setup(&self) -> Vec<(u8, u64)> {
        (1..=self.0).map(|sender| (sender, sender.into())).collect()
    }

    fn handle(&self, task: u8, state: &mut u64, message: u64) -> Vec<(u8, u64)> {
        if task == 100 {
            *state = *state * 10 + message;
            return Vec::new();
        }
        vec![(100, message)]
    }
}

/// Tellers read a balance, add one, and write it.
struct Bank(u8);

impl System for Bank {
    fn setup(&self) -> Vec<(u8, u64)> {
        (1..=self.0).map(|teller| (teller, u64::MAX)).collect()
    }

    fn handle(&self, task: u8, state: &mut u64, message: u64) -> Vec<(u8, u64)> {
        if task != 100 {
            let request = if message == u64::MAX {
                0
            } else {
                1000 + message + 1
            };
            return vec![(100, u64::from(task) * 100_000 + request)];
        }
        let (teller, request) = (message / 100_000, message % 100_000);
        if request >= 1000 {
            *state = request - 1000;
            return Vec::new();
        }
        vec![(teller as u8, *state)]
    }
}

#[test]
fn all_orders_are_found_with_few_redundant_runs() {
    let plain = try_all(&Order(3), Exhaustive::plain(), 1000);
    assert_eq!((plain.runs, plain.redundant), (90, 0));
    for (senders, orders) in [(3, 6), (4, 24), (5, 120)] {
        let tried = try_all(&Order(senders), Exhaustive::new(), 1000);
        assert_eq!(tried.ends.len(), orders, "{tried:?}");
        assert!(tried.runs <= 325, "{}", tried.runs);
        assert!(
            tried.redundant * 10 <= tried.runs,
            "{} of {}",
            tried.redundant,
            tried.runs
        );
    }
}

#[test]
fn banks_are_searched_with_few_redundant_runs() {
    let plain = try_all(&Bank(2), Exhaustive::plain(), 1000);
    assert_eq!(plain.runs, 70);
    for tellers in [2, 3] {
        let tried = try_all(&Bank(tellers), Exhaustive::new(), 1000);
        assert_eq!(tried.ends.len(), usize::from(tellers), "{tried:?}");
        assert!(
            tried.redundant * 10 <= tried.runs,
            "{} of {}",
            tried.redundant,
            tried.runs
        );
    }
}

/// Tasks that react by a table, which is drawn from a seed.
struct Random {
    seed: u64,
    tasks: u8,
}

impl System for Random {
    fn setup(&self) -> Vec<(u8, u64)> {
        (1..=self.tasks).map(|task| (task, 2)).collect()
    }

    fn handle(&self, task: u8, state: &mut u64, message: u64) -> Vec<(u8, u64)> {
        let mut rng = Rng::new(self.seed ^ u64::from(task) << 32 ^ *state << 8 ^ message);
        *state = (*state * 31 + message + rng.next() % 3) % 1_000_003;
        if message == 0 {
            return Vec::new();
        }
        let count = rng.below(3);
        let tasks = usize::from(self.tasks);
        (0..count)
            .map(|_| (1 + rng.below(tasks) as u8, message - 1))
            .collect()
    }
}

#[test]
fn the_reduced_search_finds_all_ends() {
    let (mut searched, mut saved) = (0, 0);
    for seed in 0..150 {
        let system = Random { seed, tasks: 3 };
        let mut plain = Exhaustive::plain();
        let mut ends = BTreeSet::new();
        let mut runs = 0;
        while plain.begin() && runs < 400 {
            runs += 1;
            ends.extend(run(&system, &mut plain).map(|(states, _)| states));
        }
        if runs == 400 {
            continue;
        }
        let reduced = try_all(&system, Exhaustive::new(), 400);
        assert_eq!(reduced.ends, ends, "seed {seed}");
        searched += 1;
        saved += usize::from(reduced.runs < runs);
    }
    assert!(
        searched > 20 && saved > 10,
        "{searched} searched, {saved} saved"
    );
}

#[test]
fn strategies_depend_on_their_seeds_alone() {
    let made =
        |mut strategy: Box<dyn Strategy<Pair>>| run(&Order(5), &mut *strategy).map(|made| made.1);
    let mut orders = BTreeSet::new();
    for seed in 0..64 {
        let one = made(portfolio(seed, 10));
        assert_eq!(one, made(portfolio(seed, 10)));
        orders.insert(one);
    }
    assert!(orders.len() > 50, "{}", orders.len());
}

#[test]
fn each_strategy_finds_a_rare_order() {
    // One of 120 orders.
    let finds = |make: &dyn Fn(u64) -> Box<dyn Strategy<Pair>>| {
        let found = (0..5000).filter(|&seed| {
            let made = run(&Order(5), &mut *make(seed)).expect("it ends by itself");
            made.0[&100] == 35_142
        });
        found.count()
    };
    let walk = finds(&|seed| Box::new(Walk::new(seed)));
    assert!((20..80).contains(&walk), "{walk}");
    let pos = finds(&|seed| Box::new(Pos::new(seed)));
    assert!((20..80).contains(&pos), "{pos}");
    let pct = finds(&|seed| Box::new(Pct::new(seed, 4, 10)));
    assert!(pct > 5, "{pct}");
}

#[test]
fn pct_finds_an_order_in_which_one_task_is_last() {
    /// Task 1 must be the last of many.
    struct Last;
    impl System for Last {
        fn setup(&self) -> Vec<(u8, u64)> {
            (1..=20).map(|task| (task, 0)).collect()
        }
        fn handle(&self, task: u8, state: &mut u64, message: u64) -> Vec<(u8, u64)> {
            if task == 100 {
                *state = message;
                return Vec::new();
            }
            // Each task needs ten turns.
            *state += 1;
            let to = if *state < 10 { task } else { 100 };
            vec![(to, task.into())]
        }
    }
    let found = (0..1000).filter(|&seed| {
        let made = run(&Last, &mut Pct::new(seed, 1, 200)).expect("it ends by itself");
        made.0[&100] == 1
    });
    // Each of the 20 tasks is the last with the same probability.
    let found = found.count();
    assert!(found > 20, "{found}");
}
