//! The counted operations. Each message is sent only after the message before it was handled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use garrick_sched::{Address, Flow, Reply};

use crate::common::does;
use crate::count::Count;
use crate::rig::{Ball, Rig, Signs, Word, hears, plays, sends};

/// Number of operations that are counted together.
const MANY: u64 = 10_000;
/// Number of operations that are counted one by one.
const SOME: usize = 400;
/// Number of operations in a round, and number of rounds that are counted one by one.
const ROUND: u64 = 500;
const ROUNDS: usize = 40;
/// Number of operations that are performed before the count begins.
const WARM: u64 = 30;
/// Number of messages that are sent to find out which worker a task belongs to.
const PROBES: u64 = 64;
/// Largest number of new tasks that are made until one of them belongs to another worker.
const TRIES: usize = 200;
/// Number of new tasks that one turn makes, and the time that each of them runs.
const KIDS: u64 = 64;
const KID_RUNS: Duration = Duration::from_micros(20);

/// Runs all scenarios on sponsors with `workers` workers.
pub(crate) fn all(workers: usize) -> impl Iterator<Item = Count> {
    let scenes: [fn(&Rig) -> Count; 12] = [
        message_near,
        message_far_awake,
        message_far_followed,
        message_far_asleep,
        message_outside_awake,
        message_outside_asleep,
        messages_to_all,
        give_and_claim,
        spawn_outside,
        blocking_turn,
        ask_outside,
        call_outside,
    ];
    scenes.into_iter().map(move |scene| {
        let rig = Rig::new(workers);
        let count = scene(&rig);
        rig.end();
        count
    })
}

/// Calls `act` a few times to warm up, and then counts the writes of the following calls.
fn repeated(name: &'static str, mut act: impl FnMut()) -> Count {
    (0..WARM).for_each(|_| act());
    Count::of_faster(name, SOME, || {
        act();
        1
    })
}

fn message_near(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    let heard = signs.clone();
    let parent = rig.spawn(does(move |(), turn| {
        let [one, other] = [(); 2].map(|()| turn.spawn(plays(signs.clone())));
        let _ = turn.send(
            &one,
            Ball {
                left: MANY,
                back: other,
            },
        );
        Flow::Continue
    }));
    heard.heard_after(|| parent.send(()).unwrap());
    rig.sleep_but(0);
    Count::of("message between tasks of one worker", MANY, || {
        heard.heard_after(|| parent.send(()).unwrap());
        rig.sleep_but(0);
    })
}

/// Makes a sender that also sends to itself, and a task on another worker that records its
/// messages.
fn apart(rig: &Rig, signs: &Arc<Signs>) -> Address<Word> {
    for _ in 0..TRIES {
        let hearer = rig.spawn(hears(signs.clone()));
        rig.space();
        let sender = rig.spawn(sends(hearer.clone(), signs.clone()));
        sender.send(()).unwrap();
        let turns = rig.turns_of(|| {
            for _ in 0..PROBES {
                hear(&hearer, signs);
            }
            rig.sleep_but(1);
        });
        let workers = turns.iter().filter(|&&turns| turns >= PROBES / 2).count();
        if workers == 2 {
            return hearer;
        }
        sender.stop();
        rig.sleep_but(0);
    }
    panic!("no two tasks are made by two workers");
}

/// Sends to a task that records its messages, from a plain thread.
fn hear(hearer: &Address<Word>, signs: &Signs) {
    signs.heard_after(|| hearer.send(Word::Hear).unwrap());
}

fn message_far_awake(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    let hearer = apart(rig, &signs);
    hearer.send(Word::StayAwake).unwrap();
    let name = "message to another worker that is awake";
    // The test thread sleeps, because two awake threads are all that two cores can run.
    let count = Count::of_faster(name, ROUNDS, || {
        signs.send(ROUND);
        ROUND
    });
    end(rig, &signs);
    count
}

fn message_far_followed(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    let name = "message to another worker that sleeps; the sender has nothing else to do";
    let mut tries = (0..TRIES).map(|_| {
        let one = rig.spawn(plays(signs.clone()));
        rig.space();
        let back = rig.spawn(plays(signs.clone()));
        let play = || {
            let (one, back) = (one.clone(), back.clone());
            signs.heard_after(|| one.send(Ball { left: MANY, back }).unwrap());
            rig.sleep_but(0);
        };
        play();
        let mut count = None;
        let turns = rig.turns_of(|| count = Some(Count::of(name, MANY, play)));
        let workers = turns.iter().filter(|&&turns| turns > MANY / 3).count();
        count.filter(|_| workers == 2)
    });
    tries.find_map(|count| count).expect("two workers")
}

fn message_far_asleep(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    let _hearer = apart(rig, &signs);
    let name = "message to another worker that sleeps; the sender has other work";
    let count = repeated(name, || {
        signs.send(1);
        rig.sleep_but(1);
    });
    end(rig, &signs);
    count
}

fn message_outside_awake(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    let hearer = rig.spawn(hears(signs.clone()));
    hearer.send(Word::StayAwake).unwrap();
    let name = "message from outside to a worker that is awake";
    let count = Count::of_faster(name, ROUNDS, || {
        (0..ROUND).for_each(|_| hear(&hearer, &signs));
        ROUND
    });
    end(rig, &signs);
    count
}

fn message_outside_asleep(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    let hearer = rig.spawn(hears(signs.clone()));
    repeated("message from outside to a worker that sleeps", || {
        hear(&hearer, &signs);
        rig.sleep_but(0);
    })
}

fn messages_to_all(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    // Newborns are distributed round robin: each worker has one.
    let hearers: Vec<_> = (0..rig.workers())
        .map(|_| rig.spawn(hears(signs.clone())))
        .collect();
    let name = "messages from outside, one to each worker at once; all workers sleep";
    Count::of_faster(name, SOME, || {
        let all = signs.heard() + hearers.len() as u64;
        for hearer in &hearers {
            hearer.send(Word::Hear).unwrap();
        }
        signs.wait(all);
        rig.sleep_but(0);
        hearers.len() as u64
    })
}

fn give_and_claim(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    let heard = signs.clone();
    let parent = rig.spawn(does(move |(), turn| {
        for _ in 0..KIDS {
            let signs = signs.clone();
            let kid = turn.spawn(does(move |(), _| {
                let start = Instant::now();
                while start.elapsed() < KID_RUNS {}
                signs.hear();
                Flow::Stop
            }));
            let _ = turn.send(&kid, ());
        }
        Flow::Continue
    }));
    let burst = || {
        let all = heard.heard() + KIDS;
        parent.send(()).unwrap();
        heard.wait(all);
        rig.sleep_but(0);
    };
    (0..WARM).for_each(|_| burst());
    Count::of_faster(
        "task that moves to another worker, 64 at once",
        SOME,
        || {
            let before = rig.claimed();
            burst();
            rig.claimed() - before
        },
    )
}

fn spawn_outside(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    let name = "spawn from outside, one message, and the end of the task";
    repeated(name, || {
        let newborn = rig.spawn(hears(signs.clone()));
        hear(&newborn, &signs);
        drop(newborn);
        rig.sleep_but(0);
    })
}

fn blocking_turn(rig: &Rig) -> Count {
    let signs = Arc::new(Signs::default());
    let heard = signs.clone();
    let blocks = rig.spawn(does(move |left: u64, turn| {
        turn.blocking(|| ());
        if left == 0 {
            signs.hear();
        } else {
            let _ = turn.send(&turn.address(), left - 1);
        }
        Flow::Continue
    }));
    let run = || {
        heard.heard_after(|| blocks.send(MANY).unwrap());
        rig.sleep_but(0);
    };
    run();
    Count::of("turn that blocks, with nothing else to do", MANY, run)
}

fn ask_outside(rig: &Rig) -> Count {
    let answers = rig.spawn(does(|reply: Reply<()>, _| {
        reply.send(());
        Flow::Continue
    }));
    repeated("ask from outside; the worker sleeps", || {
        answers.ask(|reply| reply).wait().unwrap();
        rig.sleep_but(0);
    })
}

fn call_outside(rig: &Rig) -> Count {
    let answers = rig.spawn(does(|reply: Reply<()>, _| {
        reply.send(());
        Flow::Continue
    }));
    let name = "call from outside; the worker sleeps";
    Count::of_faster(name, ROUNDS, || {
        for _ in 0..ROUND {
            answers.call(|reply| reply).wait().unwrap();
        }
        ROUND
    })
}

/// Ends the tasks that send to themselves.
fn end(rig: &Rig, signs: &Signs) {
    signs.end();
    rig.sleep_but(0);
}
