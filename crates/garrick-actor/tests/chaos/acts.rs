//! Random actions of an actor in a turn.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::stream;
use garrick_actor::{Address, Context, Reply, behavior};

use crate::children;
use crate::guests;
use crate::node::{Cmd, Msg, Node, PIPED, PLAIN, WITHIN};
use crate::peer::{Peer, Sized_, To};
use crate::random::Random;
use crate::town::{SMALL, Town, settle};
use crate::value::{Value, hush};
use garrick_testkit::fail;

/// Handles a question: answers it now or later, passes it on, or drops its reply.
pub(crate) fn answer<const N: usize>(
    node: &mut Node<N>,
    value: Value,
    reply: Reply<Value>,
    cx: &Context<'_, Msg<N>>,
) {
    match node.random.below(8) {
        0 => {
            drop(reply);
            hush(value);
        }
        // Not one whose turn panics and who goes on all the same, nor one whose mailbox may lose
        // what makes it let go: when the town has forgotten them, they would keep it.
        1 if !node.town.is_burnt() && node.counts => {
            node.pending.held.push(reply);
            // Who can be reached by nobody else any more lets go of it all the same.
            let _ = cx.send_after(
                Duration::from_micros(200),
                &cx.address(),
                Cmd::Release.into(),
            );
            hush(value);
        }
        2 => match node.town.peer(node.random.next()) {
            Some(peer) if node.town.burn() => hush(peer.send(Cmd::Ask(value, reply))),
            _ => reply.send(value),
        },
        3 => {
            hush(value);
            cx.spawn(async move |_: garrick_actor::Incoming<()>| drop(reply));
        }
        _ => reply.send(value),
    }
}

fn micros(random: &mut Random) -> Duration {
    Duration::from_micros(random.below(300))
}

/// Minimum period of a repeating timer. A timer ticks even if its receiver is slow. Unoptimized
/// code must be able to handle the ticks of all timers, because otherwise a round never ends.
const REPEATED: Duration = Duration::from_millis(1);

/// Performs one to four random actions, if the round has enough actions left.
pub(crate) fn act<const N: usize>(node: &mut Node<N>, left: u8, cx: &mut Context<'_, Msg<N>>) {
    for _ in 0..=node.random.below(4) {
        if !node.town.burn() {
            return;
        }
        let town = node.town.clone();
        let Some(peer) = town.peer(node.random.next()) else {
            return;
        };
        let what = node.random.below(40);
        match what {
            0..8 if left > 0 => {
                let value = Value::any(&town, &mut node.random);
                hush(peer.send(Cmd::Act(value, left - 1)));
            }
            0..14 => tell_next(node, &peer),
            14..20 => ask(node, &peer, cx),
            20..25 => watch(node, &peer, cx),
            25..29 => bear(node, cx),
            29..32 => set_timers(node, &peer, cx),
            32..35 => begin_beside(node, &peer, cx),
            35..37 => use_services(node, cx),
            37 => children::change(&town, &mut node.random),
            38 => others(node, &peer, cx),
            _ => answer_held(node),
        }
    }
}

fn tell_next<const N: usize>(node: &mut Node<N>, peer: &Peer) {
    if !peer.is_ordered {
        return;
    }
    let count = 1 + node.random.below(12);
    let from = node.number;
    let mut numbers = Vec::new();
    for _ in 0..count {
        let last = node.sent.entry(peer.number).or_default();
        *last += 1;
        numbers.push(*last);
    }
    let town = node.town.clone();
    let commands = numbers
        .into_iter()
        .map(|number| Cmd::Next(from, number, Value::plain(&town)));
    match &peer.to {
        To::Small(to) => hush(to.send_batch(commands.map(Msg::from).collect::<Vec<_>>())),
        _ => commands.for_each(|cmd| hush(peer.send(cmd))),
    }
}

fn ask<const N: usize>(node: &mut Node<N>, peer: &Peer, cx: &Context<'_, Msg<N>>) {
    let value = Value::any(&node.town, &mut node.random);
    match node.random.below(3) {
        0 => {
            // It is answered also if the turn is undone.
            node.asked[PLAIN] += 1;
            peer.ask_from(cx, value);
        }
        1 => {
            node.asked[WITHIN] += 1;
            let within = micros(&mut node.random);
            peer.ask_within(cx, within, value);
        }
        _ => {
            node.pending.asks += 1;
            cx.pipe_answer(peer.ask(value), |answer| {
                Cmd::Answered(PIPED, answer).into()
            });
        }
    }
}

fn watch<const N: usize>(node: &mut Node<N>, peer: &Peer, cx: &Context<'_, Msg<N>>) {
    match node.random.below(4) {
        0 => {
            let value = Value::any(&node.town, &mut node.random);
            let watch = peer.watch_from(cx, move |_| Cmd::Noticed(value));
            if node.random.one_in(3) {
                watch.cancel();
            }
        }
        1 if node.random.one_in(6) => peer.link(cx),
        2 if !node.watches.is_empty() => {
            let (watch, sighting) = node.watches.swap_remove(0);
            sighting.cancel();
            watch.cancel();
        }
        _ => {
            let sighting = node.town.ledger.watch();
            let (seen, value) = (sighting.clone(), Value::any(&node.town, &mut node.random));
            let fails = node.random.one_in(8);
            let watch = peer.watch(move |ended| {
                seen.notice(&ended);
                hush(value);
                if fails {
                    fail();
                }
            });
            node.pending.watches.push(sighting.clone());
            node.watches.push((watch, sighting));
        }
    }
}

/// Spawns an actor of a random kind.
fn bear<const N: usize>(node: &mut Node<N>, cx: &Context<'_, Msg<N>>) {
    let town = node.town.clone();
    let random = &mut node.random;
    match random.below(6) {
        0 => {
            let child = Node::<6>::new(&town, random.next(), false).counting();
            enlist(&town, child.number(), cx.spawn(child));
        }
        1 => {
            if let Some(handle) = town.handle(random.next()) {
                let child = Node::<0>::new(&town, random.next(), false).counting();
                enlist(&town, child.number(), cx.actor(child).on(&handle).spawn());
            }
        }
        2 => {
            if let Some(handle) = town.handle(random.next()) {
                settle::<6>(&town, &handle, random);
            }
        }
        3 => {
            // A closure that is dropped with both must not have two that panic.
            let (one, other) = (Value::any(&town, random), Value::plain(&town));
            become_in_turns(&town, one, other, cx);
            town.settle_behind_inlet(&mut node.random);
        }
        _ => guests::settle(&town, random, cx),
    }
}

fn enlist<const N: usize>(town: &Town, number: u64, address: Address<Msg<N>>)
where
    Address<Msg<N>>: Sized_,
{
    town.enlist(Peer {
        number,
        what: "born in a turn",
        is_ordered: true,
        to: address.of(),
    });
}

/// Spawns a closure that becomes another closure when it receives its first message.
fn become_in_turns<const N: usize>(
    town: &Arc<Town>,
    one: Value,
    other: Value,
    cx: &Context<'_, Msg<N>>,
) {
    let other = Arc::new(std::sync::Mutex::new(Some(other)));
    let first = behavior(move |msg: Msg<6>, cx| {
        let _kept = &one;
        hush(msg);
        let other = other.lock().map(|mut other| other.take());
        if let Ok(Some(other)) = other {
            cx.becomes(move |msg, _| {
                let _kept = &other;
                hush(msg);
                garrick_actor::Next::Continue
            });
        }
        garrick_actor::Next::Continue
    });
    enlist(town, town.number(), cx.spawn(first));
}

fn set_timers<const N: usize>(node: &mut Node<N>, peer: &Peer, cx: &Context<'_, Msg<N>>) {
    let town = node.town.clone();
    let delay = micros(&mut node.random);
    let value = Value::any(&town, &mut node.random);
    match node.random.below(5) {
        0 => hush(peer.send_after(cx, delay, Cmd::Tick(value))),
        1 => match cx.start_timer(delay, &cx.address(), Cmd::Tick(value).into()) {
            Ok(timer) => node.timers.push(timer),
            Err(error) => hush(error),
        },
        2 => {
            let period = REPEATED + delay;
            let make = move |_| {
                let _kept = &value;
                Cmd::Tick(Value::plain(&town)).into()
            };
            match cx.send_every_with(period, &cx.address(), make) {
                Ok(timer) => node.timers.push(timer),
                Err(error) => hush(error),
            }
        }
        3 if node.is_patient => {
            hush(value);
            cx.set_receive_timeout(delay).unwrap();
        }
        _ => {
            hush(value);
            node.timers.drain(..).for_each(|timer| timer.cancel());
        }
    }
}

/// Starts a future or a stream that runs in the background of the actor.
fn begin_beside<const N: usize>(node: &mut Node<N>, peer: &Peer, cx: &Context<'_, Msg<N>>) {
    let town = node.town.clone();
    let value = Value::any(&town, &mut node.random);
    let fails = node.random.one_in(5);
    match node.random.below(3) {
        0 => {
            let mut polls = node.random.below(3);
            let mut value = Some(value);
            let future = poll_fn(move |task| {
                if polls > 0 {
                    polls -= 1;
                    task.waker().wake_by_ref();
                    return Poll::Pending;
                }
                if fails {
                    hush(value.take());
                    fail();
                }
                value.take().map_or(Poll::Pending, Poll::Ready)
            });
            cx.pipe(future, |result| Cmd::Piped(result).into());
        }
        1 => {
            let question = peer.ask(value);
            let future = async move {
                let answer = question.await;
                answer.unwrap_or_else(|_| Value::plain(&town))
            };
            cx.pipe(future, |result| Cmd::Piped(result).into());
        }
        _ => {
            let mut values: Vec<_> = (0..node.random.below(20))
                .map(|_| Value::plain(&town))
                .collect();
            values.push(value);
            let stream = stream::iter(values);
            cx.attach(stream, |item| Cmd::Item(item).into());
            let value = Value::plain(&node.town);
            let send = guests::press_in(&node.town, &mut node.random, value);
            cx.pipe(send, |_| Cmd::Quiet.into());
        }
    }
}

fn use_services<const N: usize>(node: &mut Node<N>, cx: &Context<'_, Msg<N>>) {
    let town = node.town.clone();
    let Some(services) = town.services() else {
        return;
    };
    let value = Value::any(&town, &mut node.random);
    let heard = cx.address().contramap(|value| Cmd::Heard(value).into());
    match node.random.below(8) {
        0 => hush(services.topic.publish(Arc::new(value))),
        1 => hush((services.topic.subscribe(&heard), value)),
        2 => hush(services.events.publish(Arc::new(value))),
        3 => hush((services.events.subscribe(&heard), value)),
        4 => {
            services.pool.run_from(cx, value, |result| {
                hush(result);
                Cmd::Quiet.into()
            });
        }
        5 => {
            let msg = Cmd::Act(value, 1).into();
            hush(services.router.send(msg));
        }
        _ => {
            hush(value);
            if let Some(Peer {
                to: To::Small(to), ..
            }) = town.peer(node.random.next())
            {
                match node.random.below(3) {
                    0 => hush(services.receptionist.serve(&SMALL, &to)),
                    1 => hush(services.receptionist.withdraw(&SMALL, &to)),
                    _ => hush(services.router.add(&to)),
                }
            }
        }
    }
}

/// Performs a rare action, such as to stop another actor or to shut down a system.
fn others<const N: usize>(node: &mut Node<N>, peer: &Peer, cx: &mut Context<'_, Msg<N>>) {
    let town = node.town.clone();
    match node.random.below(12) {
        0..3 => peer.stop(),
        3..6 => town.forget(node.random.next()),
        6 if node.random.one_in(12) => drop(town.take_system(0)),
        6 => town.begin_end(node.random.one_in(2)),
        7 => guests::short_lived_system(&town, &mut node.random),
        8 => {
            if let Some(handle) = town.handle(node.random.next()) {
                let value = Value::any(&town, &mut node.random);
                // It moves there.
                hush(peer.send_on(cx, &handle, Cmd::Act(value, 1)));
            }
        }
        _ => {
            cx.unstash_all();
        }
    }
}

fn answer_held<const N: usize>(node: &mut Node<N>) {
    let town = node.town.clone();
    for reply in node.held.drain(..) {
        reply.send(Value::plain(&town));
    }
}
