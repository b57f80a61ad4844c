//! Async actors, and systems that are started and stopped within a turn.

use std::future::{Future, poll_fn};
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use garrick_actor::{Ask, AsyncActor, AsyncContext, Context, Incoming, Next, System, behavior};

use crate::ledger::{Life, Waiting};
use crate::node::{Cmd, Msg};
use crate::peer::{Peer, Sized_};
use crate::random::Random;
use crate::town::Town;
use crate::value::{Value, hush};
use garrick_testkit::fail;

/// Handles a message that an async actor has received.
async fn obey(town: &Arc<Town>, random: &mut Random, cx: &AsyncContext<Msg<6>>, cmd: Cmd) {
    match cmd {
        Cmd::Ask(value, reply) => {
            if random.one_in(4) {
                cx.yield_now().await;
            }
            reply.send(value);
        }
        Cmd::Census(reply) => reply.send(Default::default()),
        Cmd::Act(value, left) => {
            hush(value);
            if town.burn()
                && let Some(peer) = town.peer(random.next())
            {
                let value = Value::plain(town);
                match random.below(6) {
                    4 | 5 => press_in(town, random, value).await,
                    0 if left > 0 => hush(peer.send(Cmd::Act(value, left - 1))),
                    1 => {
                        // Without a limit to the time they would wait for one another.
                        let ask = peer.ask(value);
                        race(cx, ask, 200).await;
                    }
                    2 => {
                        hush(value);
                        cx.sleep(Duration::from_micros(random.below(200))).await;
                    }
                    _ => {
                        let ask = peer.ask(value);
                        race(cx, ask, 20).await;
                    }
                }
            }
        }
        other => hush(other),
    }
}

/// Waits for the answer to `question`, but for at most `micros` microseconds.
async fn race(cx: &AsyncContext<Msg<6>>, question: Ask<Value>, micros: u64) {
    let mut question = pin!(question);
    let mut time = pin!(cx.sleep(Duration::from_micros(micros)));
    poll_fn(|task| {
        if let Poll::Ready(answer) = question.as_mut().poll(task) {
            hush(answer);
            return Poll::Ready(());
        }
        time.as_mut().poll(task)
    })
    .await;
}

/// Runs an async actor that is a function.
pub(crate) async fn live(town: Arc<Town>, seed: u64, mut mailbox: Incoming<Msg<6>>, _life: Life) {
    let mut random = Random::new(seed);
    let cx = mailbox.context();
    let _own = Value::any(&town, &mut random).excused();
    while let Some(msg) = mailbox.recv().await {
        obey(&town, &mut random, &cx, msg.cmd).await;
        if !town.is_burnt() && random.one_in(40) {
            if random.one_in(2) {
                return;
            }
            fail();
        }
    }
}

/// An async actor that is a struct with fields.
struct Guest {
    town: Arc<Town>,
    random: Random,
    _own: Value,
}

impl AsyncActor for Guest {
    type Msg = Msg<6>;
    type Outcome = Next;

    async fn receive(&mut self, msg: Msg<6>, cx: &mut AsyncContext<Msg<6>>) -> Next {
        obey(&self.town, &mut self.random, cx, msg.cmd).await;
        if self.town.is_burnt() || !self.random.one_in(40) {
            return Next::Continue;
        }
        match self.random.below(4) {
            0 => Next::Stop,
            1 => cx.fail("as it comes"),
            2 => fail(),
            _ => Next::Undo,
        }
    }
}

/// Sends `value` to a random bounded mailbox and waits for room. Gives up if the mailbox is still
/// full after at most three polls.
pub(crate) fn press_in(
    town: &Arc<Town>,
    random: &mut Random,
    value: Value,
) -> impl Future<Output = ()> + Send + use<> {
    let inlet = town.inlet(random.next());
    let (waiting, mut left) = (Waiting::new(town), random.below(3));
    async move {
        let _waiting = waiting;
        let Some(inlet) = inlet else {
            return hush(value);
        };
        let mut send = Box::pin(inlet.send_async(Cmd::Act(value, 1).into()));
        poll_fn(|task| match send.as_mut().poll(task) {
            Poll::Ready(sent) => {
                hush(sent);
                Poll::Ready(())
            }
            Poll::Pending if left == 0 => Poll::Ready(()),
            Poll::Pending => {
                left -= 1;
                Poll::Pending
            }
        })
        .await;
        hush(send);
    }
}

/// Spawns an async actor of a random kind in a turn.
pub(crate) fn settle<M: 'static>(town: &Arc<Town>, random: &mut Random, cx: &Context<'_, M>) {
    let address = if random.one_in(2) {
        let (own, seed) = (town.clone(), random.next());
        let mut life = Life::new(town, &Arc::default());
        life.start();
        cx.spawn(move |mailbox| live(own, seed, mailbox, life))
    } else {
        cx.spawn(Guest {
            town: town.clone(),
            random: Random::new(random.next()),
            _own: Value::any(town, random).excused(),
        })
    };
    town.enlist(Peer {
        number: town.number(),
        what: "async",
        is_ordered: true,
        to: address.of(),
    });
}

/// Starts a system in a turn and ends the system in the same turn.
pub(crate) fn short_lived_system(town: &Arc<Town>, random: &mut Random) {
    let Ok(system) = System::builder().workers(1).on_failure(|_| ()).start() else {
        return;
    };
    let value = Value::plain(town);
    let keeper = system.spawn(behavior(move |(): (), _| {
        let _kept = &value;
        Next::Continue
    }));
    let (inlet, outlet) = system.stream::<Value>(NonZero::<usize>::MIN).unwrap();
    hush(inlet.try_send(Value::plain(town)));
    hush(inlet.try_send(Value::plain(town)));
    if let Ok(keeper) = keeper {
        let _ = keeper.send(());
    }
    match random.below(3) {
        0 => system.shutdown(),
        1 => system.shutdown_now(),
        _ => drop(system),
    }
    drop(outlet);
}
