//! Links. A link is the connection of a node to one other node.
//!
//! A link is an actor. The link puts messages to the other node into frames, and sends a frame when
//! no more messages wait or when the frame is large. The link delivers the messages in arriving
//! frames to their receivers. `src/README.md` describes the protocol.

mod holding;
mod questions;
mod receiving;
mod sending;
mod watched;
mod watches;

mod ending;
mod entries;
mod forgetting;
mod putting;
mod taking;

use std::collections::VecDeque;
use std::sync::Arc;

use garrick_actor::{Actor, Context};
use garrick_sched::Nanos;

use crate::base::Base;
use crate::frame::Order;
use crate::line::Line as _;
use crate::message::LinkMsg;
use crate::peer::{Peer, Peers};
use crate::session::Session;
use crate::traffic::{Level, LinkState};
use entries::Delivery;
use holding::Holding;
use questions::Questions;
use receiving::Receiving;
use sending::{About, Flushed, Sending};
use watched::Watched;
use watches::Watches;

/// Maximum number of unconfirmed orders (requests and reports that are sent again until they are
/// confirmed). Further orders wait.
const ORDERS_MAX: usize = 1 << 14;

/// The other node counts as lost if it has confirmed no frame for this number of successive beats
/// (periodic checks of a link). This rule applies even if frames from the other node still arrive.
const BEATS_STUCK_MAX: u32 = 20;

/// The actor that exchanges frames with one other node.
pub(crate) struct Link {
    base: Arc<Base>,
    peers: Arc<Peers>,
    peer: Arc<Peer>,
    session: Arc<Session>,
    sending: Sending,
    receiving: Receiving,
    questions: Questions,
    /// Watches that this node has requested, of actors on the other node.
    watches: Watches,
    /// Watches that the other node has requested, of actors on this node.
    watched: Watched,
    /// Orders (requests and reports that are repeated until they are confirmed) that wait until
    /// earlier orders are confirmed.
    backlog: VecDeque<Order>,
    /// Incarnation of the other node, or 0 if the node is not connected.
    life: u64,
    /// Number of the latest known incarnation of the other node.
    last_life: u64,
    /// Start of the silence of the other node: the time of its last frame, or the time at which
    /// this node began to wait for a frame.
    heard: Nanos,
    /// State that samples contain while the nodes are not connected.
    rest: LinkState,
    /// Number of orders (requests and reports that are repeated until they are confirmed) that were
    /// handled so far in the current frame.
    taken_orders: u32,
    /// True if a beat (a periodic check of the link) is scheduled.
    beats: bool,
    /// True if the node has left, or the link has forgotten the other node. Then the link refuses
    /// all messages.
    is_over: bool,
    /// Sequence number of the first session of this link.
    first_session: u64,
    /// True if the other node has received a frame of the current session.
    is_seen: bool,
    /// Start of the time in which the other node is not connected, and nothing waits for it. `None`
    /// if the node is connected or something waits for it.
    rests_since: Option<Nanos>,
    /// True if a check is scheduled that may end this link ([`LinkMsg::Forget`]).
    forgets: bool,
    /// True if the link has received a message.
    is_used: bool,
    /// True if this node has sent a greeting to the other node. A greeting is a frame that is sent
    /// while the nodes are not connected.
    has_greeted: bool,
    /// True if frames were lost, so that the unconfirmed requests and reports (orders) must be sent
    /// again.
    repeats: bool,
    delivery: Delivery,
    holding: Holding,
    /// True if a new attempt to deliver or send waiting data is scheduled.
    retries: bool,
}

impl Link {
    pub(crate) fn new(base: Arc<Base>, peers: Arc<Peers>, peer: Arc<Peer>) -> Self {
        let session = Self::session(&base, &peer);
        peer.set_session(Some(Arc::clone(&session)));
        let first_session = session.number();
        Self {
            base,
            peers,
            peer,
            session,
            sending: Sending::default(),
            receiving: Receiving::default(),
            questions: Questions::default(),
            watches: Watches::default(),
            watched: Watched::default(),
            backlog: VecDeque::new(),
            life: 0,
            last_life: 0,
            heard: 0,
            rest: LinkState::Connecting,
            taken_orders: 0,
            beats: false,
            is_over: false,
            first_session,
            is_seen: false,
            rests_since: None,
            forgets: false,
            is_used: false,
            has_greeted: false,
            repeats: false,
            delivery: Delivery::default(),
            holding: Holding::default(),
            retries: false,
        }
    }

    /// Creates a session with the other node.
    fn session(base: &Arc<Base>, peer: &Peer) -> Arc<Session> {
        let number = base.next_session();
        let of_peer = (peer.name().clone(), Arc::clone(peer.traffic()));
        Session::new(Arc::clone(base), of_peer, Arc::clone(peer.cell()), number)
    }

    fn about(&self) -> About {
        let dead = self.receiving.dead();
        // A lost session belongs to one life of the other node. A later life counts its sessions
        // from the start, so the report must not end its session with the same number. The later
        // life drops the report, and its answer contains its life.
        let reports_loss = self.life == 0 && dead != 0;
        let peer_life = match reports_loss {
            true => self.last_life,
            false => self.life,
        };
        About {
            peer_life,
            session: self.session.number(),
            seen: self.receiving.session(),
            taken: self.receiving.taken(),
            orders: self.receiving.orders(),
            dead,
        }
    }

    /// Sends an order (a request or report that is repeated until it is confirmed) to the other
    /// node. If too many orders are unconfirmed, the order waits. Reports of lost frames never
    /// wait.
    fn order(&mut self, order: Order) {
        let is_loss = matches!(order, Order::Lost { .. });
        let waits = !self.backlog.is_empty() || self.sending.unconfirmed() >= ORDERS_MAX;
        if waits && !is_loss {
            return self.backlog.push_back(order);
        }
        let name = self.base.name.as_str();
        self.sending.begin(0, name);
        self.sending.order(order, name);
    }

    /// Sends waiting orders (requests and reports that are repeated until they are confirmed),
    /// until too many orders are unconfirmed.
    fn order_waiting(&mut self) {
        let name = self.base.name.as_str();
        while self.sending.unconfirmed() < ORDERS_MAX
            && let Some(order) = self.backlog.pop_front()
        {
            self.sending.begin(0, name);
            self.sending.order(order, name);
        }
    }

    /// Sends waiting frames until too many bytes are under way. If more messages are coming, keeps
    /// the last frame open for them.
    fn flush(&mut self, cx: &mut Context<'_, LinkMsg>) {
        let is_last = !cx.has_more();
        if is_last {
            for (slot, travels) in self.session.take_released() {
                self.order(Order::Release { slot, travels });
            }
        }
        self.order_waiting();
        if self.sending.is_busy() && !self.beats {
            // The other node must answer within some time.
            self.heard = cx.now();
            self.beat_later(cx);
        }
        if self.life == 0 {
            // The other node must be known: a copy of a frame could come to its next life.
            if self.sending.is_busy() && !self.has_greeted {
                self.has_greeted = true;
                self.send_bare();
            }
            return;
        }
        self.sending.is_fresh = false;
        loop {
            let about = self.about();
            let window = self.base.bounds.window;
            let flushed = (self.sending).flush(&self.base, &self.peer, about, is_last, window);
            let Flushed { sent, too_large } = flushed;
            self.session.sent(sent);
            let Some((frame, max)) = too_large else { break };
            self.refuse_frame(frame, max);
        }
        if self.sending.is_fresh {
            self.receiving.told();
        }
    }

    /// Schedules a new attempt if messages wait for room in mailboxes, or entries wait for the
    /// transport.
    fn retry_later(&mut self, cx: &mut Context<'_, LinkMsg>) {
        let pauses = [self.holding.pause(), self.sending.pause()];
        let Some(pause) = pauses.into_iter().flatten().min() else {
            return;
        };
        if !self.retries {
            let me = cx.address();
            self.retries = cx.send_after(pause, &me, LinkMsg::Retry).is_ok();
        }
    }

    /// If frames are waiting because the transport has refused them, asks the other node for a
    /// frame. When this frame arrives, the waiting frames are sent again.
    fn probe(&mut self) {
        if self.sending.pause().is_some() {
            self.greet();
        }
    }

    /// Sends a frame without entries. The other node must respond, even if it has been restarted
    /// and so is another incarnation. The frame tells a later incarnation nothing about the
    /// sessions of an earlier one.
    fn greet(&mut self) {
        let about = About {
            session: self.session.number(),
            ..About::default()
        };
        self.sending.send_bare(&self.base, &self.peer, about);
    }

    fn beat_later(&mut self, cx: &mut Context<'_, LinkMsg>) {
        let me = cx.address();
        self.beats = cx
            .send_after(self.base.bounds.beat, &me, LinkMsg::Beat)
            .is_ok();
    }

    fn send_bare(&mut self) {
        let about = self.about();
        self.sending.is_fresh = false;
        self.sending.send_bare(&self.base, &self.peer, about);
        if self.sending.is_fresh {
            self.receiving.told();
        }
    }

    /// Returns true if something waits for the other node.
    fn is_busy(&self) -> bool {
        self.sending.is_busy() || !self.questions.is_empty() || !self.watches.is_empty()
    }

    /// Sends a confirmation of the received frames, which also shows that this node is alive. Ends
    /// the session if the other node was silent for too long.
    fn beat(&mut self, cx: &mut Context<'_, LinkMsg>) {
        self.beats = false;
        if self.life == 0 && !self.is_busy() {
            return;
        }
        self.end_late_questions(cx.now());
        let silence = garrick_sched::nanos(self.base.bounds.silence);
        self.sending.beat(self.base.name.as_str());
        let is_stuck = self.sending.beats_stuck() > BEATS_STUCK_MAX;
        if cx.now().saturating_sub(self.heard) >= silence || is_stuck {
            return self.lose(cx);
        }
        self.send_bare();
        self.beat_later(cx);
    }

    /// Publishes the state of the link, so that samples can contain it.
    fn publish(&self, now: Nanos) {
        let has_gap = self.sending.has_lost() || self.receiving.has_reports();
        let state = match (self.life, has_gap) {
            (0, _) => self.rest,
            (_, true) => LinkState::Gap,
            (_, false) => LinkState::Up,
        };
        let (frames_waiting, bytes_unconfirmed) = self.sending.fill();
        let level = Level {
            state,
            life: self.life.max(self.last_life),
            frames_waiting,
            bytes_unconfirmed,
            questions: self.questions.len(),
        };
        self.peer.traffic().set(level, now);
    }
}

impl Actor for Link {
    type Msg = LinkMsg;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, message: LinkMsg, cx: &mut Context<'_, LinkMsg>) -> Self::Outcome {
        self.is_used = true;
        match message {
            LinkMsg::Out(given) => {
                if let Some((line, mut contents)) = given.take() {
                    if line.number() == self.session.number() {
                        let slots = std::mem::take(&mut contents.slots);
                        self.put(contents, cx.now());
                        slots.into_iter().for_each(|slot| line.let_go(slot));
                        self.cancel_watches();
                    } else {
                        line.sent(contents.bytes);
                        contents.let_go(&*line);
                        self.drop_late(contents);
                    }
                }
            }
            // From now on, all that doors give is refused, until no door is left.
            _ if self.is_over => {}
            LinkMsg::Frame(head, entries) => self.take(head, &entries, cx),
            LinkMsg::Ended {
                session,
                watch,
                ended,
            } => {
                if session == self.session.number() {
                    self.watched.remove(watch);
                    self.order(match ended {
                        Some(ended) => Order::Ended { watch, ended },
                        None => Order::Unheard { watch },
                    });
                }
            }
            LinkMsg::Beat => self.beat(cx),
            LinkMsg::Retry => {
                self.retries = false;
                self.retry();
                self.probe();
            }
            LinkMsg::Forget => self.forget_if_silent(cx),
            LinkMsg::Leave => self.leave(),
        }
        if !self.is_over {
            self.flush(cx);
            self.retry_later(cx);
            if self.life == 0 {
                self.rest(cx);
            }
            if !cx.has_more() {
                self.publish(cx.now());
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.is_used && !self.is_over {
            self.leave();
        }
    }
}
