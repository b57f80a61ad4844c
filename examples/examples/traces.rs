//! Traces across actors: one order passes three actors, and is one trace of OpenTelemetry.
//!
//! With an argument such as `127.0.0.1:4318`, the spans go to the collector at this address.
//! Otherwise, the example starts a small collector, and prints the spans that it has received.
//!
//! Run: `cargo run -p garrick-examples --example traces`
#![forbid(unsafe_code)]

use garrick_examples::traces::{Collector, order, send_spans_to};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let collector = Collector::start()?;
    let address = match std::env::args().nth(1) {
        Some(address) => address.parse()?,
        None => collector.address,
    };
    let provider = send_spans_to(address)?;
    println!("4 pieces cost {} cents", order(4)?);
    provider.shutdown()?;
    let spans = collector.spans();
    let Some(first) = spans.iter().find(|span| span.name == "checkout") else {
        return Ok(());
    };
    let (mut at, mut indent) = (Some(first), String::new());
    while let Some(span) = at {
        println!(
            "{indent}{} (span {} of trace {})",
            span.name, span.id, span.trace
        );
        indent.push_str("  ");
        at = spans.iter().find(|below| below.parent == span.id);
    }
    Ok(())
}
