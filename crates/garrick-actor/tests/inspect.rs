//! Tests of inspections, which show the state of a single actor.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use garrick_actor::inspect::{ActorState, Inspection};
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::supervise::{Backoff, ChildState, Strategy, Supervisor};
use garrick_actor::{Incoming, Next, System, behavior};
use garrick_testkit::{HANGS_AFTER, ends, silence_panics};

/// Repeats an inspection until it returns the expected state.
fn until(look: impl Fn() -> Inspection, is_expected: impl Fn(&Inspection) -> bool) -> Inspection {
    let began = std::time::Instant::now();
    loop {
        let seen = look();
        if is_expected(&seen) {
            return seen;
        }
        assert!(began.elapsed() < HANGS_AFTER, "{seen:?}");
    }
}

fn path_of(seen: &Inspection) -> &str {
    seen.path.as_ref().expect("the path is known").as_str()
}

#[test]
fn an_idle_actor_has_its_type_name_and_path() {
    ends(|| {
        let system = System::builder().workers(1).start().unwrap();
        let named = system.actor(behavior(|_: u32, _| ())).named("till");
        let named = named.spawn().unwrap();
        let seen = system.inspect(&named);
        assert_eq!(seen.name.as_deref(), Some("till"));
        assert!(path_of(&seen).starts_with("/user/till#"), "{seen:?}");
        assert_eq!((seen.state, seen.waiting), (ActorState::Idle, Some(0)));
        assert_eq!((seen.restarts, &seen.last_failure), (None, &None));

        let unnamed = system.spawn(behavior(|_: u32, _| ())).unwrap();
        let seen = system.inspect(&unnamed);
        let expected = format!("@{}", unnamed.id());
        assert!(path_of(&seen).ends_with(&expected), "{seen:?}");
        assert_eq!((seen.name, seen.waiting), (None, Some(0)));
        system.shutdown();
    });
}

#[test]
fn waiting_messages_are_counted_while_another_actor_runs() {
    ends(|| {
        let system = System::builder().workers(1).start().unwrap();
        let (told, heard) = mpsc::channel::<()>();
        let (let_go, go) = mpsc::channel::<()>();
        let first = system
            .spawn(behavior(move |(): (), _| {
                told.send(()).unwrap();
                let _ = go.recv();
            }))
            .unwrap();
        let handled = Arc::new(AtomicU64::new(0));
        let counts = {
            let handled = handled.clone();
            behavior(move |_: u32, _| {
                handled.fetch_add(1, Ordering::SeqCst);
            })
        };
        let second = system.actor(counts).named("second");
        let second = second.spawn().unwrap();
        first.send(()).unwrap();
        heard.recv().unwrap();
        (0..12_500).for_each(|n| second.send(n).unwrap());
        // The only worker is in a turn.
        let seen = system.inspect(&second);
        assert_eq!(seen.state, ActorState::Unanswered);
        assert_eq!((seen.waiting, &seen.path), (None, &None));
        let handle = system.handle();
        let asks = std::thread::spawn({
            let (second, handled) = (second.clone(), handled.clone());
            move || {
                let before = handled.load(Ordering::SeqCst);
                let waiting = handle.inspect(&second).waiting.unwrap();
                (before, waiting, handled.load(Ordering::SeqCst))
            }
        });
        let_go.send(()).unwrap();
        let (before, waiting, after) = asks.join().unwrap();
        // The answer comes between two activations of the second actor.
        let expected = 12_500 - after..=12_500 - before;
        assert!(expected.contains(&waiting), "{waiting}, {expected:?}");
        system.shutdown();
    });
}

#[test]
fn a_turn_in_blocking_leaves_the_worker_which_answers() {
    ends(|| {
        let system = System::builder().workers(1).start().unwrap();
        let (told, heard) = mpsc::channel::<()>();
        let (let_go, go) = mpsc::channel::<()>();
        let go = std::sync::Mutex::new(go);
        let blocks = behavior(move |(): (), cx| {
            let (told, go) = (&told, &go);
            cx.blocking(|| {
                let _ = told.send(());
                let _ = go.lock().unwrap().recv();
            });
        });
        let blocks = system.spawn(blocks).unwrap();
        blocks.send(()).unwrap();
        heard.recv().unwrap();
        (0..12_500).for_each(|_| blocks.send(()).unwrap());
        let seen = system.inspect(&blocks);
        assert_eq!(
            (seen.state, seen.waiting),
            (ActorState::Aside, Some(12_500))
        );
        drop(let_go);
        system.shutdown();
    });
}

#[test]
fn a_supervised_actor_shows_its_restarts_and_its_last_failure() {
    ends(|| {
        silence_panics();
        let builder = System::builder().workers(1).on_failure(|_| ());
        let system = builder.start().unwrap();
        let tree = Supervisor::new("bank", Strategy::OneForOne);
        let tree = tree.spawn(&system.handle()).unwrap();
        let make = || {
            behavior(|n: u32, cx| {
                if n == 7 {
                    return cx.fail("seven is too much");
                }
                Next::Continue
            })
        };
        let long = Duration::from_secs(1_000);
        let teller = system.actor(make).named("teller").supervised_by(&tree);
        let teller = teller.spawn().unwrap();
        let slow = system.actor(make).named("slow").supervised_by(&tree);
        let slow = slow.backoff(Backoff::exponential(long, long)).spawn();
        let slow = slow.unwrap();

        teller.send(7).unwrap();
        let seen = until(|| system.inspect(&teller), |seen| seen.restarts == Some(1));
        let reason = &seen.last_failure.as_ref().unwrap().reason;
        assert_eq!(&**reason, "seven is too much");
        let seen = until(
            || system.inspect(&teller),
            |seen| seen.state == ActorState::Idle,
        );
        assert_eq!(
            (seen.name.as_deref(), seen.waiting),
            (Some("teller"), Some(0))
        );
        assert!(path_of(&seen).starts_with("/user/bank#"), "{seen:?}");

        slow.send(7).unwrap();
        let down = ActorState::Child(ChildState::Down);
        let seen = until(|| system.inspect(&slow), |seen| seen.state == down);
        assert_eq!((seen.restarts, seen.waiting), (Some(1), None));
        assert_eq!(system.inspect(&teller).restarts, Some(1));
        system.shutdown_now();
    });
}

/// An async actor that discards its messages until its mailbox ends.
async fn clerk(mut mailbox: Incoming<u32>) {
    while mailbox.recv().await.is_some() {}
}

#[test]
fn other_kinds_of_actors_and_mailboxes() {
    ends(|| {
        let system = System::builder().workers(1).start().unwrap();
        let clerk = system.actor(clerk).named("clerk").spawn().unwrap();
        // At first, the future waits for its first poll.
        let seen = until(
            || system.inspect(&clerk),
            |seen| seen.state == ActorState::Idle,
        );
        assert_eq!((seen.name.as_deref(), seen.waiting), (Some("clerk"), None));

        let bounded = system.actor(behavior(|_: u32, _| ()));
        let bounded = bounded
            .mailbox(Mailbox::bounded(5, OnFull::Fail).unwrap())
            .spawn()
            .unwrap();
        let seen = system.inspect(&bounded);
        assert_eq!((seen.capacity, seen.waiting), (Some(5), Some(0)));

        let mapped = bounded.contramap(|text: String| text.len() as u32);
        let through = system.inspect(&mapped);
        assert_eq!((through.task, through.waiting), (seen.task, Some(0)));

        bounded.stop();
        until(
            || system.inspect(&bounded),
            |seen| seen.state == ActorState::Ended,
        );
        system.shutdown();
    });
}

#[test]
fn an_actor_can_inspect_but_does_not_wait() {
    ends(|| {
        let system = System::builder().workers(1).start().unwrap();
        let other = system.spawn(behavior(|_: u32, _| ())).unwrap();
        let (told, heard) = mpsc::channel();
        let asks = system
            .spawn(behavior(move |(): (), cx| {
                let seen = cx.sponsor().inspect(&other);
                told.send(seen.state).unwrap();
            }))
            .unwrap();
        asks.send(()).unwrap();
        assert_eq!(heard.recv(), Ok(ActorState::Unknown));
        system.shutdown();
    });
}
