//! Tests durable actors that `#[garrick::durable]` generates: their messages, states and events.

#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::num::ParseIntError;
use std::path::PathBuf;
use std::process;

use garrick::journal::{Decide, DurableActor, Journal, Stored};
use garrick::prelude::*;
use garrick::supervise::{Strategy, Supervisor};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A durable actor that stores words. Each word has a ticket, which is a number.
#[derive(Default, Stored, Debug)]
#[stored(tag = 1)]
struct Words<T> {
    words: Vec<(u64, T)>,
    put: u64,
}

#[derive(Stored, Debug)]
enum Change<T> {
    #[stored(tag = 1)]
    Put { word: T },
    #[stored(tag = 2)]
    Taken(u64),
}

#[garrick::durable(pub(crate), name = "the words", save = 3, derive(Debug))]
impl<T> Words<T>
where
    T: Clone + Default + Serialize + DeserializeOwned + Send + std::fmt::Debug + 'static,
{
    /// Stores a word, and returns the ticket of the word.
    fn put(&self, word: T, cx: &mut Decide<'_, '_, Self>) -> u64 {
        cx.record(Change::Put { word });
        self.put
    }

    /// Stores two words, as two events.
    fn put_both(&self, words: [T; 2], cx: &mut Decide<'_, '_, Self>) {
        for word in words {
            cx.record(Change::Put { word });
        }
    }

    /// Removes and returns the word of a ticket. Fails if the ticket is not a number.
    fn take(
        &self,
        ticket: String,
        reply: Reply<Option<T>>,
        cx: &mut Decide<'_, '_, Self>,
    ) -> Result<Next, ParseIntError> {
        let ticket = ticket.parse()?;
        // Undone, if the ticket has no word.
        cx.record(Change::Taken(ticket));
        let found = self.words.iter().find(|(number, _)| *number == ticket);
        reply.send(found.map(|(_, word)| word.clone()));
        Ok(match found {
            Some(_) => Next::Continue,
            None => Next::Undo,
        })
    }

    /// Stores two words, and then replies with the number of all words.
    fn relay(&self, to: Reply<usize>, cx: &mut Context<'_, WordsMsg<T>>) {
        let this = WordsHandle::new(cx.address());
        this.put_both([T::default(), T::default()]).unwrap();
        cx.ask_once(
            this.address(),
            WordsMsg::All,
            |all: Result<Vec<T>, NoReply>| WordsMsg::Relayed(all.unwrap().len(), to),
        );
    }

    fn relayed(&self, count: usize, to: Reply<usize>) {
        to.send(count);
    }

    fn all(&self) -> Vec<T> {
        self.words.iter().map(|(_, word)| word.clone()).collect()
    }

    #[durable(apply)]
    fn change(&mut self, event: &Change<T>) {
        match event {
            Change::Put { word } => {
                self.words.push((self.put, word.clone()));
                self.next();
            }
            Change::Taken(ticket) => self.words.retain(|(number, _)| number != ticket),
        }
    }

    #[durable(skip)]
    fn next(&mut self) {
        self.put += 1;
    }
}

/// An empty folder, which is removed at the end of the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("garrick-macro-{name}-{}", process::id());
        Self(env::temp_dir().join(name))
    }

    /// Runs `f` with a `Words` actor in a separate system.
    fn words(&self, f: impl FnOnce(WordsHandle<String>)) {
        let system = System::new().unwrap();
        let (journal, _) = Journal::open(&system.handle(), &self.0).unwrap();
        let tree = Supervisor::new("app", Strategy::OneForOne);
        let tree = tree.spawn(&system.handle()).unwrap();
        let words = system
            .actor(move || journal.entity_of::<Words<String>>("words").unwrap())
            .supervised_by(&tree)
            .spawn()
            .unwrap();
        f(words.into());
        tree.stop().wait().unwrap();
        system.shutdown();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn word(word: &str) -> String {
    word.to_owned()
}

#[test]
fn the_state_survives_the_system() {
    let place = Place::new("survives");
    place.words(|words| {
        assert_eq!(words.put(word("a")).wait(), Ok(0));
        assert_eq!(words.put(word("b")).wait(), Ok(1));
        assert_eq!(words.take(word("0")).wait(), Ok(Some(word("a"))));
        words.put_both([word("c"), word("d")]).unwrap();
        assert_eq!(words.all().wait().unwrap(), ["b", "c", "d"]);
    });
    // The state was saved after 3 events. The events after it are read.
    place.words(|words| {
        assert_eq!(words.all().wait().unwrap(), ["b", "c", "d"]);
        assert_eq!(words.put(word("e")).wait(), Ok(4));
    });
    place.words(|words| assert_eq!(words.all().wait().unwrap(), ["b", "c", "d", "e"]));
}

#[test]
fn what_fails_or_is_undone_records_nothing() {
    let place = Place::new("undone");
    place.words(|words| {
        assert_eq!(words.put(word("a")).wait(), Ok(0));
        assert!(words.take(word("no number")).wait().is_err());
        assert!(words.take(word("7")).wait().is_err());
        assert_eq!(words.all().wait().unwrap(), ["a"]);
    });
    place.words(|words| assert_eq!(words.all().wait().unwrap(), ["a"]));
}

#[test]
fn a_durable_actor_asks_and_sends() {
    let place = Place::new("asks");
    place.words(|words| assert_eq!(words.relay().wait(), Ok(2)));
    place.words(|words| assert_eq!(words.all().wait().unwrap(), ["", ""]));
}

#[test]
fn the_kinds_of_messages_have_names() {
    let kinds = <Words<u8> as DurableActor>::MESSAGES;
    assert_eq!(kinds, ["Put", "PutBoth", "Take", "Relay", "Relayed", "All"]);
    let kind = <Words<u8> as DurableActor>::message_kind(&WordsMsg::PutBoth([1, 2]));
    assert_eq!(kinds[kind], "PutBoth");
    assert_eq!(<Words<u8> as DurableActor>::name(), "the words");
    assert_eq!(<Words<u8> as DurableActor>::SAVE_EVERY, 3);
    assert_eq!(
        format!("{:?}", WordsMsg::PutBoth([1_u8, 2])),
        "PutBoth([1, 2])"
    );
}
