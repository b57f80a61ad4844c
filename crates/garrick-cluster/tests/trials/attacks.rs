//! Attacks whose steps are computed from arbitrary bytes. The fuzzers use this file, too.
//!
//! Whatever the bytes are, no node may panic, exchange frames without end, or keep addresses of a
//! lost node. After an attack, the two nodes must still be able to exchange messages, unless the
//! attacker has pretended to be a later incarnation of one of them.

use garrick_actor::Address;

use crate::forged::{DEAD, Forged, NODE, NUMBER, PEER, SESSION, put_number};
use crate::pair::{Msg, Pair, ready};
use crate::spy::FRAMES_MAX;

/// Maximum number of steps of an attack.
const STEPS_MAX: usize = 24;

/// A reader of values from bytes. After the end of the bytes, all values are 0.
#[derive(Debug)]
struct Draw<'a>(&'a [u8]);

impl<'a> Draw<'a> {
    fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *byte
    }

    /// Returns a number that is often small, and often at a limit.
    fn number(&mut self) -> u64 {
        match self.byte() {
            255 => u64::MAX,
            254 => u64::MAX - 1,
            253 => 1 << 63,
            252 => u64::from(self.byte()) << 8 | u64::from(self.byte()),
            small => (small % 8).into(),
        }
    }

    /// Returns at most 63 bytes.
    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte() % 64).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }
}

/// Sends a frame: any bytes, any bytes with a correct checksum, or a frame of a node in which some
/// bytes were changed, with a correct checksum.
pub(crate) fn send_frame(bytes: &[u8]) {
    let pair = Pair::new();
    let frames = pair.talk();
    let mut draw = Draw(bytes);
    let how = draw.byte();
    let frame = match how % 4 {
        0 => draw.0.to_vec(),
        1 => Forged::of(draw.0.to_vec()).sign(),
        _ => {
            let mut frame = frames[usize::from(how / 4) % frames.len()].clone();
            for change in draw.0.chunks_exact(3) {
                let place = usize::from(u16::from_le_bytes([change[0], change[1]]));
                let place = place % frame.len();
                frame[place] = change[2];
            }
            Forged::of(frame).with(NUMBER, 100).sign()
        }
    };
    let is_later = frame.len() >= SESSION + 8
        && [NODE, SESSION]
            .into_iter()
            .any(|place| frame[place..place + 8] != 1_u64.to_le_bytes());
    pair.inject(frame);
    check(&pair, is_later);
}

/// Sends frames with random entries. The head of each frame is right, except for some of its
/// numbers.
pub(crate) fn send_entries(bytes: &[u8]) {
    let pair = Pair::new();
    pair.talk();
    let mut draw = Draw(bytes);
    for step in 0..=draw.byte() % 4 {
        let mut forged = pair.forge("server", 100 + u64::from(step));
        let numbers = draw.byte();
        for place in (PEER..=DEAD).step_by(8).filter(|place| *place != SESSION) {
            if numbers >> (place / 8 % 8) & 1 == 1 && place != NUMBER {
                forged.set(place, draw.number());
            }
        }
        let (count, entries) = (draw.byte(), draw.bytes());
        pair.inject(forged.entries(count.into(), entries).sign());
    }
    let rest = draw.0;
    pair.inject(pair.forge("server", 200).entries(1, rest).sign());
    check(&pair, false);
}

/// Attacks the tables of exported addresses, while the nodes send addresses to each other.
pub(crate) fn use_exports(bytes: &[u8]) {
    let pair = Pair::new();
    let mut held = pair.children(3);
    let mut draw = Draw(bytes);
    for _ in 0..STEPS_MAX {
        if draw.0.is_empty() {
            break;
        }
        match draw.byte() % 8 {
            0 => drop(held.pop()),
            1 => {
                let count = draw.number() % 4;
                let ask = pair.far.ask(|reply| Msg::Keeps(count, reply));
                pair.run();
                // The attacker may have stopped the counter, or taken the answer's place.
                held.extend(ready(ask).and_then(Result::ok).into_iter().flatten());
            }
            2 => keep(&pair.far, held.last().unwrap_or(&pair.counter)),
            3 => keep(held.first().unwrap_or(&pair.far), &pair.counter),
            4 => pair.pass(1),
            _ => forge_entry(&pair, &mut draw),
        }
        pair.run();
    }
    held.clear();
    check(&pair, false);
    // What a lost node holds is released.
    pair.spy.cut(&["server", "client"]);
    pair.pass(30);
    for node in [&pair.server, &pair.client] {
        let sample = node.sample();
        assert_eq!(sample.exported, 0, "{sample:?}");
    }
}

/// Sends an address in a message to an actor that may have stopped.
fn keep(receiver: &Address<Msg>, address: &Address<Msg>) {
    let _ = receiver.send(Msg::Keep(address.clone()));
}

/// Sends the server one entry about an exported address, with the next frame number or a later one.
fn forge_entry(pair: &Pair, draw: &mut Draw<'_>) {
    let frames = pair.spy.frames("server");
    let last = frames.iter().map(|frame| number_of(frame)).max();
    let mut entry = Vec::new();
    let kind = draw.byte() % 6;
    match kind {
        0 => {
            entry.extend([1, 1]);
            put_slot(draw, &mut entry);
            entry.extend(draw.number().to_le_bytes());
            put_body(draw, &mut entry);
        }
        1 => {
            entry.push(2);
            put_number(draw.number(), &mut entry);
            put_body(draw, &mut entry);
        }
        _ => {
            // An order: watch, stop, release or full.
            let order = [1, 3, 4, 6][usize::from(kind - 2)];
            entry.push(4);
            put_number(draw.number(), &mut entry);
            entry.push(order);
            if order == 1 {
                put_number(draw.number(), &mut entry);
            }
            if order != 4 {
                entry.push(1);
            }
            put_slot(draw, &mut entry);
            match order {
                4 => put_number(draw.number(), &mut entry),
                6 => entry.push(draw.byte()),
                _ => {}
            }
        }
    }
    let number = last.unwrap_or(0).saturating_add(1 + draw.number() % 3);
    let forged = pair.forge("server", number).entries(1, &entry);
    pair.inject(forged.sign());
}

fn number_of(frame: &[u8]) -> u64 {
    let number = &frame[NUMBER..NUMBER + 8];
    u64::from_le_bytes(number.try_into().unwrap())
}

fn put_slot(draw: &mut Draw<'_>, to: &mut Vec<u8>) {
    put_number(draw.number(), to);
    put_number(draw.number(), to);
}

/// Appends a body with replies, addresses of both nodes, and content.
fn put_body(draw: &mut Draw<'_>, to: &mut Vec<u8>) {
    let replies = draw.number();
    put_number(replies, to);
    if replies > 0 {
        put_number(draw.number(), to);
    }
    let refs = draw.byte() % 4;
    put_number(refs.into(), to);
    for _ in 0..refs {
        to.push(draw.byte() % 2);
        put_slot(draw, to);
    }
    let content = draw.bytes();
    put_number(content.len() as u64, to);
    to.extend_from_slice(content);
}

/// Checks that the nodes have withstood an attack. `is_later` is true if the attacker has pretended
/// to be another incarnation or session of a node.
fn check(pair: &Pair, is_later: bool) {
    pair.pass(4);
    pair.check_links();
    // An attacker can stop the counter, like every other node.
    if !is_later && !pair.counter.is_stopped() {
        pair.check();
    }
    assert!(pair.spy.count() < FRAMES_MAX, "frames without end");
}
