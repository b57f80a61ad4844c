//! The spans of turns, with the feature `tracing`.
#![forbid(unsafe_code)]
#![cfg(feature = "tracing")]

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use garrick_actor::{Local, Next, behavior};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes down what it is told of spans.
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
        ["turn", "named"].contains(&metadata.name())
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields("span".to_owned());
        span.record(&mut fields);
        self.tell(fields.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

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
        let actor = local.spawn_behavior(|(): (), _| Next::Continue);
        actor.send(()).unwrap();
        local.run();
        let named = local.spawn_named("teller", behavior(|(): (), _| Next::Continue));
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
