//! Two-phase commit as threads with channels. The timer is a thread, too, because there is no
//! clock.

use shuttle::sync::mpsc::channel;
use shuttle::thread;

enum Decided {
    Commit,
    Abort,
}

struct Prepare;

enum Event {
    Ready,
    Timeout,
}

pub(super) fn two_phase() {
    let (coordinator, events) = channel();
    for _ in 0..3 {
        let (participant, prepares) = channel();
        let coordinator = coordinator.clone();
        thread::spawn(move || {
            let Prepare = prepares.recv().unwrap();
            coordinator.send(Event::Ready).unwrap();
        });
        participant.send(Prepare).unwrap();
    }
    thread::spawn(move || coordinator.send(Event::Timeout).unwrap());
    let mut missing = 3;
    let mut decisions = Vec::new();
    for event in events {
        match event {
            Event::Ready => {
                missing -= 1;
                if missing == 0 {
                    decisions.push(Decided::Commit);
                }
            }
            Event::Timeout if decisions.is_empty() => decisions.push(Decided::Abort),
            Event::Timeout => {}
        }
    }
    assert_eq!(decisions.len(), 1, "one decision");
}
