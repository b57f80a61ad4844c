//! Decoding of frames for fuzzers, without nodes. Not part of a usual build.

use crate::frame::{Body, Entries, Entry, Head};

/// Identity of the cluster that all fuzzed frames contain.
const CLUSTER: u64 = 1;

/// Decodes the bytes as a frame, after correcting the checksum. Also decodes the bytes as the
/// entries of a frame, with two different numbers of entries.
///
/// # Panics
/// Panics if the decoder finds more entries than bytes, or a body with more addresses than bytes.
/// Also panics if the sender's name and the entries are together not shorter than the frame. A
/// correct decoder never causes such a panic.
pub fn decode(bytes: &[u8]) {
    let mut frame = bytes.to_vec();
    Head::forge(CLUSTER, &mut frame);
    if let Ok((head, name, entries)) = Head::read(&frame, CLUSTER) {
        assert!(name.as_str().len() + entries.len() < frame.len());
        read(entries, head.entries);
    }
    read(bytes, u32::MAX);
    read(bytes, bytes.len() as u32 / 8);
}

fn read(bytes: &[u8], count: u32) {
    let mut read = 0;
    for entry in Entries::new(bytes, count) {
        read += 1;
        match entry {
            Ok(Entry::Tell(message)) => check(message.body),
            Ok(Entry::Answer(answer)) => check(answer.body),
            _ => {}
        }
    }
    assert!(read <= bytes.len() + 1);
}

fn check(body: Body<'_>) {
    let found = body.refs().count();
    assert!(found <= body.content.len());
}
