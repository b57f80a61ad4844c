//! Tests of closures that become other closures.
#![forbid(unsafe_code)]

use garrick_actor::{Behavior, Local, Next, NoReply, Reply, System, behavior};
use proptest::collection::vec;
use proptest::prelude::*;

enum Msg {
    /// Become a counter several times, once with each of the counts. Then end the turn as given.
    Try(Vec<u64>, Ending),
    Get(Reply<u64>),
    /// Answer with the count, become a counter with the next count, and end the turn as given.
    GetAnd(Reply<u64>, Ending),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ending {
    Continue,
    Undo,
}

impl From<Ending> for Next {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Continue => Self::Continue,
            Ending::Undo => Self::Undo,
        }
    }
}

fn counter(count: u64) -> Behavior<Msg> {
    behavior(move |msg, cx| match msg {
        Msg::Try(counts, ending) => {
            counts
                .iter()
                .for_each(|count| cx.becomes_behavior(counter(*count)));
            ending.into()
        }
        Msg::Get(reply) => {
            reply.send(count);
            Next::Continue
        }
        Msg::GetAnd(reply, ending) => {
            reply.send(count);
            cx.becomes_behavior(counter(count + 1));
            ending.into()
        }
    })
}

proptest! {
    #[test]
    fn a_turn_that_ends_badly_leaves_no_trace(
        turns in vec((vec(any::<u64>(), 0..4), prop_oneof![Just(Ending::Continue), Just(Ending::Undo)]), 0..20)
    ) {
        let local = Local::new().unwrap();
        let address = local.spawn(counter(0));
        let mut expected = 0;
        for (counts, ending) in turns {
            if ending == Ending::Continue {
                expected = counts.last().copied().unwrap_or(expected);
            }
            address.send(Msg::Try(counts, ending)).map_err(|_| "it runs").unwrap();
            let ask = address.ask(Msg::Get);
            local.run();
            prop_assert_eq!(ask.wait(), Ok(expected));
        }
    }
}

#[test]
fn the_running_code_never_sees_what_it_becomes() {
    let local = Local::new().unwrap();
    let (said, heard) = std::sync::mpsc::channel();
    let address = local.spawn(behavior(move |n: u32, cx| {
        let later = said.clone();
        cx.becomes(move |n, _| {
            later.send(("second", n)).unwrap();
            Next::Continue
        });
        said.send(("first", n)).unwrap();
        Next::Continue
    }));
    (1..=3).for_each(|n| address.send(n).unwrap());
    local.run();
    assert_eq!(
        heard.try_iter().collect::<Vec<_>>(),
        [("first", 1), ("second", 2), ("second", 3)]
    );
}

#[test]
fn an_answer_is_part_of_its_turn() {
    let local = Local::new().unwrap();
    let address = local.spawn(counter(7));
    let answers = [Ending::Undo, Ending::Continue, Ending::Undo]
        .map(|ending| address.ask(|reply| Msg::GetAnd(reply, ending)));
    let last = address.ask(Msg::Get);
    local.run();
    assert_eq!(
        answers.map(|ask| ask.wait()),
        [Err(NoReply::Dropped), Ok(7), Err(NoReply::Dropped)]
    );
    assert_eq!(last.wait(), Ok(8), "one turn of three has ended well");
}

#[test]
fn a_behavior_knows_itself_and_its_sponsor() {
    let system = System::builder().name("home").workers(2).start().unwrap();
    let (said, heard) = std::sync::mpsc::channel();
    let address = system
        .spawn(behavior(move |(), cx| {
            said.send((cx.address(), cx.sponsor().name().to_owned(), cx.now()))
                .unwrap();
            Next::Continue
        }))
        .unwrap();
    address.send(()).unwrap();
    address.send(()).unwrap();
    let (first, second) = (heard.recv().unwrap(), heard.recv().unwrap());
    assert_eq!(
        (&first.0, &second.0),
        (&address, &address),
        "addresses are equal by identity"
    );
    assert_eq!(first.1, "home");
    assert!(first.2 <= second.2);
}

#[test]
fn a_contramapped_address_stops_with_its_target() {
    let local = Local::new().unwrap();
    let (said, heard) = std::sync::mpsc::channel();
    let length = local.spawn(behavior(move |n: usize, _| {
        said.send(n).unwrap();
        if n == 0 { Next::Stop } else { Next::Continue }
    }));
    let word = length.contramap(str::len);
    for sent in ["a", "four", ""] {
        word.send(sent).unwrap();
    }
    local.run();
    assert!(length.is_stopped() && word.is_stopped());
    assert!(word.send("refused").is_err());
    assert_eq!(heard.iter().collect::<Vec<_>>(), [1, 4, 0]);
}
