//! Messages between two actors of one worker, where the receiver is not a plain actor.

use garrick::mailbox::{Mailbox, OnFull};
use garrick::supervise::{Strategy, Supervisor};
use garrick::{Address, AsyncActor, AsyncContext, Local};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{Counter, local, send_in};
use super::tell::Teller;

/// Number of messages per turn. This number is so small that the receiver keeps up.
const BURST: u64 = 64;

/// Capacity of a bounded mailbox.
const BOUND: usize = 1024;

pub(super) const TELL_NAMED: Scenario = Scenario {
    name: "tell-named",
    operation: "one message as in 'tell' with bursts of 64, to an actor with a name",
    contenders: |_: &Effort| {
        contender(|ops| {
            by(ops, |local, counter| {
                Ok(local.actor(counter).named("counter").spawn())
            })
        })
    },
};

pub(super) const TELL_SUPERVISED: Scenario = Scenario {
    name: "tell-supervised",
    operation: "one message as in 'tell' with bursts of 64, to a supervised actor",
    contenders: |_: &Effort| contender(supervised),
};

pub(super) const TELL_BOUNDED: Scenario = Scenario {
    name: "tell-bounded",
    operation: "one message as in 'tell' with bursts of 64, to an actor whose mailbox has a \
                capacity of 1024",
    contenders: |_: &Effort| to_mailbox(|| Ok(Mailbox::bounded(BOUND, OnFull::Fail)?)),
};

pub(super) const TELL_LATEST: Scenario = Scenario {
    name: "tell-latest",
    operation: "one message as in 'tell' with bursts of 64, to an actor whose mailbox has a \
                capacity of 1024 and drops the oldest message if it is full",
    contenders: |_: &Effort| to_mailbox(|| Ok(Mailbox::bounded(BOUND, OnFull::DropOldest)?)),
};

pub(super) const TELL_PRIORITY: Scenario = Scenario {
    name: "tell-priority",
    operation: "one message as in 'tell' with bursts of 64, to an actor whose mailbox orders \
                messages by rank",
    contenders: |_: &Effort| {
        // A few ranks, as in programs with urgent and other messages.
        to_mailbox(|| Ok(Mailbox::priority(|message: &u64| (message % 4) as i64)))
    },
};

pub(super) const TELL_ASYNC: Scenario = Scenario {
    name: "tell-async",
    operation: "one message as in 'tell' with bursts of 64, to an async actor whose handler awaits \
                nothing",
    contenders: |_: &Effort| {
        contender(|ops| by(ops, |local, counter| Ok(local.spawn(AsyncCounter(counter)))))
    },
};

/// Returns a contender whose messages go to an actor with a mailbox that `mailbox` creates.
fn to_mailbox(mailbox: fn() -> Result<Mailbox<u64>>) -> Vec<Contender> {
    contender(move |ops| {
        by(ops, |local, counter| {
            Ok(local.actor(counter).mailbox(mailbox()?).spawn())
        })
    })
}

fn contender(measure: impl Fn(u64) -> Result<Measured> + 'static) -> Vec<Contender> {
    vec![Contender::fitted("garrick", measure).with("burst", BURST)]
}

/// An actor that counts messages in an async handler.
struct AsyncCounter(Counter);

impl AsyncActor for AsyncCounter {
    type Msg = u64;
    type Outcome = ();

    async fn receive(&mut self, message: u64, _: &mut AsyncContext<u64>) {
        self.0.count(message);
    }
}

/// Measures sending at least `ops` messages to a counter. `spawn` turns the counter into an actor.
fn by(ops: u64, spawn: impl FnOnce(&Local, Counter) -> Result<Address<u64>>) -> Result<Measured> {
    let turns = ops.div_ceil(BURST);
    let (counter, done) = Counter::new(turns * BURST);
    let local = local()?;
    let to = spawn(&local, counter)?;
    // The actor starts before the measurement.
    local.run();
    send_in(&local.spawn(Teller::new(to, BURST)), turns);
    let watch = Stopwatch::start(Clock::Thread);
    local.run();
    let span = watch.stop();
    assert_eq!(local.handle().dead_letters(), 0, "every message is handled");
    done.try_recv()?;
    Ok(Measured::new(turns * BURST, span))
}

fn supervised(ops: u64) -> Result<Measured> {
    let mut kept = None;
    by(ops, |local, counter| {
        let tree = Supervisor::new("tree", Strategy::OneForOne).spawn(&local.handle())?;
        let child = tree
            .handle()
            .actor(move || counter.clone())
            .supervised_by(&tree)
            .spawn()?;
        // Keeps the supervisor alive during the measurement.
        kept = Some(tree);
        Ok(child)
    })
}
