//! A process in which everything happens that metrics can show.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::{Actor, Context, Next, Reply, System, behavior};
use garrick_flow::{Graph, Running, Slots, stages};
use garrick_telemetry::{Alert, Telemetry};

/// A pipeline and a system of actors, both watched by the same telemetry.
pub struct Busy {
    pub telemetry: Telemetry,
    /// Sender that makes the pipeline send a number. When this sender is dropped, the pipeline
    /// ends.
    pub numbers: Sender<u64>,
    /// Senders that let the waiting turns continue: those that hold a worker, and those that block
    /// in `cx.blocking`.
    pub leaves: [Sender<()>; 2],
    _running: Running,
    _tree: Tree,
    _system: System,
}

/// A pair of channel ends. An actor reports by the first one that its turn has begun, and waits at
/// the second one for permission to continue.
type Pass = (Sender<()>, Receiver<()>);

fn wait((told, may_go): Pass) {
    told.send(()).expect("somebody waits for it");
    // The sender is dropped if the test has failed.
    let _ = may_go.recv();
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

/// A message to [`Frail`].
enum Request {
    Fail,
    Wait(Pass),
    Answer(Reply<()>),
}

/// An actor that fails on request.
struct Frail;

impl Actor for Frail {
    type Msg = Request;
    type Outcome = Next;
    const MESSAGES: &'static [&'static str] = &["Fail", "Wait", "Answer"];

    fn message_kind(request: &Request) -> usize {
        match request {
            Request::Fail => 0,
            Request::Wait(_) => 1,
            Request::Answer(_) => 2,
        }
    }

    fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) -> Next {
        match request {
            Request::Fail => cx.fail("requested"),
            Request::Wait(pass) => {
                wait(pass);
                Next::Continue
            }
            Request::Answer(reply) => {
                reply.send(());
                Next::Continue
            }
        }
    }
}

/// An actor whose type has the same short name as another one.
mod first {
    pub struct Twin<T>(pub T);
}

mod second {
    pub struct Twin<T>(pub T);
}

impl Actor for first::Twin<u8> {
    type Msg = Reply<u8>;
    type Outcome = ();

    fn receive(&mut self, reply: Reply<u8>, _: &mut Context<'_, Reply<u8>>) {
        reply.send(self.0);
    }
}

impl Actor for second::Twin<u8> {
    type Msg = Reply<u8>;
    type Outcome = ();

    fn receive(&mut self, reply: Reply<u8>, _: &mut Context<'_, Reply<u8>>) {
        reply.send(self.0);
    }
}

fn pipeline() -> (Sender<u64>, Running) {
    let (numbers, given) = mpsc::channel();
    let mut graph = Graph::new();
    // With a batch size of 1, a number is not delayed by the wait for the next one.
    let raw = Slots::of(64).batch(1);
    let (raw, raw_in) = graph.channel::<u64>(raw).expect("slots");
    let named = Slots::of(64).named("a \"name\" \\N\u{1F3AD}");
    let (kept, kept_in) = graph.channel::<u64>(named).expect("slots");
    graph.source("gen\"erator\\", stages::produce(raw, given));
    graph.stage("line\nbreak <b> {x}", stages::map(raw_in, kept, |n| n + 1));
    graph.stage("päckchen-sink", stages::consume(kept_in, |_| ()));
    (numbers, graph.start().expect("threads"))
}

/// Spawns an actor that begins to wait. Returns a sender that lets the actor continue.
fn hold<A: Actor<Msg = Pass> + Send>(system: &System, actor: A) -> Sender<()> {
    let ((told, begun), (leave, may_go)) = (mpsc::channel(), mpsc::channel());
    let actor = system.spawn(actor).expect("the system is there");
    actor.send((told, may_go)).expect("the actor is there");
    begun.recv().expect("its turn begins");
    leave
}

fn fail_and_restart(system: &System, tree: &Tree) {
    let frail = system.actor(|| Frail).named("frail").supervised_by(tree);
    let frail = frail.spawn().expect("the name is free");
    frail.send(Request::Fail).expect("the actor is there");
    frail.ask(Request::Answer).wait().expect("it was restarted");
}

/// Makes an actor fail while another message is in its mailbox.
fn leave_a_dead_letter(system: &System) {
    let frail = system.spawn(Frail).expect("the system is there");
    let ((told, begun), (leave, may_go)) = (mpsc::channel(), mpsc::channel());
    frail
        .send(Request::Wait((told, may_go)))
        .expect("it is there");
    begun.recv().expect("its turn begins");
    frail.send(Request::Fail).expect("it is there");
    let unanswered = frail.ask(Request::Answer);
    leave.send(()).expect("it waits for that");
    assert!(unanswered.wait().is_err());
}

fn start_twins(system: &System) {
    let actors = [
        system.spawn(first::Twin(1)).expect("an actor"),
        system.spawn(second::Twin(2)).expect("an actor"),
        // The type of a closure has no name of its own.
        system
            .spawn(behavior(|reply: Reply<u8>, _| reply.send(3)))
            .expect("an actor"),
    ];
    for (number, actor) in (1..).zip(actors) {
        assert_eq!(actor.ask(|reply| reply).wait().ok(), Some(number));
    }
}

impl Busy {
    /// Starts all parts, and waits until each of them has done something.
    pub fn start(telemetry: garrick_telemetry::Builder) -> Self {
        let (numbers, running) = pipeline();
        (0..1000).for_each(|n| numbers.send(n).expect("the source is there"));
        let system = System::builder().workers(2).probes(true).on_failure(|_| ());
        let system = system.start().expect("threads");
        let tree = Supervisor::new("app", Strategy::OneForOne).intensity(100, Duration::MAX);
        let tree = tree.spawn(&system.handle()).expect("the system is running");
        fail_and_restart(&system, &tree);
        leave_a_dead_letter(&system);
        start_twins(&system);
        let leaves = [hold(&system, Blocks), hold(&system, Holds)];
        let telemetry = telemetry.start().expect("there is a free port");
        telemetry.watch(running.monitor());
        telemetry.watch(system.handle());
        telemetry.look();
        Self {
            telemetry,
            numbers,
            leaves,
            _running: running,
            _tree: tree,
            _system: system,
        }
    }

    /// Takes samples until the turn that holds a worker has caused an alert, because it is a long
    /// turn.
    pub fn wait_for_alerts(&self) {
        let is_long = |alert: &Alert| alert.probe == "held_seconds";
        while !self.telemetry.latest().alerts.iter().any(is_long) {
            self.telemetry.look();
        }
    }
}
