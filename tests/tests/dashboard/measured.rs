//! Tests of the page of a measurement.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

use garrick_measure::{Dut, Experiment, Report};
use serde_json::json;

use crate::browser::{Page, Screen};
use crate::{FAINT, OVERFLOW};

/// Returns a report of two things under test over three sizes. Their times differ so much that the
/// axis is logarithmic.
fn experiment(name: &str) -> Report {
    let counting = |name, factor: u64| {
        Dut::new(name, move |point| {
            let n = factor * point["n"];
            move || (0..n).fold(0, |sum, number| black_box(sum + number))
        })
    };
    let experiment = Experiment::new(name, "adding the numbers below n")
        .sweep("n", [10, 100, 1000])
        .dut(counting("once", 1))
        .dut(counting("<b>twice</b>", 2))
        .reference("once")
        .seconds_per_row(0.02);
    experiment.run().expect("it can be measured")
}

/// Page as a file, removed on drop.
struct File(PathBuf);

impl File {
    fn new(page: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("measured.html");
        fs::write(&path, page).expect("the target folder can be written to");
        Self(path)
    }

    fn address(&self) -> String {
        format!("file://{}", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // Another run overwrites it.
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_report_is_one_page_that_shows_its_plots_and_asks_nobody() {
    let report = experiment("sum");
    let comparison = report.compare(&report);
    let file = File::new(&report.html("Sums", Some(&comparison)));
    let page = Page::open(&file.address(), Screen::WIDE);
    page.wait("document.readyState === 'complete'");
    assert_eq!(page.text("document.title"), "Sums");
    // A picture is visible: it has a size, lines in different colors, and words in it.
    page.wait("document.querySelector('svg').getBoundingClientRect().width > 400");
    assert_eq!(
        page.eval("document.querySelectorAll('svg polyline').length % 2"),
        json!(0)
    );
    let strokes = "new Set([...document.querySelectorAll('svg:first-of-type polyline')].map((line) => \
                   getComputedStyle(line).stroke)).size";
    assert_eq!(page.eval(strokes), json!(2));
    let outside = "(() => { const frame = document.querySelector('svg').getBoundingClientRect(); \
                   return [...document.querySelectorAll('svg')[0].querySelectorAll('text')].filter((text) => { \
                   const box = text.getBoundingClientRect(); \
                   return box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom; \
                   }).map((text) => text.textContent); })()";
    assert_eq!(page.eval(outside), json!([]));
    // The tables have the same rows, with names as text, and the same figures.
    let names = "[...document.querySelectorAll('section:last-of-type tbody tr')].map((row) => row.cells[1].textContent)";
    assert_eq!(page.eval(&format!("{names}.length")), json!(6));
    assert_eq!(
        page.eval("document.querySelectorAll('td b').length"),
        json!(0)
    );
    let median = report.rows()[5].cpu.median;
    let last =
        "document.querySelector('section:last-of-type tbody tr:last-child').cells[2].textContent";
    let shown = page.text(last);
    let number: f64 = shown
        .split(' ')
        .next()
        .expect("a number")
        .parse()
        .expect("a number");
    let factor = if shown.ends_with("us") { 1e3 } else { 1.0 };
    assert!(
        (number * factor / median - 1.0).abs() < 0.01,
        "{shown} is {median} ns"
    );
    for (name, screen, ground) in [
        ("light", Screen::WIDE, "rgb(255, 255, 255)"),
        ("dark", Screen::WIDE.dark(), "rgb(14, 18, 23)"),
        ("phone", Screen::PHONE, "rgb(255, 255, 255)"),
    ] {
        page.show_on(screen);
        let below = "getComputedStyle(document.body).backgroundColor";
        assert_eq!(page.text(below), ground, "{name}");
        let fill = "getComputedStyle(document.querySelector('svg .p-ground')).fill";
        assert_eq!(page.text(fill), ground, "{name}");
        assert_eq!(page.eval(OVERFLOW), json!(0), "{name}");
        assert_eq!(page.eval(FAINT), json!([]), "{name}");
        page.eval("document.querySelector('svg').scrollIntoView()");
        page.keep(&format!("measured-{name}"));
    }
    page.is_clean_and_alone();
}
