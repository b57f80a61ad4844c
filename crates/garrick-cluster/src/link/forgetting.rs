//! Links that forget a node that does not come back.
//!
//! After such a link has ended, this node knows nothing of its earlier sessions with the other
//! node. If the other node still runs, it may try to continue an earlier session. `src/README.md`
//! describes how both nodes notice such an attempt.

use std::time::Duration;

use garrick_actor::Context;
use garrick_sched::{Nanos, nanos};

use super::Link;
use super::sending::About;
use crate::frame::Head;
use crate::line::Line as _;
use crate::message::LinkMsg;

/// Time for which a link is kept while the other node is not connected, and no data waits for that
/// node. After this time, the link ends.
const FORGETS_AFTER: Duration = Duration::from_secs(60);

/// Maximum number of links for which the time limit [`FORGETS_AFTER`] applies. If a node has more
/// links, the shorter time limit [`FORGETS_SOON`] applies.
const LINKS_MAX: usize = 1_024;
const FORGETS_SOON: Duration = Duration::from_secs(5);

impl Link {
    /// Returns the time without a connection after which the link forgets the other node.
    fn forgets_after(&self) -> Duration {
        match self.peers.len() > LINKS_MAX {
            true => FORGETS_SOON,
            false => FORGETS_AFTER,
        }
    }

    /// Schedules the end of this link if the other node is not connected, and no data waits for
    /// that node.
    pub(super) fn rest(&mut self, cx: &Context<'_, LinkMsg>) {
        if self.is_busy() {
            self.rests_since = None;
            return;
        }
        if self.rests_since.is_none() {
            self.rests_since = Some(cx.now());
            self.forget_later(self.forgets_after(), cx);
        }
    }

    fn forget_later(&mut self, after: Duration, cx: &Context<'_, LinkMsg>) {
        if !self.forgets {
            let me = cx.address();
            self.forgets = cx.send_after(after, &me, LinkMsg::Forget).is_ok();
        }
    }

    /// Ends this link if the other node has been disconnected for long enough, and nothing has
    /// waited for that node during this time.
    pub(super) fn forget_if_silent(&mut self, cx: &Context<'_, LinkMsg>) {
        self.forgets = false;
        let Some(since) = self.rests_since else {
            return;
        };
        let rested: Nanos = cx.now().saturating_sub(since);
        let left = nanos(self.forgets_after()).saturating_sub(rested);
        if left > 0 {
            self.forget_later(Duration::from_nanos(left), cx);
        } else if self.session.waits() {
            // A message is on its way to this link.
            self.forget_later(self.base.bounds.beat, cx);
        } else {
            self.close();
        }
    }

    /// Returns true if a frame belongs to a session that the other node began before this link
    /// existed.
    pub(super) fn is_of_forgotten_link(&self, head: &Head) -> bool {
        let has_seen = head.seen != 0 && head.seen < self.first_session;
        // A frame that tells nothing of this node's sessions. In a session that begins now, such a
        // frame comes before those with entries.
        let is_first = self.receiving.session() == 0 && self.receiving.dead() == 0;
        has_seen || is_first && head.seen == 0 && head.number > 0
    }

    /// Refuses a session that the other node began before this link existed.
    pub(super) fn refuse_session(&mut self, head: &Head, cx: &mut Context<'_, LinkMsg>) {
        self.base.counts.add_dropped();
        if head.session == self.receiving.session() {
            self.lose(cx);
        }
        self.last_life = self.last_life.max(head.node);
        self.receiving.refuse(head.session);
        let about = About {
            peer_life: head.node,
            session: self.session.number(),
            dead: self.receiving.dead(),
            ..About::default()
        };
        self.sending.send_bare(&self.base, &self.peer, about);
    }

    /// Returns true if a frame shows that the other node has forgotten this node. Such a frame
    /// begins another session of the other node, although the other node had received frames of
    /// this node's current session. The frame has no entries, because it is the first one of a new
    /// link.
    pub(super) fn is_forgotten_by(&self, head: &Head) -> bool {
        self.is_seen
            && head.entries == 0
            && head.seen != self.session.number()
            && head.session > self.receiving.session()
    }
}
