//! A test that simulations free all their memory blocks. The test counts the blocks of the whole
//! process, so it is the only test in its program.

use std::time::Duration;

use garrick_sched::{Address, Fate, Flow, Sent, Simulation, Sponsor, Task, Turn, audit};
use garrick_testkit::ByHand;

/// A task with a start. For each of its messages, it sends a message to another task, and a delayed
/// message to itself.
struct Busy(Option<Address<u32>>);

impl Task for Busy {
    type Message = u32;
    const STARTS: bool = true;

    fn receive(&mut self, message: u32, turn: &Turn<'_, u32>) -> Flow {
        if message == 0 {
            return Flow::Stop;
        }
        let me = turn.address();
        let other = self.0.as_ref().unwrap_or(&me);
        let _ = turn.send(other, message - 1);
        let _ = turn.send_after(Duration::from_nanos(10), &me, message / 2);
        let _ = turn.spawn(Busy(Some(other.clone()))).send(0);
        Flow::Continue
    }
}

/// Takes up to `steps` steps of a simulation. If `steps` is odd, crashes a node after them. Then
/// takes up to `more` steps, and drops the simulation in the state that it has then.
fn round(steps: usize, more: usize, sent: Sent) {
    let world = ByHand::new();
    let mut simulation = Simulation::new().expect("no other simulation runs on this thread");
    let nodes = [(); 2].map(|()| {
        let builder = Sponsor::builder().world(world.clone());
        simulation.open(builder).expect("there is room")
    });
    let last = simulation.spawn(nodes[1], Busy(None));
    let first = simulation.spawn(nodes[0], Busy(Some(last.clone())));
    for n in 2..5 {
        first.send(n).unwrap();
        last.send(n).unwrap();
    }
    drop((first, last));
    simulation.copy::<u32>();
    simulation.settle();
    for step in 0..steps + more {
        if step == steps && steps % 2 == 1 {
            simulation.crash(nodes[steps / 2 % 2], sent);
        }
        world.advance(Duration::from_nanos(1));
        for node in nodes {
            simulation.fire(node);
        }
        let choices = simulation.choices().len();
        if choices == 0 {
            break;
        }
        let fate = [Fate::Happens, Fate::Fails, Fate::Lost, Fate::Doubled][step * 5 % 7 % 4];
        simulation.step(step * 7 % choices, fate);
    }
}

#[test]
fn nothing_is_left_behind() {
    for steps in 0..200 {
        for sent in [Sent::Vanishes, Sent::Stays] {
            for more in [1, 20] {
                round(steps, more, sent);
                let left = audit();
                assert_eq!((left.cells, left.envelopes), (0, 0), "after {steps} steps");
            }
        }
    }
}
