//! Tests of supervised actors whose turns block. The turns handle messages that were held during a
//! restart.
#![forbid(unsafe_code)]

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::{Address, Next, Reply, System, behavior};
use garrick_testkit::HANGS_AFTER;

enum Msg {
    /// Block until the test lets the turn continue, and then record the number.
    Block(u32),
    /// Block until the test lets the turn continue, and then panic.
    BlockAndPanic(u32),
    Say(u32),
    Panic,
    Answer(Reply<()>),
}

/// A supervised actor on a system with one worker.
struct Scene {
    tree: Tree,
    actor: Address<Msg>,
    /// Lets the factory create one incarnation of the actor.
    make: Sender<()>,
    /// Lets one blocked turn continue.
    go: Sender<()>,
    /// Numbers of the messages whose turns have begun to block.
    blocks: Receiver<u32>,
    said: Arc<Mutex<Vec<u32>>>,
    system: System,
}

impl Scene {
    fn new() -> Self {
        let builder = System::builder().workers(1).on_failure(|_| ());
        let system = builder.start().unwrap();
        let (make, may_make) = mpsc::channel();
        let (go, may_go) = mpsc::channel();
        let (begins, blocks) = mpsc::channel();
        let [may_make, may_go] = [may_make, may_go].map(|gate| Arc::new(Mutex::new(gate)));
        let said = Arc::new(Mutex::new(Vec::new()));
        let says = said.clone();
        let tree = Supervisor::new("app", Strategy::OneForOne);
        let tree = tree.spawn(&system.handle()).unwrap();
        make.send(()).unwrap();
        let child = move || {
            pass(&may_make);
            let (says, begins, may_go) = (says.clone(), begins.clone(), may_go.clone());
            behavior(move |msg: Msg, cx| {
                match msg {
                    Msg::Block(n) => cx.blocking(|| {
                        begins.send(n).unwrap();
                        pass(&may_go);
                        says.lock().unwrap().push(n);
                    }),
                    Msg::BlockAndPanic(n) => cx.blocking(|| {
                        begins.send(n).unwrap();
                        pass(&may_go);
                        panic!("on purpose");
                    }),
                    Msg::Say(n) => says.lock().unwrap().push(n),
                    Msg::Panic => panic!("on purpose"),
                    Msg::Answer(reply) => reply.send(()),
                }
                Next::Continue
            })
        };
        let actor = system.actor(child).supervised_by(&tree).spawn().unwrap();
        Self {
            tree,
            actor,
            make,
            go,
            blocks,
            said,
            system,
        }
    }

    fn send(&self, msg: Msg) {
        self.actor.send(msg).unwrap();
    }

    /// Waits until a turn blocks, and returns the number of its message.
    fn blocks(&self) -> u32 {
        self.blocks.recv_timeout(HANGS_AFTER).unwrap()
    }

    /// Waits until all messages sent so far have been handled, and returns the recorded numbers.
    fn said(&self) -> Vec<u32> {
        let answer = self.actor.ask(Msg::Answer).wait_timeout(HANGS_AFTER);
        assert_eq!(answer, Ok(()));
        self.said.lock().unwrap().clone()
    }
}

/// Waits for a message on the channel. Panics if none arrives in time.
fn pass(gate: &Mutex<Receiver<()>>) {
    gate.lock().unwrap().recv_timeout(HANGS_AFTER).unwrap();
}

#[test]
fn a_turn_of_a_held_message_blocks_and_what_comes_meanwhile_is_handled_behind() {
    let scene = Scene::new();
    scene.send(Msg::Panic);
    // All of these are held: the next actor is not made before they have come.
    for msg in [Msg::Say(1), Msg::Block(2), Msg::Say(3), Msg::Block(4)] {
        scene.send(msg);
    }
    scene.make.send(()).unwrap();
    assert_eq!(scene.blocks(), 2);
    // The only worker is free meanwhile.
    let other = scene.system.spawn(behavior(|reply: Reply<()>, _| {
        reply.send(());
        Next::Continue
    }));
    let answer = other.unwrap().ask(|reply| reply).wait_timeout(HANGS_AFTER);
    assert_eq!(answer, Ok(()));
    scene.send(Msg::Say(5));
    scene.go.send(()).unwrap();
    assert_eq!(scene.blocks(), 4);
    scene.send(Msg::Say(6));
    scene.go.send(()).unwrap();
    assert_eq!(scene.said(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_turn_of_a_held_message_that_panics_while_it_blocks_restarts_its_actor_alone() {
    let scene = Scene::new();
    scene.send(Msg::Panic);
    for msg in [
        Msg::Say(1),
        Msg::BlockAndPanic(2),
        Msg::Say(3),
        Msg::Block(4),
    ] {
        scene.send(msg);
    }
    scene.make.send(()).unwrap();
    assert_eq!(scene.blocks(), 2);
    scene.send(Msg::Say(5));
    scene.go.send(()).unwrap();
    // The third one.
    scene.make.send(()).unwrap();
    assert_eq!(scene.blocks(), 4);
    scene.go.send(()).unwrap();
    assert_eq!(scene.said(), [1, 3, 4, 5]);
    assert!(scene.tree.to_string().contains("restarts: 2"));
}

#[test]
fn one_whose_system_ends_while_a_held_message_blocks_is_waited_for() {
    let scene = Scene::new();
    scene.send(Msg::Panic);
    scene.send(Msg::Block(1));
    scene.send(Msg::Say(2));
    scene.make.send(()).unwrap();
    assert_eq!(scene.blocks(), 1);
    scene.system.begin_shutdown_now();
    scene.go.send(()).unwrap();
    scene.system.wait();
    assert_eq!(scene.said.lock().unwrap()[0], 1);
    assert!(scene.actor.is_stopped());
}
