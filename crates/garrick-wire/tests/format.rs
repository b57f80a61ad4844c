//! Tests which bytes encode the values of each type, and how these bytes are decoded.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::{NonZeroI32, NonZeroU8, NonZeroU64, NonZeroU128};
use std::sync::Arc;
use std::time::Duration;

use garrick_wire::{MessageId, Reason, Shape, Wire, from_slice, to_vec};

/// Encodes and decodes `value` alone, as an item of a list, and as a field. Returns its bytes.
#[track_caller]
fn travel<T: Wire + Clone + PartialEq + Debug>(value: &T) -> Vec<u8> {
    let bytes = to_vec(value.clone()).unwrap();
    assert_eq!(from_slice::<T>(&bytes).as_ref(), Ok(value));

    let listed = to_vec(vec![value.clone(), value.clone()]).unwrap();
    let back: Vec<T> = from_slice(&listed).unwrap();
    assert_eq!(back, [value.clone(), value.clone()]);
    // All lengths of a short encoding, and some of a long one.
    for len in (0..listed.len()).step_by(1 + listed.len() / 300) {
        let cut: Result<Vec<T>, _> = from_slice(&listed[..len]);
        // Bytes without a number of items are shorter bytes.
        assert!(T::NAME == "u8" || cut.is_err(), "{len} of {listed:?}");
    }

    #[derive(Wire, Debug, PartialEq)]
    struct Holder<T> {
        value: T,
        after: u8,
    }
    let held = Holder {
        value: value.clone(),
        after: 1,
    };
    let bytes_of_field = to_vec(held).unwrap();
    let back: Holder<T> = from_slice(&bytes_of_field).unwrap();
    assert_eq!((&back.value, back.after), (value, 1));
    bytes
}

#[test]
fn numbers() {
    assert_eq!(travel(&0_u8), [0b1]);
    assert_eq!(travel(&127_u8), [0xff]);
    assert_eq!(travel(&128_u8), [0x02, 0x02]);
    assert_eq!(travel(&u16::MAX), [0b1111_1100, 0xff, 0b111]);
    assert_eq!(
        travel(&u64::MAX),
        [0, 255, 255, 255, 255, 255, 255, 255, 255]
    );
    assert_eq!(travel(&-1_i8), [0b11]);
    assert_eq!(travel(&1_i64), [0b101]);
    for n in [i64::MIN, i64::MIN + 1, -65, -64, -1, 0, 63, 64, i64::MAX] {
        travel(&n);
    }
    for n in [i32::MIN, i32::MAX] {
        travel(&n);
    }
    for n in [i16::MIN, i16::MAX] {
        travel(&n);
    }
    assert_eq!(travel(&1.5_f32), 1.5_f32.to_le_bytes());
    assert_eq!(travel(&-0.0_f64), (-0.0_f64).to_le_bytes());
    assert_eq!(travel(&u128::MAX), [255; 16]);
    assert_eq!(travel(&i128::MIN), i128::MIN.to_le_bytes());
    assert_eq!(travel(&true), [0b11]);
    assert_eq!(travel(&'ß').len(), 2);
    travel(&char::MAX);
    travel(&NonZeroU8::MAX);
    travel(&NonZeroI32::MIN);
    travel(&NonZeroU64::MIN);
    travel(&NonZeroU128::MAX);
    let nan: f64 = from_slice(&to_vec(f64::NAN).unwrap()).unwrap();
    assert_eq!(nan.to_bits(), f64::NAN.to_bits());
}

#[test]
fn texts_and_pointers() {
    assert_eq!(travel(&"text".to_owned()), b"text");
    travel(&String::new());
    travel(&"x".repeat(20_000));
    assert_eq!(travel(&Box::<str>::from("a")), b"a");
    assert_eq!(travel(&Arc::<str>::from("a")), b"a");
    assert_eq!(travel(&Box::new(7_u64)), [15]);
    assert_eq!(travel(&Arc::new(Some(7_u64))), [15]);
    assert_eq!(<Box<Arc<u64>> as Wire>::NAME, "u64");
}

#[test]
fn lists_arrays_maps_and_tuples() {
    assert_eq!(travel(&vec![1_u8, 200]), [1, 200]);
    assert_eq!(travel(&VecDeque::from([1_u8, 200])), [1, 200]);
    assert_eq!(travel(&[1_u8, 200]), [1, 200]);
    assert_eq!(travel(&vec![1_u16, 2]), [0b101, 0b11, 0b101]);
    assert_eq!(travel(&[1_u16, 2]), [0b11, 0b101]);
    travel(&[[0.5_f64; 3]; 2]);
    travel(&[String::from("a"), String::new()]);
    travel::<[u64; 0]>(&[]);
    travel(&vec![(); 100]);
    travel(&vec![vec![vec![1_u32]; 3]; 200]);
    travel(&Box::<[i32]>::from([1, 2]));
    travel(&BTreeMap::from([
        (1_u8, "a".to_owned()),
        (2, String::new()),
    ]));
    travel(&HashMap::<u64, bool>::from([(1, true), (2, false)]));
    travel(&BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    travel(&HashSet::<i8>::from([1, -1]));
    assert_eq!(travel(&(1_u8,)), [3]);
    travel(&(
        1_u8,
        -2_i16,
        "a".to_owned(),
        Some(()),
        1.0_f32,
        [1_u8; 3],
        7_u64,
        'a',
    ));
}

#[test]
fn options_results_and_others() {
    assert_eq!(travel(&None::<u64>), []);
    assert_eq!(travel(&Some(7_u64)), [15]);
    assert_eq!(travel(&Some(None::<u64>)), [1]);
    travel(&Some(Some(7_u64)));
    travel(&Some(()));
    travel(&None::<()>);
    travel(&Ok::<u64, String>(7));
    travel(&Err::<u64, String>("no".to_owned()));
    travel(&());
    travel(&PhantomData::<u64>);
    travel(&Duration::MAX);
    travel(&Duration::new(1, 2));
    for ip in [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ] {
        travel(&ip);
        travel(&SocketAddr::new(ip, 8_080));
    }
    travel(&Ipv4Addr::BROADCAST);
    travel(&Ipv6Addr::LOCALHOST);
    travel(&"[fe80::1%7]:80".parse::<SocketAddr>().unwrap());
}

#[derive(Wire, Debug, Clone, PartialEq)]
struct Unit;

#[derive(Wire, Debug, Clone, PartialEq)]
struct Tuple(u64, String);

#[derive(Wire, Debug, Clone, PartialEq)]
#[wire(name = "test.Kind")]
enum Kind {
    Unit,
    Tuple(u64, Option<Box<Kind>>),
    Named { r#type: String, numbers: Vec<u64> },
}

#[test]
fn structs_and_enums() {
    assert_eq!(travel(&Unit), []);
    assert_eq!(
        travel(&Tuple(1, "a".to_owned())),
        [0b1001, 0b11, 0b10111, 0b11, b'a']
    );
    assert_eq!(travel(&Kind::Unit), [0b11]);
    let named = Kind::Named {
        r#type: "x".repeat(300),
        numbers: vec![u64::MAX; 3_000],
    };
    travel(&named);
    travel(&Kind::Tuple(7, None));
    travel(&Kind::Tuple(
        7,
        Some(Box::new(Kind::Tuple(8, Some(Box::new(named))))),
    ));
    assert_eq!(<Kind as Wire>::SHAPE, Shape::Bytes);
}

#[derive(Wire, Debug, Clone, PartialEq)]
struct Page<T> {
    items: Vec<T>,
    next: Option<T>,
}

#[derive(Wire, Debug, Clone, PartialEq)]
#[wire(name = "test.Pair")]
struct Pair<A, B: Clone>
where
    A: Clone,
{
    a: A,
    b: B,
}

#[test]
fn generic_types_have_the_names_of_their_arguments() {
    let page = Page {
        items: vec![Kind::Unit],
        next: None,
    };
    travel(&page);
    travel(&Pair { a: page, b: 7_u8 });
    assert_eq!(<Page<Kind> as Wire>::NAME, "garrick-wire.Page<test.Kind>");
    let name = "test.Pair<list<option<u8>>,map<string,array<u8,32>>>";
    type Nested = Pair<Vec<Option<u8>>, HashMap<String, [u8; 32]>>;
    assert_eq!(<Nested as Wire>::NAME, name);
    assert_eq!(<Nested as Wire>::ID, MessageId::of(name));
    assert_eq!(<(u8, (), Vec<u8>) as Wire>::NAME, "tuple<u8,unit,bytes>");
}

#[derive(Wire)]
enum Never {}

#[test]
fn an_enum_without_variants_has_no_values() {
    let error = from_slice::<Never>(&[0b11]).map(drop).unwrap_err();
    assert_eq!(*error.reason(), Reason::UnknownVariant { number: 1 });
}

#[test]
fn values_that_a_type_does_not_have_are_refused() {
    #[track_caller]
    fn refuse<T: Wire>(bytes: &[u8], text: &str) {
        let error = from_slice::<T>(bytes).map(drop).unwrap_err().to_string();
        assert!(error.ends_with(text), "{error}");
    }
    refuse::<bool>(&[0b101], "allowed is 0 for false, and 1 for true");
    refuse::<u8>(&[2, 4], "a number does not fit into `u8`");
    refuse::<i8>(&[2, 4], "a number does not fit into `i8`");
    refuse::<char>(
        &to_vec(0xd800_u32).unwrap(),
        "allowed is a Unicode scalar value",
    );
    refuse::<NonZeroU8>(&[1], "allowed is a number other than zero");
    refuse::<String>(&[0xff], "allowed is UTF-8");
    refuse::<Arc<str>>(&[0xff], "allowed is UTF-8");
    refuse::<Duration>(
        &to_vec((1_u64, 1_000_000_000_u32)).unwrap(),
        "allowed is nanoseconds below a second",
    );
    refuse::<Result<(), ()>>(&[1, 1], "allowed is 1 for `Ok`, and 2 for `Err`");
    refuse::<IpAddr>(&[1; 5], "allowed is an address of 4 or 16 bytes");
    refuse::<SocketAddr>(&[1; 5], "allowed is a socket address of 6 or 26 bytes");
    refuse::<HashMap<u8, ()>>(
        &to_vec(vec![(1_u8, ()); 2]).unwrap()[..1],
        "but only 0 bytes are left",
    );
    refuse::<BTreeMap<u8, u8>>(
        &[0b101, 3, 3, 3, 5],
        "each key of a map once, and each item of a set once",
    );
    refuse::<HashSet<u8>>(
        &[0b101, 3, 3],
        "each key of a map once, and each item of a set once",
    );
    refuse::<[u16; 3]>(&[3, 3], "1 more bytes are needed, but 0 are left");
    refuse::<[u16; 3]>(&[3, 3, 3, 3], "1 bytes are left after the end of the value");
    // The content of a value within others, which is longer than the value.
    for longer in [&[3, 5, 3, 3][..], &[5, 5, 3, 5, 3]] {
        refuse::<Vec<[u16; 1]>>(longer, "1 bytes are left after the end of the value");
    }
    refuse::<()>(&[3], "1 bytes are left after the end of the value");
    refuse::<Option<u64>>(&[3, 3], "1 bytes are left after the end of the value");
}
