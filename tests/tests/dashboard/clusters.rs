//! The tables of members, links and entities of a cluster, and their details.

use garrick_telemetry::{
    KindReading, LinkReading, LinkState, MemberReading, MemberState, OwnMemberReading, Reading,
};
use serde_json::json;

use crate::browser::Screen;
use crate::watched::{anywhere, service, watching};
use crate::{CHOSEN, FAINT, NAMES, OVERFLOW, open};

/// Source of a node of a cluster. Another member was removed, and the link to it is down.
fn cluster(reading: &mut Reading) {
    let member = |name: &str| MemberReading {
        id: format!("member {name}"),
        local: "bank-1".to_owned(),
        name: name.to_owned(),
        incarnation: u64::MAX,
        epoch: 17,
        silent_nanos: Some(250_000_000),
        shards: vec![("account".to_owned(), 9), ("<b>book".to_owned(), 3)],
        ..MemberReading::default()
    };
    reading.members.push(MemberReading {
        own: Some(OwnMemberReading {
            lease_nanos: Some(4_250_000_000),
            joined: 1,
            ..OwnMemberReading::default()
        }),
        ..member("bank-1")
    });
    reading.members.push(MemberReading {
        state: MemberState::Removed,
        silent_nanos: None,
        shards: Vec::new(),
        ..member("<b>bank-2")
    });
    let link = |peer: &str| LinkReading {
        id: format!("link {peer}"),
        local: "bank-1".to_owned(),
        peer: peer.to_owned(),
        state: LinkState::Up,
        silent_nanos: Some(20_000_000),
        connects: 1,
        sent_messages: 50_000,
        credit_bytes: 4_000_000,
        ..LinkReading::default()
    };
    reading.links.push(link("bank-3"));
    reading.links.push(LinkReading {
        state: LinkState::Down,
        lost_messages: 17,
        waiting_frames: 2,
        ..link("<b>bank-2")
    });
    reading.kinds.push(KindReading {
        id: "kind account".to_owned(),
        local: "bank-1".to_owned(),
        name: "<b>account".to_owned(),
        is_hosted: true,
        entities: 1_234,
        shards: 16,
        owned_shards: 9,
        unowned_shards: 7,
        ..KindReading::default()
    });
}

/// Texts that a row and the details of its item must contain.
struct Expected {
    key: &'static str,
    names: &'static [&'static str],
    row: &'static [&'static str],
    details: &'static [&'static str],
}

const EXPECTED: [Expected; 3] = [
    Expected {
        key: "6",
        names: &["<b>bank-2", "bank-1"],
        row: &["critical", "removed", "18446744073709551615", "17"],
        details: &[
            "member of a cluster",
            "The node `<b>bank-2` was removed from the cluster",
        ],
    },
    Expected {
        key: "7",
        names: &["<b>bank-2", "bank-3"],
        row: &["critical", "down", "17", "20\u{202f}ms"],
        details: &[
            "link to another node",
            "The link to the node `<b>bank-2` is down",
            "50.0\u{202f}k",
            "4.00\u{202f}MB",
        ],
    },
    Expected {
        key: "8",
        names: &["<b>account"],
        row: &["7", "1.23\u{202f}k", "16"],
        details: &["kind of entities", "Shards without an owner"],
    },
];

#[test]
fn members_links_and_entities_have_tables_that_lead_with_trouble() {
    let telemetry = watching(anywhere(), cluster);
    for screen in [Screen::WIDE, Screen::PHONE] {
        let page = open(&telemetry, screen);
        // Nothing else is watched, but the page does not say that nothing is.
        page.wait("!document.getElementById('tab-members').hidden");
        assert_eq!(
            page.eval("document.getElementById('graph-none').hidden"),
            true
        );
        for expected in &EXPECTED {
            page.keys(expected.key);
            let first = expected.names[0];
            page.wait(&format!("{NAMES}[0] === '{first}'"));
            assert_eq!(page.eval(NAMES), json!(expected.names));
            let row = page.text("document.querySelector('#sheet tbody tr').textContent");
            for text in expected.row {
                assert!(row.contains(text), "{text}: {row}");
            }
            assert_eq!(
                (page.eval(OVERFLOW), page.eval(FAINT)),
                (json!(0), json!([]))
            );
            page.eval("document.querySelector('#sheet tbody button').click()");
            page.wait(&format!("{CHOSEN} === '{first}'"));
            let details = page.text("document.getElementById('details-body').textContent");
            for text in expected.details {
                assert!(details.contains(text), "{text}: {details}");
            }
            assert_eq!(page.eval(OVERFLOW), 0);
        }
        page.keys("6");
        page.eval("[...document.querySelectorAll('#sheet tbody button')].at(-1).click()");
        page.wait(&format!("{CHOSEN} === 'bank-1'"));
        let details = page.text("document.getElementById('details-body').textContent");
        for text in ["account 9", "<b>book 3", "4.25\u{202f}s"] {
            assert!(details.contains(text), "{text}: {details}");
        }
        page.is_clean();
    }
}

#[test]
fn a_process_without_a_cluster_has_no_tables_of_clusters() {
    let other = watching(anywhere(), service());
    let page = open(&other, Screen::WIDE);
    for (key, tab) in [("6", "members"), ("7", "links"), ("8", "kinds")] {
        assert_eq!(
            page.eval(&format!("document.getElementById('tab-{tab}').hidden")),
            true
        );
        page.keys(key);
        assert_eq!(
            page.text("document.querySelector('[aria-selected=true]').id"),
            "tab-nodes"
        );
    }
}
