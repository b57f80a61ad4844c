//! Handling of the frames that arrive on a link.

use garrick_actor::Context;

use super::Link;
use super::receiving::{Receiving, Verdict};
use crate::frame::{Entries, HEAD_BYTES, Head, Order};
use crate::line::Line as _;
use crate::message::LinkMsg;

impl Link {
    /// Handles a frame from the other node.
    pub(super) fn take(&mut self, head: Head, entries: &[u8], cx: &mut Context<'_, LinkMsg>) {
        let known = self.life.max(self.last_life);
        if self.is_of_other_lives(&head, known) {
            return self.base.counts.add_dropped();
        }
        if self.life != 0 && head.node > self.life {
            // The other node has ended, and has started again.
            self.lose(cx);
        } else if head.dead >= self.session.number() || self.is_forgotten_by(&head) {
            // The other node has lost this one.
            self.lose(cx);
        }
        if head.node > known {
            self.receiving = Receiving::default();
        }
        if self.is_of_forgotten_link(&head) {
            return self.refuse_session(&head, cx);
        }
        let Some(lost) = self.look(&head) else {
            return self.base.counts.add_dropped();
        };
        if !self.may_confirm(&head) {
            // The session that is lost now belongs to this life.
            self.last_life = self.last_life.max(head.node);
            return self.distrust("it confirms what was not sent", cx);
        }
        if self.life == 0 {
            self.peer.traffic().connected();
        }
        (self.life, self.heard, self.rests_since) = (head.node, cx.now(), None);
        self.peer.hears(self.heard);
        self.sending.try_again();
        let bytes = HEAD_BYTES + entries.len();
        self.base.counts.add_taken(bytes);
        // With the name of the other node, which comes before the entries.
        let whole = bytes + self.peer.name().as_str().len();
        self.peer.traffic().taken(whole);
        if let Some((from, to)) = lost {
            self.peer.traffic().missed(to + 1 - from);
            self.order(Order::Lost { from, to });
            self.receiving.reported(self.sending.last_order(), from);
        }
        self.taken_orders = 0;
        let is_whole = self.handle_all(Entries::new(entries, head.entries), cx);
        let messages = head.entries.saturating_sub(self.taken_orders);
        self.peer.traffic().taken_messages(messages);
        if !is_whole {
            return;
        }
        self.end_delivery();
        self.confirm(&head);
        if std::mem::take(&mut self.repeats) {
            self.sending.repeat_orders(self.base.name.as_str());
        }
        if self.receiving.take(bytes) || head.peer == 0 || head.seen == 0 {
            // The other node greets, reports the loss of a session, or must know what was taken.
            self.send_bare();
        }
        if !self.beats {
            self.beat_later(cx);
        }
    }

    /// Checks the incarnations (lives) of both nodes in the head of a frame. Returns true if the
    /// frame must be dropped. `known` is the newest known incarnation of the other node. If the
    /// frame was sent to another incarnation of this node, also sends the other node a frame that
    /// contains the current incarnation of this node. This frame is not sent to incarnations before
    /// `known`.
    fn is_of_other_lives(&mut self, head: &Head, known: u64) -> bool {
        let is_to_another = head.peer != 0 && head.peer != self.base.life;
        let has_no_target = head.peer == 0 && head.entries > 0;
        if is_to_another && head.node > known {
            // This node knows at most an earlier life of the other node. A frame to that life would
            // be answered in the same way, again and again.
            self.greet();
        } else if is_to_another && head.node == known {
            // The other node does not know that this one has started again.
            self.send_bare();
        }
        is_to_another || has_no_target || head.node < known
    }

    /// Handles the entries of a frame. Returns false if an entry has ended the session.
    fn handle_all(&mut self, entries: Entries<'_>, cx: &mut Context<'_, LinkMsg>) -> bool {
        let session = self.session.number();
        for entry in entries {
            match entry {
                Ok(entry) => self.handle(entry, cx),
                Err(why) => self.distrust(why, cx),
            }
            if self.session.number() != session {
                return false;
            }
        }
        true
    }

    /// Ends the session because of a frame that no correct node sends.
    pub(super) fn distrust(&mut self, why: &str, cx: &mut Context<'_, LinkMsg>) {
        let why = format!("a frame from the node {}: {why}", self.peer.name());
        self.base.counts.add_refused(&why);
        self.lose(cx);
    }

    /// Examines the head of a frame. Returns `None` if the entries must not be handled. Otherwise
    /// returns the range of frames that were lost before this frame, if there are any.
    fn look(&mut self, head: &Head) -> Option<Option<(u64, u64)>> {
        let mut verdict = self.receiving.look(head);
        if verdict == Verdict::Reset {
            // The other node has begun another session, and has not taken a frame of this one.
            // Otherwise, `take` has ended this session.
            self.receiving.lose();
            verdict = self.receiving.look(head);
        }
        self.session.set_peer_session(self.receiving.session());
        match verdict {
            Verdict::Next(lost) => Some(lost),
            Verdict::Twice => {
                // Its confirmations hold.
                if self.may_confirm(head) {
                    self.confirm(head);
                }
                None
            }
            Verdict::Old | Verdict::Reset => None,
        }
    }

    /// Returns true if all frames and all orders (repeated requests and reports) that the head of a
    /// frame confirms were sent before.
    fn may_confirm(&self, head: &Head) -> bool {
        head.seen != self.session.number() || self.sending.may_confirm(head.taken, head.orders)
    }

    /// Removes the frames and orders (repeated requests and reports) that the head of a frame
    /// confirms.
    fn confirm(&mut self, head: &Head) {
        if head.seen == self.session.number() {
            self.is_seen = true;
            self.receiving.confirm(head.orders);
            self.sending.confirm(head.taken, head.orders);
        }
    }
}
