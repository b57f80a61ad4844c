//! A wrapper of entities. The turns of an entity take effect only while the node owns the shard of
//! the entity.

use std::sync::Arc;

use garrick_actor::{Actor, Context, Next, Outcome};

use crate::members::Tenure;

/// An entity, with the right (`Tenure`) of its node to run the entities of the shard.
pub(super) struct Leased<A> {
    actor: A,
    tenure: Arc<Tenure>,
    key: Arc<str>,
    has_started: bool,
}

impl<A> Leased<A> {
    pub(super) fn new(actor: A, tenure: Arc<Tenure>, key: Arc<str>) -> Self {
        Self {
            actor,
            tenure,
            key,
            has_started: false,
        }
    }
}

impl<A: Actor> Actor for Leased<A> {
    type Msg = A::Msg;
    type Outcome = Next;
    // The actor starts in the turn of its first message, so that this has effects only with the
    // lease, too.
    const STARTS: bool = false;
    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = true;
    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn receive(&mut self, message: A::Msg, cx: &mut Context<'_, A::Msg>) -> Next {
        if self.tenure.is_over() {
            return Next::Stop;
        }
        let is_first = !self.has_started;
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
