//! Tests of looks: reports about a task that its worker gives to other threads.

use std::sync::mpsc;
use std::time::Duration;

use garrick_sched::{Address, Flow, Here, Looking, Seen, Sponsor, Standing, Task, Turn, door};
use garrick_testkit::{HANGS_AFTER, ends};

/// A task that waits in each turn until it is released. Its label is its number.
struct Slow {
    number: u32,
    began: mpsc::Sender<()>,
    go: mpsc::Receiver<()>,
}

impl Task for Slow {
    type Message = bool;

    /// Handles the message, and if it is true, waits in `Turn::blocking`.
    fn receive(&mut self, away: bool, turn: &Turn<'_, bool>) -> Flow {
        let (began, go) = (&self.began, &mut self.go);
        let wait = move || {
            let _ = began.send(());
            let _ = go.recv();
        };
        if away {
            turn.blocking(wait);
        } else {
            wait();
        }
        Flow::Continue
    }

    fn label(&self) -> Option<String> {
        Some(format!("slow {}", self.number))
    }
}

/// Creates a [`Slow`] with the given number. Returns it with the other ends of its channels.
fn slow(number: u32) -> (Slow, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (began, begins) = mpsc::channel();
    let (let_go, go) = mpsc::channel();
    (Slow { number, began, go }, begins, let_go)
}

/// Returns what the task's worker reports about the task.
fn seen<M: 'static>(of: &Address<M>) -> Seen {
    match of.look().looking {
        Looking::Asked(asking) => match asking.wait(HANGS_AFTER) {
            Looking::Seen(seen) => seen,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn told(standing: Standing, waiting: u64, number: u32) -> Seen {
    Seen {
        waiting: Some(waiting),
        standing,
        label: Some(format!("slow {number}")),
    }
}

#[test]
fn an_idle_task_is_seen_and_stays_idle() {
    ends(|| {
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let (task, begins, let_go) = slow(1);
        let address = sponsor.handle().spawn(task).unwrap();
        assert_eq!(seen(&address), told(Standing::Idle, 0, 1));
        address.send(false).unwrap();
        begins.recv().unwrap();
        let_go.send(()).unwrap();
        // The look needs no turn of the task, and the task is as before.
        assert_eq!(seen(&address), told(Standing::Idle, 0, 1));
        let mapped = address.contramap(|(): ()| true);
        assert_eq!(seen(&mapped).waiting, Some(0));
        assert!(mapped.look().name.ends_with("::Slow"));
        sponsor.shutdown();
        assert!(matches!(address.look().looking, Looking::Ended));
    });
}

#[test]
fn the_messages_of_ready_tasks_are_counted_exactly() {
    ends(|| {
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let (first, begins, let_go) = slow(1);
        let first = sponsor.handle().spawn(first).unwrap();
        let (second, _begins, second_go) = slow(2);
        let second = sponsor.handle().spawn(second).unwrap();
        first.send(false).unwrap();
        begins.recv().unwrap();
        // The only worker is in a turn, so the answer comes after it.
        (0..1000).for_each(|_| second.send(false).unwrap());
        let Looking::Asked(asking) = second.look().looking else {
            panic!("the worker is busy");
        };
        let Looking::Asked(asking) = asking.wait(Duration::ZERO) else {
            panic!("the worker is busy");
        };
        let_go.send(()).unwrap();
        let Looking::Seen(seen) = asking.wait(HANGS_AFTER) else {
            panic!("the worker has answered");
        };
        assert_eq!(seen, told(Standing::Ready, 1000, 2));
        drop(second_go);
        sponsor.shutdown();
    });
}

#[test]
fn a_turn_away_from_its_worker_is_seen_without_its_label() {
    ends(|| {
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let (task, begins, let_go) = slow(1);
        let address = sponsor.handle().spawn(task).unwrap();
        address.send(true).unwrap();
        begins.recv().unwrap();
        (0..7).for_each(|_| address.send(true).unwrap());
        let expected = Seen {
            waiting: Some(7),
            standing: Standing::Aside,
            label: None,
        };
        assert_eq!(seen(&address), expected);
        drop(let_go);
        sponsor.shutdown();
    });
}

#[test]
fn a_task_of_a_thread_is_seen_when_the_thread_runs_it() {
    let here = Here::new_here().unwrap();
    let (task, _begins, let_go) = slow(3);
    let address = here.spawn(task);
    (0..5).for_each(|_| address.send(false).unwrap());
    let Looking::Asked(asking) = address.look().looking else {
        panic!("nobody has answered");
    };
    drop(let_go);
    here.run();
    // The answer is older than the turns of the messages.
    let Looking::Seen(seen) = asking.wait(Duration::ZERO) else {
        panic!("the answer is there");
    };
    assert_eq!(seen, told(Standing::Ready, 5, 3));
}

/// A door that discards each message.
struct Nowhere;

impl garrick_sched::Door for Nowhere {
    type Message = ();

    fn pass(&self, (): (), _: &Address<()>) -> Result<(), garrick_sched::SendError<()>> {
        Ok(())
    }
}

/// A task that gets a report about another task during a turn.
struct Looks(Address<bool>, mpsc::Sender<bool>);

impl Task for Looks {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        let is_unknown = matches!(self.0.look().looking, Looking::Unknown);
        let _ = self.1.send(is_unknown);
        Flow::Continue
    }
}

#[test]
fn nothing_is_known_of_doors_and_during_turns() {
    assert!(matches!(door(Nowhere).look().looking, Looking::Unknown));
    let here = Here::new_here().unwrap();
    let (task, _begins, _let_go) = slow(4);
    let (told, heard) = mpsc::channel();
    let looks = here.spawn(Looks(here.spawn(task), told));
    looks.send(()).unwrap();
    here.run();
    assert_eq!(heard.try_recv(), Ok(true));
}

#[test]
fn a_task_that_ends_before_the_answer_has_ended() {
    ends(|| {
        let sponsor = Sponsor::builder().workers(1).start().unwrap();
        let (first, begins, let_go) = slow(1);
        let first = sponsor.handle().spawn(first).unwrap();
        first.send(false).unwrap();
        begins.recv().unwrap();
        let (second, _begins, _go) = slow(2);
        let second = sponsor.handle().spawn(second).unwrap();
        let Looking::Asked(asking) = second.look().looking else {
            panic!("the worker is busy");
        };
        let ending = std::thread::spawn(move || sponsor.shutdown_now());
        let_go.send(()).unwrap();
        ending.join().unwrap();
        // Seen before the end, or not any more.
        let looked = asking.wait(HANGS_AFTER);
        assert!(
            matches!(looked, Looking::Seen(_) | Looking::Ended),
            "{looked:?}"
        );
        assert!(matches!(second.look().looking, Looking::Ended));
    });
}

/// A task that sends to itself and to the next task, sometimes blocks, and stops after some
/// messages.
struct Lively {
    next: Option<Address<u32>>,
    left: u32,
}

impl Task for Lively {
    type Message = u32;

    fn receive(&mut self, n: u32, turn: &Turn<'_, u32>) -> Flow {
        if let Some(next) = &self.next {
            let _ = turn.send(next, n);
        }
        if n.is_multiple_of(64) {
            turn.blocking(std::thread::yield_now);
        }
        self.left -= 1;
        if self.left == 0 {
            return Flow::Stop;
        }
        if !n.is_multiple_of(3) {
            let _ = turn.send(&turn.address(), n - 1);
        }
        Flow::Continue
    }

    fn label(&self) -> Option<String> {
        Some("lively".to_owned())
    }
}

/// Checks that each request for a report about a task gets an answer, whatever the tasks and their
/// workers do meanwhile.
#[test]
fn stress_looks_beside_turns_moves_and_ends() {
    ends(|| {
        for round in 0..40 {
            let sponsor = Sponsor::builder().workers(1 + round % 4).start().unwrap();
            let (mut tasks, mut next) = (Vec::new(), None);
            for number in 0..64 {
                let left = 50 + number * 7;
                let task = sponsor.handle().spawn(Lively { next, left }).unwrap();
                next = Some(task.clone());
                tasks.push(task);
            }
            let sends = std::thread::spawn({
                let tasks = tasks.clone();
                move || {
                    for n in 0..6_400 {
                        let _ = tasks[n % 64].send(n as u32);
                    }
                }
            });
            let (mut seen, mut ended) = (0, 0);
            for n in 0..640 {
                let Looking::Asked(asking) = tasks[n % 64].look().looking else {
                    ended += 1;
                    continue;
                };
                match asking.wait(HANGS_AFTER) {
                    Looking::Seen(what) => {
                        let is_in_use = what.label.is_none();
                        assert!(!is_in_use || what.standing != Standing::Idle, "{what:?}");
                        seen += 1;
                    }
                    Looking::Ended => ended += 1,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(seen + ended, 640);
            sends.join().unwrap();
            sponsor.shutdown();
        }
    });
}
