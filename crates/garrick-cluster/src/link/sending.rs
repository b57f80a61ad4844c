//! The sending half of a link: the frame that is being filled, the frames that wait, and the sent
//! frames without a confirmation.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use bytes::Bytes;

use crate::base::Base;
use crate::frame::{HEAD_BYTES, Head, Order, Slot, put_order};
use crate::options::{FRAME_BYTES, ROOM_BYTES};
use crate::peer::Peer;
use crate::transport::Incoming;

/// Time from the refusal of a frame by the transport to the next attempt. The time doubles with
/// each refusal.
const FIRST: Duration = Duration::from_millis(5);

/// Maximum time between two attempts to send a refused frame.
const LAST: Duration = Duration::from_millis(80);

/// A frame that is not sent yet.
#[derive(Default)]
pub(super) struct Frame {
    /// Content of the frame: space for the head, then the name of this node, then the entries.
    pub(super) bytes: Vec<u8>,
    pub(super) entries: u32,
    /// Number of entries other than messages, answers and refusals.
    pub(super) orders: u32,
    pub(super) carried: Carried,
    /// Number of bytes in the frame that the session counts as waiting.
    pub(super) charged: usize,
}

/// The parts of a frame that need an action if the frame is lost.
#[derive(Default)]
pub(super) struct Carried {
    /// Numbers that identify the questions of this node in the frame.
    pub(super) questions: Vec<u64>,
    /// Places, in this node's table, of the exported addresses that the frame contains.
    pub(super) slots: Vec<Slot>,
    /// Numbers that identify the questions of the other node that the frame answers or refuses.
    pub(super) answers: Vec<u64>,
}

/// A sent frame that the other node has not confirmed yet.
struct UnderWay {
    /// True if the other node has reported that the frame was lost.
    is_lost: bool,
    number: u64,
    bytes: usize,
    messages: u32,
    carried: Carried,
}

/// The sending half of a link, which keeps sent frames until the other node has confirmed them.
#[derive(Default)]
pub(super) struct Sending {
    /// Sequence number of the latest sent frame that contains entries (messages, answers, refusals
    /// or orders).
    number: u64,
    open: Option<Frame>,
    ready: VecDeque<Frame>,
    under_way: VecDeque<UnderWay>,
    bytes_under_way: usize,
    /// Number of frames under way that the other node has reported as lost.
    lost_under_way: usize,
    /// Orders (repeated requests and reports) that the other node has not confirmed, oldest first.
    orders: VecDeque<(u64, Order)>,
    /// Sequence number of the newest order (a request or report that is repeated until it is
    /// confirmed).
    order: u64,
    /// Sequence number of the newest order (a repeated request or report) at the time of the latest
    /// beat (the link's periodic check).
    order_at_beat: u64,
    /// Sequence number of the oldest frame that was under way at the latest beat (the link's
    /// periodic check). If no frame was under way, but the transport had refused a frame, the field
    /// contains the number that the refused frame would have got. Otherwise the field is 0.
    oldest_at_beat: u64,
    /// Number of successive beats (periodic checks of the link) at which `oldest_at_beat` was not 0
    /// and did not change.
    beats_stuck: u32,
    /// True if a frame was sent since the link last set this field to false.
    pub(super) is_fresh: bool,
    /// Number of frames that the transport has refused since the latest frame from the other node
    /// arrived. While this number is above 0, no entries (messages, answers, refusals and orders)
    /// are sent.
    refusals: u32,
}

/// The part of a frame's head that describes the frames and orders (requests and reports) that the
/// other node has sent.
#[derive(Clone, Copy, Default)]
pub(super) struct About {
    pub(super) peer_life: u64,
    pub(super) session: u64,
    pub(super) seen: u64,
    pub(super) taken: u64,
    pub(super) orders: u64,
    pub(super) dead: u64,
}

/// Result of [`Sending::flush`].
pub(super) struct Flushed {
    /// Number of waiting bytes that were sent or dropped.
    pub(super) sent: usize,
    /// A frame that was dropped because it is larger than the transport allows, and the maximum
    /// size of a frame. After such a frame, more frames may be waiting.
    pub(super) too_large: Option<(Frame, usize)>,
}

impl Frame {
    /// Returns the number of messages, answers and refusals in the frame.
    pub(super) fn messages(&self) -> u32 {
        self.entries - self.orders
    }
}

impl Sending {
    /// Begins another frame if a batch of `waiting` bytes does not fit into the frame that is being
    /// filled. Counts these bytes as waiting in the frame that gets the batch. Returns the number
    /// of entries that the frame already contains.
    pub(super) fn begin(&mut self, waiting: usize, name: &str) -> u32 {
        let open = self.open.as_ref().map_or(0, |open| open.bytes.len());
        if open > 0 && open + waiting > FRAME_BYTES {
            self.ready.extend(self.open.take());
        }
        let frame = self.frame(name);
        frame.charged += waiting;
        frame.entries
    }

    /// Undoes [`Sending::begin`] for a batch of `waiting` bytes that has added no entries. `before`
    /// is the number of entries that `begin` has returned. Returns true if the bytes of the batch
    /// were subtracted from the waiting bytes. Returns false if the batch has added entries.
    ///
    /// Removes the frame if it is empty. An empty frame must not get a new number: by convention, a
    /// frame without entries has the number of the frame before it, so the other node would report
    /// the new number as a lost frame.
    pub(super) fn undo_unused(&mut self, before: u32, waiting: usize) -> bool {
        let Some(open) = self.open.as_mut().filter(|open| open.entries == before) else {
            return false;
        };
        open.charged -= waiting;
        self.open.take_if(|open| open.entries == 0);
        true
    }

    /// Returns the frame that is being filled, to which the next messages, answers, refusals and
    /// orders are added. Begins a new frame if there is none.
    pub(super) fn frame(&mut self, name: &str) -> &mut Frame {
        self.open.get_or_insert_with(|| {
            let mut frame = Frame::default();
            frame.bytes.resize(HEAD_BYTES, 0);
            frame.bytes.extend_from_slice(name.as_bytes());
            frame
        })
    }

    /// Adds an order (a request or report). The order is sent repeatedly until it is confirmed.
    pub(super) fn order(&mut self, order: Order, name: &str) {
        self.order += 1;
        let number = self.order;
        let frame = self.frame(name);
        put_order(number, &order, &mut frame.bytes);
        frame.entries += 1;
        frame.orders += 1;
        self.orders.push_back((number, order));
    }

    /// Returns the sequence number of the newest order (a repeated request or report).
    pub(super) fn last_order(&self) -> u64 {
        self.order
    }

    /// Sends the unconfirmed orders (requests and reports) again. The other node ignores orders
    /// that it has already handled.
    pub(super) fn repeat_orders(&mut self, name: &str) {
        let orders = mem::take(&mut self.orders);
        for (number, order) in &orders {
            self.begin(0, name);
            let frame = self.frame(name);
            put_order(*number, order, &mut frame.bytes);
            frame.entries += 1;
            frame.orders += 1;
        }
        self.orders = orders;
    }

    /// Performs the periodic check (beat) of the sent frames. If any order (a request or report)
    /// has been unconfirmed since the previous beat, sends all unconfirmed orders again. Also
    /// counts the beats at which no frame was confirmed.
    pub(super) fn beat(&mut self, name: &str) {
        let oldest = self.orders.front();
        let is_old = oldest.is_some_and(|(number, _)| *number <= self.order_at_beat);
        // As long as orders wait in frames, because the window is full or frames are refused, more
        // copies of them would only delay them.
        let waits = self.ready.iter().any(|frame| frame.orders > 0);
        if is_old && !waits && !self.is_refused() {
            self.repeat_orders(name);
        }
        self.order_at_beat = self.order;
        let oldest = match self.under_way.front() {
            Some(frame) => frame.number,
            None if self.is_refused() && self.has_entries() => self.number + 1,
            None => 0,
        };
        let is_stuck = oldest > 0 && oldest == self.oldest_at_beat;
        self.beats_stuck = if is_stuck { self.beats_stuck + 1 } else { 0 };
        self.oldest_at_beat = oldest;
    }

    /// Returns the number of successive beats (periodic checks of the link) in which the other node
    /// has confirmed no frame, although a frame was under way or was refused by the transport.
    pub(super) fn beats_stuck(&self) -> u32 {
        self.beats_stuck
    }

    /// Returns true if any frame, or any order (a repeated request or report), is unsent or
    /// unconfirmed.
    pub(super) fn is_busy(&self) -> bool {
        self.has_entries() || !(self.under_way.is_empty() && self.orders.is_empty())
    }

    /// Returns true if some entries (messages, answers, refusals or orders) have not been sent yet.
    fn has_entries(&self) -> bool {
        self.open.is_some() || !self.ready.is_empty()
    }

    /// Returns true if the transport has refused a frame, and no frame from the other node has
    /// arrived after the refusal.
    pub(super) fn is_refused(&self) -> bool {
        self.refusals > 0
    }

    /// Returns the time until the next attempt to send, if messages or other entries wait because
    /// the transport has refused a frame. Otherwise returns `None`.
    pub(super) fn pause(&self) -> Option<Duration> {
        let doublings = self.refusals.saturating_sub(1).min(10);
        let pause = LAST.min(FIRST * (1 << doublings));
        (self.is_refused() && self.has_entries()).then_some(pause)
    }

    /// Lets the link send messages, answers, refusals and orders again after a refused frame, for
    /// example because a frame from the other node has arrived.
    pub(super) fn try_again(&mut self) {
        self.refusals = 0;
    }

    /// Returns the number of unconfirmed orders (repeated requests and reports).
    pub(super) fn unconfirmed(&self) -> usize {
        self.orders.len()
    }

    /// Sends frames until `window` bytes are under way. Also sends the frame that is being filled
    /// if `closes` is true. After a refused frame, sends nothing until a frame from the other node
    /// arrives, because that node may need longer to reconnect. Stops after a frame that is too
    /// large for the transport, and drops this frame, because the transport would always refuse it.
    pub(super) fn flush(
        &mut self,
        base: &Base,
        peer: &Peer,
        about: About,
        closes: bool,
        window: usize,
    ) -> Flushed {
        let mut sent = 0;
        while self.bytes_under_way < window
            && !self.is_refused()
            && let Some(frame) = self.take_frame(closes)
        {
            let (bytes, number) = (frame.bytes.len(), self.number + 1);
            // Frames of this size contain refusals, too, which must not be refused themselves.
            let max = base.transport.max_frame().max(ROOM_BYTES);
            if bytes > max {
                sent += frame.charged;
                let too_large = Some((frame, max));
                return Flushed { sent, too_large };
            }
            let messages = frame.messages();
            match self.send(base, peer, about, number, frame.bytes, frame.entries) {
                Ok(()) => {
                    self.number = number;
                    self.bytes_under_way += bytes;
                    peer.traffic().sent_messages(messages);
                    self.under_way.push_back(UnderWay {
                        is_lost: false,
                        number,
                        bytes,
                        messages,
                        carried: frame.carried,
                    });
                    sent += frame.charged;
                }
                // It stays the first one, and its number is not given away.
                Err(bytes) => self.ready.push_front(Frame { bytes, ..frame }),
            }
        }
        Flushed {
            sent,
            too_large: None,
        }
    }

    /// Drops all frames that are not sent. Returns the number of their waiting bytes, and the
    /// number of messages in them.
    pub(super) fn drop_unsent(&mut self) -> (usize, u64) {
        let (waiting, (messages, _)) = (self.waiting(), self.open_messages());
        self.ready.clear();
        self.open = None;
        (waiting, messages)
    }

    /// Removes and returns the next frame to send. The last frame is still being filled, so it is
    /// returned only if `closes` is true. Returns `None` if there is no frame to send.
    fn take_frame(&mut self, closes: bool) -> Option<Frame> {
        let ready = self.ready.pop_front();
        ready.or_else(|| self.open.take_if(|_| closes))
    }

    /// Sends a frame without entries (messages, answers, refusals and orders). The head of the
    /// frame confirms received frames, and contains the sequence number of the latest frame that
    /// was sent with entries.
    pub(super) fn send_bare(&mut self, base: &Base, peer: &Peer, about: About) {
        let mut bytes = vec![0; HEAD_BYTES];
        bytes.extend_from_slice(base.name.as_str().as_bytes());
        // The next one tells the same.
        let _ = self.send(base, peer, about, self.number, bytes, 0);
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// Returns the bytes of the frame if the transport refuses the frame.
    fn send(
        &mut self,
        base: &Base,
        peer: &Peer,
        about: About,
        number: u64,
        mut bytes: Vec<u8>,
        entries: u32,
    ) -> Result<(), Vec<u8>> {
        let head = Head {
            node: base.life,
            peer: about.peer_life,
            session: about.session,
            number,
            seen: about.seen,
            taken: about.taken,
            orders: about.orders,
            dead: about.dead,
            entries,
        };
        head.write(base.cluster, base.name.as_str().len(), &mut bytes);
        let bytes = Bytes::from(bytes);
        if !base.transport.send(peer.name(), Incoming(bytes.clone())) {
            self.refusals = self.refusals.saturating_add(1);
            peer.traffic().refused_frame();
            // The transport has dropped its handle, so nothing is copied.
            return Err(bytes.into());
        }
        // A frame that is lost is noticed by its number.
        self.is_fresh = true;
        base.counts.add_sent(bytes.len());
        peer.traffic().sent(bytes.len());
        Ok(())
    }

    /// Returns true if a frame with the number `taken`, and an order (a repeated request or report)
    /// with the number `orders`, were sent.
    pub(super) fn may_confirm(&self, taken: u64, orders: u64) -> bool {
        taken <= self.number && orders <= self.order
    }

    /// Removes the confirmed frames, up to the number `taken`, and the confirmed orders (requests
    /// and reports), up to the number `orders`.
    pub(super) fn confirm(&mut self, taken: u64, orders: u64) {
        while let Some(frame) = self.under_way.front()
            && frame.number <= taken
        {
            self.bytes_under_way -= frame.bytes;
            self.lost_under_way -= usize::from(frame.is_lost);
            self.under_way.pop_front();
        }
        while self
            .orders
            .front()
            .is_some_and(|(number, _)| *number <= orders)
        {
            self.orders.pop_front();
        }
    }

    /// Marks the frames with the numbers `from` to `to` as lost, if they are under way. Returns
    /// three values about the frames that were not marked before: how many there are, the number of
    /// messages in them, and their parts that need an action.
    pub(super) fn take_lost(&mut self, from: u64, to: u64) -> (u64, u64, Carried) {
        let (mut count, mut messages, mut lost) = (0, 0, Carried::default());
        let is_new = |frame: &&mut UnderWay| (from..=to).contains(&frame.number) && !frame.is_lost;
        for frame in self.under_way.iter_mut().filter(is_new) {
            frame.is_lost = true;
            count += 1;
            messages += u64::from(frame.messages);
            lost.questions.append(&mut frame.carried.questions);
            lost.slots.append(&mut frame.carried.slots);
            lost.answers.append(&mut frame.carried.answers);
        }
        self.lost_under_way += count as usize;
        (count, messages, lost)
    }

    /// Returns the number of waiting bytes in the unsent frames.
    pub(super) fn waiting(&self) -> usize {
        self.unsent().map(|frame| frame.charged).sum()
    }

    fn unsent(&self) -> impl Iterator<Item = &Frame> {
        self.ready.iter().chain(&self.open)
    }

    /// Returns the number of messages in unsent frames, and the number of messages in sent frames
    /// that the other node has neither confirmed nor reported as lost.
    pub(super) fn open_messages(&self) -> (u64, u64) {
        let unsent = self.unsent().map(|frame| u64::from(frame.messages()));
        let under_way = self.under_way.iter().filter(|frame| !frame.is_lost);
        let under_way = under_way.map(|frame| u64::from(frame.messages));
        (unsent.sum(), under_way.sum())
    }

    /// Returns the number of unsent frames, and the number of bytes under way (in sent frames
    /// without a confirmation).
    pub(super) fn fill(&self) -> (usize, usize) {
        let open = usize::from(self.open.is_some());
        (self.ready.len() + open, self.bytes_under_way)
    }

    /// Returns true if the other node has reported that a frame under way was lost.
    pub(super) fn has_lost(&self) -> bool {
        self.lost_under_way > 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Sending};
    use crate::frame::Owned;

    #[test]
    fn orders_that_still_wait_are_not_repeated_at_each_beat() {
        let (name, mut sending) = ("one", Sending::default());
        let bytes = |sending: &Sending| {
            let frames = sending.unsent().map(|frame| frame.bytes.len());
            frames.sum::<usize>()
        };
        for watch in 0..10_000 {
            sending.begin(0, name);
            let target = Owned::Service("a service".into());
            sending.order(Order::Watch { watch, target }, name);
        }
        let once = bytes(&sending);
        // The other node is slow, so nothing can be sent for 10 s.
        for _ in 0..20 {
            sending.beat(name);
        }
        assert_eq!(bytes(&sending), once);
        // When the orders have been sent, they are repeated until they are confirmed.
        sending.drop_unsent();
        sending.beat(name);
        assert_eq!(
            sending.unsent().map(|frame| frame.orders).sum::<u32>(),
            10_000
        );
        sending.confirm(0, 10_000);
        sending.drop_unsent();
        sending.beat(name);
        assert_eq!(bytes(&sending), 0);
    }
}
