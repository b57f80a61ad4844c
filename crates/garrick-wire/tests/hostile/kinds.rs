//! Messages with fields of all types, values that are computed from arbitrary bytes, and a check of
//! the decoder with such bytes. The fuzz target uses this file, too.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use garrick_wire::{Limits, Wire, from_slice, to_vec};

/// Number of bytes that decoding may allocate for each byte of a message.
const MULTIPLE: usize = 64;

/// Number of bytes that decoding may allocate for any message, regardless of its length. Includes
/// the memory of an error with 64 levels.
const FREE: usize = 16 * 1024 + 10 * 1024;

/// A message with a field of each basic type. A basic type contains no other values.
#[derive(Wire, Debug, Clone, PartialEq)]
pub(crate) struct Leaves {
    numbers: (u8, u16, u32, u64, u128),
    signed: (i8, i16, i32, i64, i128),
    is_set: bool,
    letter: char,
    floats: Floats,
    text: String,
    texts: (Box<str>, Arc<str>),
    time: Duration,
    port: SocketAddr,
    ip: IpAddr,
    few: Option<NonZeroU32>,
    unit: (),
}

/// Floating-point numbers that are compared by their bits.
#[derive(Wire, Debug, Clone)]
pub(crate) struct Floats {
    single: f32,
    double: f64,
}

impl PartialEq for Floats {
    fn eq(&self, other: &Self) -> bool {
        let bits = |floats: &Self| (floats.single.to_bits(), floats.double.to_bits());
        bits(self) == bits(other)
    }
}

/// A message with a field of each collection type.
#[derive(Wire, Debug, Clone, PartialEq, Default)]
#[wire(version = 2)]
pub(crate) struct Collections {
    #[wire(1)]
    bytes: Vec<u8>,
    #[wire(2)]
    list: Vec<Option<u64>>,
    #[wire(3, default)]
    queue: VecDeque<String>,
    #[wire(4, default)]
    nested: Vec<Vec<Option<Option<u16>>>>,
    #[wire(5, default)]
    map: HashMap<u64, Vec<String>>,
    #[wire(6, default)]
    tree: BTreeMap<String, (u8, i64)>,
    #[wire(70, default)]
    set: HashSet<u32>,
    #[wire(71, default)]
    sorted: BTreeSet<i16>,
    #[wire(72, default)]
    units: Vec<()>,
    #[wire(73)]
    array: [i32; 3],
    #[wire(74)]
    digest: [u8; 20],
}

/// A type that is much larger in memory than in a message.
#[derive(Wire, Debug, Clone, PartialEq)]
pub(crate) struct Large {
    #[wire(1, default = zeros)]
    block: [u64; 200],
}

fn zeros() -> [u64; 200] {
    [0; 200]
}

/// A type with one field. If the field is missing in a message, its default value allocates memory.
#[derive(Wire, Debug, Clone, PartialEq)]
pub(crate) struct Absent {
    boxed: Box<Option<[u64; 50]>>,
}

/// A message with many kinds of collections. Most of them have items that are large in memory.
#[derive(Wire, Debug, Clone, PartialEq, Default)]
pub(crate) struct Hoard {
    list: Vec<Large>,
    counted: Vec<Arc<Large>>,
    shared: Option<Arc<Large>>,
    map: HashMap<u8, Large>,
    tree: BTreeMap<u8, Large>,
    maps: Vec<HashMap<u8, u8>>,
    trees: Vec<BTreeMap<u8, ()>>,
    queue: VecDeque<Option<Box<Large>>>,
    absent: Vec<Absent>,
}

/// A tree: a type that contains itself.
#[derive(Wire, Debug, Clone, PartialEq)]
pub(crate) struct Node {
    label: u64,
    children: Vec<Node>,
    next: Option<Box<Node>>,
}

/// An enum whose variants contain messages of different types.
#[derive(Wire, Debug, Clone, PartialEq)]
pub(crate) enum Message {
    Leaves(Leaves),
    Collections {
        one: Collections,
        two: Option<Box<Collections>>,
    },
    Hoard(Hoard),
    Tree(Node),
    Answer(Result<u64, String>),
    Nothing,
}

/// A source of values that are computed from bytes. After the end of the bytes, all values are 0.
pub(crate) struct Draw<'a>(pub(crate) &'a [u8]);

impl Draw<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                *first
            }
            [] => 0,
        }
    }

    /// Returns a number. All lengths of numbers are about equally frequent.
    fn number(&mut self) -> u64 {
        let bits = u32::from(self.byte()) % 65;
        let mut number = 0;
        for _ in 0..bits.div_ceil(8) {
            number = number << 8 | u64::from(self.byte());
        }
        number.checked_shr(64_u32.saturating_sub(bits)).unwrap_or(0)
    }

    fn some<T>(&mut self, draw: impl Fn(&mut Self) -> T) -> Vec<T> {
        let len = match self.byte() {
            0..200 => self.byte() % 4,
            200..250 => self.byte() % 20,
            _ => self.byte(),
        };
        (0..len).map(|_| draw(self)).collect()
    }

    fn option<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.byte() % 2 == 1).then(|| draw(self))
    }

    fn text(&mut self) -> String {
        let letters = self.some(|draw| char::from_u32(draw.number() as u32).unwrap_or('a'));
        letters.into_iter().collect()
    }

    fn leaves(&mut self) -> Leaves {
        let mut number = || self.number();
        Leaves {
            numbers: (
                number() as u8,
                number() as u16,
                number() as u32,
                number(),
                u128::from(number()) << 64,
            ),
            signed: (
                number() as i8,
                number() as i16,
                number() as i32,
                number() as i64,
                -i128::from(number()),
            ),
            is_set: number() % 2 == 0,
            floats: Floats {
                single: f32::from_bits(number() as u32),
                double: f64::from_bits(number()),
            },
            time: Duration::new(number(), number() as u32 % 1_000_000_000),
            port: SocketAddr::new(Ipv4Addr::from_bits(number() as u32).into(), number() as u16),
            ip: Ipv4Addr::from_bits(number() as u32).to_ipv6_mapped().into(),
            few: NonZeroU32::new(number() as u32),
            letter: char::from_u32(number() as u32).unwrap_or('a'),
            text: self.text(),
            texts: (self.text().into(), self.text().into()),
            unit: (),
        }
    }

    fn collections(&mut self) -> Collections {
        Collections {
            bytes: self.some(Self::byte),
            list: self.some(|draw| draw.option(Self::number)),
            queue: self.some(Self::text).into(),
            nested: self.some(|draw| {
                draw.some(|draw| draw.option(|draw| draw.option(|draw| draw.number() as u16)))
            }),
            map: self
                .some(|draw| (draw.number(), draw.some(Self::text)))
                .into_iter()
                .collect(),
            tree: self
                .some(|draw| (draw.text(), (draw.byte(), draw.number() as i64)))
                .into_iter()
                .collect(),
            set: self.some(|draw| draw.number() as u32).into_iter().collect(),
            sorted: self.some(|draw| draw.number() as i16).into_iter().collect(),
            units: self.some(|_| ()),
            array: [0; 3].map(|_| self.number() as i32),
            digest: [0; 20].map(|_| self.byte()),
        }
    }

    fn large(&mut self) -> Large {
        let first = self.byte() % 8;
        Large {
            block: std::array::from_fn(|index| {
                if index < first.into() {
                    self.number()
                } else {
                    0
                }
            }),
        }
    }

    fn hoard(&mut self) -> Hoard {
        let mut few = |count: u8| {
            (0..self.byte() % count)
                .map(|_| self.large())
                .collect::<Vec<_>>()
        };
        Hoard {
            list: few(3),
            counted: few(3).into_iter().map(Arc::new).collect(),
            shared: few(2).pop().map(Arc::new),
            map: few(2).into_iter().map(|large| (7, large)).collect(),
            tree: few(2).into_iter().map(|large| (9, large)).collect(),
            queue: few(3)
                .into_iter()
                .map(|large| Some(Box::new(large)))
                .collect(),
            absent: self.some(|draw| Absent {
                boxed: Box::new(draw.option(|draw| [draw.number(); 50])),
            }),
            maps: self.some(|draw| [(draw.byte(), draw.byte())].into()),
            trees: self.some(|draw| draw.some(|draw| (draw.byte(), ())).into_iter().collect()),
        }
    }

    fn node(&mut self, depth: u32) -> Node {
        let below = depth.saturating_sub(1);
        let count = if depth == 0 { 0 } else { self.byte() % 3 };
        Node {
            label: self.number(),
            children: (0..count).map(|_| self.node(below)).collect(),
            next: self
                .option(|draw| Box::new(draw.node(below)))
                .filter(|_| depth > 0),
        }
    }

    pub(crate) fn message(&mut self) -> Message {
        match self.byte() % 8 {
            0 | 1 => Message::Leaves(self.leaves()),
            2 | 3 => Message::Collections {
                one: self.collections(),
                two: self.option(|draw| Box::new(draw.collections())),
            },
            4 => Message::Hoard(self.hoard()),
            5 => Message::Tree(self.node(6)),
            6 => Message::Answer(match self.option(Self::number) {
                Some(number) => Ok(number),
                None => Err(self.text()),
            }),
            _ => Message::Nothing,
        }
    }
}

/// Decodes `bytes` as a value of each type in this file.
pub(crate) fn decode_everything(bytes: &[u8]) {
    decode::<Message>(bytes);
    decode::<Leaves>(bytes);
    decode::<Collections>(bytes);
    decode::<Hoard>(bytes);
    decode::<Node>(bytes);
    decode::<Vec<Vec<String>>>(bytes);
    decode::<Result<HashSet<Box<[u16]>>, BTreeMap<char, [bool; 4]>>>(bytes);
}

/// Decodes `bytes`. Checks how much memory decoding needs. If the bytes are valid, checks that the
/// value is the same after encoding and decoding it again.
fn decode<T: Wire + Clone + PartialEq + Debug>(bytes: &[u8]) {
    let mut decoded = None;
    let used = measure(|| decoded = Some(from_slice::<T>(bytes)));
    let allowed = MULTIPLE * bytes.len() + FREE;
    assert!(
        used.bytes_total as usize <= allowed,
        "{} of {allowed} bytes for {} bytes of {}",
        used.bytes_total,
        bytes.len(),
        T::NAME
    );
    match decoded {
        Some(Ok(value)) => comes_back(&value),
        Some(Err(error)) => assert!(error.position() <= bytes.len(), "{error}"),
        None => unreachable!("the closure ran"),
    }
}

/// Checks that `value` is the same after encoding and decoding. Also checks that a receiver accepts
/// each message that a sender may send.
pub(crate) fn comes_back<T: Wire + Clone + PartialEq + Debug>(value: &T) {
    let limits = Limits::new()
        .message_bytes(usize::MAX)
        .memory_multiple(usize::MAX);
    let mut again = Vec::new();
    limits.encode(value.clone(), &mut again).unwrap();
    assert_eq!(limits.decode::<T>(&again).as_ref(), Ok(value));
    let limits = limits.memory_multiple(MULTIPLE);
    let sent = limits.encode(value.clone(), &mut Vec::new());
    // The order of hash maps may differ, but not their memory.
    assert_eq!(sent.is_ok(), limits.decode::<T>(&again).is_ok(), "{sent:?}");
}

/// Computes a message from `bytes`, encodes it, changes some of the encoded bytes, and decodes the
/// result.
pub(crate) fn change_something(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let changes = draw.byte() % 4;
    let places: Vec<(usize, u8, u8)> = (0..changes)
        .map(|_| (draw.number() as usize, draw.byte(), draw.byte()))
        .collect();
    let message = draw.message();
    comes_back(&message);
    let Ok(mut encoded) = to_vec(message) else {
        return;
    };
    for (place, what, byte) in places {
        let place = place % (encoded.len() + 1);
        match what % 5 {
            0 => encoded.truncate(place),
            1 => encoded.insert(place, byte),
            2 => drop(encoded.splice(place..place, std::iter::repeat_n(byte, 40))),
            3 if place < encoded.len() => encoded[place] = byte,
            _ if place < encoded.len() => encoded[place] ^= 1 << (byte % 8),
            _ => {}
        }
    }
    decode_everything(&encoded);
}
