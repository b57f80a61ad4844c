//! Addresses whatever the size of what is sent there.

use garrick_actor::{Address, Ask, Context, Ended, Handle, Reply, SendError, Watch};

use crate::node::{Cmd, LARGE, Msg, PLAIN, Tally, WITHIN};
use crate::value::Value;

/// Somebody to whom anybody may send.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) number: u64,
    /// True if messages from one sender are handled in order there.
    pub(crate) is_ordered: bool,
    /// Name for complaints.
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

/// An address of messages of one of the sizes.
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

    /// Asks for the tallies of the questions that it has asked.
    pub(crate) fn census(&self) -> Ask<(Tally, Tally)> {
        each!(&self.to, to => to.ask(|reply| Cmd::Census(reply).into()))
    }

    pub(crate) fn watch(&self, notice: impl FnOnce(Ended) + Send + 'static) -> Watch {
        each!(&self.to, to => to.watch(notice))
    }

    pub(crate) fn stop(&self) {
        each!(&self.to, to => to.stop());
    }

    /// Asks from an actor.
    pub(crate) fn ask_from<const N: usize>(&self, cx: &Context<'_, Msg<N>>, value: Value) {
        let convert = |answer| Cmd::Answered(PLAIN, answer).into();
        each!(&self.to, to => cx.ask(to, |reply| Cmd::Ask(value, reply).into(), convert));
    }

    /// Sends a question with a time limit.
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

    /// Sends, and the receiver moves there.
    pub(crate) fn send_on<const N: usize>(
        &self,
        cx: &Context<'_, Msg<N>>,
        on: &Handle,
        cmd: Cmd,
    ) -> Result<(), Cmd> {
        each!(&self.to, to => cx.send_on(on, to, cmd.into()).map_err(|SendError(msg)| msg.cmd))
    }
}
