//! A pipeline moves items from a log to a store on another node, and commits its position in the
//! log. If it commits an item before the store has it, a crash loses the item.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Reply};
use garrick_flow::{Graph, Receiver, Stage, stages};
use garrick_sim::{Node, Sim};

use crate::{assert_found, assert_right};

/// Number of items in the log.
const ITEMS: u64 = 4;

/// A fact: the store has this item.
#[derive(Debug)]
struct Stored(u64);

enum Put {
    Send(u64),
    Ask(u64, Reply<()>),
}

/// An actor that stores items. Its node does not crash.
struct Store;

impl Actor for Store {
    type Msg = Put;
    type Outcome = ();

    fn receive(&mut self, put: Put, cx: &mut Context<'_, Put>) {
        match put {
            Put::Send(item) => cx.note(Stored(item)),
            Put::Ask(item, reply) => {
                cx.note(Stored(item));
                reply.send(());
            }
        }
    }
}

/// Number of committed items, which survives a crash.
type Committed = Arc<AtomicU64>;

/// Returns a stage that commits each item when the stage has sent the item to the store.
fn commit_early(input: Receiver<u64>, store: Address<Put>, committed: Committed) -> impl Stage {
    stages::consume(input, move |items: &[u64]| {
        for item in items {
            let _ = store.send(Put::Send(*item));
            committed.store(item + 1, Relaxed);
        }
    })
}

/// Returns a stage that commits each item when the store has confirmed the item.
fn commit_late(input: Receiver<u64>, store: Address<Put>, committed: Committed) -> impl Stage {
    stages::for_each_async(input, move |item| {
        let stored = store.ask(|reply| Put::Ask(item, reply));
        let committed = Arc::clone(&committed);
        async move {
            if stored.await.is_ok() {
                committed.store(item + 1, Relaxed);
            }
        }
    })
}

/// Starts the pipeline, which begins after the last committed item.
fn start(node: &Node, store: &Address<Put>, committed: &Committed, is_right: bool) {
    let (store, committed) = (store.clone(), Arc::clone(committed));
    let mut graph = Graph::new();
    let (output, input) = graph.channel(2).unwrap();
    graph.source(
        "read",
        stages::produce(output, committed.load(Relaxed)..ITEMS),
    );
    if is_right {
        graph.stage("move", commit_late(input, store, committed));
    } else {
        graph.stage("move", commit_early(input, store, committed));
    }
    node.run(graph).unwrap();
}

fn commit(sim: &mut Sim, is_right: bool) {
    let store = sim.node("disk").spawn(Store).unwrap();
    let committed = Committed::default();
    sim.restarting("mover", move |node| {
        start(node, &store, &committed, is_right);
    });
    let soon = Duration::ZERO..Duration::from_millis(1);
    sim.faults().crash_and_restart("mover", 1, soon);
    sim.explained("every item is stored", |facts| {
        let is_missing = |item| facts.seen::<Stored>().all(|stored| stored.0 != item);
        match (0..ITEMS).find(|item| is_missing(*item)) {
            Some(item) => Err(format!("the item {item} is missing")),
            None => Ok(()),
        }
    });
}

#[test]
fn an_item_that_is_committed_before_it_is_stored_is_found() {
    let failed = assert_found("commit", "every item is stored", |sim| {
        commit(sim, false);
    });
    let trace = failed.trace().to_string();
    assert!(trace.contains("mover crashes"), "{trace}");
}

#[test]
fn items_that_are_committed_after_they_are_stored_are_right() {
    assert_right("commit after the answer", |sim| commit(sim, true));
}
