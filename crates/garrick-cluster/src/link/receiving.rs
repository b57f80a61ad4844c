//! The receiving half of a link, which determines which frames are new and which were lost.

use std::collections::VecDeque;

use crate::frame::Head;

/// Number of received bytes after which a confirmation is sent immediately.
const TELL_BYTES: usize = 256 << 10;

/// The receiving half of a link, which determines which frames from the other node are new.
#[derive(Default)]
pub(super) struct Receiving {
    /// Sequence number of the current session of the other node, or 0 if there is none.
    session: u64,
    /// Sequence number of the other node's latest session that was lost or refused, or 0. Frames of
    /// this session and of earlier sessions are ignored.
    lost_session: u64,
    /// Sequence number of the newest frame that has arrived or counts as lost.
    number: u64,
    /// Sequence number of the latest order (a repeated request or report) that was handled.
    order: u64,
    /// Unconfirmed reports of lost frames. For each report: the sequence number of the report, and
    /// the number of the first lost frame.
    reports: VecDeque<(u64, u64)>,
    /// Number of bytes that were received since the last confirmation.
    untold: usize,
}

/// Result of checking the head of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The frame belongs to an older session, and must be ignored.
    Old,
    /// The other node has begun another session, so the current one is over.
    Reset,
    /// The frame has arrived before, so its entries, such as messages, must be ignored. The head of
    /// the frame can still contain new information.
    Twice,
    /// The entries of the frame, such as messages, must be handled. If frames before this one were
    /// lost, contains the number of the first lost frame and the number of the last one.
    Next(Option<(u64, u64)>),
}

impl Receiving {
    /// Determines from the head of a frame if the frame is new. Records the number of a new frame.
    pub(super) fn look(&mut self, head: &Head) -> Verdict {
        let oldest = self.session.max(self.lost_session + 1);
        if head.session < oldest {
            return Verdict::Old;
        }
        if self.session != 0 && head.session > self.session {
            return Verdict::Reset;
        }
        self.session = head.session;
        // A frame without entries has the number of the last one with entries.
        let last_lost = if head.entries == 0 {
            head.number
        } else {
            head.number.saturating_sub(1)
        };
        let lost = (last_lost > self.number).then(|| (self.number + 1, last_lost));
        if head.entries > 0 && head.number <= self.number {
            return Verdict::Twice;
        }
        self.number = self.number.max(head.number);
        Verdict::Next(lost)
    }

    /// Ends the session of the other node. Later frames of this session are ignored.
    pub(super) fn lose(&mut self) {
        *self = Self {
            lost_session: self.session.max(self.lost_session),
            ..Self::default()
        };
    }

    /// Makes this node ignore a session of the other node, and all earlier sessions of the other
    /// node. Has no effect if the session `session` or a later session is the current one.
    pub(super) fn refuse(&mut self, session: u64) {
        if session > self.session {
            self.lost_session = self.lost_session.max(session);
        }
    }

    /// Returns the sequence number of the other node's latest session that was lost or refused, or
    /// 0.
    pub(super) fn dead(&self) -> u64 {
        self.lost_session
    }

    /// Returns the number of the current session of the other node, or 0.
    pub(super) fn session(&self) -> u64 {
        self.session
    }

    /// Counts an order (a repeated request or report) as handled if `number` is the number of the
    /// next order. Returns false otherwise.
    pub(super) fn is_next_order(&mut self, number: u64) -> bool {
        let is_next = number == self.order + 1;
        self.order += u64::from(is_next);
        is_next
    }

    pub(super) fn orders(&self) -> u64 {
        self.order
    }

    /// Records that this node has reported lost frames to the other node. `order` is the number of
    /// the report, and `from` is the number of the first lost frame.
    pub(super) fn reported(&mut self, order: u64, from: u64) {
        self.reports.push_back((order, from));
    }

    /// Returns true if a report of lost frames has not been confirmed by the other node yet.
    pub(super) fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Removes the reports of lost frames that the other node has confirmed.
    pub(super) fn confirm(&mut self, orders: u64) {
        while self
            .reports
            .front()
            .is_some_and(|(order, _)| *order <= orders)
        {
            self.reports.pop_front();
        }
    }

    /// Returns the sequence number of the newest frame that this node confirms to the other node.
    pub(super) fn taken(&self) -> u64 {
        let reported = self.reports.front();
        reported.map_or(self.number, |(_, from)| from - 1)
    }

    /// Counts received bytes. Returns true if a confirmation must be sent now.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.untold += bytes;
        self.untold >= TELL_BYTES
    }

    /// Records that a confirmation of all received bytes was sent to the other node.
    pub(super) fn told(&mut self) {
        self.untold = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{Receiving, Verdict};
    use crate::frame::Head;

    fn look(receiving: &mut Receiving, session: u64, number: u64, entries: u32) -> Verdict {
        receiving.look(&Head {
            session,
            number,
            entries,
            ..Head::default()
        })
    }

    #[test]
    fn lost_frames_are_noticed_once() {
        let mut receiving = Receiving::default();
        assert_eq!(look(&mut receiving, 1, 1, 1), Verdict::Next(None));
        assert_eq!(look(&mut receiving, 1, 4, 1), Verdict::Next(Some((2, 3))));
        assert_eq!(look(&mut receiving, 1, 4, 0), Verdict::Next(None));
        assert_eq!(look(&mut receiving, 1, 6, 0), Verdict::Next(Some((5, 6))));
        // They come late.
        for number in [2, 5, 6] {
            assert_eq!(look(&mut receiving, 1, number, 1), Verdict::Twice);
        }
        assert_eq!(look(&mut receiving, 1, 3, 0), Verdict::Next(None));
        assert_eq!(look(&mut receiving, 1, 7, 1), Verdict::Next(None));
    }

    #[test]
    fn a_frame_may_be_forgotten_when_its_loss_is_known() {
        let mut receiving = Receiving::default();
        look(&mut receiving, 1, 3, 1);
        receiving.reported(1, 1);
        look(&mut receiving, 1, 6, 1);
        receiving.reported(2, 4);
        assert_eq!(receiving.taken(), 0);
        receiving.confirm(1);
        assert_eq!(receiving.taken(), 3);
        receiving.confirm(2);
        assert_eq!(receiving.taken(), 6);
    }

    #[test]
    fn frames_of_a_lost_session_are_old() {
        let mut receiving = Receiving::default();
        assert_eq!(look(&mut receiving, 2, 1, 1), Verdict::Next(None));
        assert_eq!(look(&mut receiving, 1, 1, 1), Verdict::Old);
        assert_eq!(look(&mut receiving, 3, 1, 1), Verdict::Reset);
        receiving.lose();
        assert_eq!(look(&mut receiving, 2, 2, 1), Verdict::Old);
        assert_eq!(look(&mut receiving, 3, 1, 1), Verdict::Next(None));
        receiving.lose();
        receiving.lose();
        assert_eq!(look(&mut receiving, 3, 2, 1), Verdict::Old);
    }

    #[test]
    fn orders_are_handled_once_and_in_order() {
        let mut receiving = Receiving::default();
        let handled = [1, 1, 3, 2, 2, 3].map(|number| receiving.is_next_order(number));
        assert_eq!(handled, [true, false, false, true, false, true]);
    }
}
