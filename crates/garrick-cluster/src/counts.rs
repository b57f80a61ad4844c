//! Counters of a node.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::lock::lock;

/// Counters of a node since it joined its cluster. [`Node::sample`](crate::Node::sample) returns
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeSample {
    /// Number of frames that were passed to the transport.
    pub frames_sent: u64,
    /// Number of bytes in the frames that were passed to the transport.
    pub bytes_sent: u64,
    /// Number of handled frames from other nodes.
    pub frames_taken: u64,
    /// Number of bytes in handled frames from other nodes, without the sender's name in each frame.
    pub bytes_taken: u64,
    /// Number of incoming frames that were dropped, because they were damaged, came from another
    /// cluster, or arrived twice or too late.
    pub frames_dropped: u64,
    /// Number of sent frames that the receiving nodes have reported as lost.
    pub frames_lost: u64,
    /// Number of messages from other nodes that were delivered to their receivers.
    pub delivered: u64,
    /// Number of messages that could not be encoded, decoded or delivered.
    pub refused: u64,
    /// Reason why this node last refused a message.
    pub refusal: Option<Arc<str>>,
    /// Number of times that another node was lost.
    pub losses: u64,
    /// Number of links to other nodes. The link to a lost node ends after 60 seconds, or after 5
    /// seconds if there are more than 1,024 links.
    pub links: usize,
    /// Number of addresses that other nodes hold, and that lead to actors on this node.
    pub exported: usize,
    /// Number of addresses that this node holds, and that lead to actors on other nodes.
    pub imported: usize,
    /// Number of unanswered questions to other nodes.
    pub questions: u64,
    /// Number of questions to other nodes that were not answered within
    /// [`NodeOptions::answer_within`](crate::NodeOptions::answer_within).
    pub timed_out: u64,
    /// Number of answers that arrived from other nodes after their questions had ended. Such
    /// answers are dropped.
    pub late_answers: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    frames_sent: AtomicU64,
    bytes_sent: AtomicU64,
    frames_taken: AtomicU64,
    bytes_taken: AtomicU64,
    frames_dropped: AtomicU64,
    frames_lost: AtomicU64,
    delivered: AtomicU64,
    refused: AtomicU64,
    refusal: Mutex<Option<Arc<str>>>,
    losses: AtomicU64,
    asked: AtomicU64,
    answered: AtomicU64,
    timed_out: AtomicU64,
    late_answers: AtomicU64,
}

fn add(count: &AtomicU64, more: u64) {
    // Relaxed: the numbers order nothing.
    count.fetch_add(more, Relaxed);
}

impl Counts {
    pub(crate) fn add_sent(&self, bytes: usize) {
        add(&self.frames_sent, 1);
        add(&self.bytes_sent, bytes as u64);
    }

    pub(crate) fn add_taken(&self, bytes: usize) {
        add(&self.frames_taken, 1);
        add(&self.bytes_taken, bytes as u64);
    }

    pub(crate) fn add_dropped(&self) {
        add(&self.frames_dropped, 1);
    }

    pub(crate) fn add_lost(&self, frames: u64) {
        add(&self.frames_lost, frames);
    }

    pub(crate) fn add_delivered(&self, messages: u64) {
        add(&self.delivered, messages);
    }

    /// Counts a message that was refused.
    pub(crate) fn add_refused(&self, why: &str) {
        add(&self.refused, 1);
        *self.refusal() = Some(why.into());
    }

    fn refusal(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        lock(&self.refusal)
    }

    pub(crate) fn add_loss(&self) {
        add(&self.losses, 1);
    }

    pub(crate) fn add_asked(&self, questions: u64) {
        add(&self.asked, questions);
    }

    pub(crate) fn add_answered(&self, questions: u64) {
        add(&self.answered, questions);
    }

    pub(crate) fn add_timed_out(&self, questions: u64) {
        add(&self.timed_out, questions);
    }

    /// Counts an answer to a question that had ended.
    pub(crate) fn add_late(&self) {
        add(&self.late_answers, 1);
    }

    /// Returns the counters. The fields `links`, `exported` and `imported` are 0: the caller sets
    /// them.
    pub(crate) fn sample(&self) -> NodeSample {
        let get = |count: &AtomicU64| count.load(Relaxed);
        // First: an answer is counted after its question.
        let answered = get(&self.answered);
        NodeSample {
            frames_sent: get(&self.frames_sent),
            bytes_sent: get(&self.bytes_sent),
            frames_taken: get(&self.frames_taken),
            bytes_taken: get(&self.bytes_taken),
            frames_dropped: get(&self.frames_dropped),
            frames_lost: get(&self.frames_lost),
            delivered: get(&self.delivered),
            refused: get(&self.refused),
            refusal: self.refusal().clone(),
            losses: get(&self.losses),
            questions: get(&self.asked).saturating_sub(answered),
            timed_out: get(&self.timed_out),
            late_answers: get(&self.late_answers),
            ..NodeSample::default()
        }
    }
}
