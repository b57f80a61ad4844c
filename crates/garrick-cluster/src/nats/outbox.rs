//! A queue of frames that wait for the connection to NATS. The total size of the frames is limited.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use async_nats::Subject;
use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Maximum number of bytes that wait for the connection. Of these bytes, at most 4 MiB plus one
/// frame belong to one link.
const BYTES_MAX: usize = 64 << 20;

/// Number of bytes that are counted for each frame in addition to its content.
const FRAME_COST: usize = 128;

/// A frame, or a marker in the queue of frames.
pub(super) enum Parcel {
    Frame {
        to: Subject,
        content: Bytes,
    },
    /// A marker that contains a channel sender. The sender is dropped when all earlier frames were
    /// written.
    Mark(std::sync::mpsc::SyncSender<()>),
}

/// The sending end of the queue of frames that wait for the connection.
pub(super) struct Outbox {
    parcels: UnboundedSender<Parcel>,
    bytes: Arc<AtomicUsize>,
}

/// The receiving end of the queue of frames that wait for the connection.
pub(super) struct Parcels {
    parcels: UnboundedReceiver<Parcel>,
    bytes: Arc<AtomicUsize>,
}

/// Creates both ends of a queue of frames that wait for the connection.
pub(super) fn outbox() -> (Outbox, Parcels) {
    let (sender, receiver) = unbounded_channel();
    let bytes = Arc::new(AtomicUsize::new(0));
    let outbox = Outbox {
        parcels: sender,
        bytes: Arc::clone(&bytes),
    };
    let parcels = Parcels {
        parcels: receiver,
        bytes,
    };
    (outbox, parcels)
}

impl Outbox {
    /// Adds a frame. Returns false if too many bytes are waiting, or the receiving end was dropped.
    pub(super) fn push(&self, to: Subject, content: Bytes) -> bool {
        let cost = content.len() + FRAME_COST;
        // Relaxed: a bound that need not be exact. The channel publishes the frame.
        let before = self.bytes.fetch_add(cost, Relaxed);
        let is_sent =
            before + cost <= BYTES_MAX && self.parcels.send(Parcel::Frame { to, content }).is_ok();
        if !is_sent {
            self.bytes.fetch_sub(cost, Relaxed);
        }
        is_sent
    }

    /// Adds a marker. The returned receiver is disconnected when all earlier frames were written.
    pub(super) fn mark(&self) -> std::sync::mpsc::Receiver<()> {
        let (told, heard) = std::sync::mpsc::sync_channel(1);
        let _ = self.parcels.send(Parcel::Mark(told));
        heard
    }

    /// Returns the number of bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }
}

impl Parcels {
    /// Returns the next parcel (a frame or a marker). Returns `None` when the sending end was
    /// dropped and no parcel is left.
    pub(super) async fn next(&mut self) -> Option<Parcel> {
        self.parcels.recv().await
    }

    /// Records that a frame with `bytes` bytes is no longer waiting.
    pub(super) fn taken(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes + FRAME_COST, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{BYTES_MAX, FRAME_COST, Parcel, outbox};

    #[test]
    fn what_waits_has_a_bound() {
        let (outbox, mut parcels) = outbox();
        let push = |bytes: usize| outbox.push("to".into(), Bytes::from(vec![0; bytes]));
        let half = BYTES_MAX / 2 - FRAME_COST;
        assert!(push(half) && push(half));
        assert!(!push(1));
        assert_eq!(outbox.bytes(), BYTES_MAX);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let parcel = runtime.unwrap().block_on(parcels.next());
        assert!(matches!(parcel, Some(Parcel::Frame { content, .. }) if content.len() == half));
        parcels.taken(half);
        assert!(push(1));
        drop(parcels);
        let waiting = outbox.bytes();
        assert!(!push(1));
        assert_eq!(outbox.bytes(), waiting);
    }
}
