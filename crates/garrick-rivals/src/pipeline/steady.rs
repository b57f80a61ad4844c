//! Actors of `steady_state`, written like the actors of that crate's lesson on performance. Each
//! actor waits until a channel is half full or half empty, and handles the available messages as
//! two slices.

use std::error::Error;
use std::mem::MaybeUninit;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use garrick_bench::{Counts, Message};
use garrick_measure::{Result, Span};
use steady_state::{
    GraphBuilder, MemberOf, RxCore, SoloAct, SteadyActor, SteadyActorShadow, SteadyRx, SteadyTx,
    await_for_all,
};

use super::{Mode, Plan, watch};

/// Time limit for the shutdown after the last message has been counted.
const END: Duration = Duration::from_secs(10);

/// The result that an actor returns when it ends.
type Ended = std::result::Result<(), Box<dyn Error>>;

pub(super) fn run(plan: Plan) -> Result<(Counts, Span)> {
    let mut graph = GraphBuilder::for_production()
        .with_telemetry_metric_features(false)
        .build(());
    let channels = graph.channel_builder().with_capacity(plan.capacity);
    let (numbers, numbers_in) = channels.build_channel::<u64>();
    let (names, names_in) = channels.build_channel::<Message>();
    let (done, counted) = mpsc::channel();
    let generator = move |cx| generate(cx, numbers.clone(), plan.messages);
    let worker = move |cx| work(cx, numbers_in.clone(), names.clone(), plan.mode);
    let logger = move |cx| log(cx, names_in.clone(), done.clone());
    let actors = graph.actor_builder();
    let actor = |name| actors.with_name(name);
    if plan.threads == 2 {
        // The troupe starts when this variable is dropped.
        let mut troupe = graph.actor_troupe();
        actor("generator").build(generator, MemberOf(&mut troupe));
        actor("worker").build(worker, MemberOf(&mut troupe));
    } else {
        actor("generator").build(generator, SoloAct);
        actor("worker").build(worker, SoloAct);
    }
    actor("logger").build(logger, SoloAct);
    let watch = watch();
    graph.start();
    let counts = counted.recv()?;
    let span = watch.stop();
    graph.block_until_stopped(END)?;
    Ok((counts, span))
}

/// Sends the numbers below `messages`. Requests the end of the pipeline after the last number.
async fn generate(cx: SteadyActorShadow, numbers: SteadyTx<u64>, messages: u64) -> Ended {
    let mut actor = cx.into_spotlight([], [&numbers]);
    let mut numbers = numbers.lock().await;
    let half = numbers.capacity() / 2;
    let mut sent = 0;
    while actor.is_running(|| numbers.mark_closed()) {
        await_for_all!(actor.wait_vacant(&mut numbers, half));
        let (first, second) = actor.poke_slice(&mut numbers);
        let slots = first.iter_mut().chain(second);
        let mut count = 0;
        for (slot, number) in slots.zip(sent..messages) {
            slot.write(number);
            count += 1;
        }
        actor.advance_send_index(&mut numbers, count);
        sent += count as u64;
        if sent == messages {
            actor.request_shutdown().await;
        }
    }
    Ok(())
}

/// Converts numbers to their names.
async fn work(
    cx: SteadyActorShadow,
    numbers: SteadyRx<u64>,
    names: SteadyTx<Message>,
    mode: Mode,
) -> Ended {
    let mut actor = cx.into_spotlight([&numbers], [&names]);
    let mut numbers = numbers.lock().await;
    let mut names = names.lock().await;
    let half = numbers.capacity() / 2;
    let mut buffers = (vec![0; half], Vec::with_capacity(half));
    while actor.is_running(|| is_over(&mut numbers) && names.mark_closed()) {
        await_for_all!(
            actor.wait_avail(&mut numbers, half),
            actor.wait_vacant(&mut names, half)
        );
        match mode {
            Mode::ZeroCopy => {
                let count = call(actor.peek_slice(&mut numbers), actor.poke_slice(&mut names));
                actor.advance_send_index(&mut names, count);
                actor.advance_take_index(&mut numbers, count);
            }
            // Handle both halves before waiting again, if they are available.
            Mode::DoubleBuffer => {
                for _ in 0..2 {
                    let (taken, made) = &mut buffers;
                    let room = actor.vacant_units(&mut names).min(half);
                    let taken_done = actor.take_slice(&mut numbers, &mut taken[..room]);
                    made.clear();
                    let taken = &taken[..taken_done.item_count()];
                    made.extend(taken.iter().map(|number| Message::of(*number)));
                    actor.send_slice(&mut names, made);
                }
            }
        }
    }
    Ok(())
}

/// Returns true if no more messages will come. `is_closed_and_empty` first checks that the channel
/// is empty, and then that it is closed. A message that is sent between these two checks would be
/// lost, so this function calls `is_closed_and_empty` twice.
fn is_over(channel: &mut impl RxCore) -> bool {
    channel.is_closed_and_empty() && channel.is_closed_and_empty()
}

/// Writes the names of the numbers until no number or no free slot is left. Returns the count of
/// written names. A plain loop handles each run of slots that is contiguous in both channels.
fn call(
    (first, second): (&[u64], &[u64]),
    (out_first, out_second): (&mut [MaybeUninit<Message>], &mut [MaybeUninit<Message>]),
) -> usize {
    let (near, far) = first.split_at(first.len().min(out_first.len()));
    let (out_near, out_far) = out_first.split_at_mut(near.len());
    let (far_near, far_far) = far.split_at(far.len().min(out_second.len()));
    let (out_far_near, out_far_far) = out_second.split_at_mut(far_near.len());
    let mut count = name_each(near, out_near) + name_each(far_near, out_far_near);
    if far_far.is_empty() {
        let (near, far) = second.split_at(second.len().min(out_far.len()));
        count += name_each(near, out_far) + name_each(far, out_far_far);
    }
    count
}

fn name_each(numbers: &[u64], names: &mut [MaybeUninit<Message>]) -> usize {
    for (number, name) in numbers.iter().zip(names.iter_mut()) {
        name.write(Message::of(*number));
    }
    numbers.len().min(names.len())
}

/// Counts the names, and reports the counts when no more names will come.
async fn log(cx: SteadyActorShadow, names: SteadyRx<Message>, done: Sender<Counts>) -> Ended {
    let mut actor = cx.into_spotlight([&names], []);
    let mut names = names.lock().await;
    let half = names.capacity() / 2;
    let mut counts = Counts::default();
    while actor.is_running(|| is_over(&mut names)) {
        await_for_all!(actor.wait_avail(&mut names, half));
        let (first, second) = actor.peek_slice(&mut names);
        counts.add(first);
        counts.add(second);
        let count = first.len() + second.len();
        actor.advance_take_index(&mut names, count);
    }
    done.send(counts)?;
    Ok(())
}
