//! The content of a file, as programs see it and as it survives a crash.

use std::collections::BTreeMap;
use std::mem;

use crate::search::Rng;

/// Size of a block in bytes. A disk writes a block as a whole, but writes the blocks of a file in
/// any order.
const BLOCK_BYTES: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Content {
    /// Bytes that programs read.
    seen: Vec<u8>,
    /// Bytes that are certainly on the disk.
    durable: Vec<u8>,
    /// The changes since the last sync, oldest first. Contains no change that a failed sync has
    /// dropped.
    pending: Vec<Change>,
}

/// A change of a file that is not synced, so that a crash or a failed sync can undo it.
#[derive(Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Length(usize),
}

/// The ways in which a crash damages changes that were not synced.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Damage {
    /// True if the lost part of a write can be replaced by other bytes in the file.
    pub(super) tears: bool,
    /// True if a change can survive although an earlier change is lost.
    pub(super) reorders: bool,
    /// True if all changes that were not synced are lost.
    pub(super) loses_all: bool,
}

/// The bytes that a crash or a failed sync has lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Loss {
    /// Number of written bytes that are lost. A lost change of the file length counts as one byte.
    pub(super) bytes: usize,
    /// True if some of the lost bytes were replaced by other bytes.
    pub(super) is_torn: bool,
}

/// The changes that reach the disk.
enum Survivors {
    /// The first changes survive, up to this number of bytes.
    First(usize),
    /// Each change is kept or lost at random.
    Any,
}

impl Content {
    /// Returns the bytes that programs read.
    pub(super) fn seen(&self) -> &[u8] {
        &self.seen
    }

    /// Returns the bytes that are certainly on the disk.
    pub(super) fn durable(&self) -> &[u8] {
        &self.durable
    }

    /// Writes bytes. A crash before the next sync may lose them.
    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            let bytes = bytes.to_vec();
            self.change(Change::Write { at, bytes });
        }
    }

    /// Changes the length of the file. A crash before the next sync may undo the change.
    pub(super) fn set_length(&mut self, length: usize) {
        if length != self.seen.len() {
            self.change(Change::Length(length));
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.pending.push(change);
    }

    /// Makes all changes durable, except for those that a failed sync has dropped.
    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Makes a random part of the pending changes durable, and drops the other changes. The part is
    /// a prefix, or contains any of the changed blocks. Programs still see the dropped changes, but
    /// no later sync makes them durable.
    pub(super) fn fail_sync(&mut self, rng: &mut Rng) -> Loss {
        match rng.below(4) {
            0 => self.settle_blocks(rng),
            _ => self.settle(rng, Damage::default()),
        }
    }

    /// Decides at random for each block of the file whether the pending changes of the block
    /// survive, and makes them durable. Also decides for each change of the length whether it
    /// survives. Returns what was lost.
    fn settle_blocks(&mut self, rng: &mut Rng) -> Loss {
        let (mut blocks, mut loss) = (BTreeMap::new(), Loss::default());
        for change in mem::take(&mut self.pending) {
            let Change::Write { at, bytes } = &change else {
                if rng.below(2) == 0 {
                    change.apply(&mut self.durable);
                } else {
                    loss.bytes += change.weight();
                }
                continue;
            };
            let (mut at, mut left) = (*at, &bytes[..]);
            while !left.is_empty() {
                let length = left.len().min(BLOCK_BYTES - at % BLOCK_BYTES);
                let (part, rest) = left.split_at(length);
                let survives = blocks.entry(at / BLOCK_BYTES);
                if *survives.or_insert_with(|| rng.below(2) == 0) {
                    put(&mut self.durable, at, part);
                } else {
                    loss.bytes += length;
                }
                (at, left) = (at + length, rest);
            }
        }
        loss
    }

    /// Loses a random part of the pending changes. Afterwards, programs see only the bytes that are
    /// on the disk.
    pub(super) fn crash(&mut self, rng: &mut Rng, damage: Damage) -> Loss {
        let loss = self.settle(rng, damage);
        self.seen.clone_from(&self.durable);
        loss
    }

    /// Decides at random which pending changes survive, and makes them durable. Returns what was
    /// lost.
    fn settle(&mut self, rng: &mut Rng, damage: Damage) -> Loss {
        let total = self.pending.iter().map(Change::weight).sum();
        let mut survivors = Survivors::draw(rng, total, damage);
        let mut loss = Loss::default();
        for change in mem::take(&mut self.pending) {
            let weight = change.weight();
            let kept = survivors.take(rng, weight);
            if kept == weight {
                change.apply(&mut self.durable);
                continue;
            }
            let is_first = loss.bytes == 0;
            loss.bytes += weight - kept;
            let torn = damage.tears && is_first;
            loss.is_torn |= change.apply_part(&mut self.durable, kept, torn.then_some(&mut *rng));
        }
        loss
    }
}

impl Survivors {
    /// Decides at random whether none, all or a part of the changes survive. The three cases have
    /// equal probabilities, unless `damage` says that all changes are lost.
    fn draw(rng: &mut Rng, total: usize, damage: Damage) -> Self {
        match rng.below(3) {
            _ if damage.loses_all => Self::First(0),
            0 => Self::First(0),
            1 => Self::First(total),
            _ if damage.reorders => Self::Any,
            _ => Self::First(rng.below(total + 1)),
        }
    }

    /// Returns how many bytes of the next change survive. The change has `weight` bytes.
    fn take(&mut self, rng: &mut Rng, weight: usize) -> usize {
        match self {
            Self::First(left) => {
                let kept = weight.min(*left);
                *left -= kept;
                kept
            }
            Self::Any => weight * rng.below(2),
        }
    }
}

impl Change {
    /// Returns the number of bytes written, or 1 for a change of the length.
    fn weight(&self) -> usize {
        match self {
            Self::Write { bytes, .. } => bytes.len(),
            Self::Length(_) => 1,
        }
    }

    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => put(content, *at, bytes),
            Self::Length(length) => content.resize(*length, 0),
        }
    }

    /// Applies the first `kept` bytes of a change. If `torn` is a generator, the rest may be
    /// replaced by zeros or random bytes. Returns true if the rest was replaced.
    fn apply_part(&self, content: &mut Vec<u8>, kept: usize, torn: Option<&mut Rng>) -> bool {
        let Self::Write { at, bytes } = self else {
            return false;
        };
        let mut part = bytes[..kept].to_vec();
        let is_torn = torn.is_some_and(|rng| {
            let fill = rng.below(3);
            let lost = bytes.len() - kept;
            match fill {
                0 => {}
                1 => part.resize(bytes.len(), 0),
                _ => part.extend((0..lost).map(|_| rng.number() as u8)),
            }
            fill > 0
        });
        if !part.is_empty() {
            put(content, *at, &part);
        }
        is_torn
    }
}

/// Writes bytes at a position. If the position is after the end of the content, fills the gap with
/// zeros.
fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}
