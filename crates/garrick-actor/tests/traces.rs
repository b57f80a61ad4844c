//! Tests of traces that continue from one actor to the next, with the feature `traces`.
#![forbid(unsafe_code)]
#![cfg(feature = "traces")]

use std::sync::{OnceLock, mpsc};

use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Actor, Address, Context, Incoming, Next, Reply, System, behavior, trace};
use garrick_testkit::{ends_alone, silence_panics};
use opentelemetry::trace::{SpanId, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider, SpanData};
use tracing::info_span;
use tracing_subscriber::layer::SubscriberExt;

/// An actor that passes each question on to the next actor. The last actor answers with 7.
struct Link {
    next: Option<Address<Question>>,
}

struct Question {
    reply: Reply<u32>,
    fails: bool,
}

impl Actor for Link {
    type Msg = Question;
    type Outcome = Next;

    fn receive(&mut self, question: Question, cx: &mut Context<'_, Question>) -> Next {
        if question.fails {
            return cx.fail("on purpose");
        }
        match &self.next {
            Some(next) => drop(cx.send(next, question)),
            None => question.reply.send(7),
        }
        Next::Continue
    }
}

/// A collector that records the spans of the whole process.
struct Collector {
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
}

/// Returns the only span collector of the process.
fn collector() -> &'static Collector {
    static COLLECTOR: OnceLock<Collector> = OnceLock::new();
    COLLECTOR.get_or_init(|| {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
            .with_simple_exporter(exporter.clone())
            .build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::set_global_default(subscriber).unwrap();
        trace::continue_from_threads();
        Collector { exporter, provider }
    })
}

impl Collector {
    /// Returns the finished spans of the latest trace whose root span is named `root`.
    fn trace_of(&self, root: &str) -> Vec<SpanData> {
        self.provider.force_flush().unwrap();
        let spans = self.exporter.get_finished_spans().unwrap();
        // The start of an actor is a turn too, and comes first.
        let root = spans.iter().rfind(|span| span.name == *root);
        let id = root.unwrap().span_context.trace_id();
        let is_same = |span: &SpanData| span.span_context.trace_id() == id;
        spans.into_iter().filter(is_same).collect()
    }
}

/// Returns the names of the spans from the root of a trace to its last descendant. Panics if a span
/// has several children.
fn way(spans: &[SpanData]) -> Vec<String> {
    let (mut at, mut way) = (SpanId::INVALID, Vec::new());
    loop {
        let mut children = spans.iter().filter(|span| span.parent_span_id == at);
        let Some(child) = children.next() else {
            return way;
        };
        assert!(children.next().is_none(), "{spans:#?}");
        way.push(short(&child.name));
        at = child.span_context.span_id();
    }
}

/// Returns the last part of a path such as `a::b::c`.
fn short(name: &str) -> String {
    name.rsplit("::").next().unwrap().to_owned()
}

/// Asks a question within a span with the name `root`.
fn ask(root: &'static str, first: &Address<Question>, fails: bool) -> Option<u32> {
    let span = info_span!("root", otel.name = root);
    // A supervised actor starts before its first message.
    let _ = first.ask(|reply| Question { reply, fails }).wait();
    let _entered = span.enter();
    first.ask(|reply| Question { reply, fails }).wait().ok()
}

#[test]
fn the_turns_of_a_question_are_one_trace_across_workers_and_systems() {
    ends_alone(|| {
        let collector = collector();
        let near = System::builder().workers(3).start().unwrap();
        let far = System::builder().workers(1).start().unwrap();
        let last = far.spawn(Link { next: None }).unwrap();
        let middle = near.spawn(Link { next: Some(last) }).unwrap();
        let first = near.spawn(Link { next: Some(middle) }).unwrap();
        assert_eq!(ask("across", &first, false), Some(7));
        near.shutdown();
        far.shutdown();
        let spans = collector.trace_of("across");
        assert_eq!(way(&spans), ["across", "Link", "Link", "Link"]);
        // The question before, which belongs to no span, is not in the trace.
        assert_eq!(spans.len(), 4);
        let actor = spans[0]
            .attributes
            .iter()
            .find(|field| field.key.as_str() == "actor");
        assert!(actor.unwrap().value.as_str().ends_with("traces::Link"));
    });
}

/// An async actor that passes each question on to the given address.
async fn clerk(mut mailbox: Incoming<(Address<Question>, Question)>) {
    while let Some((to, question)) = mailbox.recv().await {
        let _ = to.send(question);
    }
}

#[test]
fn traces_go_through_async_actors_supervisors_pools_and_doors() {
    ends_alone(|| {
        let collector = collector();
        let system = System::builder().workers(2).start().unwrap();
        let tree = Supervisor::new("tree", Strategy::OneForOne);
        let tree = tree.spawn(&system.handle()).unwrap();
        let child = system.actor(|| Link { next: None }).supervised_by(&tree);
        let child = child.spawn().unwrap();
        let clerk = system.actor(clerk).named("clerk").spawn().unwrap();
        let through = clerk.contramap(move |question| (child.clone(), question));
        assert_eq!(ask("through", &through, false), Some(7));
        drop(through);
        system.shutdown();
        let spans = collector.trace_of("through");
        let names: Vec<_> = spans.iter().map(|span| short(&span.name)).collect();
        let count = |name: &str| names.iter().filter(|found| *found == name).count();
        assert_eq!((count("Link"), count("through")), (1, 1), "{names:?}");
        assert_eq!(count("clerk"), 1, "{names:?}");
        let clerk = spans
            .iter()
            .find(|span| short(&span.name) == "clerk")
            .unwrap();
        let link = spans
            .iter()
            .find(|span| short(&span.name) == "Link")
            .unwrap();
        assert_eq!(
            link.parent_span_id,
            clerk.span_context.span_id(),
            "{names:?}"
        );
    });
}

#[test]
fn a_failed_turn_is_in_the_trace_and_its_messages_are_not() {
    ends_alone(|| {
        silence_panics();
        let collector = collector();
        let builder = System::builder().workers(1).on_failure(|_| ());
        let system = builder.start().unwrap();
        let first = system.spawn(Link { next: None }).unwrap();
        assert_eq!(ask("failed", &first, true), None);
        system.shutdown();
        // The first question has made the actor fail.
        let spans = collector.trace_of("failed");
        assert_eq!(way(&spans), ["failed"]);
    });
}

#[test]
fn a_message_of_no_span_begins_a_trace_at_its_turn() {
    ends_alone(|| {
        let collector = collector();
        let system = System::builder().workers(1).start().unwrap();
        let (told, heard) = mpsc::channel();
        let last = system
            .spawn(behavior(move |n: u32, _| told.send(n).unwrap()))
            .unwrap();
        struct Alone(Address<u32>);
        impl Actor for Alone {
            type Msg = u32;
            type Outcome = ();

            fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) {
                let _ = cx.send(&self.0, n + 1);
            }

            fn name() -> &'static str {
                "alone"
            }
        }
        let alone = system.spawn(Alone(last)).unwrap();
        alone.send(1).unwrap();
        assert_eq!(heard.recv(), Ok(2));
        drop(alone);
        system.shutdown();
        let spans = collector.trace_of("alone");
        assert_eq!(spans.len(), 2);
        assert_eq!(way(&spans)[0], "alone");
    });
}
