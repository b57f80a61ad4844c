//! Waking a stage at a time: the one place that knows how.
//!
//! One thread of the process keeps the wishes in the order of their times and sleeps until the earliest.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use garrick_sched::{Address, Nanos, Turn};

use crate::post::Wake;

/// When to wake whom.
type Wish = (Instant, Address<Wake>);

/// Where wishes go.
static WISHES: OnceLock<Sender<Wish>> = OnceLock::new();

/// Sends [`Wake::Timer`] to the stage whose turn it is when its world's clock says `deadline`.
pub(crate) fn wake_at(deadline: Nanos, turn: &Turn<'_, Wake>) {
    let delay = Duration::from_nanos(deadline.saturating_sub(turn.now()));
    let wishes = WISHES.get_or_init(|| {
        let (wishes, receiver) = mpsc::channel();
        // Without a thread the receiver is dropped, and the timers with it.
        let _ = thread::Builder::new()
            .name("flow-timer".to_owned())
            .spawn(move || serve(&receiver));
        wishes
    });
    // A delay that no clock can reach is never waited for.
    if let Some(time) = Instant::now().checked_add(delay) {
        let _ = wishes.send((time, turn.address()));
    }
}

/// Grants wishes for as long as the process lives.
fn serve(wishes: &Receiver<Wish>) {
    let mut waiting: BTreeMap<(Instant, u64), Address<Wake>> = BTreeMap::new();
    for number in 0.. {
        while let Some(entry) = waiting.first_entry()
            && entry.key().0 <= Instant::now()
        {
            // A stage that has ended wants it no more.
            let _ = entry.remove().send(Wake::Timer);
        }
        let next = match waiting.first_key_value() {
            None => wishes.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some((key, _)) => wishes.recv_timeout(key.0.saturating_duration_since(Instant::now())),
        };
        match next {
            Ok((time, stage)) => {
                waiting.insert((time, number), stage);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
