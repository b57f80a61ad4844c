//! Steps by which a node ends its membership in the cluster.

use std::time::Duration;

use garrick_actor::{Context, Next, NoReply, Reply};
use garrick_sched::{Nanos, nanos};

use super::{Exit, Placer, PlacerMsg, TICK};
use crate::members::order::Order;
use crate::members::own::Own;
use crate::placement::News;

/// Maximum time for which a leaving node sends its waiting messages to other nodes. This limit is
/// longer than the 10 s for which a message can wait. Also the maximum time for which a draining
/// node waits for a valid lease.
const CLOSES_WITHIN: Duration = Duration::from_secs(12);

/// Maximum time for which a leaving node waits until its links have sent everything. Without this
/// limit, a turn that does not end could delay the node for longer.
const SENDS_WITHIN: Duration = Duration::from_secs(1);

/// Time between two checks of the links of a leaving node.
const CLOSES_LOOK: Duration = Duration::from_millis(20);

/// Time within which a leaving node must remove its record. Otherwise, other nodes remove it.
const REMOVES_WITHIN: Duration = Duration::from_secs(2);

/// Maximum number of callers that wait for the end of the membership. A caller that has given up
/// counts, because nobody tells the placer.
const WAITERS_MAX: usize = 1_024;

impl Placer {
    /// Adds a caller that waits for the end of the membership, or refuses it if too many wait.
    pub(super) fn wait_for_end(&mut self, reply: Reply<()>) {
        if self.waiters.len() < WAITERS_MAX {
            self.waiters.push(reply);
        } else {
            reply.refuse(NoReply::Refused);
        }
    }

    /// After the last shard was handed over, tells the regions (the actors that pass on messages to
    /// entities) to accept no more messages.
    pub(super) fn finish_drain(&mut self, cx: &Context<'_, PlacerMsg>) {
        if !self.own.is_draining || !matches!(self.exit, Exit::No) {
            return;
        }
        let seen = self.view.member(&self.own.name);
        let is_known = seen.is_none_or(|seen| seen.value.is_draining);
        if !is_known || self.owned() > 0 || !self.pending.is_empty() {
            return;
        }
        for (kind, used) in &self.used {
            let has_hosts = self.view.hosts(kind).next().is_some();
            used.order(Order::Closes { has_hosts });
        }
        self.exit = Exit::Closes {
            regions: self.used.keys().cloned().collect(),
            until: cx.lease_now().saturating_add(nanos(CLOSES_WITHIN)),
        };
        self.leave_if_closed(cx);
    }

    /// Ends the membership if all messages that were waiting for other nodes have been sent, or if
    /// the time limit has passed.
    pub(super) fn leave_if_closed(&mut self, cx: &Context<'_, PlacerMsg>) {
        let Exit::Closes { regions, until } = &mut self.exit else {
            return;
        };
        let (now, me) = (cx.lease_now(), cx.address());
        if now >= *until || regions.is_empty() && !self.lines.waits() {
            let _ = cx.send(&me, PlacerMsg::Leave);
        } else if regions.is_empty() {
            *until = now.saturating_add(nanos(SENDS_WITHIN)).min(*until);
            let _ = cx.send_after(CLOSES_LOOK, &me, PlacerMsg::Look);
        }
    }

    /// Ends the membership of a draining node that has had no valid lease for [`CLOSES_WITHIN`].
    /// Such a node can hand no shards over: other nodes have taken them, or will take them.
    pub(super) fn leave_if_cut_off(&mut self, cx: &Context<'_, PlacerMsg>) {
        let now = cx.lease_now();
        let waits = self.own.is_draining && matches!(self.exit, Exit::No);
        if !waits || self.own.may_act(now) {
            self.cut_off_since = None;
            return;
        }
        let since = *self.cut_off_since.get_or_insert(now);
        if now.saturating_sub(since) >= nanos(CLOSES_WITHIN) {
            let _ = cx.send(&cx.address(), PlacerMsg::Leave);
        }
    }

    /// Ends the leases of the node, and begins to remove its record.
    pub(super) fn leave(&mut self, cx: &Context<'_, PlacerMsg>) -> Next {
        let since = cx.lease_now();
        self.exit = Exit::Removes { since };
        self.own.leave();
        for used in self.used.values() {
            used.order(Order::Left);
        }
        self.publish();
        self.publish_standings(true, cx);
        self.remove(since, false, cx)
    }

    /// Removes the record of a leaving node. `since` is the time of the first attempt. If a renewal
    /// that is under way takes effect before the removal, the removal is refused and is sent again.
    fn remove(&mut self, since: Nanos, again: bool, cx: &Context<'_, PlacerMsg>) -> Next {
        let is_late = cx.lease_now().saturating_sub(since) >= nanos(REMOVES_WITHIN);
        if is_late || !self.own.may_have_record() {
            for reply in self.waiters.drain(..) {
                reply.send(());
            }
            return Next::Stop;
        }
        if let Some(removal) = self.own.removal(again) {
            self.placement.change(removal, &Self::news(cx));
        }
        Next::Continue
    }

    /// Handles a message while this node's own record is being removed.
    pub(super) fn receive_last(
        &mut self,
        message: PlacerMsg,
        since: Nanos,
        cx: &Context<'_, PlacerMsg>,
    ) -> Next {
        let mut again = false;
        match message {
            PlacerMsg::Beat => {
                again = true;
                self.reads_since = None;
                self.read(cx);
                let _ = cx.send_after(TICK, &cx.address(), PlacerMsg::Beat);
            }
            PlacerMsg::News(News::Outcome {
                ticket, outcome, ..
            }) => {
                if let Some(beat) = Own::beat_of(ticket) {
                    let _ = self.own.answered(beat, &outcome, cx.lease_now());
                    self.read(cx);
                }
            }
            PlacerMsg::News(News::Records {
                records,
                revision,
                is_whole,
            }) => {
                self.reads_since = None;
                let _ = (self.view).apply(&records, revision, is_whole, |_, _| {});
                let _ = self.own.look(&self.view, cx.lease_now());
                if self.reads_again {
                    self.read(cx);
                }
            }
            PlacerMsg::Use { region, .. } => region.order(Order::Left),
            PlacerMsg::Drain(reply) | PlacerMsg::Await(reply) => self.wait_for_end(reply),
            _ => {}
        }
        self.remove(since, again, cx)
    }
}
