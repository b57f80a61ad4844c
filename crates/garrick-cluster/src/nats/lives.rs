//! A table of the known nodes and their incarnations. The table may be out of date: the valid
//! incarnation is the one in the node's record, and the links detect frames to an earlier
//! incarnation.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use async_nats::Subject;
use hashbrown::{HashMap, HashSet};

use super::names::{node_of, subject};
use crate::name::NodeName;

/// Maximum number of nodes that are known only from their frames.
const HINTS_MAX: usize = 1_024;

/// Maximum number of ended incarnations that are remembered. If there are more, the oldest one is
/// forgotten. A late frame of a forgotten incarnation makes its node known again from this frame.
const ENDED_MAX: usize = 1_024;

/// A table of the nodes of a cluster.
pub(super) struct Lives {
    cluster: String,
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    nodes: HashMap<Arc<str>, Life>,
    /// Number of nodes that are known only from their frames.
    hints: usize,
}

struct Life {
    number: u64,
    /// Subject of this incarnation, or `None` if the incarnation has ended. Late frames of an ended
    /// incarnation change nothing.
    subject: Option<Subject>,
    /// True if the incarnation was read from the node's record, and not only from a frame.
    is_sure: bool,
}

impl Known {
    /// Forgets the oldest ended incarnation if there are more than [`ENDED_MAX`]. The cost grows
    /// with the number of known nodes, but nodes leave rarely.
    fn forget_ended(&mut self) {
        let nodes = self.nodes.iter();
        let ended = nodes.filter(|(_, life)| life.subject.is_none());
        let ended: Vec<_> = ended.map(|(node, life)| (life.number, node)).collect();
        if ended.len() > ENDED_MAX
            && let Some((_, oldest)) = ended.into_iter().min()
        {
            let oldest = Arc::clone(oldest);
            self.nodes.remove(&oldest);
        }
    }
}

impl Lives {
    pub(super) fn new(cluster: &str) -> Arc<Self> {
        Arc::new(Self {
            cluster: cluster.to_owned(),
            known: RwLock::default(),
        })
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Known> {
        // No foreign code is called while it is locked.
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the subject of a node.
    pub(super) fn subject(&self, node: &NodeName) -> Option<Subject> {
        let known = self.read();
        known.nodes.get(node.as_str())?.subject.clone()
    }

    /// Returns the number of nodes whose subject is known.
    pub(super) fn len(&self) -> usize {
        let known = self.read();
        let lives = known.nodes.values();
        lives.filter(|life| life.subject.is_some()).count()
    }

    /// Sets the incarnation that the record of a node contains. Replaces an incarnation that was
    /// learned from frames.
    pub(super) fn set(&self, node: &NodeName, number: u64) {
        let is_known =
            |life: &Life| life.is_sure && life.number == number && life.subject.is_some();
        if (self.read().nodes.get(node.as_str())).is_some_and(is_known) {
            return;
        }
        let life = Life {
            number,
            subject: Some(subject(&self.cluster, node.as_str(), number)),
            is_sure: true,
        };
        let mut known = self.write();
        let before = known.nodes.insert(node.shared(), life);
        known.hints -= usize::from(before.is_some_and(|before| !before.is_sure));
    }

    /// Records that the record of a node was deleted.
    pub(super) fn remove(&self, node: &NodeName) {
        self.end(node.as_str());
    }

    /// Ends the incarnation of each known node that has no record any more. `nodes` contains the
    /// nodes that have a record. The other records were deleted, even if the deletions were not
    /// reported.
    pub(super) fn keep(&self, nodes: &HashSet<String>) {
        let is_gone = |node: &Arc<str>, life: &Life| {
            life.is_sure && life.subject.is_some() && !nodes.contains(&**node)
        };
        let gone: Vec<_> = {
            let known = self.read();
            let gone = known
                .nodes
                .iter()
                .filter(|(node, life)| is_gone(node, life));
            gone.map(|(node, _)| Arc::clone(node)).collect()
        };
        gone.iter().for_each(|node| self.end(node));
    }

    /// Ends the incarnation of a node.
    fn end(&self, node: &str) {
        let mut known = self.write();
        let Some(life) = known.nodes.get_mut(node) else {
            return;
        };
        let was_hint = !life.is_sure;
        (life.subject, life.is_sure) = (None, true);
        known.hints -= usize::from(was_hint);
        known.forget_ended();
    }

    /// Adds the node that has sent a frame. The reply subject `own` of the frame contains the name
    /// and the incarnation of the node. The frame may arrive before the record of the node. A wrong
    /// subject is replaced when the record is renewed.
    pub(super) fn learn(&self, own: &str) {
        let Some((node, number)) = node_of(&self.cluster, own) else {
            return;
        };
        let is_known = |life: &Life| life.number >= number;
        if self.read().nodes.get(node).is_some_and(is_known) {
            return;
        }
        let mut known = self.write();
        let was_hint = known.nodes.get(node).is_some_and(|life| !life.is_sure);
        if !was_hint && known.hints >= HINTS_MAX {
            return;
        }
        known.hints += usize::from(!was_hint);
        let life = Life {
            number,
            subject: Some(own.into()),
            is_sure: false,
        };
        known.nodes.insert(node.into(), life);
    }
}

impl fmt::Debug for Lives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lives({} nodes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{ENDED_MAX, HINTS_MAX, Lives};
    use crate::name::NodeName;

    fn subject(lives: &Lives, node: &str) -> Option<String> {
        let subject = lives.subject(&NodeName::new(node).unwrap())?;
        Some(subject.to_string())
    }

    #[test]
    fn the_record_of_a_node_counts_more_than_its_frames() {
        let (lives, node) = (Lives::new("c"), NodeName::new("a").unwrap());
        lives.learn("g.c.n.a.5");
        assert_eq!(subject(&lives, "a").unwrap(), "g.c.n.a.5");
        lives.learn("g.c.n.a.4");
        lives.learn("g.d.n.a.6");
        assert_eq!(subject(&lives, "a").unwrap(), "g.c.n.a.5");
        lives.set(&node, 3);
        assert_eq!(subject(&lives, "a").unwrap(), "g.c.n.a.3");
        // A later life whose record is not known yet.
        lives.learn("g.c.n.a.9");
        assert_eq!(subject(&lives, "a").unwrap(), "g.c.n.a.9");
        lives.set(&node, 3);
        assert_eq!(subject(&lives, "a").unwrap(), "g.c.n.a.3");
        lives.remove(&node);
        assert_eq!((subject(&lives, "a"), lives.len()), (None, 0));
        // The last frame of a life may come after the news of its end.
        lives.learn("g.c.n.a.3");
        assert_eq!(subject(&lives, "a"), None);
        lives.learn("g.c.n.a.4");
        assert_eq!(subject(&lives, "a").unwrap(), "g.c.n.a.4");
    }

    #[test]
    fn nodes_without_records_have_ended_even_if_nobody_has_reported_it() {
        let lives = Lives::new("c");
        for node in ["a", "b", "d"] {
            lives.set(&NodeName::new(node).unwrap(), 3);
        }
        lives.learn("g.c.n.hint.4");
        lives.keep(&["a".to_owned(), "d".to_owned()].into_iter().collect());
        let known = ["a", "b", "d", "hint"].map(|node| subject(&lives, node).is_some());
        assert_eq!(known, [true, false, true, true]);
        lives.learn("g.c.n.b.3");
        assert_eq!(subject(&lives, "b"), None);
    }

    #[test]
    fn nodes_that_have_left_are_forgotten() {
        let lives = Lives::new("c");
        lives.set(&NodeName::new("stays").unwrap(), 1);
        for number in 2..=3_000 {
            let node = NodeName::new(&format!("x{number}")).unwrap();
            lives.set(&node, number);
            lives.remove(&node);
        }
        assert_eq!(lives.read().nodes.len(), ENDED_MAX + 1);
        assert_eq!(lives.len(), 1);
        // A late frame of a node that has left just now.
        lives.learn("g.c.n.x3000.3000");
        assert_eq!(subject(&lives, "x3000"), None);
        lives.learn("g.c.n.x3000.3001");
        assert!(subject(&lives, "x3000").is_some());
    }

    #[test]
    fn invented_nodes_are_bounded() {
        let lives = Lives::new("c");
        for number in 0..2 * HINTS_MAX {
            lives.learn(&format!("g.c.n.x{number}.1"));
        }
        assert_eq!(lives.len(), HINTS_MAX);
        lives.set(&NodeName::new("x0").unwrap(), 2);
        lives.set(&NodeName::new("real").unwrap(), 2);
        lives.learn("g.c.n.another.1");
        assert_eq!(lives.len(), HINTS_MAX + 2);
        for number in 0..HINTS_MAX {
            lives.remove(&NodeName::new(&format!("x{number}")).unwrap());
        }
        lives.remove(&NodeName::new("another").unwrap());
        assert_eq!(lives.len(), 1);
    }
}
