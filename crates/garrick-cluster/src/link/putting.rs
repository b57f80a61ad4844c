//! Writing of batches into frames.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use garrick_actor::NoReply;
use garrick_sched::Nanos;

use super::Link;
use super::sending::{Carried, Frame};
use crate::frame::{NewBody, Order, Ref, put_answer, put_message, put_refusal};
use crate::line::{Contents, EncodedBody, Item, Line as _, OwnRef, Passed};
use crate::options::Bounds;

impl Link {
    /// Adds the content of a batch to frames. One frame contains all messages of the batch. It also
    /// contains the answers and orders of the batch for which it has room. Other frames contain the
    /// other ones.
    pub(super) fn put(&mut self, mut contents: Contents, now: Nanos) {
        let late = self.take_late(&mut contents);
        self.put_whole(contents, now);
        for item in late {
            let bytes = item.bytes();
            let before = self.sending.begin(bytes, self.base.name.as_str());
            self.put_item(item, now);
            self.end_part(before, bytes);
        }
    }

    /// Removes and returns the answers, refusals and orders for which the frame with the messages
    /// of the batch has no room. All items keep their order, except that messages may overtake
    /// other items.
    fn take_late(&self, contents: &mut Contents) -> Vec<Item> {
        let Bounds { message, turn, .. } = self.base.bounds;
        if contents.bytes <= message + turn {
            return Vec::new();
        }
        let mut room = (message + turn).saturating_sub(contents.told);
        let (mut late, mut late_bytes) = (Vec::new(), 0);
        for (end, count, item) in mem::take(&mut contents.items) {
            let bytes = item.bytes();
            if item.is_message() {
                contents.items.push((end, count, item));
            } else if late.is_empty() && bytes <= room {
                room -= bytes;
                contents.items.push((end, count, item));
            } else {
                late_bytes += bytes;
                late.push(item);
            }
        }
        contents.bytes -= late_bytes;
        late
    }

    /// Adds the content of a batch to one frame. If the whole batch is refused, no frame is sent
    /// for it.
    fn put_whole(&mut self, contents: Contents, now: Nanos) {
        let name = self.base.name.as_str();
        let before = self.sending.begin(contents.bytes, name);
        let (mut from, mut counted) = (0, 0);
        for (end, count, item) in contents.items {
            self.put_entries(&contents.entries[from..end], count - counted);
            (from, counted) = (end, count);
            self.put_item(item, now);
        }
        self.put_entries(&contents.entries[from..], contents.count - counted);
        self.end_part(before, contents.bytes);
    }

    /// Ends a part of `bytes` bytes that was begun by `Sending::begin`, which has returned
    /// `before`. If the part has added nothing, its bytes no longer wait.
    fn end_part(&mut self, before: u32, bytes: usize) {
        if self.sending.undo_unused(before, bytes) {
            self.session.sent(bytes);
        }
    }

    /// Adds entries to the frame that is being filled. The senders have already encoded the
    /// entries.
    fn put_entries(&mut self, entries: &[u8], count: u32) {
        let frame = self.sending.frame(self.base.name.as_str());
        frame.bytes.extend_from_slice(entries);
        frame.entries += count;
    }

    fn put_item(&mut self, item: Item, now: Nanos) {
        match item {
            Item::Tell { target, of, body } => {
                self.put_body(body, now, |body, to| {
                    put_message(target.target(), of, body, to);
                });
            }
            Item::Answer { question, body } => {
                if self.put_body(body, now, |body, to| put_answer(question, body, to)) {
                    let frame = self.sending.frame(self.base.name.as_str());
                    frame.carried.answers.push(question);
                } else {
                    self.put_refusal(question, NoReply::Refused);
                }
            }
            Item::Refusal { question, why } => self.put_refusal(question, why),
            Item::Watch { target, notice } => {
                let watch = self.base.next_watch();
                self.watches.add(watch, notice);
                self.order_in_batch(Order::Watch { watch, target });
            }
            Item::Stop { target } => self.order_in_batch(Order::Stop { target }),
        }
    }

    /// Adds an order (a request or report that is repeated until it is confirmed) to the frame of
    /// the batch.
    fn order_in_batch(&mut self, order: Order) {
        self.sending.order(order, self.base.name.as_str());
    }

    /// Refuses a question from the other node, in the frame that is being filled, or in the next
    /// one if that frame is full.
    pub(super) fn refuse(&mut self, question: u64, why: NoReply) {
        self.sending.begin(0, self.base.name.as_str());
        self.put_refusal(question, why);
    }

    /// Adds the refusal of a question from the other node to the frame that is being filled.
    fn put_refusal(&mut self, question: u64, why: NoReply) {
        let frame = self.sending.frame(self.base.name.as_str());
        put_refusal(question, why, &mut frame.bytes);
        frame.entries += 1;
        frame.carried.answers.push(question);
    }

    /// Adds a message or an answer to the frame. Exports its addresses, and assigns numbers to its
    /// questions. Returns false if the message or answer is refused.
    fn put_body(
        &mut self,
        body: EncodedBody,
        now: Nanos,
        put: impl FnOnce(&NewBody<'_>, &mut Vec<u8>),
    ) -> bool {
        let EncodedBody { content, packed } = body;
        if self.questions.len() + packed.questions.len() > self.base.bounds.questions {
            let why = format!("too many questions to the node {}", self.peer.name());
            self.count_refused(&why);
            for question in packed.questions {
                question.refuse(NoReply::Refused);
            }
            return false;
        }
        let given = packed.addresses.into_iter().map(|passed| self.give(passed));
        let given: Vec<OwnRef> = given.collect();
        let refs: Vec<Ref<'_>> = given.iter().map(OwnRef::borrow).collect();
        let replies = packed.questions.len() as u32;
        let first = self.base.next_questions(replies.into());
        self.base.counts.add_asked(replies.into());
        let frame: &mut Frame = self.sending.frame(self.base.name.as_str());
        for (number, question) in (first..).zip(packed.questions) {
            frame.carried.questions.push(number);
            self.questions.add(number, question, now);
        }
        let body = NewBody {
            replies,
            first,
            refs: &refs,
            content: &content,
        };
        put(&body, &mut frame.bytes);
        frame.entries += 1;
        true
    }

    /// Counts a message that was refused.
    pub(super) fn count_refused(&self, why: &str) {
        self.base.counts.add_refused(why);
        self.peer.traffic().refused_message();
    }

    /// Exports an address that is sent to the other node, unless the message contains the address
    /// as a name.
    fn give(&mut self, passed: Passed) -> OwnRef {
        let (exported, key) = match passed {
            Passed::Named(named) => return OwnRef::Named(named),
            Passed::Exported {
                home: Some(slot), ..
            } => return OwnRef::Receivers(slot),
            Passed::Exported { exported, key, .. } => (exported, key),
        };
        let given = self.base.exports().give(key, exported, self.peer.name());
        // The second value is dropped when nothing is locked.
        let (slot, known) = given;
        drop(known);
        let frame = self.sending.frame(self.base.name.as_str());
        frame.carried.slots.push(slot);
        OwnRef::Senders(slot)
    }

    /// Drops a frame that is larger than the transport allows, and refuses its questions and
    /// answers. Its orders are sent again with the other unconfirmed orders.
    pub(super) fn refuse_frame(&mut self, frame: Frame, max: usize) {
        let (bytes, to) = (frame.bytes.len(), self.peer.name());
        let why = format!(
            "a frame of {bytes} bytes to the node {to}: the transport carries at most {max} bytes"
        );
        for _ in 0..frame.messages() {
            self.count_refused(&why);
        }
        self.take_back(frame.carried, NoReply::Refused);
    }

    /// Takes back the addresses in frames that have not arrived. Refuses the questions and answers
    /// in these frames.
    pub(super) fn take_back(&mut self, carried: Carried, why: NoReply) {
        let released: Vec<_> = {
            let mut exports = self.base.exports();
            let release = |slot| exports.release(slot, self.peer.name(), 1);
            carried.slots.into_iter().filter_map(release).collect()
        };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(released)));
        for question in carried.answers {
            self.refuse(question, why);
        }
        for question in carried.questions {
            if let Some(question) = self.questions.take(question) {
                self.base.counts.add_answered(1);
                question.refuse(why);
            }
        }
    }
}
