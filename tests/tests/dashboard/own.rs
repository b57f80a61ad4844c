//! Tests of the table of the metrics that the program itself records.

use garrick_telemetry::{Recorder, Telemetry};
use metrics::{counter, describe_counter, gauge, histogram, with_local_recorder};
use serde_json::json;

use super::browser::Screen;
use super::watched::{HOSTILE, anywhere};
use super::{FAINT, OVERFLOW, next, open};

/// Texts of all rows.
const ROWS: &str = "[...document.querySelectorAll('#own tbody tr')]
    .map((row) => [...row.cells].map((cell) => cell.textContent.replaceAll('\u{202f}', ' ')))";

/// Number of series next to the title.
const COUNT: &str = "document.getElementById('own-count').textContent";

fn telemetry(recorder: &Recorder) -> Telemetry {
    anywhere().recorder(recorder).start().expect("a free port")
}

#[test]
fn metrics_of_the_program_have_a_table_at_every_width() {
    let recorder = Recorder::default();
    with_local_recorder(&recorder, || {
        describe_counter!("orders", "Orders that were accepted.");
        counter!("orders", "shop" => "north").increment(1_234_567);
        counter!("orders", "shop" => "south").increment(3);
        gauge!("level").set(-0.5);
        histogram!("order_seconds").record_many(0.003, 100);
    });
    let telemetry = telemetry(&recorder);
    let page = open(&telemetry, Screen::WIDE);
    page.wait(&format!("{ROWS}.length === 4 && {ROWS}[0][4] === '0/s'"));
    let rows = json!([
        [
            "orders_total",
            "shop=north",
            "counter",
            "1.23 M",
            "0/s",
            "",
            ""
        ],
        ["orders_total", "shop=south", "counter", "3", "0/s", "", ""],
        ["level", "", "gauge", "-0.50", "", "", ""],
        [
            "order_seconds",
            "",
            "histogram",
            "100",
            "0/s",
            "3.75 ms",
            "4.98 ms"
        ],
    ]);
    assert_eq!(page.eval(ROWS), rows);
    assert_eq!(
        page.text("document.querySelector('#own tbody tr').title"),
        "Orders that were accepted."
    );
    for screen in [Screen::WIDE, Screen::PHONE, Screen::PHONE.dark()] {
        page.show_on(screen);
        page.go(&telemetry.url());
        page.wait(&format!("{ROWS}.length === 4"));
        assert_eq!(page.eval(OVERFLOW), json!(0));
        assert_eq!(page.eval(FAINT), json!([]));
    }
    page.keys("/");
    page.keys("south");
    page.wait(&format!(
        "{ROWS}.length === 1 && {ROWS}[0][1] === 'shop=south'"
    ));
    assert_eq!(page.text(COUNT), "1 of 4 series");
    page.is_clean();
}

#[test]
fn a_program_without_metrics_has_no_table_of_them() {
    let telemetry = anywhere().start().expect("a free port");
    let page = open(&telemetry, Screen::WIDE);
    assert_eq!(
        page.eval("document.getElementById('own').hidden"),
        json!(true)
    );
}

#[test]
fn hostile_and_many_metrics_break_nothing() {
    let recorder = Recorder::builder().series_max(250).build();
    let recorder = recorder.expect("no buckets are set");
    with_local_recorder(&recorder, || {
        for name in HOSTILE {
            counter!("hostile", "name" => *name, *name => "value").increment(1);
        }
        gauge!("no_number").set(f64::NAN);
        for n in 0..500 {
            gauge!("many", "n" => n.to_string()).set(n);
        }
    });
    let telemetry = telemetry(&recorder);
    let page = open(&telemetry, Screen::WIDE);
    page.wait(&format!("{ROWS}.length === 200"));
    next(&page);
    let count = page.text(COUNT);
    assert!(
        count.starts_with("250 series, ") && count.ends_with(" uses refused"),
        "{count}"
    );
    let more = "document.getElementById('own-more').textContent";
    assert_eq!(page.text(more), "50 more are at /metrics.");
    assert_eq!(page.eval("window.broken ?? null"), json!(null));
    page.is_clean();
}
