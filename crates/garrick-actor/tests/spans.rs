//! Tests of the spans of turns and of the events of failures, with the feature `tracing`.
#![forbid(unsafe_code)]
#![cfg(feature = "tracing")]

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Local, Next, NoReply, Reply, System, behavior};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A subscriber that records what happens to spans.
#[derive(Clone, Default)]
struct Recorder {
    told: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn tell(&self, what: String) {
        self.told.lock().unwrap().push(what);
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() || ["turn", "named"].contains(&metadata.name())
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields("span".to_owned());
        span.record(&mut fields);
        self.tell(fields.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields("event".to_owned());
        event.record(&mut fields);
        self.tell(fields.0);
    }

    fn enter(&self, _: &Id) {
        self.tell("enter".to_owned());
    }

    fn exit(&self, _: &Id) {
        self.tell("exit".to_owned());
    }
}

#[test]
fn a_turn_is_a_span_with_the_type_and_the_path() {
    let recorder = Recorder::default();
    tracing::subscriber::with_default(recorder.clone(), || {
        let local = Local::new().unwrap();
        let actor = local.spawn(behavior(|(): (), _| Next::Continue));
        actor.send(()).unwrap();
        local.run();
        let named = local
            .actor(behavior(|(): (), _| Next::Continue))
            .named("teller")
            .spawn();
        named.send(()).unwrap();
        local.run();
    });
    let told = recorder.told.lock().unwrap();
    assert!(told[0].starts_with("span actor=") && told[0].contains("Behavior"));
    assert_eq!(told[1..3], ["enter", "exit"]);
    assert_eq!((&told[3], told[4].as_str()), (&told[0], "enter"));
    assert!(told[5].starts_with("span path=\"/user/teller#"));
    assert_eq!(told[6..], ["enter", "exit", "exit"]);
}

#[test]
fn a_question_that_is_not_answered_in_time_is_an_event_with_the_parties() {
    let recorder = Recorder::default();
    tracing::subscriber::with_default(recorder.clone(), || {
        let local = Local::new().unwrap();
        let mute = local.spawn(behavior(|reply: Reply<u8>, cx| {
            let later = Duration::from_secs(60);
            let silent = cx.spawn(behavior(|_: Reply<u8>, _| Next::Continue));
            cx.send_after(later, &silent, reply).unwrap();
            Next::Continue
        }));
        let asker = local.spawn(behavior(move |answer: Option<Result<u8, NoReply>>, cx| {
            match answer {
                None => cx.ask_within(Duration::ZERO, &mute, |reply| reply, Some),
                Some(answer) => assert_eq!(answer, Err(NoReply::TimedOut)),
            }
            Next::Continue
        }));
        asker.send(None).unwrap();
        local.run();
        assert_eq!(local.handle().failures(), 0);
    });
    let told = recorder.told.lock().unwrap();
    let event = told.iter().find(|line| line.starts_with("event")).unwrap();
    assert!(
        event.contains("answer=\"u8\"") && event.contains("Reply<u8>"),
        "{event}"
    );
    assert!(event.contains("asker="), "{event}");
}

#[test]
fn a_restart_and_a_failure_are_events() {
    let recorder = Recorder::default();
    tracing::subscriber::with_default(recorder.clone(), || {
        let local = System::builder().name("shop").on_failure(|_| ()).local();
        let local = local.unwrap();
        let tree = Supervisor::new("bank", Strategy::OneForOne);
        let tree = tree.spawn(&local.handle()).unwrap();
        let fails = || behavior(|(): (), cx| -> Next { cx.fail("no money") });
        let child = local.actor(fails).named("teller").supervised_by(&tree);
        child.spawn().unwrap().send(()).unwrap();
        local.run();
        local.spawn(fails()).send(()).unwrap();
        local.run();
    });
    let told = recorder.told.lock().unwrap();
    let mut events = told.iter().filter(|line| line.starts_with("event"));
    let restart = events.next().unwrap();
    for part in [
        "system=\"shop\"",
        "path=\"/user/bank#",
        "/teller#",
        "reason=\"no money\"",
        "restarts=1",
        "message=an actor is restarted",
    ] {
        assert!(restart.contains(part), "no {part} in {restart}");
    }
    let failure = events.next().unwrap();
    assert!(failure.contains("message=an actor failed"), "{failure}");
    assert!(!failure.contains("path="), "{failure}");
    assert_eq!(events.next(), None);
}
