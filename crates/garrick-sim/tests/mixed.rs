//! A program that uses most features of the actor crate. Its runs are the same in every process.

use std::env;
use std::fs;
use std::process::Command;
use std::time::Duration;

use garrick_actor::behaviors::{Request, breaker, limiter, retry, timeout};
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::naming::{EventStream, Key, Listing, Receptionist, Registry, Topic};
use garrick_actor::route::{LeastLoaded, Random, RoundRobin, Router};
use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{
    Actor, Address, AsyncContext, Context, Ended, Incoming, Next, NoReply, behavior,
};
use garrick_sim::{Check, Node, Sim};

const DESKS: Key<Question> = Key::new("desks");

type Question = Request<u32, u32>;

/// A fact: something has happened. The text of the fact must be the same in every process.
#[derive(Debug)]
#[expect(dead_code, reason = "formatted")]
enum Seen {
    Answer(&'static str, Result<u32, NoReply>),
    Text(&'static str, String),
}

/// An actor that answers questions with sums, and fails at some numbers.
#[derive(Default)]
struct Desk {
    sum: u32,
}

impl Actor for Desk {
    type Msg = Question;
    type Outcome = Next;

    fn receive(&mut self, (n, reply): Question, cx: &mut Context<'_, Question>) -> Next {
        self.sum += n;
        if self.sum % 7 == 3 {
            return cx.fail(format!("{} at {}", self.sum, cx.path()));
        }
        reply.send(self.sum);
        Next::Continue
    }
}

/// An actor that asks other actors in many different ways.
struct Asker {
    desks: Vec<Address<Question>>,
    bounded: Address<u32>,
    topic: Topic<u32>,
    silences: u32,
}

enum Event {
    Ask(u32),
    Answered(&'static str, Result<u32, NoReply>),
    All(Vec<Result<u32, NoReply>>),
    Silence,
    Ended(Ended),
    Listed(Listing<Question>),
}

impl Actor for Asker {
    type Msg = Event;
    type Outcome = ();

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) {
        match event {
            Event::Ask(n) => self.ask(n, cx),
            Event::Answered(how, answer) => cx.note(Seen::Answer(how, answer)),
            Event::All(answers) => cx.note(Seen::Text("all", format!("{answers:?}"))),
            Event::Silence => {
                self.silences += 1;
                cx.note(Seen::Text(
                    "silence",
                    format!("{} at {}", self.silences, cx.now()),
                ));
            }
            Event::Ended(how) => cx.note(Seen::Text("ended", format!("{how} {:?}", cx.address()))),
            Event::Listed(Listing::Present(desks)) => self.desks.extend(desks),
            Event::Listed(Listing::Added(desk)) => {
                cx.note(Seen::Text("added", format!("{:?}", desk.id())));
                self.desks.push(desk);
            }
            Event::Listed(Listing::Removed(desk)) => self.desks.retain(|other| *other != desk),
        }
    }
}

impl Asker {
    fn ask(&mut self, n: u32, cx: &mut Context<'_, Event>) {
        let _ = self.topic.publish(n);
        let _ = cx.send(&self.bounded, n);
        let Some(desk) = self.desks.get(n as usize % self.desks.len().max(1)) else {
            return;
        };
        let question = move |reply| (n, reply);
        cx.ask(desk, question, |answer| Event::Answered("ask", answer));
        let within = Duration::from_millis(5);
        cx.ask_within(within, desk, question, |answer| {
            Event::Answered("within", answer)
        });
        cx.ask_all(&self.desks, question, Event::All);
        if n == 2 {
            cx.watch(desk, Event::Ended);
        }
        let desk = desk.clone();
        cx.pipe(async move { desk.ask(question).await }, |answer| {
            Event::Answered("pipe", answer.unwrap_or(Err(NoReply::TimedOut)))
        });
    }
}

/// An async actor, which waits and asks.
async fn walk(mut steps: Incoming<u32>, router: Router<Question>, name: &'static str) {
    while let Some(step) = steps.recv().await {
        let context: AsyncContext<u32> = steps.context().clone();
        context.sleep(Duration::from_millis(u64::from(step))).await;
        let answer = router.ask(|reply| (step, reply)).await;
        context.note(Seen::Answer(name, answer));
        if step == 4 {
            break;
        }
    }
}

/// Spawns a [`Desk`] that its supervisor restarts when it fails.
fn supervised_desk(sim: &mut Sim, node: &Node) -> Address<Question> {
    let tree = Supervisor::new("office", Strategy::OneForOne)
        .intensity(20, Duration::from_secs(60))
        .spawn(node.handle())
        .unwrap();
    let desk = node
        .actor(Desk::default)
        .named("desk")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    sim.keep(tree);
    desk
}

/// Spawns an actor with a bounded mailbox.
fn bounded(node: &Node) -> Address<u32> {
    node.actor(behavior(|n: u32, cx| {
        cx.note(Seen::Text("bounded", n.to_string()));
    }))
    .mailbox(Mailbox::bounded(2, OnFull::Fail).unwrap())
    .spawn()
    .unwrap()
}

/// Spawns an actor that stashes odd numbers until an even number arrives.
fn stasher(node: &Node) -> Address<u32> {
    node.actor(behavior(|n: u32, cx| {
        if n % 2 == 1 {
            let _ = cx.stash(n);
        } else {
            cx.note(Seen::Text("stashed", n.to_string()));
            cx.unstash_all();
        }
    }))
    .stash(8)
    .spawn()
    .unwrap()
}

/// Puts a time limit, a breaker, retries and a limiter in front of a [`Desk`]. Returns the
/// resulting service.
fn service(node: &Node, desk: &Address<Question>) -> Address<Question> {
    let service = timeout(node.handle(), desk.clone(), Duration::from_millis(3));
    let service = node.spawn(breaker(service).failures(2)).unwrap();
    let service = node.spawn(retry(service).tries(3)).unwrap();
    node.spawn(limiter(service, Duration::from_millis(10)))
        .unwrap()
}

fn program(sim: &mut Sim) {
    let (left, right) = (sim.node("left"), sim.node("right"));
    let desk = supervised_desk(sim, &left);
    let service = service(&right, &desk);
    let topic: Topic<u32> = Topic::spawn(left.handle()).unwrap();
    let events = EventStream::spawn(left.handle()).unwrap();
    let stasher = stasher(&right);
    topic.subscribe(&stasher).unwrap();
    events.subscribe(&stasher).unwrap();
    let asker = left
        .actor(Asker {
            desks: vec![desk.clone()],
            bounded: bounded(&right),
            topic,
            silences: 0,
        })
        .receive_timeout(Duration::from_millis(20), || Event::Silence)
        .spawn()
        .unwrap();
    let receptionist = Receptionist::spawn(right.handle()).unwrap();
    receptionist
        .subscribe(&DESKS, &asker.contramap(Event::Listed))
        .unwrap();
    receptionist.serve(&DESKS, &service).unwrap();
    let registry = Registry::spawn(right.handle()).unwrap();
    drop(registry.register("desk", &desk));
    let routers = [
        Router::spawn(left.handle(), RoundRobin::new()).unwrap(),
        Router::spawn(right.handle(), LeastLoaded::new()).unwrap(),
        Router::spawn(right.handle(), Random::seeded(sim.seed())).unwrap(),
    ];
    for (router, name) in routers.into_iter().zip(["first", "second", "third"]) {
        router.add(&desk).unwrap();
        router.add(&service).unwrap();
        let walker = left.spawn(move |steps| walk(steps, router, name)).unwrap();
        (1..=4).for_each(|step| walker.send(step).unwrap());
    }
    for n in 1..=3 {
        asker.send(Event::Ask(n)).unwrap();
        events.publish(n).unwrap();
    }
    sim.allow_failures();
    sim.faults().any_turn_fails(10).crash("right");
    sim.links().all().loses(20);
}

/// Returns the number of seeds that a child process runs. `cargo xtask sim` sets a larger number.
fn seeds() -> u64 {
    let seeds = env::var("GARRICK_SIM_MIXED").ok();
    seeds.and_then(|seeds| seeds.parse().ok()).unwrap_or(150)
}

fn check() -> garrick_sim::Report {
    let check = Check::new("mixed").seeds(seeds()).steps(600);
    check
        .run(program)
        .unwrap_or_else(|failed| panic!("{failed}"))
}

const CHILD: &str = "GARRICK_SIM_MIXED_CHILD";

#[test]
fn runs_are_the_same_in_every_process() {
    if env::var(CHILD).is_ok() {
        let report = check();
        println!(
            "hash {:016x} of {} runs, {} steps",
            report.hash, report.runs, report.steps
        );
        return;
    }
    let of_child = |prefix: &[&str]| {
        let program = env::current_exe().expect("this program has a path");
        let mut command = match prefix {
            [] => Command::new(&program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(&program);
                command
            }
        };
        let output = command
            .args([
                "runs_are_the_same_in_every_process",
                "--exact",
                "--nocapture",
            ])
            .env(CHILD, "1")
            .output()
            .expect("the program runs");
        let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let hash = text
            .lines()
            .find_map(|line| line.split_once("hash "))
            .map(|(_, hash)| hash.to_owned());
        hash.unwrap_or_else(|| panic!("no hash: {text}{errors}"))
    };
    let first = of_child(&[]);
    println!("{first}");
    assert_eq!(first, of_child(&[]));
    // Without randomization, all addresses are different from those above.
    #[cfg(target_os = "linux")]
    assert_eq!(first, of_child(&["setarch", "-R"]));
    compare_with_other_builds(&first);
}

/// Compares the hash with the hash in a file, which the same test in another build has written.
/// Creates the file if there is none. `cargo xtask sim` sets the path.
fn compare_with_other_builds(hash: &str) {
    let Some(path) = env::var_os("GARRICK_SIM_MIXED_FILE") else {
        return;
    };
    match fs::read_to_string(&path) {
        Ok(of_other) => assert_eq!(of_other, hash, "another build has run differently"),
        Err(_) => fs::write(&path, hash).expect("the file can be written"),
    }
}
