//! Tests pipelines and systems of actors as sources of telemetry.

mod common;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use common::{anywhere, start};
use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Actor, Context, Next, Reply, System, behavior};
use garrick_flow::{Graph, Slots, stages};
use garrick_telemetry::{Moment, Node, NodeKind, Sampler, Settings, Snapshot, State};

#[test]
fn a_pipeline_is_seen_with_its_stages_and_channels() {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph
        .channel(Slots::of(64).named("numbers"))
        .expect("slots");
    graph.source("count", stages::produce(numbers, 0..1000u32));
    graph.stage("read", stages::consume(numbers_in, |_| ()));
    let running = graph.start().expect("threads");
    let telemetry = start(anywhere());
    telemetry.watch(running.monitor());
    running.join();
    telemetry.look();
    let seen = telemetry.latest();
    let names: Vec<&str> = seen.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["count", "read"]);
    for node in &seen.nodes {
        assert_eq!(
            (node.kind, node.state, node.messages),
            (NodeKind::Stage, State::Ended, 1000)
        );
    }
    let edge = &seen.edges[0];
    assert_eq!(
        (edge.name.as_deref(), edge.message.as_str()),
        (Some("numbers"), "u32")
    );
    assert_eq!(
        (edge.capacity, edge.fill, edge.total, edge.closed),
        (64, 0, 1000, true)
    );
    assert_eq!(edge.from.as_ref(), Some(&seen.nodes[0].id));
    assert_eq!(edge.to.as_ref(), Some(&seen.nodes[1].id));
    assert!(edge.batches.counts.iter().sum::<u64>() > 0);
}

/// An actor whose type has a name that telemetry uses itself.
struct Named<const NAME: usize>;

const NAMES: [&str; 3] = ["sponsor", "=sponsor", "others"];

impl<const NAME: usize> Actor for Named<NAME> {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) {}

    fn name() -> &'static str {
        NAMES[NAME]
    }
}

#[test]
fn actors_can_have_names_that_telemetry_uses() {
    let local = System::builder().name("shop").probes(true).local();
    let local = local.expect("threads");
    let mut sampler = Sampler::new(Settings::default()).expect("valid settings");
    sampler.watch(local.handle());
    let (one, two) = (local.spawn(Named::<0>), local.spawn(Named::<1>));
    let three = local.spawn(Named::<2>);
    for (count, actor) in [(1, &one), (2, &two), (3, &three)] {
        (0..count).for_each(|_| actor.send(()).expect("the actor is there"));
    }
    local.run();
    let moment = |seconds| Moment {
        uptime: Duration::from_secs(seconds),
        unix_ms: seconds * 1000,
    };
    sampler.tick(moment(1));
    let seen = sampler.tick(moment(2)).0;
    let nodes = seen.nodes.iter().map(|node| (&*node.label, node.messages));
    let mut nodes: Vec<_> = nodes.collect();
    nodes.sort_unstable();
    // With the turns in which they have started.
    assert_eq!(nodes, [("=sponsor", 3), ("others", 4), ("sponsor", 2)]);
    let sponsor = &seen.sponsors[0];
    assert_eq!((&*sponsor.label, sponsor.turns), ("shop", 9));
    let ids = seen.nodes.iter().map(|node| &node.id).chain([&sponsor.id]);
    let ids: std::collections::BTreeSet<_> = ids.collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
}

#[test]
fn a_stage_that_failed_says_so_and_is_an_alert() {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel::<u32>(64).expect("slots");
    graph.source("count", stages::produce(numbers, 0..1000));
    graph.stage("read", stages::consume(numbers_in, |_| panic!("no more")));
    let running = graph.start().expect("threads");
    let telemetry = start(anywhere());
    telemetry.watch(running.monitor());
    running.join();
    telemetry.look();
    let seen = telemetry.latest();
    assert_eq!(seen.nodes[1].state, State::Failed);
    assert_eq!(seen.nodes[1].note.as_deref(), Some("no more"));
    assert_eq!(
        (seen.alerts[0].probe.as_str(), &seen.alerts[0].on),
        ("failed", &seen.nodes[1].id)
    );
}

#[test]
fn a_system_is_seen_with_its_actors_by_type() {
    let system = System::builder().probes(true).start().expect("threads");
    let telemetry = start(anywhere());
    telemetry.watch(system.handle());
    let (done, is_done) = mpsc::channel();
    let sink = system
        .spawn(behavior(move |n: u32, _| {
            if n == 99 {
                let _ = done.send(());
            }
            Next::Continue
        }))
        .expect("an actor");
    for n in 0..100 {
        sink.send(n).expect("it lives");
    }
    is_done.recv().expect("the last message is handled");
    telemetry.look();
    let seen = telemetry.latest();
    let (node, sponsor) = (&seen.nodes[0], &seen.sponsors[0]);
    assert_eq!((node.kind, node.alive), (NodeKind::Actors, Some(1)));
    assert_eq!(node.place, sponsor.name);
    assert!(!node.name.contains("::"), "{}", node.name);
    assert!(sponsor.workers >= 1);
    drop(sink);
    let handle = system.handle();
    system.shutdown();
    telemetry.look();
    let seen = telemetry.latest();
    assert_eq!(
        (seen.nodes[0].messages, seen.nodes[0].alive),
        (100, Some(0))
    );
    drop(handle);
}

/// A pair of channel ends. An actor reports by the first one that its turn has begun, and waits at
/// the second one for permission to continue.
type Pass = (Sender<()>, Receiver<()>);

fn wait((told, may_go): Pass) {
    told.send(()).expect("somebody waits for it");
    may_go.recv().expect("leave comes");
}

/// An actor that waits within its turn, and so holds its worker.
struct Holds;

impl Actor for Holds {
    type Msg = Pass;
    type Outcome = ();

    fn receive(&mut self, pass: Pass, _: &mut Context<'_, Pass>) {
        wait(pass);
    }
}

/// An actor that waits in `cx.blocking`, and so does not hold its worker.
struct Blocks;

impl Actor for Blocks {
    type Msg = Pass;
    type Outcome = ();

    fn receive(&mut self, pass: Pass, cx: &mut Context<'_, Pass>) {
        cx.blocking(move || wait(pass));
    }
}

/// Spawns an actor that begins to wait. Returns a sender that lets the actor continue.
fn hold<A: Actor<Msg = Pass> + Send>(system: &System, actor: A) -> Sender<()> {
    let ((told, begun), (leave, may_go)) = (mpsc::channel(), mpsc::channel());
    let actor = system.spawn(actor).expect("the system is there");
    actor.send((told, may_go)).expect("the actor is there");
    begun.recv().expect("its turn begins");
    leave
}

fn node<'a>(seen: &'a Snapshot, name: &str) -> &'a Node {
    let mut nodes = seen.nodes.iter();
    nodes.find(|node| node.name == name).expect("it is seen")
}

#[test]
fn turns_that_hold_a_worker_or_are_away_are_seen_with_their_type_and_time() {
    let system = System::builder().workers(1).probes(true).start();
    let system = system.expect("threads");
    let telemetry = start(anywhere());
    telemetry.watch(system.handle());
    let leaves = [
        hold(&system, Blocks),
        hold(&system, Blocks),
        hold(&system, Holds),
    ];
    telemetry.look();
    let first = telemetry.latest();
    telemetry.look();
    let seen = telemetry.latest();
    let [held] = &seen.sponsors[0].held[..] else {
        panic!("one worker is in a turn: {:?}", seen.sponsors);
    };
    let (holds, blocks) = (node(&seen, "Holds"), node(&seen, "Blocks"));
    assert_eq!((held.worker, &*held.name), (0, "Holds"));
    assert_eq!(
        (&held.node, Some(held.seconds)),
        (&holds.id, holds.held_seconds)
    );
    assert!(held.seconds > first.sponsors[0].held[0].seconds);
    assert_eq!((holds.away, holds.away_seconds), (Some(0), Some(0.0)));
    assert_eq!((blocks.away, blocks.held_seconds), (Some(2), Some(0.0)));
    assert!(blocks.away_seconds > node(&first, "Blocks").away_seconds);
    for leave in &leaves {
        leave.send(()).expect("it waits for that");
    }
    system.shutdown();
    telemetry.look();
    let seen = telemetry.latest();
    assert!(seen.sponsors[0].held.is_empty());
    assert_eq!(node(&seen, "Holds").held_seconds, Some(0.0));
    assert_eq!(node(&seen, "Blocks").away, Some(0));
}

/// A message to [`Frail`].
enum Request {
    /// Makes the turn fail by a panic.
    Panic,
    /// Makes the turn fail by [`Context::fail`].
    Fail,
    /// Makes the turn fail by an error.
    Error,
    /// Makes the actor answer.
    Answer(Reply<()>),
}

/// An actor that fails on request.
struct Frail;

impl Actor for Frail {
    type Msg = Request;
    type Outcome = Result<Next, &'static str>;

    fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) -> Self::Outcome {
        match request {
            Request::Panic => garrick_testkit::fail(),
            Request::Fail => Ok(cx.fail("requested")),
            Request::Error => Err("requested"),
            Request::Answer(reply) => {
                reply.send(());
                Ok(Next::Continue)
            }
        }
    }
}

/// Functions that create one message for each way in which a turn can fail.
const FAILURES: [fn() -> Request; 3] = [|| Request::Panic, || Request::Fail, || Request::Error];

#[test]
fn failures_and_restarts_of_supervised_actors_are_counted_however_they_fail() {
    garrick_testkit::silence_panics();
    let system = System::builder().probes(true).on_failure(|_| ());
    let local = system.local().expect("threads");
    let tree = Supervisor::new("app", Strategy::OneForOne).intensity(100, Duration::MAX);
    let tree = tree.spawn(&local.handle()).expect("the system is running");
    let telemetry = start(anywhere());
    telemetry.watch(local.handle());
    let frail = local.actor(|| Frail).supervised_by(&tree).spawn();
    let frail = frail.expect("the name is free");
    for (failures, request) in (1..).zip(FAILURES) {
        frail.send(request()).expect("the actor is there");
        local
            .block_on(frail.ask(Request::Answer))
            .expect("it was restarted");
        telemetry.look();
        let seen = telemetry.latest();
        let node = node(&seen, "Frail");
        assert_eq!((node.failures, node.restarts), (failures, failures));
    }
}

#[test]
fn a_restart_counts_even_if_no_actor_could_be_created() {
    garrick_testkit::silence_panics();
    let system = System::builder().probes(true).on_failure(|_| ());
    let local = system.local().expect("threads");
    let tree = Supervisor::new("app", Strategy::OneForOne).intensity(100, Duration::MAX);
    let tree = tree.spawn(&local.handle()).expect("the system is running");
    let telemetry = start(anywhere());
    telemetry.watch(local.handle());
    let panics_left = AtomicU32::new(2);
    let frail = local.actor(move || {
        let left = panics_left.load(Relaxed);
        if left > 0 {
            panics_left.store(left - 1, Relaxed);
            garrick_testkit::fail();
        }
        Frail
    });
    let frail = frail.supervised_by(&tree).spawn();
    let frail = frail.expect("the name is free");
    let answer = local.block_on(frail.ask(Request::Answer));
    answer.expect("the third attempt succeeds");
    telemetry.look();
    let seen = telemetry.latest();
    let node = node(&seen, "Frail");
    assert_eq!((node.failures, node.restarts), (2, 2));
}

#[test]
fn failures_and_dead_letters_of_actors_without_a_supervisor_are_counted() {
    garrick_testkit::silence_panics();
    let system = System::builder().probes(true).on_failure(|_| ());
    let local = system.local().expect("threads");
    let telemetry = start(anywhere());
    telemetry.watch(local.handle());
    let actors: Vec<_> = (0..10).map(|_| local.spawn(Frail)).collect();
    for (actor, request) in actors.iter().zip(FAILURES.iter().cycle()).take(6) {
        actor.send(request()).expect("the actor is there");
        actor.send(Request::Fail).expect("the actor is there");
    }
    local.run();
    telemetry.look();
    let seen = telemetry.latest();
    let node = node(&seen, "Frail");
    assert_eq!((node.failures, node.restarts, node.alive), (6, 0, Some(4)));
    assert_eq!(seen.sponsors[0].dead_letters, 6);
}
