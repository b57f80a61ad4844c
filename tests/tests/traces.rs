//! Traces across actors that arrive at a collector by OTLP, as the example `traces` sends them.
#![forbid(unsafe_code)]

use garrick_examples::traces::{Collector, Span, order, send_spans_to};
use garrick_testkit::ends;

#[test]
fn an_order_is_one_trace_at_the_collector() {
    ends(|| {
        let collector = Collector::start().unwrap();
        let provider = send_spans_to(collector.address).unwrap();
        assert_eq!(order(4).unwrap(), 1000);
        provider.shutdown().unwrap();
        let spans = collector.spans();
        let first = spans.iter().find(|span| span.name == "checkout").unwrap();
        assert_eq!(first.parent, "");
        let is_same = |span: &&Span| span.trace == first.trace;
        assert_eq!(spans.iter().filter(is_same).count(), 4, "{spans:#?}");
        let mut at = first;
        for name in ["Shop", "Stock", "Till"] {
            let below = spans.iter().filter(|span| span.parent == at.id);
            let below: Vec<_> = below.collect();
            assert_eq!(below.len(), 1, "{spans:#?}");
            assert_eq!((&*below[0].name, &below[0].trace), (name, &first.trace));
            at = below[0];
        }
    });
}
