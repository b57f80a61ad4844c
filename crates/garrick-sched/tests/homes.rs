//! Tests that a worker that ends stops all its tasks, wherever their memory comes from. The tests
//! have their own process, because they choose which blocks of memory the tasks get.
#![forbid(unsafe_code)]

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use common::does;
use garrick_sched::{Address, Door, Flow, Here, SendError, Sponsor, Task, TaskId, Turn, door};
use garrick_testkit::{ends_alone, wait};

/// Number of tasks: enough for several regions of each slab that contains them.
const MANY: usize = 5_000;

/// A task, or a door, of at least `N` bytes. Each test has a size of its own. Drops the sender when
/// dropped.
struct Wide<const N: usize> {
    content: [u8; N],
    held: Option<Sender<()>>,
}

impl<const N: usize> Wide<N> {
    fn new(held: Option<&Sender<()>>) -> Self {
        Self {
            content: [7; N],
            held: held.cloned(),
        }
    }
}

impl<const N: usize> Task for Wide<N> {
    type Message = u32;

    fn receive(&mut self, _: u32, _: &Turn<'_, u32>) -> Flow {
        let _ = (&self.content, &self.held);
        Flow::Continue
    }
}

impl<const N: usize> Door for Wide<N> {
    type Message = u32;

    fn pass(&self, _: u32, _: &Address<u32>) -> Result<(), SendError<u32>> {
        Ok(())
    }
}

/// Returns true if all senders of the channel were dropped.
fn are_dropped(dropped: &Receiver<()>) -> bool {
    dropped.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected)
}

/// Waits until a task that comes behind `tasks` has run. Checks that `tasks` stop when their system
/// ends, and not before, because they have addresses.
fn check_end(sponsor: Sponsor, tasks: &[Address<u32>], dropped: &Receiver<()>) {
    let (told, heard) = channel();
    let last = does(move |(): (), _: &Turn<'_, ()>| {
        told.send(()).unwrap();
        Flow::Stop
    });
    sponsor.handle().spawn(last).unwrap().send(()).unwrap();
    wait(&heard);
    assert!(!are_dropped(dropped));
    sponsor.shutdown();
    assert!(are_dropped(dropped));
    assert!(tasks.iter().all(Address::is_stopped));
}

/// Spawns [`MANY`] tasks in one turn of a system of this thread, with the sender that each of them
/// holds. Returns the tasks. `spawn` spawns one of them.
fn spawn_in_turn<const N: usize>(
    here: &Here,
    held: Sender<()>,
    spawn: impl Fn(&Turn<'_, ()>, Wide<N>) -> Address<u32> + 'static,
) -> Vec<Address<u32>> {
    let (tell, born) = channel();
    let parent = here.spawn(does(move |(): (), turn: &Turn<'_, _>| {
        let born = (0..MANY).map(|_| spawn(turn, Wide::new(Some(&held))));
        tell.send(born.collect()).unwrap();
        Flow::Stop
    }));
    parent.send(()).unwrap();
    here.run();
    born.try_recv().unwrap()
}

#[test]
fn tasks_in_new_memory_stop() {
    ends_alone(|| {
        let (held, dropped) = channel();
        let here = Here::new_here().unwrap();
        let born = spawn_in_turn::<90>(&here, held, |turn, task| turn.spawn(task));
        drop(here);
        assert!(are_dropped(&dropped));
        assert!(born.iter().all(Address::is_stopped));
    });
}

#[test]
fn a_task_in_a_block_that_a_stranger_has_used_stops() {
    ends_alone(|| {
        let mut doors: Vec<_> = (0..MANY).map(|_| door(Wide::<700>::new(None))).collect();
        let (freed, others) = (doors.swap_remove(MANY / 2), doors);
        let block = freed.id();
        let (held, dropped) = channel();
        let here = Here::new_here().unwrap();
        let (tell, child) = channel::<(TaskId, Address<u32>)>();
        let parent = here.spawn(does(move |door: Address<u32>, turn: &Turn<'_, _>| {
            // The last address of the door.
            drop(door);
            let child = turn.spawn(Wide::<700>::new(Some(&held)));
            tell.send((child.id(), child)).unwrap();
            Flow::Stop
        }));
        parent.send(freed).unwrap();
        here.run();
        let (id, child) = child.try_recv().unwrap();
        if !cfg!(garrick_no_pool) {
            assert_eq!(id, block, "the child has the block of the door");
        }
        assert!(!are_dropped(&dropped));
        drop(here);
        assert!(are_dropped(&dropped));
        assert!(child.is_stopped());
        drop(others);
    });
}

#[test]
fn tasks_in_blocks_that_others_have_freed_stop() {
    ends_alone(|| {
        // Another thread leaves its blocks to the next worker.
        let blocks = thread::spawn(|| {
            let doors: Vec<_> = (0..MANY).map(|_| door(Wide::<150>::new(None))).collect();
            doors.iter().map(Address::id).collect::<Vec<_>>()
        });
        let blocks = blocks.join().unwrap();
        let (held, dropped) = channel();
        let here = Here::new_here().unwrap();
        let born = spawn_in_turn::<150>(&here, held, |turn, task| turn.spawn(task));
        if !cfg!(garrick_no_pool) {
            assert!(born.iter().any(|child| blocks.contains(&child.id())));
        }
        drop(here);
        assert!(are_dropped(&dropped));
        assert!(born.iter().all(Address::is_stopped));
    });
}

#[test]
fn tasks_that_come_from_outside_stop() {
    ends_alone(|| {
        let (held, dropped) = channel();
        let sponsor = Sponsor::pool(2).unwrap();
        let handle = sponsor.handle();
        let tasks: Vec<_> = (0..MANY)
            .map(|_| handle.spawn(Wide::<180>::new(Some(&held))).unwrap())
            .collect();
        drop(held);
        for task in &tasks {
            task.send(1).unwrap();
        }
        check_end(sponsor, &tasks, &dropped);
    });
}

#[test]
fn tasks_that_another_sponsor_has_made_stop() {
    ends_alone(|| {
        let (held, dropped) = channel();
        let sponsor = Sponsor::pool(1).unwrap();
        let handle = sponsor.handle();
        let here = Here::new_here().unwrap();
        let spawn = move |turn: &Turn<'_, ()>, task| turn.spawn_on(&handle, task);
        let born = spawn_in_turn::<210>(&here, held, spawn);
        check_end(sponsor, &born, &dropped);
    });
}
