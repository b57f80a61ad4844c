//! Addresses of actors whose messages have different sizes.

use garrick_actor::{Address, Ask, Context, Ended, Handle, Reply, SendError, Watch};

use crate::node::{Cmd, LARGE, Msg, PLAIN, Tally, WITHIN};
use crate::value::Value;

/// An actor to which all actors and threads of a round may send.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) number: u64,
    /// True if the actor handles the messages of each sender in order.
    pub(crate) is_ordered: bool,
    /// Kind of the actor, which complaints contain.
    pub(crate) what: &'static str,
    pub(crate) to: To,
}

#[derive(Clone)]
pub(crate) enum To {
    Small(Address<Msg<0>>),
    Medium(Address<Msg<6>>),
    Large(Address<Msg<LARGE>>),
}

macro_rules! each {
    ($to:expr, $address:ident => $do:expr) => {
        match $to {
            To::Small($address) => $do,
            To::Medium($address) => $do,
            To::Large($address) => $do,
        }
    };
}

/// An address whose messages have one of the three sizes.
pub(crate) trait Sized_: Sized {
    fn of(self) -> To;
}

impl Sized_ for Address<Msg<0>> {
    fn of(self) -> To {
        To::Small(self)
    }
}

impl Sized_ for Address<Msg<6>> {
    fn of(self) -> To {
        To::Medium(self)
    }
}

impl Sized_ for Address<Msg<LARGE>> {
    fn of(self) -> To {
        To::Large(self)
    }
}

impl Peer {
    pub(crate) fn send(&self, cmd: Cmd) -> Result<(), Cmd> {
        each!(&self.to, to => to.send(cmd.into()).map_err(|SendError(msg)| msg.cmd))
    }

    pub(crate) fn ask(&self, value: Value) -> Ask<Value> {
        each!(&self.to, to => to.ask(|reply| Cmd::Ask(value, reply).into()))
    }

    /// Asks the actor how many questions it has asked and how many answers it has received.
    pub(crate) fn census(&self) -> Ask<(Tally, Tally)> {
        each!(&self.to, to => to.ask(|reply| Cmd::Census(reply).into()))
    }

    pub(crate) fn watch(&self, notice: impl FnOnce(Ended) + Send + 'static) -> Watch {
        each!(&self.to, to => to.watch(notice))
    }

    pub(crate) fn stop(&self) {
        each!(&self.to, to => to.stop());
    }

    /// Asks this peer a question from an actor, without a time limit.
    pub(crate) fn ask_from<const N: usize>(&self, cx: &Context<'_, Msg<N>>, value: Value) {
        let convert = |answer| Cmd::Answered(PLAIN, answer).into();
        each!(&self.to, to => cx.ask(to, |reply| Cmd::Ask(value, reply).into(), convert));
    }

    /// Asks this peer a question from an actor, with a time limit.
    pub(crate) fn ask_within<const N: usize>(
        &self,
        cx: &Context<'_, Msg<N>>,
        within: std::time::Duration,
        value: Value,
    ) {
        let convert = |answer| Cmd::Answered(WITHIN, answer).into();
        let ask = |reply: Reply<Value>| Cmd::Ask(value, reply);
        each!(&self.to, to => cx.ask_within(within, to, |reply| ask(reply).into(), convert));
    }

    pub(crate) fn link<const N: usize>(&self, cx: &Context<'_, Msg<N>>) {
        each!(&self.to, to => cx.link(to));
    }

    pub(crate) fn watch_from<const N: usize>(
        &self,
        cx: &Context<'_, Msg<N>>,
        convert: impl FnOnce(Ended) -> Cmd + Send + 'static,
    ) -> Watch {
        each!(&self.to, to => cx.watch(to, |ended| convert(ended).into()))
    }

    pub(crate) fn send_after<const N: usize>(
        &self,
        cx: &Context<'_, Msg<N>>,
        delay: std::time::Duration,
        cmd: Cmd,
    ) -> Result<(), Cmd> {
        each!(&self.to, to => cx.send_after(delay, to, cmd.into()).map_err(|SendError(msg)| msg.cmd))
    }

    /// Sends a command and moves the receiver to the system `on`.
    pub(crate) fn send_on<const N: usize>(
        &self,
        cx: &Context<'_, Msg<N>>,
        on: &Handle,
        cmd: Cmd,
    ) -> Result<(), Cmd> {
        each!(&self.to, to => cx.send_on(on, to, cmd.into()).map_err(|SendError(msg)| msg.cmd))
    }
}
