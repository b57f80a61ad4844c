//! Benchmark of messages from one sender to one actor.

use std::error::Error;

use garrick::mailbox::{Mailbox, OnFull};
use garrick::{Actor, Context, Local};
use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario};

use super::framework::Framework;
use super::roles::Counter;
use super::{BOUND, BURST, FLOOD_MAX, measured, others, ours, send, watch};

pub(crate) const TELL: Scenario = Scenario {
    name: "tell",
    operation: "one message to an actor on the same thread, sent and handled; the sender sends 256 \
                messages and then yields; with a bounded mailbox of 1024 messages (bound), the \
                sender is a future that waits for room; threads: from one thread to another",
    contenders,
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let mut contenders = ours("tell", effort, &Point::default());
    // The rivals are measured with only one burst size.
    contenders.truncate(1);
    contenders.push(Contender::fitted("garrick", tell_bounded).with("bound", BOUND));
    contenders.extend(others!(of).into_iter().flatten());
    contenders
}

fn of<F: Framework>() -> Vec<Contender> {
    let unbounded = Contender::fitted(F::NAME, |ops| tell::<F>(ops, None))
        .with("burst", BURST)
        .at_most(FLOOD_MAX);
    let bounded =
        Contender::fitted(F::NAME, |ops| tell::<F>(ops, Some(BOUND))).with("bound", BOUND);
    if F::HAS_BOUNDED {
        vec![unbounded, bounded]
    } else {
        vec![unbounded]
    }
}

fn tell<F: Framework>(ops: u64, bound: Option<usize>) -> Result<Measured> {
    let bursts = ops.div_ceil(BURST);
    F::run(1, async move {
        let (counter, done) = Counter::new(bursts * BURST);
        let counter = F::spawn(counter, bound).await;
        let watch = watch();
        send::<F>(&counter, bursts, BURST).await;
        done.await.expect("the counter reports");
        measured(bursts * BURST, &watch)
    })
}

impl Actor for Counter {
    type Msg = u64;
    type Outcome = ();
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, message: u64, _: &mut Context<'_, u64>) {
        self.count(message);
    }
}

/// Measures a future that sends to a bounded mailbox of Garrick, and waits while the mailbox is
/// full.
fn tell_bounded(ops: u64) -> Result<Measured> {
    let ops = ops.div_ceil(BURST) * BURST;
    let local = Local::new()?;
    let (counter, done) = Counter::new(ops);
    let counter = local
        .handle()
        .actor(counter)
        .mailbox(Mailbox::bounded(BOUND, OnFull::Wait)?)
        .spawn()?;
    let watch = watch();
    local.block_on(async {
        for number in 0..ops {
            counter.send_async(number).await?;
        }
        Ok::<_, Box<dyn Error>>(done.await?)
    })?;
    Ok(measured(ops, &watch))
}
