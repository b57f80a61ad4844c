//! The table of journals, and their details.

use garrick_telemetry::{JournalPhase, JournalReading, Reading};
use serde_json::json;

use crate::browser::Screen;
use crate::watched::{anywhere, service, watching};
use crate::{CHOSEN, FAINT, NAMES, OVERFLOW, open};

/// Source of two journals. The disk of one of them is full.
fn journals(reading: &mut Reading) {
    let journal = |name: &str| JournalReading {
        id: name.to_owned(),
        name: name.to_owned(),
        groups: 4_000,
        turns: 50_000,
        size_bytes: 12_000_000,
        ..JournalReading::default()
    };
    reading.journals.push(journal("shop"));
    reading.journals.push(JournalReading {
        failed_groups: 3,
        failing_groups: 3,
        waiting_turns: 17,
        oldest_wait_nanos: 250_000_000,
        failure: Some("no <b>space is left".to_owned()),
        ..journal("<b>bank")
    });
}

#[test]
fn journals_have_a_table_that_leads_with_trouble() {
    let telemetry = watching(anywhere(), journals);
    for screen in [Screen::WIDE, Screen::PHONE] {
        let page = open(&telemetry, screen);
        // Nothing else is watched, but the page does not say that nothing is.
        page.wait("!document.getElementById('tab-journals').hidden");
        assert_eq!(
            page.eval("document.getElementById('graph-none').hidden"),
            true
        );
        page.keys("5");
        page.wait(&format!("{NAMES}.length === 2"));
        assert_eq!(page.eval(NAMES), json!(["<b>bank", "shop"]));
        let row = page.text("document.querySelector('#sheet tbody tr').textContent");
        for text in ["critical", "open", "250\u{202f}ms", "12.0\u{202f}MB"] {
            assert!(row.contains(text), "{text}: {row}");
        }
        assert_eq!(
            page.eval("document.querySelectorAll('#sheet [data-bad]').length"),
            1
        );
        assert_eq!(
            (page.eval(OVERFLOW), page.eval(FAINT)),
            (json!(0), json!([]))
        );
        page.eval("document.querySelector('#sheet tbody button').click()");
        page.wait(&format!("{CHOSEN} === '<b>bank'"));
        let details = page.text("document.getElementById('details-body').textContent");
        for text in [
            "journal",
            "no <b>space is left",
            "The journal `<b>bank` cannot write",
            "50.0\u{202f}k",
        ] {
            assert!(details.contains(text), "{text}: {details}");
        }
        assert_eq!(page.eval(OVERFLOW), 0);
        page.is_clean();
    }
}

#[test]
fn a_journal_shows_how_much_of_it_was_read_and_others_have_no_table() {
    let telemetry = watching(anywhere(), |reading: &mut Reading| {
        reading.journals.push(JournalReading {
            id: "bank".to_owned(),
            name: "bank".to_owned(),
            phase: JournalPhase::Opening,
            opening_read_bytes: 3_000_000,
            opening_bytes: 12_000_000,
            ..JournalReading::default()
        });
    });
    let page = open(&telemetry, Screen::WIDE);
    page.keys("5");
    page.wait(&format!("{NAMES}.length === 1"));
    page.eval("document.querySelector('#sheet tbody button').click()");
    page.wait("document.getElementById('details-body').textContent.includes('opening: 3.00\u{202f}MB of 12.0\u{202f}MB')");
    let other = watching(anywhere(), service());
    let page = open(&other, Screen::WIDE);
    assert_eq!(
        page.eval("document.getElementById('tab-journals').hidden"),
        true
    );
    page.keys("5");
    assert_eq!(
        page.text("document.querySelector('[aria-selected=true]').id"),
        "tab-nodes"
    );
}
