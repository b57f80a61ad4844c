//! Handling of the entries in frames from the other node.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use garrick_actor::{Context, Ended, NoReply};
use garrick_sched::TaskId;
use garrick_wire::MessageId;

use super::Link;
use super::holding::task_of;
use super::watched::Teller;
use crate::frame::{Answer, Body, Entry, Message, Order, Owned, Ref, Target};
use crate::line::{Carrier, Exported, Held, Line, Undelivered};
use crate::message::LinkMsg;
use crate::traffic::LinkState;

/// State that is kept while the entries of a frame are handled, so that several messages to the
/// same receiver are delivered faster.
#[derive(Default)]
pub(super) struct Delivery {
    /// Receiver of the latest message.
    receiver: Option<(Owned, Arc<dyn Exported>)>,
    /// Type of the latest message. `None` before the first message.
    of: Option<MessageId>,
    /// A carrier (the context of the decoding), which is kept for the next message.
    carrier: Option<Carrier>,
    /// Number of messages that were delivered.
    count: u64,
}

/// A request to stop a receiver. It waits until earlier messages have been delivered.
struct Stop(Arc<dyn Exported>);

impl Held for Stop {
    fn retry(self: Box<Self>) -> Result<(), Box<dyn Held>> {
        self.0.stop();
        Ok(())
    }
}

impl Link {
    /// Handles an entry of a frame.
    pub(super) fn handle(&mut self, entry: Entry<'_>, cx: &mut Context<'_, LinkMsg>) {
        match entry {
            Entry::Tell(message) => self.tell(&message),
            Entry::Another(content) => match self.delivery.of {
                Some(of) => self.deliver(of, &Body::of(content)),
                None => self.distrust("a message without a target", cx),
            },
            Entry::Answer(answer) => self.answer(&answer),
            Entry::Refusal { question, why } => {
                if let Some(question) = self.questions.take(question) {
                    self.base.counts.add_answered(1);
                    question.refuse(why);
                }
            }
            Entry::Leave => {
                self.taken_orders += 1;
                self.lose(cx);
                self.rest = LinkState::Left;
            }
            Entry::Order { number, order } => {
                self.taken_orders += 1;
                // A loss is told again and again, and is handled at once: the order before it may
                // have been in a frame whose loss it tells.
                let is_loss = matches!(order, Order::Lost { .. });
                let is_new = number > self.receiving.orders();
                if self.receiving.is_next_order(number) || is_loss && is_new {
                    self.obey(order);
                }
            }
        }
    }

    /// Returns the receiver for a target, if there is one.
    fn find(&self, target: Target<'_>) -> Option<Arc<dyn Exported>> {
        match target {
            Target::Service(name) => self.base.offered(name),
            Target::Slot(slot) => self.base.exports().get(slot, self.peer.name()),
        }
    }

    /// Delivers a message to its receiver. If that is not possible, refuses the questions in the
    /// message.
    fn tell(&mut self, message: &Message<'_>) {
        let Message { target, of, body } = message;
        let known = self.delivery.receiver.take();
        let known = known.filter(|(known, _)| known.target() == *target);
        let receiver = known.or_else(|| Some((target.owned(), self.find(*target)?)));
        (self.delivery.receiver, self.delivery.of) = (receiver, Some(*of));
        self.deliver(*of, body);
    }

    /// Delivers a message to the receiver that is stored in `delivery`.
    fn deliver(&mut self, of: MessageId, body: &Body<'_>) {
        let receiver = self.delivery.receiver.take();
        let takes = receiver.as_ref().filter(|(_, found)| found.message() == of);
        let delivered = takes.map(|(target, found)| {
            // Behind those that wait.
            let waits = self.holding.waits(target, || task_of(&**found));
            self.unpack(body, |content, carrier| {
                found.deliver(content, carrier, waits)
            })
        });
        let delivered = match (delivered, &receiver) {
            (Some(Some(Err(Undelivered::Full(held)))), Some((target, found))) => {
                self.hold(target.clone(), task_of(&**found), held);
                Some(Some(Ok(())))
            }
            (delivered, _) => delivered,
        };
        self.delivery.receiver = receiver;
        if delivered.is_none() {
            // Its addresses have travelled, and its questions are refused.
            self.unpack(body, |_, _| ());
        }
        let why = match delivered {
            Some(Some(Ok(()))) => {
                self.delivery.count += 1;
                return;
            }
            // It has dropped the message, and so refused the questions in it.
            Some(Some(Err(Undelivered::Refused | Undelivered::Full(_)))) => {
                "the receiver takes no messages".to_owned()
            }
            Some(Some(Err(Undelivered::Wire(error)))) => error.to_string(),
            Some(None) => "its decoding panics".to_owned(),
            None => "there is no such receiver of messages of this type".to_owned(),
        };
        for question in body.first..body.first + u64::from(body.replies) {
            self.refuse(question, NoReply::Refused);
        }
        self.count_refused(&format!(
            "a message {of} from the node {}: {why}",
            self.peer.name()
        ));
    }

    /// Holds a message or a stop until its receiver has room. If the target has become full,
    /// reports this to the other node. `task` is the actor to which the target leads.
    fn hold(&mut self, target: Owned, task: Option<TaskId>, held: Box<dyn Held>) {
        if self.holding.hold(&target, task, held) {
            let is_full = true;
            self.order(Order::Full { target, is_full });
        }
    }

    /// Delivers waiting messages to receivers that have room again.
    pub(super) fn retry(&mut self) {
        let mut holding = mem::take(&mut self.holding);
        let done = holding.retry(|target| task_of(&*self.find(target.target())?));
        self.holding = holding;
        for target in done {
            let is_full = false;
            self.order(Order::Full { target, is_full });
        }
    }

    /// Counts the delivered messages, and forgets the receiver, because its service may be
    /// withdrawn before the next frame.
    pub(super) fn end_delivery(&mut self) {
        let delivery = mem::take(&mut self.delivery);
        self.base.counts.add_delivered(delivery.count);
    }

    fn answer(&mut self, answer: &Answer<'_>) {
        let Some(question) = self.questions.take(answer.question) else {
            // The question has ended, and the addresses in the answer are not held.
            self.base.counts.add_late();
            self.unpack(&answer.body, |_, _| ());
            return;
        };
        self.base.counts.add_answered(1);
        let answered = self.unpack(&answer.body, |content, carrier| {
            question.answer(content, carrier)
        });
        if answered != Some(true) {
            let why = format!(
                "an answer from the node {} cannot be decoded",
                self.peer.name()
            );
            self.count_refused(&why);
        }
    }

    /// Calls `f` with the content of a message. Keeps the addresses in the message alive during the
    /// call. Returns `None` if `f` panics, which is possible because `f` runs decoding code of the
    /// program.
    fn unpack<R>(
        &mut self,
        body: &Body<'_>,
        f: impl FnOnce(&[u8], &mut Carrier) -> R,
    ) -> Option<R> {
        let arrived = |found: Ref<'_>| match found {
            Ref::Senders(slot) => Some(slot),
            Ref::Receivers(_) | Ref::Entity { .. } | Ref::Service { .. } => None,
        };
        let slots = || body.refs().filter_map(arrived);
        slots().for_each(|slot| self.session.arrived(slot));
        let carrier = self.delivery.carrier.take();
        let mut carrier = carrier.unwrap_or_else(|| {
            let line: Arc<dyn Line> = Arc::clone(&self.session) as _;
            Carrier::unpacking(&line)
        });
        carrier.load(body);
        let result = catch_unwind(AssertUnwindSafe(|| f(body.content, &mut carrier)));
        slots().for_each(|slot| self.session.let_go(slot));
        // Replies that the reader does not know, or that were not reached.
        for question in carrier.undecoded() {
            self.refuse(question, NoReply::Refused);
        }
        self.delivery.carrier = Some(carrier);
        result.ok()
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Watch { watch, target } => match self.find(target.target()) {
                Some(found) => self.watch(watch, &found),
                None => self.order(Order::Ended {
                    watch,
                    ended: Ended::Before,
                }),
            },
            Order::Ended { watch, ended } => {
                if let Some(notice) = self.watches.take(watch) {
                    notice.tell(ended);
                }
            }
            Order::Unwatch { watch } => self.watched.cancel(watch),
            Order::Unheard { watch } => {
                let notice = self.watches.take(watch);
                let _ = catch_unwind(AssertUnwindSafe(|| drop(notice)));
            }
            Order::Stop { target } => {
                if let Some(found) = self.find(target.target()) {
                    // Behind the messages that wait.
                    let task = task_of(&*found);
                    if self.holding.waits(&target, || task) {
                        self.hold(target, task, Box::new(Stop(found)));
                    } else {
                        let _ = catch_unwind(AssertUnwindSafe(|| found.stop()));
                    }
                }
            }
            Order::Release { slot, travels } => {
                let released = self.base.exports().release(slot, self.peer.name(), travels);
                let _ = catch_unwind(AssertUnwindSafe(|| drop(released)));
            }
            Order::Lost { from, to } => self.lost(from, to),
            Order::Full { target, is_full } => self.session.set_full(target, is_full),
        }
    }

    /// Watches an actor of this node for the other node.
    fn watch(&mut self, watch: u64, found: &Arc<dyn Exported>) {
        let (teller, known) = Teller::new(self.peer.cell(), self.session.number(), watch);
        let notice = Box::new(move |ended| teller.tell(ended));
        // It may be a door of the program.
        let watching = catch_unwind(AssertUnwindSafe(|| found.watch(notice)));
        if let Ok(watching) = watching {
            self.watched.add(watch, watching, known);
        }
    }

    /// If there are many watches of actors on the other node, removes those that were cancelled,
    /// and asks the other node to cancel them, too.
    pub(super) fn cancel_watches(&mut self) {
        let cancelled = self.watches.take_cancelled();
        for (watch, _) in &cancelled {
            self.order(Order::Unwatch { watch: *watch });
        }
        for (_, notice) in cancelled {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(notice)));
        }
    }

    /// Handles a report that frames to the other node were lost.
    fn lost(&mut self, from: u64, to: u64) {
        let (frames, messages, lost) = self.sending.take_lost(from, to);
        self.base.counts.add_lost(frames);
        self.peer.traffic().lost(frames, messages);
        self.repeats = true;
        self.take_back(lost, NoReply::NodeLost);
    }
}
