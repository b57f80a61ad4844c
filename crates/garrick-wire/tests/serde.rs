//! Fields that serde encodes.
#![cfg(feature = "serde")]
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;

use allocation_counter::measure;
use garrick_wire::derived::Serde;
use garrick_wire::{Limits, Reason, Wire, WireError, from_slice, to_vec};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};

#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
struct Settings {
    name: String,
    levels: Vec<u16>,
}

#[derive(Wire, Debug, PartialEq)]
#[wire(version = 2)]
struct Job {
    #[wire(1, serde)]
    settings: Settings,
    #[wire(2)]
    times: u32,
    #[wire(3, serde = "settings", default)]
    more: Option<Settings>,
}

fn job() -> Job {
    Job {
        settings: Settings {
            name: "nightly".to_owned(),
            levels: vec![1, 500],
        },
        times: 3,
        more: Some(Settings::default()),
    }
}

#[test]
fn the_value_is_that_of_postcard_behind_a_length() {
    let bytes = to_vec(job()).unwrap();
    let inner = postcard::to_allocvec(&job().settings).unwrap();
    assert_eq!(bytes[2..2 + inner.len()], inner);
    assert_eq!(from_slice::<Job>(&bytes), Ok(job()));
}

#[test]
fn a_missing_field_has_its_default() {
    #[derive(Wire)]
    struct Older {
        #[wire(1, serde)]
        settings: Settings,
        #[wire(2)]
        times: u32,
    }
    let Job {
        settings, times, ..
    } = job();
    let bytes = to_vec(Older { settings, times }).unwrap();
    let newer: Job = from_slice(&bytes).unwrap();
    assert_eq!(
        newer,
        Job {
            more: None,
            ..job()
        }
    );
}

#[test]
fn prefixes_and_rests_are_refused() {
    let bytes = to_vec(job()).unwrap();
    for len in 0..bytes.len() {
        // Without its last field, the message is one of an older version.
        let is_older = from_slice::<Job>(&bytes[..len]).is_ok_and(|job| job.more.is_none());
        assert!(is_older || from_slice::<Job>(&bytes[..len]).is_err());
    }
    #[derive(Wire)]
    struct Text(#[wire(serde)] String);
    let mut longer = to_vec(Text("a".to_owned())).unwrap();
    longer[1] += 2;
    longer.push(0);
    let error = from_slice::<Text>(&longer).map(drop).unwrap_err();
    assert_eq!(*error.reason(), Reason::Trailing { bytes: 1 });
}

#[test]
fn limits_and_refusals_are_errors_of_the_message() {
    let mut out = Vec::new();
    let error = Limits::new().message_bytes(8).encode(job(), &mut out);
    let error = error.unwrap_err();
    assert_eq!(*error.reason(), Reason::MessageBytes { max: 8 });
    assert!(out.is_empty());

    #[derive(Deserialize)]
    struct Secret;
    impl Serialize for Secret {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("the password is 1234"))
        }
    }
    #[derive(Wire)]
    struct Holder(#[wire(serde)] Secret);
    let error: WireError = to_vec(Holder(Secret)).unwrap_err();
    assert!(!error.to_string().contains("1234"), "{error}");
}

/// A message with fields of all kinds that serde distinguishes.
#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
struct All {
    numbers: (u8, u16, u32, u64, u128),
    signed: (i8, i16, i32, i64, i128),
    is_set: bool,
    letter: char,
    text: String,
    kinds: Vec<Kind>,
    map: HashMap<u64, Vec<String>>,
    tree: BTreeMap<String, Pair>,
    set: HashSet<u16>,
    new: Option<New>,
    unit: Unit,
    boxed: Option<Box<All>>,
    array: [i32; 3],
}

#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
struct Pair(u8, String);

#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
struct New(u64);

#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
struct Unit;

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
enum Kind {
    Unit,
    New(u64),
    Tuple(i8, i64),
    Named { text: String, of: Box<Kind> },
}

fn all() -> All {
    let named = Kind::Named {
        text: "a".to_owned(),
        of: Box::new(Kind::Tuple(i8::MIN, i64::MIN)),
    };
    let inner = All {
        numbers: (255, u16::MAX, u32::MAX, u64::MAX, u128::MAX),
        signed: (-1, i16::MIN, i32::MIN, i64::MIN, i128::MIN),
        kinds: vec![Kind::Unit, Kind::New(300), named],
        map: [(1, vec!["b".to_owned(); 3])].into(),
        tree: [("c".to_owned(), Pair(1, "d".to_owned()))].into(),
        set: [1, 2, 3].into(),
        ..All::default()
    };
    All {
        is_set: true,
        letter: '\u{10ffff}',
        text: "x".repeat(200),
        new: Some(New(7)),
        boxed: Some(Box::new(inner)),
        array: [-1, 0, 1],
        ..All::default()
    }
}

/// Returns the encoding of a field with the content `bytes`.
fn field(bytes: &[u8]) -> Vec<u8> {
    to_vec((bytes.to_vec(),)).unwrap()
}

/// A tuple whose only field is encoded by serde, for tests with many types `T`.
type Field<T> = (Serde<T>,);

/// Reads `bytes` as the content of a field. Checks the memory that decoding needs, and that
/// postcard reads the same value.
fn read<T>(bytes: &[u8]) -> Result<T, WireError>
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let bytes_of_field = field(bytes);
    let mut read = None;
    let used = measure(|| read = Some(from_slice::<Field<T>>(&bytes_of_field)));
    let allowed = 64 * bytes_of_field.len() + 20 * 1024;
    assert!(used.bytes_total as usize <= allowed, "{}", used.bytes_total);
    let (Serde(value),) = read.unwrap()?;
    let (theirs, rest): (T, _) = postcard::take_from_bytes(bytes).unwrap();
    assert_eq!((&theirs, rest), (&value, &[][..]));
    Ok(value)
}

#[test]
fn all_kinds_of_types_come_back_and_prefixes_do_not() {
    // One value, because another one may have another order of the entries of its maps.
    let value = all();
    let bytes = postcard::to_allocvec(&value).unwrap();
    assert_eq!(read(&bytes), Ok(all()));
    let of_field = to_vec((Serde(value),)).unwrap();
    assert_eq!(of_field, field(&bytes));
    for len in 0..bytes.len() {
        assert!(read::<All>(&bytes[..len]).is_err(), "{len}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_are_refused_or_mean_the_same(bytes: Vec<u8>) {
        let _ = read::<All>(&bytes);
        let _ = read::<Vec<Kind>>(&bytes);
        let _ = read::<Vec<Vec<Option<u128>>>>(&bytes);
        let _ = read::<Vec<HashMap<u8, ()>>>(&bytes);
        let _ = read::<Vec<BTreeMap<u8, u8>>>(&bytes);
    }

    #[test]
    fn changed_bytes_are_refused_or_mean_the_same(
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4),
    ) {
        let mut bytes = postcard::to_allocvec(&all()).unwrap();
        for (index, byte) in changes {
            let place = index.index(bytes.len());
            bytes[place] = byte;
        }
        let _ = read::<All>(&bytes);
    }
}

#[test]
fn levels_of_serde_are_levels_of_the_message() {
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Chain(Option<Box<Chain>>);
    // Bytes of a million levels, each of which is the tag of `Some`.
    let error = read::<Chain>(&vec![1; 1_000_000]).unwrap_err();
    assert_eq!(*error.reason(), Reason::Depth { max: 64 });
    let mut chain = Chain(None);
    for _ in 0..30 {
        chain = Chain(Some(Box::new(chain)));
    }
    let bytes = postcard::to_allocvec(&chain).unwrap();
    assert_eq!(read(&bytes), Ok(chain));
}

#[test]
fn items_of_serde_are_bounded_by_the_bytes_and_the_memory() {
    // 2^62 items without bytes, which postcard would count one by one.
    let many = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0];
    let error = read::<Vec<()>>(&many).unwrap_err();
    let length = 1 << 62;
    assert_eq!(*error.reason(), Reason::Length { length, left: 1 });

    #[derive(Serialize, Deserialize, PartialEq, Debug, Default)]
    struct Large {
        byte: u8,
        #[serde(skip)]
        skipped: [u128; 20],
    }
    let bytes = postcard::to_allocvec(&vec![0_u8; 100_000]).unwrap();
    let error = read::<Vec<Large>>(&bytes).unwrap_err();
    assert!(matches!(error.reason(), Reason::Memory { .. }), "{error}");
    assert_eq!(read(&bytes), Ok(vec![0_u8; 100_000]));
    for (bytes, reason) in [
        (&[0x80, 0x80, 0x04][..], Reason::Range { of: "u16" }),
        (&[0x80, 0x80, 0x80, 0][..], Reason::Range { of: "u16" }),
        (&[0x80, 0x00][..], Reason::NotShortest),
    ] {
        assert_eq!(*read::<u16>(bytes).unwrap_err().reason(), reason);
    }
}
