//! Types with `#[derive(Stored)]`: their encoding, older versions, and what cannot be decoded.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use garrick_journal::{EventKind, Stored};
use proptest::prelude::*;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Address {
    street: String,
    number: u32,
}

#[derive(Stored, Debug, Clone, PartialEq)]
#[stored(crate = garrick_journal)]
enum Event {
    #[stored(tag = 9)]
    Closed,
    #[stored(tag = 1, version = 2, upcast(1 = old_moved))]
    Moved { to: Address, fee: Option<i64> },
    #[stored(tag = 65_279, version = 3)]
    #[stored(upcast(0 = old_tagged, 2 = refuse))]
    Tagged(Arc<str>, BTreeMap<String, Vec<u8>>),
}

fn old_moved(to: Address) -> Event {
    Event::Moved { to, fee: None }
}

fn old_tagged((first, second): (String, String)) -> Event {
    Event::Tagged(first.into(), BTreeMap::from([(second, Vec::new())]))
}

fn refuse(old: u64) -> Result<Event, std::num::TryFromIntError> {
    u8::try_from(old)?;
    Ok(Event::Closed)
}

#[derive(Stored, Debug, Default, PartialEq)]
#[stored(tag = 0, version = 0, crate = garrick_journal)]
struct State<K: Ord, const N: usize> {
    counts: BTreeMap<K, u64>,
    all: Vec<[u16; 2]>,
}

#[derive(Stored, Debug, PartialEq)]
#[stored(tag = 3, crate = ::garrick_journal)]
struct Unit;

#[derive(Stored, Debug)]
#[stored(crate = garrick_journal)]
enum Never {}

/// A value that refuses to be serialized.
#[derive(Deserialize, Debug)]
struct Refusing;

impl Serialize for Refusing {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("no"))
    }
}

#[derive(Stored, Debug)]
#[stored(tag = 1, crate = garrick_journal)]
struct Sealed {
    content: Refusing,
}

const fn kind(tag: u16, version: u16) -> EventKind {
    EventKind { tag, version }
}

/// Encodes a value, checks that it is decoded again, and returns its encoding.
fn encoded<T: Stored + Debug + PartialEq>(value: &T) -> (EventKind, Vec<u8>) {
    let mut bytes = vec![1, 2];
    let kind = value.encode(&mut bytes);
    assert_eq!(bytes[..2], [1, 2], "the bytes before stay");
    let bytes = bytes.split_off(2);
    assert_eq!(&T::decode(kind, &bytes).unwrap(), value);
    (kind, bytes)
}

fn error<T: Stored + Debug>(kind: EventKind, bytes: &[u8]) -> String {
    T::decode(kind, bytes).unwrap_err().to_string()
}

#[test]
fn the_encoding_stays_as_it_is() {
    assert_eq!(encoded(&Event::Closed), (kind(9, 1), vec![]));
    let to = Address {
        street: "Elm".to_owned(),
        number: 300,
    };
    let fee = Some(-2);
    let (of_moved, moved) = encoded(&Event::Moved { to, fee });
    assert_eq!(of_moved, kind(1, 2));
    assert_eq!(moved, b"\x03Elm\xac\x02\x01\x03");
    let tags = BTreeMap::from([("a".to_owned(), vec![0, 255])]);
    let (of_tagged, tagged) = encoded(&Event::Tagged("xy".into(), tags));
    assert_eq!(of_tagged, kind(65_279, 3));
    assert_eq!(tagged, b"\x02xy\x01\x01a\x02\x00\xff");
    assert_eq!(encoded(&Unit), (kind(3, 1), vec![]));
}

#[test]
fn a_generic_state_is_stored() {
    let state = State::<u8, 3> {
        counts: BTreeMap::from([(7, 1 << 40)]),
        all: vec![[1, 2], [3, 4]],
    };
    assert_eq!(encoded(&state).0, kind(0, 0));
    assert_eq!(encoded(&State::<String, 0>::default()).1, [0, 0]);
}

#[test]
fn older_versions_are_converted() {
    let to = Address {
        street: "Elm".to_owned(),
        number: 1,
    };
    let moved = Event::decode(kind(1, 1), b"\x03Elm\x01").unwrap();
    assert_eq!(moved, Event::Moved { to, fee: None });
    let tagged = Event::decode(kind(65_279, 0), b"\x01x\x01y").unwrap();
    let tags = BTreeMap::from([("y".to_owned(), vec![])]);
    assert_eq!(tagged, Event::Tagged("x".into(), tags));
    assert_eq!(Event::decode(kind(65_279, 2), &[5]).unwrap(), Event::Closed);
}

#[test]
fn what_cannot_be_decoded_is_named() {
    assert_eq!(
        error::<Event>(kind(4, 1), &[]),
        "`Event` has no tag 4 (version 1); known tags: 9 (`Event::Closed`), 1 (`Event::Moved`), 65279 \
         (`Event::Tagged`)"
    );
    assert_eq!(
        error::<Event>(kind(65_279, 1), &[]),
        "`Event::Tagged` (tag 65279) has no version 1; known versions: 3, 2, 0"
    );
    assert_eq!(
        error::<Event>(kind(1, 2), b"\x03Elm\x01"),
        "`Event::Moved` (tag 1, version 2) cannot be decoded: the field `fee`: Hit the end of buffer, expected more data"
    );
    assert_eq!(
        error::<Event>(kind(9, 1), &[1, 2]),
        "`Event::Closed` (tag 9, version 1) cannot be decoded: 2 bytes are left over"
    );
    assert_eq!(
        error::<Event>(kind(1, 1), b"\x03Elm\x01\x00"),
        "`Event::Moved` (tag 1, version 1) cannot be decoded: 1 byte is left over"
    );
    assert_eq!(
        error::<Event>(kind(65_279, 2), b"\xff\x7f"),
        "`Event::Tagged` (tag 65279, version 2) cannot be decoded: out of range integral type conversion attempted"
    );
    assert_eq!(
        error::<Never>(kind(1, 1), &[]),
        "`Never` has no tag 1 (version 1); known tags: none"
    );
    assert_eq!(
        error::<Unit>(kind(3, 2), &[]),
        "`Unit` (tag 3) has no version 2; known versions: 1"
    );
}

#[test]
#[should_panic = "the field `content` of `Sealed` cannot be serialized"]
fn a_value_that_refuses_to_be_serialized_panics() {
    let content = Refusing;
    Sealed { content }.encode(&mut Vec::new());
}

fn events() -> impl Strategy<Value = Event> {
    let moved = (any::<String>(), any::<u32>(), any::<Option<i64>>());
    let moved = moved.prop_map(|(street, number, fee)| Event::Moved {
        to: Address { street, number },
        fee,
    });
    let tags = prop::collection::btree_map(any::<String>(), any::<Vec<u8>>(), 0..4);
    let tagged = (any::<String>(), tags).prop_map(|(name, tags)| Event::Tagged(name.into(), tags));
    prop_oneof![Just(Event::Closed), moved, tagged]
}

proptest! {
    #[test]
    fn every_value_is_decoded_again(event in events()) {
        encoded(&event);
    }

    #[test]
    fn no_bytes_make_it_panic(tag in 0_u16..12, version in 0_u16..4, bytes: Vec<u8>) {
        let _ = Event::decode(kind(tag, version), &bytes);
        let _ = Event::decode(kind(65_279, version), &bytes);
    }
}
