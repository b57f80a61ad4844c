//! A network for tests, which can record, lose, refuse and delay frames.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use garrick_actor::Address;
use garrick_cluster::{Incoming, JoinError, LocalNet, NodeName, Transport};

/// Number of frames after which the network stops, so that an endless exchange of frames ends.
pub(crate) const FRAMES_MAX: usize = 5_000;

/// A frame, and the node to which it was sent.
type Seen = (NodeName, Incoming);

/// A network that keeps copies of all frames.
#[derive(Clone, Default)]
pub(crate) struct Spy {
    net: LocalNet,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Names of the nodes to which all frames are lost. The senders do not notice the loss.
    cut: Arc<Mutex<Vec<&'static str>>>,
    /// Minimum size in bytes of the frames that the network refuses.
    refuses: Arc<Mutex<Option<usize>>>,
    /// Maximum size of a frame in bytes. `None` if there is no maximum.
    max_frame: Arc<Mutex<Option<usize>>>,
    /// Number of frames that were refused.
    refused: Arc<AtomicUsize>,
    /// Delayed frames. `None` if frames are not delayed.
    late: Arc<Mutex<Option<Vec<Seen>>>>,
}

impl Spy {
    /// Loses all frames to these nodes from now on, and only these frames.
    pub(crate) fn cut(&self, nodes: &[&'static str]) {
        *self.cut.lock().unwrap() = nodes.to_vec();
    }

    /// Refuses frames of at least `from` bytes from now on, and only these frames.
    pub(crate) fn refuse(&self, from: Option<usize>) {
        *self.refuses.lock().unwrap() = from;
    }

    /// Sets the maximum size of a frame. Larger frames are refused.
    pub(crate) fn limit(&self, max_frame: usize) {
        *self.max_frame.lock().unwrap() = Some(max_frame);
    }

    /// Returns the number of frames that were refused.
    pub(crate) fn refused(&self) -> usize {
        self.refused.load(Relaxed)
    }

    /// Holds all frames until [`Spy::hasten`].
    pub(crate) fn delay(&self) {
        *self.late.lock().unwrap() = Some(Vec::new());
    }

    /// Delivers the frames that were held, and holds no more frames.
    pub(crate) fn hasten(&self) {
        let late = self.late.lock().unwrap().take();
        for (to, frame) in late.into_iter().flatten() {
            self.send(&to, frame);
        }
    }

    /// Delivers a frame that no node has sent.
    pub(crate) fn inject(&self, to: &str, frame: Vec<u8>) {
        let to = NodeName::new(to).unwrap();
        self.net.send(&to, Incoming::new(frame));
    }

    /// Returns the frames that were delivered to a node.
    pub(crate) fn frames(&self, to: &str) -> Vec<Vec<u8>> {
        let seen = self.seen.lock().unwrap();
        let frames = seen.iter().filter(|(name, _)| name.as_str() == to);
        frames.map(|(_, frame)| frame.content().to_vec()).collect()
    }

    /// Returns the number of frames that were delivered.
    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Transport for Spy {
    fn join(
        &self,
        cluster: &str,
        name: &NodeName,
        incoming: Address<Incoming>,
    ) -> Result<u64, JoinError> {
        self.net.join(cluster, name, incoming)
    }

    fn leave(&self, name: &NodeName, life: u64) {
        self.net.leave(name, life);
    }

    fn max_frame(&self) -> usize {
        self.max_frame.lock().unwrap().unwrap_or(usize::MAX)
    }

    fn send(&self, to: &NodeName, frame: Incoming) -> bool {
        let refuses = *self.refuses.lock().unwrap();
        let is_refused = refuses.is_some_and(|from| frame.bytes() >= from);
        if is_refused || frame.bytes() > self.max_frame() {
            self.refused.fetch_add(1, Relaxed);
            return false;
        }
        if self.cut.lock().unwrap().contains(&to.as_str()) {
            return true;
        }
        if let Some(late) = &mut *self.late.lock().unwrap() {
            late.push((to.clone(), frame));
            return true;
        }
        {
            let mut seen = self.seen.lock().unwrap();
            if seen.len() >= FRAMES_MAX {
                return false;
            }
            seen.push((to.clone(), frame.clone()));
        }
        self.net.send(to, frame)
    }
}
