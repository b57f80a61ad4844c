//! Tests that the library's internal tasks are not listed as actors of the program, and that their
//! messages are not counted as dead letters.

use std::sync::mpsc;
use std::time::Duration;

use garrick::behaviors::{retry, sequencer};
use garrick::mailbox::{Mailbox, OnFull};
use garrick::naming::{EventStream, Receptionist, Registry, Topic};
use garrick::prelude::*;
use garrick::route::{RoundRobin, Router};
use garrick::secure::{self, Event, Options, PreSharedKey, Role, Transport};
use garrick::supervise::{Strategy, Supervisor};
use garrick::telemetry::Telemetry;
use garrick::tokio::{SpawnBlocking, Tokio};
use garrick::{Incoming, NoReply, door};

/// An actor that uses a future, a timer, blocking work, a question and a stash.
struct User;

enum Msg {
    Begin(Address<Reply<u32>>),
    Answered(Result<u32, NoReply>),
    Piped(u32),
    Blocked(u32),
    Rung,
    Get(Reply<u32>),
}

impl Actor for User {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Begin(service) => {
                let second = Duration::from_secs(1);
                cx.ask_within(second, &service, |reply| reply, Msg::Answered);
                cx.pipe(async { 7 }, |result| Msg::Piped(result.unwrap_or(0)));
                cx.spawn_blocking(|| 8, |result| Msg::Blocked(result.unwrap_or(0)));
                let timer = cx.start_timer(Duration::from_millis(1), &cx.address(), Msg::Rung);
                assert!(timer.is_ok());
                let _ = cx.send_after(Duration::from_millis(1), &cx.address(), Msg::Rung);
            }
            Msg::Answered(answer) => assert_eq!(answer, Ok(42)),
            Msg::Piped(n) => assert_eq!(n, 7),
            Msg::Blocked(n) => assert_eq!(n, 8),
            Msg::Rung => {}
            Msg::Get(reply) => reply.send(1),
        }
        Next::Continue
    }
}

async fn clerk(mut mailbox: Incoming<Reply<u32>>) {
    while let Some(reply) = mailbox.recv().await {
        reply.send(42);
    }
}

/// A door (a function behind an address) that passes each message on to another address.
struct Forward(Address<Reply<u32>>);

impl door::Door for Forward {
    type Message = Reply<u32>;

    fn pass(
        &self,
        reply: Reply<u32>,
        _: &Address<Reply<u32>>,
    ) -> Result<(), garrick::SendError<Reply<u32>>> {
        self.0.send(reply)
    }
}

/// Sends a frame through a pair of secure sockets, and closes both sockets.
fn use_sockets(system: &System) {
    let key = PreSharedKey::random().unwrap();
    let (near, far) = tokio::io::duplex(1_000);
    let (told, heard) = mpsc::channel();
    let ended = told.clone();
    let asks = system.spawn(behavior(move |event, _| match event {
        Event::Opened(writer) => writer.try_send("ping").unwrap(),
        Event::Closed(_) => ended.send("near closed").unwrap(),
        _ => {}
    }));
    let hears = system.spawn(behavior(move |event, _| {
        match event {
            Event::Frame(_) => told.send("ping").unwrap(),
            Event::Closed(_) => told.send("far closed").unwrap(),
            _ => {}
        };
    }));
    let options = Options::default();
    let handle = system.handle();
    let near = Transport::of(near);
    let far = Transport::of(far);
    let open = secure::open;
    let first = open(
        &handle,
        near,
        key.clone(),
        Role::Client,
        options.clone(),
        asks.unwrap(),
    );
    let second = open(&handle, far, key, Role::Server, options, hears.unwrap());
    // The near end may already close while the frame is on its way.
    let before_close = [heard.recv().unwrap()];
    first.unwrap().close();
    let after_close = [(); 2].map(|()| heard.recv().unwrap());
    let events: Vec<_> = before_close.into_iter().chain(after_close).collect();
    let of_far: Vec<_> = events
        .iter()
        .filter(|event| **event != "near closed")
        .collect();
    assert_eq!(of_far, [&"ping", &"far closed"], "{events:?}");
    drop(second);
}

/// Uses standard actors, routers, mailboxes and names.
fn use_behaviors(system: &System, service: &Address<Reply<u32>>) {
    let handle = system.handle();
    let doubles = system
        .spawn(behavior(|(n, reply): (u32, Reply<u32>), _| {
            reply.send(2 * n);
        }))
        .unwrap();
    let tries = system.spawn(retry(doubles)).unwrap();
    assert_eq!(tries.ask(|reply| (21, reply)).wait(), Ok(42));
    let router = Router::spawn(&handle, RoundRobin::new()).unwrap();
    router.add(service).unwrap();
    assert_eq!(router.ask(|reply| reply).wait(), Ok(42));
    let bounded = system.actor(User);
    let bounded = bounded.mailbox(Mailbox::bounded(10, OnFull::Wait).unwrap());
    let bounded = bounded.spawn().unwrap();
    assert_eq!(bounded.ask(Msg::Get).wait(), Ok(1));
    let way = system.spawn(sequencer(bounded)).unwrap();
    drop(way);
    let registry = Registry::spawn(&handle).unwrap();
    registry.register("service", service).wait().unwrap();
    let _ = Receptionist::spawn(&handle).unwrap();
    let topic = Topic::<String>::spawn(&handle).unwrap();
    topic.publish("news".to_owned()).unwrap();
    let _ = EventStream::spawn(&handle).unwrap();
}

#[test]
fn only_actors_of_the_program_are_shown() {
    let system = System::builder().name("all").workers(2).probes(true);
    let system = system.driver(Tokio::new()).start().unwrap();
    let telemetry = Telemetry::builder().address(([127, 0, 0, 1], 0).into());
    let telemetry = telemetry.start().unwrap();
    telemetry.watch(system.handle());

    let tree = Supervisor::new("app", Strategy::OneForOne);
    let tree = tree.spawn(&system.handle()).unwrap();
    let service = system.actor(clerk).named("clerk").supervised_by(&tree);
    let service = service.spawn().unwrap();
    let user = system.actor(|| User).named("user").supervised_by(&tree);
    let user = user.spawn().unwrap();
    let behind = door::door(Forward(service.clone()));
    assert!(user.send(Msg::Begin(behind)).is_ok());
    assert_eq!(user.ask(Msg::Get).wait(), Ok(1));
    use_sockets(&system);
    use_behaviors(&system, &service);
    assert_eq!(user.ask(Msg::Get).wait(), Ok(1));
    telemetry.look();
    let seen = telemetry.latest();
    let mut names: Vec<_> = seen.nodes.iter().map(|node| &*node.name).collect();
    names.sort_unstable();
    let expected = [
        "Behavior<(u32, Reply<u32>)>",
        "Behavior<Event>",
        "EventStreamActor",
        "ReceptionistActor",
        "RegistryActor",
        "Retry<u32, u32>",
        "RouterActor<Reply<u32>, RoundRobin>",
        "Sequencer<Msg>",
        "TopicActor<String>",
        "User",
        "clerk",
        // The future that `User::receive` pipes is code of the program.
        "receive",
    ];
    assert_eq!(names, expected);
    let kinds = system.handle().sample().kinds;
    let mut internal: Vec<_> = kinds.iter().filter(|kind| kind.internal).collect();
    internal.sort_unstable_by_key(|kind| kind.name);
    for part in [
        "supervisor",
        "Keeper",
        "Buffer",
        "source::run",
        "scribe::run",
    ] {
        let is_there = internal.iter().any(|kind| kind.name.contains(part));
        assert!(is_there, "{part} is not among the internals");
    }
    let letters = &seen.dead_letters;
    assert!(letters.is_empty(), "{letters:?}");
    tree.stop().wait().unwrap();
    system.shutdown();
}
