//! A wrapper of entities. The turns of an entity take effect only while the node owns the shard of
//! the entity.

use std::sync::Arc;

use garrick_actor::{Actor, Context, Next, Outcome};

use crate::members::Tenure;

/// Reason that is reported if an entity could not start because the lease of its node was not
/// valid.
const UNSURE: &str = "the node may have lost the shard, because its membership was not renewed";

/// An entity, with the right (`Tenure`) of its node to run the entities of the shard.
///
/// If `AT_ONCE` is false, the entity starts in the turn of its first message. If `AT_ONCE` is true,
/// the entity starts when it is created, in a turn whose commit it must leave to its journal. The
/// entity must be supervised then.
pub(super) struct Leased<A, const AT_ONCE: bool> {
    actor: A,
    tenure: Arc<Tenure>,
    key: Arc<str>,
    has_started: bool,
}

impl<A, const AT_ONCE: bool> Leased<A, AT_ONCE> {
    pub(super) fn new(actor: A, tenure: Arc<Tenure>, key: Arc<str>) -> Self {
        Self {
            actor,
            tenure,
            key,
            has_started: false,
        }
    }
}

impl<A: Actor, const AT_ONCE: bool> Actor for Leased<A, AT_ONCE> {
    type Msg = A::Msg;
    type Outcome = Next;
    // If `AT_ONCE` is false, the actor starts in the turn of its first message. Then the effects of
    // the start also need a valid lease.
    const STARTS: bool = AT_ONCE && A::STARTS;
    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = true;
    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> Next {
        if self.tenure.is_over() {
            return Next::Stop;
        }
        if !self.tenure.may_begin(cx.lease_now()) {
            return cx.fail(UNSURE);
        }
        let next = self.actor.started(cx).into_next();
        // The lease may have ended while the entity read its state. The supervisor tries again.
        if !self.tenure.may_begin(cx.lease_now()) {
            return cx.fail(UNSURE);
        }
        self.has_started = true;
        next
    }

    fn receive(&mut self, message: A::Msg, cx: &mut Context<'_, A::Msg>) -> Next {
        if self.tenure.is_over() {
            return Next::Stop;
        }
        let is_first = !self.has_started;
        if is_first || !self.tenure.may_begin(cx.lease_now()) {
            // The turn is held or undone as a whole only if it handles one message. If the last of
            // several messages fails, the effects of the others take place at once.
            cx.take_no_more();
        }
        let mut next = Next::Continue;
        if A::STARTS && is_first {
            next = self.actor.started(cx).into_next();
        }
        if next == Next::Continue {
            next = self.actor.receive(message, cx).into_next();
        }
        let now = cx.lease_now();
        // If the actor has left the commit to its journal, that decides: it accepts no event after
        // another node has opened the entity.
        if !cx.commits_later() {
            if !self.tenure.is_sure(now) {
                let tenure = Arc::clone(&self.tenure);
                cx.commit_later(move |turn| tenure.hold(turn, now));
            }
        } else if is_first && !self.tenure.may_begin(now) {
            // The journal would refuse the entity on the node that has the shard now, and accept
            // the events of this one, which may have read its state after that one has begun.
            return Next::Undo;
        }
        self.has_started = true;
        next
    }

    fn message_kind(message: &A::Msg) -> usize {
        A::message_kind(message)
    }

    fn name() -> &'static str {
        A::name()
    }

    fn label(&self) -> Option<String> {
        self.actor.label().or_else(|| Some(self.key.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use garrick_actor::{NoReply, Reply, System};
    use garrick_testkit::{ByHand, fail, silence_panics};

    use super::*;
    use crate::members::Lease;

    /// An actor that handles all messages that wait in one turn. Fails if a message has no reply.
    struct Greedy;

    impl Actor for Greedy {
        type Msg = Option<Reply<()>>;
        type Outcome = ();
        const COMMITS_LATER: bool = true;

        fn receive(&mut self, first: Self::Msg, cx: &mut Context<'_, Self::Msg>) {
            let mut message = Some(first);
            while let Some(reply) = message {
                match reply {
                    Some(reply) => reply.send(()),
                    None => fail(),
                }
                message = cx.next_message();
            }
        }
    }

    #[test]
    fn an_answer_needs_a_lease_even_if_a_later_message_of_the_turn_fails() {
        silence_panics();
        let clock = ByHand::new();
        clock.advance(Duration::from_secs(1));
        let local = System::builder().world(clock).on_failure(|_| ());
        let local = local.local().unwrap();
        let lease = Arc::new(Lease::new());
        let tenure = Arc::new(Tenure::new(lease.clone()));
        let mut leased = Leased::<_, false>::new(Greedy, tenure, "key".into());
        leased.has_started = true;
        let actor = local.spawn(leased);
        let asked = actor.ask(Some);
        actor.send(None).unwrap();
        (0..16).for_each(|_| local.run());
        assert_eq!(lease.held_turns(), 1);
        lease.end();
        (0..16).for_each(|_| local.run());
        assert_eq!(asked.wait(), Err(NoReply::Dropped));
    }
}
