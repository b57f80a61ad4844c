//! Ending of questions, of sessions, and of a link.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use garrick_actor::{Context, Ended, NoReply};
use garrick_sched::Nanos;

use super::Link;
use crate::frame::put_leave;
use crate::line::{Contents, Exported, Item, Line as _};
use crate::message::LinkMsg;
use crate::peer::Peer;
use crate::session::{LinkCell, Session};
use crate::traffic::LinkState;

impl Link {
    /// Ends the questions that have waited too long for an answer.
    pub(super) fn end_late_questions(&mut self, now: Nanos) {
        let late = self.questions.take_late(now, self.base.bounds.answer);
        self.base.counts.add_answered(late.len() as u64);
        self.base.counts.add_timed_out(late.len() as u64);
        for question in late {
            question.refuse(NoReply::TimedOut);
        }
    }

    /// Ends the session, because one of the two nodes has lost the other.
    pub(super) fn lose(&mut self, cx: &mut Context<'_, LinkMsg>) {
        let released = self.strike();
        let next = Self::session(&self.base, &self.peer);
        self.peer.set_session(Some(Arc::clone(&next)));
        self.receiving.lose();
        (self.life, self.last_life) = (0, self.life.max(self.last_life));
        (self.has_greeted, self.heard) = (true, cx.now());
        self.rest = LinkState::Down;
        self.base.counts.add_loss();
        self.end(next, released);
        // The other node learns of it, if it is there.
        self.send_bare();
        self.flush(cx);
    }

    /// Takes away the addresses that the other node holds. Returns those that no node holds any
    /// longer. Called before another session can begin, because the addresses that are sent in that
    /// session must not be taken away.
    fn strike(&self) -> Vec<Arc<dyn Exported>> {
        self.session.end();
        self.base.exports().strike(self.peer.name())
    }

    /// Ends the current session, and begins the session `next`. Notifies all askers and watchers of
    /// the old session. `released` is the result of `strike`.
    fn end(&mut self, next: Arc<Session>, released: Vec<Arc<dyn Exported>>) {
        self.end_delivery();
        self.is_seen = false;
        let over = std::mem::replace(&mut self.session, next);
        let sending = std::mem::take(&mut self.sending);
        over.sent(sending.waiting());
        let (unsent, unconfirmed) = sending.open_messages();
        self.peer.traffic().lost(0, unsent);
        self.peer.traffic().unconfirmed(unconfirmed);
        let held = std::mem::take(&mut self.holding);
        self.backlog.clear();
        let questions = self.questions.take_all();
        let watches = self.watches.take_all();
        self.watched.cancel_all();
        self.base.counts.add_answered(questions.len() as u64);
        // From here on, foreign code runs.
        let _ = catch_unwind(AssertUnwindSafe(|| drop((released, held))));
        for question in questions {
            question.refuse(NoReply::NodeLost);
        }
        for (_, notice) in watches {
            notice.tell(Ended::NodeLost(self.peer.name().shared()));
        }
    }

    /// Refuses messages that belong to a session that has already ended.
    pub(super) fn drop_late(&mut self, contents: Contents) {
        self.peer.traffic().lost(0, contents.messages());
        for (_, _, item) in contents.items {
            match item {
                Item::Tell { body, .. } | Item::Answer { body, .. } => {
                    for question in body.packed.questions {
                        question.refuse(NoReply::NodeLost);
                    }
                }
                Item::Watch { notice, .. } => {
                    notice.tell(Ended::NodeLost(self.peer.name().shared()));
                }
                Item::Refusal { .. } | Item::Stop { .. } => {}
            }
        }
    }

    /// Notifies the other node that this node leaves, and ends the session. Frames that wait are
    /// sent before, as far as the window and the transport allow. The notice itself does not wait
    /// for the window.
    pub(super) fn leave(&mut self) {
        self.is_over = true;
        if self.life != 0 {
            self.send_rest(self.base.bounds.window);
            let (waiting, messages) = self.sending.drop_unsent();
            self.session.sent(waiting);
            self.peer.traffic().lost(0, messages);
            let frame = self.sending.frame(self.base.name.as_str());
            put_leave(&mut frame.bytes);
            frame.entries += 1;
            frame.orders += 1;
            self.send_rest(usize::MAX);
        }
        self.close();
    }

    /// Sends all waiting frames, until `window` bytes are under way or the transport refuses a
    /// frame.
    fn send_rest(&mut self, window: usize) {
        self.sending.try_again();
        loop {
            let about = self.about();
            let flushed = (self.sending).flush(&self.base, &self.peer, about, true, window);
            self.session.sent(flushed.sent);
            let Some((frame, _)) = flushed.too_large else {
                return;
            };
            self.peer.traffic().lost(0, frame.messages().into());
        }
    }

    /// Ends the current session of the link for good, and removes the link from the node.
    pub(super) fn close(&mut self) {
        self.is_over = true;
        let released = self.strike();
        self.peers.forget(&self.peer);
        self.peer.set_session(None);
        let of_peer = (self.peer.name().clone(), Arc::clone(self.peer.traffic()));
        let (base, nobody) = (Arc::clone(&self.base), LinkCell::default());
        let last = Session::new(base, of_peer, nobody, u64::MAX);
        last.end();
        // This link must not hold its own address: it ends when nobody else does.
        self.peer = Peer::new(self.peer.name().clone());
        self.end(last, released);
    }
}
