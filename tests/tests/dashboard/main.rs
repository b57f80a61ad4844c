//! Tests of the dashboard, of the page of a measurement, and of the site of the guides, in a real
//! browser: the display, and the user's actions.

mod actors;
mod browser;
mod clusters;
mod journals;
mod measured;
mod operations;
mod own;
mod scale;
mod site;
mod troubles;
mod watched;

use std::time::Duration;

use browser::{Page, Screen};
use garrick_telemetry::{Reading, Telemetry};
use serde_json::json;
use thirtyfour::Key;
use watched::{HOSTILE, Pipeline, anywhere, at, crowd, held, hostile, service, watching};

/// Names in the first column of the table, from the top.
const NAMES: &str =
    "[...document.querySelectorAll('#sheet tbody th')].map((cell) => cell.textContent)";

/// State of the connection.
const LINK: &str = "document.getElementById('link').dataset.state";

/// Number of the snapshot shown.
const SEQUENCE: &str = "Number(document.documentElement.dataset.sequence)";

/// Title over the details.
const CHOSEN: &str = "document.getElementById('details-title').textContent";

/// Element with the focus, as far as these tests need it.
const FOCUS: &str =
    "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.id)";

/// Difference between the width of the page and that of the window.
const OVERFLOW: &str =
    "document.documentElement.scrollWidth - document.documentElement.clientWidth";

fn open(telemetry: &Telemetry, screen: Screen) -> Page {
    let page = Page::open(&telemetry.url(), screen);
    page.wait(&format!("{LINK} === 'live' && {SEQUENCE} >= 0"));
    page
}

/// Waits until another snapshot is shown.
fn next(page: &Page) {
    let now = page.eval(SEQUENCE);
    page.wait(&format!("{SEQUENCE} > {now}"));
}

#[test]
fn a_pipeline_is_seen_at_work_and_at_its_end() {
    let pipeline = Pipeline::start();
    let telemetry = anywhere().start().expect("a free port");
    telemetry.watch(pipeline.running.monitor());
    telemetry.look();
    let page = open(&telemetry, Screen::WIDE);
    page.wait("document.querySelectorAll('.node').length === 3");
    page.wait("document.querySelectorAll('.edge').length === 2");
    assert_eq!(page.eval(NAMES), json!(["generator", "worker", "logger"]));
    assert_eq!(page.text("document.title"), "garrick \u{b7} Garrick");
    let messages = "document.querySelector('#sheet tbody tr').cells[14].textContent";
    page.wait(&format!("{messages} !== '0' && {messages} !== '\u{2013}'"));
    page.wait("document.querySelector('.label text').textContent.includes('/s')");
    let before = page.text(messages);
    page.wait(&format!("{messages} !== {}", json!(before)));
    page.keys("2");
    page.click("#sheet tbody button");
    assert_eq!(page.text(CHOSEN), "numbers");
    page.wait("document.querySelectorAll('.bars tbody tr').length > 0");
    page.wait("document.querySelectorAll('.chart:not([hidden]) .spark-line').length === 2");
    page.keep("pipeline");
    page.keys("1");
    let line = "document.querySelector('#pipelines button').textContent";
    page.wait(&format!("{line}.endsWith('.')"));
    let alerts = "document.querySelector('#vitals > div:last-child dd').textContent";
    assert_eq!(page.text(alerts), "none", "full channels are no trouble");
    pipeline.stop();
    page.wait("document.querySelectorAll('.node[data-state=ended]').length === 3");
    page.is_clean();
}

#[test]
fn it_reads_at_every_width_in_light_and_dark() {
    let telemetry = watching(anywhere(), service());
    let page = open(&telemetry, Screen::WIDE);
    let shown = [
        ("wide-light", Screen::WIDE, false),
        ("wide-dark", Screen::WIDE.dark(), true),
        ("phone-light", Screen::PHONE, false),
        ("phone-dark", Screen::PHONE.dark(), true),
    ];
    let [light, dark] = ["rgb(243, 245, 248)", "rgb(14, 18, 23)"];
    for (name, screen, is_dark) in shown {
        page.show_on(screen);
        page.go(&telemetry.url());
        page.wait("document.querySelectorAll('.node').length === 11");
        next(&page);
        assert_eq!(page.eval(OVERFLOW), json!(0), "{name}");
        let ground = "getComputedStyle(document.documentElement).backgroundColor";
        assert_eq!(page.text(ground), if is_dark { dark } else { light });
        assert_eq!(page.eval(FAINT), json!([]), "{name}");
        page.keep(name);
        for tab in ["2", "3", "4"] {
            page.keys(tab);
            assert_eq!(page.eval(OVERFLOW), json!(0), "{name}, table {tab}");
            assert_eq!(page.eval(FAINT), json!([]), "{name}, table {tab}");
        }
        page.eval("document.querySelector('#sheet tbody button').click()");
        assert_eq!(page.eval(OVERFLOW), json!(0), "{name}, something chosen");
        page.keep(&format!("{name}-chosen"));
    }
    page.is_clean();
}

/// Texts whose contrast to their background is less than 4.5 to 1, the minimum of WCAG 2.
const FAINT: &str = "(() => {
  const numbers = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const part = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const ground = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.body.querySelectorAll('*:not(script, noscript *)')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (!own || element.closest('svg') !== null || element.getClientRects().length === 0) continue;
    const [a, b] = [light(numbers(getComputedStyle(element).color)), light(ground(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faint.push(`${element.textContent}: ${contrast.toFixed(2)}`);
  }
  return faint;
})()";

#[test]
fn tables_sort_by_pointer_and_keyboard_and_filter_by_text() {
    let telemetry = watching(anywhere(), service());
    let page = open(&telemetry, Screen::WIDE);
    page.wait(&format!("{NAMES}.length === 11"));
    let first = || page.eval(&format!("{NAMES}[0]"));
    let way = |column: u32| {
        page.text(&format!(
            "document.querySelector('#sheet thead tr').cells[{column}].ariaSort"
        ))
    };
    // The failed stage comes first, and then the one with an alert.
    assert_eq!((first(), way(0)), (json!("archive"), "none".to_owned()));
    assert_eq!(page.eval(&format!("{NAMES}[1]")), json!("worker 1"));
    page.click("#sheet thead th:nth-child(1) button");
    assert_eq!(
        (first(), way(0)),
        (json!("archive"), "ascending".to_owned())
    );
    page.key(Key::Enter);
    assert_eq!(
        (first(), way(0)),
        (json!("worker 2"), "descending".to_owned())
    );
    page.keys(" ");
    assert_eq!((first(), way(0)), (json!("archive"), "none".to_owned()));
    page.click("#sheet thead th:nth-child(15) button");
    page.wait(&format!(
        "{NAMES}[0] === 'listener' && {NAMES}.at(-1) === 'archive'"
    ));
    assert_eq!(way(14), "descending");
    page.keys("/");
    assert_eq!(page.text(FOCUS), "filter");
    page.keys("compute 1");
    page.wait(&format!("{NAMES}.length === 1"));
    assert_eq!(first(), json!("worker 1"));
    let count = "document.getElementById('count').textContent";
    assert_eq!(page.text(count), "1 of 11");
    page.wait("document.querySelectorAll('.node.dim').length === 10");
    page.key(Key::Escape);
    page.wait(&format!("{NAMES}.length === 11"));
    page.keys("/nobody");
    page.wait(&format!("{NAMES}.length === 0"));
    let empty = "document.getElementById('table-empty').textContent";
    assert_eq!(page.text(empty), "Nothing passes the filter.");
    page.is_clean();
}

#[test]
fn a_worker_that_is_held_is_told_with_the_type_of_actor() {
    let telemetry = watching(anywhere(), held);
    let page = open(&telemetry, Screen::WIDE);
    let cells =
        "[...document.querySelector('#sheet tbody tr').cells].map((cell) => cell.textContent)";
    let row = |columns: [usize; 2]| {
        let text = |column| page.text(&format!("{cells}.at({column})"));
        columns.map(text)
    };
    assert_eq!(row([5, 18]), ["2.30\u{202f}s", "2"]);
    page.keys("3");
    page.wait(&format!("{cells}.includes('Session')"));
    assert_eq!(row([2, 3]), ["2.30\u{202f}s", "Session"]);
    page.click("#sheet tbody button");
    assert_eq!(page.text(CHOSEN), "pool");
    let links =
        "[...document.querySelectorAll('#details-body li')].map((item) => item.textContent)";
    page.wait(&format!("{links}.length === 3"));
    assert_eq!(
        page.eval(&format!("{links}.slice(0, 2)")),
        json!(["1: Session2.30\u{202f}s", "0: Session1\u{202f}ms"])
    );
    // Links are rebuilt with each snapshot, so a link may be gone between the search and the click.
    page.eval("document.querySelector('#details-body li button').click()");
    assert_eq!(page.text(CHOSEN), "Session");
    page.wait(&format!(
        "{links}[0].startsWith('A turn of Session has held its worker for 2.3 s, above the limit of 1 s.')"
    ));
    assert_eq!(
        page.eval(&format!("{links}.slice(1)")),
        json!(["1 of pool2.30\u{202f}s", "0 of pool1\u{202f}ms"])
    );
    let facts = "[...document.querySelectorAll('.probes dd')].map((fact) => fact.textContent)";
    assert_eq!(
        page.eval(&format!("{facts}.slice(-3)")),
        json!(["2.30\u{202f}s", "2", "250\u{202f}ms"])
    );
    page.keep("held");
    page.is_clean();
}

#[test]
fn a_pause_holds_the_page_and_counts_what_it_skips() {
    let telemetry = watching(anywhere(), service());
    let page = open(&telemetry, Screen::WIDE);
    next(&page);
    page.keys(" ");
    assert_eq!(page.text(LINK), "paused");
    let held = page.eval(SEQUENCE);
    // Screen readers announce each change of the state, so it must not contain numbers.
    page.eval(
        "(() => { window.said = 0; new MutationObserver(() => { said += 1; }) \
         .observe(document.getElementById('link'), { subtree: true, childList: true, characterData: true }); })()",
    );
    let told = "document.getElementById('link-more').textContent";
    page.wait(&format!("/\\b[2-9] skipped/.test({told})"));
    assert_eq!(page.eval(SEQUENCE), held);
    assert_eq!(page.eval("said"), json!(0));
    page.keys("p");
    assert_eq!(page.text(LINK), "live");
    page.wait(&format!("{SEQUENCE} > {held}"));
    page.click("#pause");
    assert_eq!(page.text(LINK), "paused");
    assert_eq!(
        page.text("document.getElementById('pause').ariaPressed"),
        "true"
    );
    // The button has the focus, so the space bar presses it and does not pause a second time.
    page.keys(" ");
    assert_eq!(page.text(LINK), "live");
    page.is_clean();
}

#[test]
fn everything_is_reached_by_keyboard() {
    let telemetry = watching(anywhere(), service());
    let page = open(&telemetry, Screen::WIDE);
    page.wait("document.querySelectorAll('.node').length === 11");
    page.key(Key::Tab);
    let link = "document.activeElement.textContent";
    assert_eq!(page.text(link), "Skip to the graph");
    assert!(
        page.eval("document.activeElement.getBoundingClientRect().top > 0")
            .as_bool()
            == Some(true)
    );
    page.keys("g");
    let at = |name: &str| format!("{FOCUS}.startsWith('stage {name} on ')");
    page.wait(&at("listener"));
    page.key(Key::Right);
    page.wait(&at("parse"));
    page.key(Key::Right);
    page.wait(&at("decode"));
    page.key(Key::Left);
    page.wait(&at("parse"));
    let ring = "getComputedStyle(document.activeElement.querySelector('.card')).strokeWidth";
    assert_eq!(page.text(ring), "3.5px", "the focus is seen");
    page.key(Key::Enter);
    assert_eq!(page.text(CHOSEN), "parse");
    page.key(Key::Escape);
    assert_eq!(page.text(CHOSEN), "Details");
    page.keys("?");
    page.wait("document.getElementById('help').open");
    page.keep("help");
    page.key(Key::Escape);
    page.wait("!document.getElementById('help').open");
    let view = "document.getElementById('view').getAttribute('transform')";
    let fitted = page.text(view);
    page.keys("+");
    page.wait(&format!("{view} !== {}", json!(fitted)));
    page.keys("f");
    page.wait(&format!("{view} === {}", json!(fitted)));
    page.keys("2");
    assert_eq!(
        page.text("document.querySelector('[aria-selected=true]').id"),
        "tab-edges"
    );
    page.keys("t");
    let theme = "document.documentElement.dataset.theme ?? 'none'";
    assert_eq!(page.text(theme), "dark");
    page.go(&telemetry.url());
    assert_eq!(page.text(theme), "dark", "it is remembered");
    page.is_clean();
}

#[test]
fn names_are_text_whatever_is_in_them() {
    let telemetry = watching(anywhere().name("<b onclick=x>&amp;\"</b>"), hostile);
    for screen in [Screen::WIDE, Screen::PHONE] {
        let page = open(&telemetry, screen);
        let all = HOSTILE.len() + 1;
        page.wait(&format!(
            "document.querySelectorAll('.node').length === {all}"
        ));
        assert_eq!(
            page.text("document.querySelector('h1').textContent"),
            "<b onclick=x>&amp;\"</b>"
        );
        for tab in ["1", "2", "3", "4"] {
            page.keys(tab);
            page.eval("document.querySelector('#sheet tbody button')?.click()");
            assert_eq!(page.eval(OVERFLOW), json!(0), "table {tab}");
        }
        page.keys("1");
        let shown = page.eval(NAMES);
        assert_eq!(shown[0], HOSTILE[0]);
        assert_eq!(
            shown[3], "\u{fffd}gpj.exe",
            "what turns text round is shown"
        );
        assert_eq!(page.eval("window.broken ?? null"), json!(null));
        let made =
            "document.querySelectorAll('img, main script, [onerror], [onload], [onclick]').length";
        assert_eq!(page.eval(made), json!(0));
        page.keep(&format!("hostile-{}", screen.width));
        page.is_clean();
    }
}

#[test]
fn it_comes_back_when_the_process_does() {
    let telemetry = watching(anywhere(), service());
    let address = telemetry.address();
    let page = open(&telemetry, Screen::WIDE);
    page.wait(&format!("{SEQUENCE} > 30"));
    drop(telemetry);
    page.wait(&format!("{LINK} === 'lost'"));
    page.wait("document.getElementById('link-more').textContent.includes('again in')");
    page.keep("lost");
    // This telemetry takes snapshots less often, so its sequence numbers stay behind those of the
    // one before for long.
    let slower = at(address).interval(Duration::from_millis(500));
    let mut service = service();
    let _telemetry = watching(slower, move |reading: &mut Reading| {
        service(reading);
        "renamed".clone_into(&mut reading.stages[0].name);
    });
    // The page may be trying again just now, without the button.
    page.eval("document.getElementById('retry').click()");
    page.wait(&format!("{LINK} === 'live' && {SEQUENCE} < 30"));
    assert_eq!(
        page.text("document.getElementById('say').textContent"),
        "The process was started again."
    );
    let titles = "[...document.querySelectorAll('.node .title')].map((title) => title.textContent)";
    page.wait(&format!("{titles}.includes('renamed')"));
}

#[test]
fn links_in_the_details_stay_when_a_snapshot_arrives() {
    let telemetry = watching(anywhere(), service());
    let page = open(&telemetry, Screen::WIDE);
    page.click("#sheet tbody button");
    let links = "document.querySelectorAll('#details-body .links button')";
    page.wait(&format!("{links}.length > 0"));
    page.eval(&format!("(window.links = [...{links}]).length"));
    next(&page);
    next(&page);
    assert_eq!(
        page.eval("links.every((link) => link.isConnected)"),
        json!(true)
    );
    // The focus stays, too.
    page.eval("links[0].focus()");
    next(&page);
    assert_eq!(
        page.eval("document.activeElement === links[0]"),
        json!(true)
    );
    page.is_clean();
}

#[test]
fn a_token_is_asked_for_and_kept_out_of_the_address() {
    let telemetry = watching(anywhere().token("open-sesame"), service());
    let page = Page::open(&telemetry.url(), Screen::WIDE);
    page.wait(&format!("{LINK} === 'locked'"));
    assert_eq!(page.text(FOCUS), "token");
    page.keys("wrong");
    page.key(Key::Enter);
    page.wait(&format!("{LINK} === 'locked'"));
    page.keys("open-sesame");
    page.key(Key::Enter);
    page.wait(&format!("{LINK} === 'live'"));
    drop(page);
    let address = format!("{}?token=open-sesame", telemetry.url());
    let page = Page::open(&address, Screen::WIDE);
    page.wait(&format!("{LINK} === 'live'"));
    assert_eq!(page.text("location.href"), telemetry.url());
    page.is_clean();
}

#[test]
fn five_hundred_nodes_and_a_thousand_channels_are_drawn() {
    let mut beat = 0;
    let telemetry = watching(anywhere(), move |reading: &mut Reading| {
        beat += 1;
        crowd(reading, beat);
    });
    let page = open(&telemetry, Screen::WIDE);
    page.wait("document.querySelectorAll('.node').length > 0");
    page.keys("e");
    page.wait("document.querySelectorAll('.node').length === 500");
    page.wait("document.querySelectorAll('.edge').length === 1000");
    page.wait(&format!("{NAMES}.length === 100"));
    page.click("#more");
    page.wait(&format!("{NAMES}.length === 200"));
    next(&page);
    next(&page);
    let draw = page.eval("performance.getEntriesByName('draw').at(-1).duration");
    println!("500 nodes and 1000 channels are drawn in {draw} ms");
    page.keep("crowd");
    page.is_clean();
}
