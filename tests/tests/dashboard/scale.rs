//! Tests of the page at several widths and with many nodes: texts are measured, and axe-core looks
//! for what keeps people from using the page.

use std::time::Instant;

use garrick_telemetry::{Reading, Telemetry};
use serde_json::{Value, json};

use crate::browser::{Page, Screen};
use crate::watched::{anywhere, crowd, plant, watching};
use crate::{LINK, OVERFLOW, next, open};

/// Screens on which people look at the page.
pub(crate) const SCREENS: [Screen; 3] = [Screen::PHONE, Screen::WIDE, Screen::HUGE];

/// Defines `texts()`, which returns each visible text of the page with its box, as far as no
/// element clips it. Each element is measured once, because the browser takes long for it.
const TEXTS: &str = "
  const once = (measure) => {
    const known = new Map();
    return (element) => {
      if (!known.has(element)) known.set(element, measure(element));
      return known.get(element);
    };
  };
  // The browser's own check ignores that a group of a picture is not displayed.
  const isVisible = once((element) => {
    const { display, visibility } = getComputedStyle(element);
    if (display === 'none' || visibility === 'hidden') return false;
    return element.parentElement === null || isVisible(element.parentElement);
  });
  // The box within which the element and all elements around it show their contents.
  const clip = once((element) => {
    const outer = element.parentElement === null
      ? { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity }
      : clip(element.parentElement);
    const isSvg = element instanceof SVGElement && element.tagName === 'svg';
    if (element instanceof SVGElement && !isSvg) return outer;
    if (!isSvg && getComputedStyle(element).overflowX === 'visible') return outer;
    return within(element.getBoundingClientRect(), outer);
  });
  const within = (box, outer) => ({
    left: Math.max(box.left, outer.left), right: Math.min(box.right, outer.right),
    top: Math.max(box.top, outer.top), bottom: Math.min(box.bottom, outer.bottom),
  });
  const isText = once((element) => element.closest('.sr, .skip, title, noscript, dialog, script') === null && isVisible(element));
  const texts = () => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (node.data.trim() === '' || !isText(parent)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) {
        const box = within(rect, clip(parent));
        if (box.right - box.left > 1 && box.bottom - box.top > 1) found.push({ text: node.data, parent, ...box });
      }
    }
    return found;
  };";

/// Returns an expression with pairs of texts that overlap. Lines of text are higher than their
/// letters, so an overlap of 4 pixels above or below is none.
fn overlaps() -> String {
    format!(
        "(() => {{ {TEXTS}
          const all = texts().sort((a, b) => a.top - b.top);
          const bad = [];
          for (let index = 0; index < all.length; index += 1) {{
            const a = all[index];
            for (let other = index + 1; other < all.length && all[other].top < a.bottom - 4; other += 1) {{
              const b = all[other];
              const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
              const down = Math.min(a.bottom, b.bottom) - b.top;
              if (across > 1 && down > 4 && a.parent !== b.parent) bad.push(`${{a.text}} | ${{b.text}} at ${{[a.left, a.top, b.left, b.top].map(Math.round)}}`);
            }}
          }}
          return bad.slice(0, 10);
        }})()"
    )
}

/// Returns an expression with texts that are cut off: by an element with hidden overflow, or at the
/// edge of a card, a lane or the label of a channel.
fn cuts() -> String {
    format!(
        "(() => {{ {TEXTS}
          const bad = [];
          for (const {{ text, parent, left, right }} of texts()) {{
            for (const at of new Set([parent, parent.closest('td, th') ?? parent])) {{
              const hides = at.clientWidth > 0 && getComputedStyle(at).overflowX !== 'visible';
              if (hides && at.scrollWidth > at.clientWidth) bad.push(`${{text}}: ${{at.scrollWidth}} > ${{at.clientWidth}}`);
            }}
            if (text.includes('\u{2026}') && parent.closest('#sheet') !== null) bad.push(text);
            const frame = parent.closest('.node, .label, .lane')?.querySelector('.card:not(.deck), .rim, .lane-box')?.getBoundingClientRect();
            if (frame !== undefined && (left < frame.left - 1 || right > frame.right + 1)) bad.push(`${{text}} in the graph`);
          }}
          return bad.slice(0, 10);
        }})()"
    )
}

/// Returns an expression with the size of the smallest visible text in the graph, in pixels of the
/// screen.
fn smallest() -> String {
    format!(
        "(() => {{ {TEXTS}
          const scale = document.getElementById('view').getCTM().a;
          const visible = texts().filter(({{ parent }}) => parent.tagName === 'text');
          return Math.min(...visible.map(({{ parent }}) => parseFloat(getComputedStyle(parent).fontSize) * scale));
        }})()"
    )
}

/// Columns that show trouble, if they are completely within the window.
const TROUBLE: &str = "[...document.querySelectorAll('#sheet thead th')].filter((cell) => {
  const { left, right } = cell.getBoundingClientRect();
  return left >= 0 && right <= innerWidth;
}).map((cell) => cell.textContent).filter((name) => ['Failures', 'Restarts', 'Waiting', 'Held'].includes(name))";

/// Share of the width of the window that the page uses.
const USED: &str = "document.querySelector('main').getBoundingClientRect().width / innerWidth";

/// Asserts what holds for every state of the page.
#[track_caller]
pub(crate) fn is_legible(page: &Page, name: &str) {
    let overlapping = page.eval(&overlaps());
    assert_eq!(overlapping, json!([]), "{name}: texts overlap");
    assert_eq!(page.eval(&cuts()), json!([]), "{name}: texts are cut");
    assert_eq!(
        page.eval(OVERFLOW),
        json!(0),
        "{name}: the page is wider than the window"
    );
    let size = page.eval(&smallest()).as_f64().expect("there are texts");
    assert!(size >= 8.0, "{name}: a text has {size} px");
}

#[track_caller]
fn shows_trouble(page: &Page, name: &str) {
    let columns = json!(["Failures", "Restarts", "Waiting", "Held"]);
    assert_eq!(page.eval(TROUBLE), columns, "{name}: trouble is in view");
    let used = page.eval(USED).as_f64().expect("a number");
    assert!(used > 0.9, "{name}: {used} of the width is used");
}

fn watch_crowd(nodes: usize) -> Telemetry {
    let began = Instant::now();
    let mut beat = 0;
    watching(anywhere(), move |reading: &mut Reading| {
        beat += 1;
        if nodes == 45 {
            plant(reading, began.elapsed());
        } else {
            crowd(reading, beat);
        }
    })
}

#[test]
fn no_text_is_cut_or_covered_whatever_the_width_and_the_number_of_nodes() {
    for nodes in [45, 500] {
        let telemetry = watch_crowd(nodes);
        let page = open(&telemetry, Screen::WIDE);
        for screen in SCREENS {
            let name = format!("{nodes}-{}", screen.width);
            show(&page, &telemetry, screen);
            page.keep(&format!("scale-{name}"));
            is_legible(&page, &name);
            shows_trouble(&page, &name);
            for table in ["2", "3", "4", "1"] {
                page.keys(table);
                is_legible(&page, &format!("{name}, table {table}"));
            }
        }
        page.is_clean();
    }
}

#[test]
fn groups_open_and_a_search_shows_its_hit() {
    let telemetry = watch_crowd(500);
    let page = open(&telemetry, Screen::WIDE);
    let cards = "document.querySelectorAll('.node').length";
    page.wait(&format!("{cards} > 0"));
    let few = page.eval(cards).as_u64().expect("a number");
    assert!(few < 50, "{few} cards are shown for 500 nodes");
    page.keys("/");
    page.keys("stage 437");
    let hit = "[...document.querySelectorAll('.node:not(.dim) .title')].map((title) => title.textContent)";
    page.wait(&format!("{hit}.join() === 'stage 437'"));
    // The card is in the middle of the graph, and large enough to be read.
    let off = "(() => { const card = document.querySelector('.node:not(.dim) .card').getBoundingClientRect(); \
               const graph = document.getElementById('graph').getBoundingClientRect(); \
               return Math.hypot(card.left + card.width / 2 - graph.left - graph.width / 2, \
               card.top + card.height / 2 - graph.top - graph.height / 2); })()";
    let off = page.eval(off).as_f64().expect("a number");
    assert!(off < 40.0, "the hit is {off} px off the middle");
    page.keep("scale-search");
    is_legible(&page, "a hit");
    page.key(thirtyfour::Key::Escape);
    page.wait(&format!("{cards} === {few}"));
    page.click("#expand");
    page.wait(&format!("{cards} === 500"));
    page.click("#expand");
    page.wait(&format!("{cards} === {few}"));
    page.click(".node[data-kind=group]");
    page.wait(&format!("{cards} > {few}"));
    page.keep("scale-open");
    is_legible(&page, "an open group");
    page.is_clean();
}

#[test]
fn the_page_rests_after_each_frame_as_long_as_the_frame_took() {
    // Something changes all the time, and each frame takes 200 ms.
    let telemetry = watch_crowd(45);
    let page = open(&telemetry, Screen::WIDE);
    let measure = "(() => {
      const measure = performance.measure.bind(performance);
      window.frames = [];
      performance.measure = (name, { start }) => {
        while (performance.now() < start + 200);
        frames.push([start, performance.now()]);
        return measure(name, { start });
      };
      setInterval(() => document.dispatchEvent(new Event('visibilitychange')), 20);
    })()";
    page.eval(measure);
    page.wait("window.frames.length >= 10");
    let rests = "(() => {
      const rests = frames.slice(1).map(([start], at) => start - frames[at][1]);
      return Math.min(...rests);
    })()";
    let shortest = page.eval(rests).as_f64().expect("a number");
    // Clocks of browsers are not exact.
    assert!(shortest >= 190.0, "a rest of {shortest} ms");
    page.is_clean();
}

#[test]
fn a_tapped_row_opens_a_sheet_in_view() {
    let telemetry = watch_crowd(45);
    let page = open(&telemetry, Screen::PHONE);
    page.wait("document.querySelectorAll('#sheet tbody tr').length === 46");
    let view = "(() => { const { top, bottom, left, right } = document.getElementById('details').getBoundingClientRect(); \
                return top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth && bottom - top > 200; })()";
    assert_eq!(page.eval(view), json!(false));
    page.click("#sheet tbody button");
    page.wait(view);
    // Trouble comes first.
    assert_eq!(
        page.text("document.getElementById('details-title').textContent"),
        "pack 3"
    );
    let note = "document.querySelector('.note').textContent";
    assert_eq!(page.text(note), "No space left on device");
    page.keep("scale-sheet");
    no_violations(&page, "a sheet on a phone");
    page.click("#details-close");
    page.wait("!document.body.hasAttribute('data-drawer')");
    page.is_clean();
}

#[test]
fn charts_have_axes_with_units_and_values_under_the_pointer() {
    let telemetry = watch_crowd(45);
    let page = open(&telemetry, Screen::WIDE);
    page.click("#sheet tbody tr:nth-child(5) button");
    page.wait("document.querySelectorAll('.chart:not([hidden])').length >= 2");
    next(&page);
    let axis = "[...document.querySelectorAll('.chart:not([hidden]) .y span, .chart:not([hidden]) .x span')].map((mark) => mark.textContent)";
    let marks = page.eval(axis);
    let marks: Vec<&str> = marks
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(marks[0].ends_with("/s"), "{marks:?}");
    assert_eq!((marks[1], marks[3]), ("0/s", "now"), "{marks:?}");
    assert!(marks[2].ends_with(" ago"), "{marks:?}");
    assert_eq!(
        (marks[4], marks[5]),
        ("100\u{202f}%", "0\u{202f}%"),
        "{marks:?}"
    );
    let read = "document.querySelector('.chart figcaption .muted').textContent";
    assert!(page.text(read).starts_with("max "), "{}", page.text(read));
    page.eval("(() => { const area = document.querySelector('.chart .area'); const box = area.getBoundingClientRect(); \
               area.dispatchEvent(new PointerEvent('pointermove', { clientX: box.right - 1, clientY: box.top + 5, bubbles: true })); })()");
    page.wait(&format!("/^[\\d.]+.*\\/s at \\d/.test({read})"));
    page.eval("document.querySelector('.chart .area').focus()");
    page.key(thirtyfour::Key::Left);
    page.wait("!document.querySelector('.chart .cursor').hidden");
    page.is_clean();
}

#[test]
fn a_process_that_watches_nothing_says_how_to_watch_something() {
    let telemetry = anywhere().start().expect("a free port");
    let page = Page::open(&telemetry.url(), Screen::WIDE);
    page.wait("!document.getElementById('graph-none').hidden");
    let text = page.text("document.getElementById('graph-none').innerText");
    for words in [
        "telemetry.watch(running.monitor())",
        "system.handle()",
        "probes(true)",
        "journal.monitor(",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(
        page.eval("document.getElementById('graph-empty').hidden"),
        json!(true)
    );
    page.keep("nothing");
    no_violations(&page, "an empty process");
    page.is_clean();
}

#[test]
fn a_pipeline_names_its_bottleneck_at_the_top() {
    let telemetry = watch_crowd(45);
    let page = open(&telemetry, Screen::WIDE);
    let line = "document.querySelector('#pipelines [data-bottleneck] button').textContent";
    page.wait("document.querySelector('#pipelines [data-bottleneck]') !== null");
    assert_eq!(
        page.text(line),
        "decode 2 is the bottleneck: 98 % busy, its input is full, its outputs are not."
    );
    page.eval("document.querySelector('#pipelines [data-bottleneck] button').click()");
    assert_eq!(
        page.text("document.getElementById('details-title').textContent"),
        "decode 2"
    );
    page.is_clean();
}

#[test]
fn axe_finds_nothing_that_keeps_people_out() {
    let telemetry = watch_crowd(45);
    let page = open(&telemetry, Screen::WIDE);
    for screen in [Screen::PHONE, Screen::HUGE.dark(), Screen::WIDE] {
        show(&page, &telemetry, screen);
        no_violations(&page, &format!("45 nodes at {} px", screen.width));
    }
    for table in ["2", "3", "4"] {
        page.keys(table);
        no_violations(&page, &format!("table {table}"));
    }
    page.eval("document.querySelector('#sheet tbody button').click()");
    no_violations(&page, "something chosen");
    page.keys("?");
    page.wait("document.getElementById('help').open");
    no_violations(&page, "the help");
    page.is_clean();
}

#[test]
fn axe_finds_nothing_in_a_crowd() {
    let telemetry = watch_crowd(500);
    let page = open(&telemetry, Screen::PHONE);
    for screen in SCREENS {
        show(&page, &telemetry, screen);
        no_violations(&page, &format!("500 nodes at {} px", screen.width));
    }
    page.is_clean();
}

/// Opens the page again on another screen, and waits for its graph.
pub(crate) fn show(page: &Page, telemetry: &Telemetry, screen: Screen) {
    page.show_on(screen);
    page.go(&telemetry.url());
    page.wait(&format!(
        "{LINK} === 'live' && document.querySelectorAll('.node').length > 0"
    ));
    next(page);
}

/// Asserts that axe-core finds no violation on the page. Does nothing if axe-core is missing and
/// optional.
#[track_caller]
pub(crate) fn no_violations(page: &Page, name: &str) {
    let Some(found) = page.violations() else {
        return;
    };
    assert!(found.is_empty(), "{name}: {found:#?}");
}
