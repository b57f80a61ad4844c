//! Queues of frames that wait for the connection to NATS. Each destination has its own queue, and
//! the queues take turns. So a frame to one node does not wait behind all frames to another node.
//! The total size of the frames is limited.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use async_nats::Subject;
use bytes::Bytes;
use hashbrown::HashMap;
use tokio::sync::Notify;

use crate::lock::lock;

/// Maximum number of bytes that wait for the connection. Of these bytes, at most 4 MiB plus one
/// frame belong to one link.
const BYTES_MAX: usize = 64 << 20;

/// Number of bytes that are counted for each frame in addition to its content.
const FRAME_COST: usize = 128;

/// A frame, or a marker.
pub(super) enum Parcel {
    Frame {
        to: Subject,
        content: Bytes,
    },
    /// A marker that contains a channel sender. The sender is dropped when all earlier frames were
    /// written.
    Mark(std::sync::mpsc::SyncSender<()>),
}

/// The frames that wait.
#[derive(Default)]
struct Queues {
    /// For each destination: its frames, oldest first, each with its number. No queue is empty.
    frames: HashMap<Arc<str>, VecDeque<(u64, Bytes)>>,
    /// The destinations with frames, in the order of their turns.
    turns: VecDeque<(Arc<str>, Subject)>,
    /// For each marker: the number of frames that were added before it.
    marks: VecDeque<(u64, std::sync::mpsc::SyncSender<()>)>,
    /// Number of frames that were added so far.
    added: u64,
    bytes: usize,
    /// True if one of the two ends was dropped.
    is_closed: bool,
}

#[derive(Default)]
struct Shared {
    queues: Mutex<Queues>,
    /// Wakes the receiving end.
    changed: Notify,
}

/// The sending end of the queues of frames that wait for the connection.
pub(super) struct Outbox(Arc<Shared>);

/// The receiving end of the queues of frames that wait for the connection.
pub(super) struct Parcels(Arc<Shared>);

/// Creates both ends of the queues of frames that wait for the connection.
pub(super) fn outbox() -> (Outbox, Parcels) {
    let shared = Arc::<Shared>::default();
    (Outbox(Arc::clone(&shared)), Parcels(shared))
}

impl Shared {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        lock(&self.queues)
    }
}

impl Queues {
    /// Adds a frame. Returns false if too many bytes are waiting, or the receiving end was dropped.
    fn push(&mut self, to: Subject, content: Bytes) -> bool {
        let cost = content.len() + FRAME_COST;
        if self.is_closed || self.bytes + cost > BYTES_MAX {
            return false;
        }
        self.bytes += cost;
        let frame = (self.added, content);
        self.added += 1;
        if let Some(queue) = self.frames.get_mut(to.as_str()) {
            queue.push_back(frame);
        } else {
            let name: Arc<str> = to.as_str().into();
            self.turns.push_back((Arc::clone(&name), to));
            self.frames.insert(name, VecDeque::from([frame]));
        }
        true
    }

    /// Returns true if no frame waits that was added before the first marker.
    fn is_mark_next(&self) -> bool {
        let oldest = self.frames.values().filter_map(VecDeque::front);
        let oldest = oldest.map(|(number, _)| *number).min();
        let mark = self.marks.front();
        mark.is_some_and(|(before, _)| oldest.is_none_or(|oldest| oldest >= *before))
    }

    /// Removes and returns the next parcel.
    fn pop(&mut self) -> Option<Parcel> {
        if !self.marks.is_empty() && self.is_mark_next() {
            let (_, told) = self.marks.pop_front()?;
            return Some(Parcel::Mark(told));
        }
        let (name, to) = self.turns.pop_front()?;
        let queue = self.frames.get_mut(&name)?;
        let (_, content) = queue.pop_front()?;
        if queue.is_empty() {
            self.frames.remove(&name);
        } else {
            self.turns.push_back((name, to.clone()));
        }
        Some(Parcel::Frame { to, content })
    }
}

impl Outbox {
    /// Adds a frame. Returns false if too many bytes are waiting, or the receiving end was dropped.
    pub(super) fn push(&self, to: Subject, content: Bytes) -> bool {
        let is_added = self.0.queues().push(to, content);
        if is_added {
            self.0.changed.notify_one();
        }
        is_added
    }

    /// Adds a marker. The returned receiver is disconnected when all earlier frames were written.
    pub(super) fn mark(&self) -> std::sync::mpsc::Receiver<()> {
        let (told, heard) = std::sync::mpsc::sync_channel(1);
        {
            let mut queues = self.0.queues();
            if !queues.is_closed {
                let before = queues.added;
                queues.marks.push_back((before, told));
            }
        }
        self.0.changed.notify_one();
        heard
    }

    /// Returns the number of bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.0.queues().bytes
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.0.queues().is_closed = true;
        self.0.changed.notify_one();
    }
}

impl Parcels {
    /// Returns the next parcel (a frame or a marker). Returns `None` when the sending end was
    /// dropped and no parcel is left.
    pub(super) async fn next(&mut self) -> Option<Parcel> {
        loop {
            let is_closed = {
                let mut queues = self.0.queues();
                if let Some(parcel) = queues.pop() {
                    return Some(parcel);
                }
                queues.is_closed
            };
            if is_closed {
                return None;
            }
            // A notification from before this call is not lost.
            self.0.changed.notified().await;
        }
    }

    /// Records that a frame with `bytes` bytes is no longer waiting.
    pub(super) fn taken(&self, bytes: usize) {
        self.0.queues().bytes -= bytes + FRAME_COST;
    }
}

impl Drop for Parcels {
    fn drop(&mut self) {
        let left = {
            let mut queues = self.0.queues();
            queues.is_closed = true;
            queues.turns.clear();
            (
                std::mem::take(&mut queues.frames),
                std::mem::take(&mut queues.marks),
            )
        };
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use std::sync::mpsc::TryRecvError;

    use super::{BYTES_MAX, FRAME_COST, Parcel, Parcels, outbox};

    fn next(parcels: &mut Parcels) -> Option<Parcel> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(parcels.next())
    }

    /// Returns the destination and the first byte of the next frame. Returns `None` for a marker.
    fn next_frame(parcels: &mut Parcels) -> Option<(String, u8)> {
        match next(parcels) {
            Some(Parcel::Frame { to, content }) => Some((to.to_string(), content[0])),
            Some(Parcel::Mark(_)) => None,
            None => panic!("no parcel is left"),
        }
    }

    #[test]
    fn what_waits_has_a_bound() {
        let (outbox, mut parcels) = outbox();
        let push = |bytes: usize| outbox.push("to".into(), Bytes::from(vec![0; bytes]));
        let half = BYTES_MAX / 2 - FRAME_COST;
        assert!(push(half) && push(half));
        assert!(!push(1));
        assert!(!outbox.push("another".into(), Bytes::from_static(b"x")));
        assert_eq!(outbox.bytes(), BYTES_MAX);
        let parcel = next(&mut parcels);
        assert!(matches!(parcel, Some(Parcel::Frame { content, .. }) if content.len() == half));
        parcels.taken(half);
        assert!(push(1));
        drop(parcels);
        let waiting = outbox.bytes();
        assert!(!push(1));
        assert_eq!(outbox.bytes(), waiting);
    }

    #[test]
    fn destinations_take_turns_and_each_keeps_its_order() {
        let (outbox, mut parcels) = outbox();
        let push = |to: &'static str, number: u8| {
            assert!(outbox.push(to.into(), Bytes::from(vec![number])));
        };
        (0..4).for_each(|number| push("busy", number));
        push("quiet", 10);
        push("other", 20);
        let mut frame = || next_frame(&mut parcels).unwrap();
        assert_eq!(frame(), ("busy".into(), 0));
        assert_eq!(frame(), ("quiet".into(), 10));
        push("quiet", 11);
        let rest: Vec<_> = (0..5).map(|_| frame()).collect();
        let rest: Vec<_> = (rest.iter().map(|(to, number)| (to.as_str(), *number))).collect();
        let expected = [
            ("other", 20),
            ("busy", 1),
            ("quiet", 11),
            ("busy", 2),
            ("busy", 3),
        ];
        assert_eq!(rest, expected);
        // Nothing is kept for the destinations.
        assert!(parcels.0.queues().frames.is_empty() && parcels.0.queues().turns.is_empty());
        drop(outbox);
        assert!(next(&mut parcels).is_none());
    }

    #[test]
    fn a_marker_comes_after_all_earlier_frames() {
        let (outbox, mut parcels) = outbox();
        let push = |to: &'static str, number: u8| {
            assert!(outbox.push(to.into(), Bytes::from(vec![number])));
        };
        (0..3).for_each(|number| push("busy", number));
        push("quiet", 10);
        let marked = outbox.mark();
        push("quiet", 11);
        push("late", 20);
        let mut before = Vec::new();
        while let Some((_, number)) = next_frame(&mut parcels) {
            assert_eq!(marked.try_recv(), Err(TryRecvError::Empty));
            before.push(number);
        }
        assert_eq!(marked.try_recv(), Err(TryRecvError::Disconnected));
        assert!([0, 1, 2, 10].iter().all(|number| before.contains(number)));
        // Frames that were added before the end are still sent.
        let marked = outbox.mark();
        drop(outbox);
        while next(&mut parcels).is_some() {}
        assert_eq!(marked.try_recv(), Err(TryRecvError::Disconnected));
    }
}
