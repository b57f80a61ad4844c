//! The four programs of the example `operations`: the page shows their troubles as
//! `docs/operations.md` says. The screenshots are the pictures of that guide.

use garrick_examples::operations::{Program, Trouble};
use garrick_telemetry::{Builder, Recorder, Telemetry};
use metrics::{counter, describe_counter, gauge, histogram, with_local_recorder};
use serde_json::json;

use crate::browser::{Page, Screen};
use crate::scale::{SCREENS, is_legible, no_violations, show};
use crate::watched::anywhere;
use crate::{CHOSEN, NAMES, open};

/// Screen of the pictures. It is so high that the panels below the tables are in view.
const PICTURE: Screen = Screen {
    width: 1280,
    height: 1340,
    dark: false,
};

/// Returns an expression with the texts of a table's cells, without the numbers of paths.
fn rows(panel: &str) -> String {
    format!(
        "[...document.querySelectorAll('#{panel} tbody tr')].map((row) => [...row.cells]
            .map((cell) => cell.textContent.replace(/#\\d+/g, '').replaceAll('\\u202f', ' ')))"
    )
}

/// Sentences about the values that are beyond a threshold.
const ALERTS: &str =
    "[...document.querySelectorAll('#details-body [data-on]')].map((link) => link.textContent)
    .filter((text) => text.endsWith('.'))";

/// Number of alerts at the top of the page.
const COUNT: &str = "document.querySelector('#vitals > div:last-child dd').textContent";

/// Returns an expression with the value in the details that has this name.
fn value(name: &str) -> String {
    format!(
        "[...document.querySelectorAll('.probes dt')].find((name) => name.textContent === '{name}')
            .nextElementSibling.textContent.replaceAll('\\u202f', ' ')"
    )
}

/// Returns an expression with the value in the column `name` of the first row of the main table.
fn cell(name: &str) -> String {
    format!(
        "document.querySelector('#sheet tbody tr').cells[[...document.querySelectorAll('#sheet thead th')]
            .findIndex((cell) => cell.textContent === '{name}')].textContent.replaceAll('\\u202f', ' ')"
    )
}

/// A program in trouble, and its page.
struct Scene {
    page: Page,
    telemetry: Telemetry,
    trouble: Trouble,
    _program: Program,
}

impl Scene {
    fn open(trouble: Trouble, builder: Builder) -> Self {
        let telemetry = builder.name(trouble.word()).start().expect("a free port");
        let program = trouble.start(&telemetry).expect("it starts");
        let page = open(&telemetry, PICTURE);
        Self {
            page,
            telemetry,
            trouble,
            _program: program,
        }
    }

    /// Saves the picture of the guide, with the part of the page from `top` on. Before, waits until
    /// the charts cover some seconds and the page shows `alerts`.
    fn keep(&self, top: &str, alerts: &str) {
        let page = &self.page;
        page.eval(&format!(
            "document.getElementById('{top}').scrollIntoView()"
        ));
        let uptime = "parseInt(document.querySelector('#vitals dd').textContent)";
        page.wait(&format!("{uptime} >= 8 && {COUNT} === '{alerts}'"));
        page.keep(&format!("operations-{}", self.trouble));
    }

    /// Asserts on each screen that no text is cut, that none covers another one, and that axe-core
    /// finds nothing.
    fn reads_everywhere(&self) {
        for screen in SCREENS {
            let name = format!("{} at {} px", self.trouble, screen.width);
            show(&self.page, &self.telemetry, screen);
            is_legible(&self.page, &name);
            no_violations(&self.page, &name);
            self.page.keys("2");
            is_legible(&self.page, &format!("{name}, channels"));
            self.page.keys("1");
        }
        self.page.is_clean();
    }
}

#[test]
fn a_long_handler_leads_all_lists() {
    let scene = Scene::open(Trouble::LongHandler, anywhere());
    let page = &scene.page;
    page.wait(&format!(
        "{ALERTS}.some((text) => /^A mailbox of OrderBook has \\d+ messages, above the limit of 10000 messages\\.$/.test(text))"
    ));
    // Another actor comes first for one window if the operating system has interrupted its turn.
    let book = json!(["/user/book-4711", "OrderBook", "exchange"]);
    page.wait(&format!(
        "(([first]) => parseInt(first?.[5]) >= 80
            && JSON.stringify(first.slice(0, 3)) === JSON.stringify({book}))({})",
        rows("actors")
    ));
    page.wait(&format!("/^12\\.\\d k$/.test({}[0][3])", rows("actors")));
    page.wait(&format!(
        "{NAMES}[0] === 'OrderBook' && parseInt({}) >= 80",
        cell("Busy")
    ));
    page.eval("document.querySelector('#actors .link').click()");
    assert_eq!(page.text(CHOSEN), "OrderBook");
    page.wait(&format!(
        "/^\\d\\d(\\.\\d)? ms$/.test({})",
        value("99th percentile of turns")
    ));
    scene.keep("graph-panel", "\u{25b2} 1");
    scene.reads_everywhere();
}

#[test]
fn a_crash_loop_is_told_with_its_reason() {
    let recorder = Recorder::default();
    with_local_recorder(&recorder, || {
        describe_counter!("purchases", "Purchases that were made.");
        counter!("purchases", "shop" => "north").increment(1_234_567);
        gauge!("cash_euros").set(123.45);
        histogram!("purchase_seconds").record_many(0.003, 100);
    });
    let scene = Scene::open(Trouble::CrashLoop, anywhere().recorder(&recorder));
    let page = &scene.page;
    page.wait(&format!(
        "{ALERTS}.some((text) => /^An actor of Payment keeps failing: it was restarted \\d+ times\\.$/.test(text))"
    ));
    assert_eq!(page.text(COUNT), "\u{25c6} 1", "one critical alert");
    assert_eq!(page.eval(&format!("{NAMES}[0]")), json!("Payment"));
    page.wait(&format!(
        "Number({}) >= 5 && Number({}) >= 5",
        cell("Failures"),
        cell("Restarts")
    ));
    let newest = page.eval(&format!("{}[0]", rows("failures")));
    assert_eq!(
        (&newest[2], &newest[3], &newest[5]),
        (
            &json!("/user/shop/payment"),
            &json!("restarted"),
            &json!("the certificate of bank.example has expired")
        )
    );
    let line = "[...document.querySelectorAll('#tree .branch')].map((line) => line.textContent.replace(/#\\d+/g, ''))
        .find((line) => line.startsWith('payment'))";
    page.wait(&format!(
        "/^payment(running|restarting)Payment, \\d+ restarts.*the certificate/.test({line})"
    ));
    for panel in ["actors-panel", "failures-panel", "tree-panel", "own"] {
        let hidden = page.eval(&format!("document.getElementById('{panel}').hidden"));
        assert_eq!(hidden, json!(false), "{panel}");
    }
    scene.keep("table-panel", "\u{25c6} 1");
    scene.reads_everywhere();
}

#[test]
fn a_growing_mailbox_is_told_with_its_owner() {
    let scene = Scene::open(Trouble::GrowingMailbox, anywhere());
    let page = &scene.page;
    page.wait(&format!(
        "{ALERTS}.some((text) => /^A mailbox of AuditLog has \\d+ messages, above the limit of 10000 messages\\.$/.test(text))"
    ));
    let first = page.eval(&format!("{}[0].slice(0, 3)", rows("actors")));
    assert_eq!(first, json!(["/user/audit-log", "AuditLog", "website"]));
    page.wait(&format!("{NAMES}[0] === 'AuditLog'"));
    page.click("#sheet tbody button");
    assert_eq!(page.text(CHOSEN), "AuditLog");
    let longest = value("Longest mailbox");
    let before = page.text(&longest);
    page.wait(&format!(
        "parseFloat({longest}) > parseFloat({})",
        json!(before)
    ));
    page.wait(&format!(
        "/^\\d.*\\/s$/.test({})",
        value("Growth of the mailboxes")
    ));
    let charts = "[...document.querySelectorAll('.chart:not([hidden]) figcaption')].map((title) => title.textContent)";
    page.wait(&format!(
        "{charts}.some((title) => title.startsWith('Messages waiting'))"
    ));
    scene.keep("graph-panel", "\u{25b2} 1");
    scene.reads_everywhere();
}

#[test]
fn a_full_channel_names_the_bottleneck_and_raises_no_alert() {
    let scene = Scene::open(Trouble::FullChannel, anywhere());
    let page = &scene.page;
    let line = "document.querySelector('#pipelines [data-bottleneck]')?.textContent";
    page.wait(&format!(
        "/^parser is the bottleneck: \\d+ % busy, its input is full, its output is not\\.$/.test({line})"
    ));
    assert_eq!(page.text(COUNT), "none");
    page.keys("2");
    let channels = "[...document.querySelectorAll('#sheet tbody tr')].map((row) => [row.cells[0].textContent, parseInt(row.cells[3].textContent)])";
    page.wait(&format!(
        "{channels}.some(([name, full]) => name === 'lines' && full >= 75)"
    ));
    page.wait(&format!(
        "{channels}.some(([name, full]) => name === 'records' && full < 75)"
    ));
    page.keys("1");
    page.eval("document.querySelector('#pipelines [data-bottleneck] button').click()");
    assert_eq!(page.text(CHOSEN), "parser");
    page.wait(&format!(
        "parseInt({}) >= 80",
        value("Busy share of one core")
    ));
    scene.keep("process", "none");
    scene.reads_everywhere();
}
