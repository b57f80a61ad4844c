//! The table of the actors that stand out.

use garrick_telemetry::{ActorReading, ActorsReading, MessageReading, Reading};
use serde_json::json;

use crate::browser::Screen;
use crate::watched::anywhere;
use crate::{OVERFLOW, open};

/// Texts of the rows.
const ROWS: &str = "[...document.querySelectorAll('#actors tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))";

/// Source of two actors of one type. One of them has a long mailbox.
fn books(reading: &mut Reading) {
    reading.actors.push(ActorsReading {
        id: "books".to_owned(),
        name: "OrderBook".to_owned(),
        place: "pool".to_owned(),
        ..ActorsReading::default()
    });
    let books = [("<b>AAPL", 12_500, 2_300_000_000), ("MSFT", 3, 0)];
    for (name, waiting, oldest_nanos) in books {
        reading.outstanding.push(ActorReading {
            id: name.to_owned(),
            actors: "books".to_owned(),
            name: name.to_owned(),
            waiting,
            oldest_nanos,
            busy_nanos: 0,
        });
    }
}

#[test]
fn actors_that_stand_out_are_listed_and_lead_to_their_type() {
    let telemetry = anywhere().start().expect("a free port");
    telemetry.watch(books);
    telemetry.look();
    for screen in [Screen::WIDE, Screen::PHONE] {
        let page = open(&telemetry, screen);
        page.wait(&format!("{ROWS}.length === 2"));
        let expected = json!([
            "<b>AAPL",
            "OrderBook",
            "pool",
            "12.5\u{202f}k",
            "2.30\u{202f}s",
            "0\u{202f}%"
        ]);
        assert_eq!(page.eval(&format!("{ROWS}[0]")), expected);
        let bad = "document.querySelectorAll('#actors [data-bad]').length";
        assert_eq!(page.eval(bad), 1);
        assert_eq!(page.eval(OVERFLOW), 0);
        page.eval("document.querySelector('#actors .link').click()");
        page.wait("document.getElementById('details').textContent.includes('OrderBook')");
    }
}

/// Texts of the rows of the kinds of messages.
const KINDS: &str = "[...document.querySelectorAll('.messages tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))";

/// Source of a group of actors that handles messages of two kinds between two looks.
fn sells(looks: u64) -> impl FnMut(&mut Reading) + Send {
    let mut look = 0;
    move |reading| {
        look = (look + 1).min(looks);
        let message = |name: &str, turns, nanos| MessageReading {
            name: name.to_owned(),
            turns: look * turns,
            busy_nanos: look * nanos,
            longest_nanos: nanos,
        };
        reading.actors.push(ActorsReading {
            id: "shops".to_owned(),
            name: "Shop".to_owned(),
            place: "pool".to_owned(),
            messages_by_kind: vec![
                message("Sell", 100, 25_000_000),
                message("<b>Audit", 1, 75_000_000),
            ],
            ..ActorsReading::default()
        });
    }
}

#[test]
fn the_kinds_of_messages_are_in_the_details_of_their_actors() {
    let telemetry = anywhere().start().expect("a free port");
    telemetry.watch(sells(u64::MAX));
    telemetry.look();
    telemetry.look();
    for screen in [Screen::WIDE, Screen::PHONE] {
        let page = open(&telemetry, screen);
        page.wait("document.querySelectorAll('#sheet tbody tr').length === 1");
        page.click("#sheet tbody button");
        page.wait(&format!("{KINDS}.length === 2"));
        // Rounding of the rates decides whether a mean is shown as 75 or as 75.0.
        let text =
            |column: usize| format!("{KINDS}.map((cells) => cells[{column}].replace('.0', ''))");
        let texts = |column: usize| page.eval(&text(column));
        assert_eq!(texts(0), json!(["<b>Audit", "Sell"]), "{screen:?}");
        assert_eq!(
            texts(2),
            json!(["75\u{202f}%", "25\u{202f}%"]),
            "{screen:?}"
        );
        let means = ["75\u{202f}ms", "250\u{202f}\u{b5}s"];
        assert_eq!(texts(3), json!(means), "{screen:?}");
        assert_eq!(page.eval(OVERFLOW), json!(0), "{screen:?}");
    }
}
