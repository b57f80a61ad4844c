//! Random programs of actors, compared with a model of their expected behavior.
//!
//! Each actor receives messages only from its parent. Therefore, the order in which the scheduler
//! runs the actors does not change what each actor does. A message is a script, which lists the
//! actions of the turn and says how the turn ends.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use garrick_actor::{Address, Behavior, BehaviorContext, Handle, Next, System, behavior};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Script {
    acts: Vec<Act>,
    end: End,
}

#[derive(Debug, Clone)]
enum Act {
    /// Spawn a child and send it the given scripts.
    Spawn(Vec<Script>),
    /// Send a script to one of the children, if there are any.
    Send(usize, Script),
    /// Become the same behavior with another label.
    Become(u8),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Continue,
    Undo,
    Stop,
    Panic,
}

/// For each actor, its turns in order: the label during the turn, and how the turn ended. The key
/// is the path of the actor: for each ancestor, the turn and the action that created the next
/// actor.
type Turns = BTreeMap<Vec<usize>, Vec<(u8, &'static str)>>;

#[derive(Default)]
struct Record {
    turns: Mutex<Turns>,
    /// Number of messages that were rejected in turns that committed.
    refused: AtomicU64,
}

fn word(end: End) -> &'static str {
    match end {
        End::Continue => "continue",
        End::Undo => "undo",
        End::Stop => "stop",
        End::Panic => "panic",
    }
}

fn note(turns: &mut Turns, name: &[usize], label: u8, end: End) -> usize {
    let turns = turns.entry(name.to_vec()).or_default();
    turns.push((label, word(end)));
    turns.len() - 1
}

fn child_name(parent: &[usize], turn: usize, index: usize) -> Vec<usize> {
    [parent, &[turn, index]].concat()
}

/// Returns an actor that runs the scripts it receives and records its turns.
fn actor(
    record: Arc<Record>,
    name: Vec<usize>,
    label: u8,
    children: Vec<Address<Script>>,
) -> Behavior<Script> {
    behavior(
        move |script: Script, cx: &mut BehaviorContext<'_, Script>| {
            let turn = note(&mut record.turns.lock().unwrap(), &name, label, script.end);
            let (mut label, mut children) = (label, children.clone());
            let mut refused = 0;
            for (index, act) in script.acts.iter().enumerate() {
                match act {
                    Act::Spawn(scripts) => {
                        let name = child_name(&name, turn, index);
                        let child = cx.spawn(actor(record.clone(), name, 0, Vec::new()));
                        for script in scripts {
                            cx.send(&child, script.clone())
                                .expect("a newborn has not stopped");
                        }
                        children.push(child);
                    }
                    Act::Send(to, script) if !children.is_empty() => {
                        let sent = cx.send(&children[to % children.len()], script.clone());
                        refused += u64::from(sent.is_err());
                    }
                    Act::Send(..) => {}
                    Act::Become(next) => label = *next,
                }
                // Only the last of these counts.
                cx.becomes_behavior(actor(record.clone(), name.clone(), label, children.clone()));
            }
            if matches!(script.end, End::Continue | End::Stop) {
                record.refused.fetch_add(refused, Relaxed);
            }
            match script.end {
                End::Continue => Next::Continue,
                End::Undo => Next::Undo,
                End::Stop => Next::Stop,
                // As a panic, but without a word on standard error.
                End::Panic => resume_unwind(Box::new("as told")),
            }
        },
    )
}

/// A model that runs the program sequentially. Each parent runs before its children.
#[derive(Default)]
struct Model {
    turns: Turns,
    /// Number of messages that turns which committed have sent.
    sent: u64,
    handled: u64,
    panics: usize,
}

#[derive(Clone)]
struct Child {
    name: Vec<usize>,
    inbox: Vec<Script>,
}

impl Model {
    fn run(&mut self, name: &[usize], inbox: &[Script]) {
        let (mut label, mut children) = (0, Vec::<Child>::new());
        for script in inbox {
            self.handled += 1;
            let turn = note(&mut self.turns, name, label, script.end);
            let (after, sent) = Self::turn(name, turn, script, (label, children.clone()));
            match script.end {
                End::Continue => (label, children) = after,
                End::Stop => children = after.1,
                End::Undo => continue,
                End::Panic => {}
            }
            if script.end == End::Panic {
                self.panics += 1;
                break;
            }
            self.sent += sent;
            if script.end == End::Stop {
                break;
            }
        }
        for child in &children {
            self.run(&child.name, &child.inbox);
        }
    }

    fn turn(
        name: &[usize],
        turn: usize,
        script: &Script,
        (mut label, mut children): (u8, Vec<Child>),
    ) -> ((u8, Vec<Child>), u64) {
        let mut sent = 0;
        for (index, act) in script.acts.iter().enumerate() {
            match act {
                Act::Spawn(scripts) => {
                    sent += scripts.len() as u64;
                    children.push(Child {
                        name: child_name(name, turn, index),
                        inbox: scripts.clone(),
                    });
                }
                Act::Send(to, script) if !children.is_empty() => {
                    let to = to % children.len();
                    children[to].inbox.push(script.clone());
                    sent += 1;
                }
                Act::Send(..) => {}
                Act::Become(next) => label = *next,
            }
        }
        ((label, children), sent)
    }
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        8 => Just(End::Continue),
        3 => Just(End::Undo),
        1 => Just(End::Stop),
        1 => Just(End::Panic),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let leaf = (vec((1..9_u8).prop_map(Act::Become), 0..3), end());
    let leaf = leaf.prop_map(|(acts, end)| Script { acts, end });
    leaf.prop_recursive(4, 64, 6, |inner| {
        let act = prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Act::Spawn),
            (any::<usize>(), inner).prop_map(|(to, script)| Act::Send(to, script)),
            (1..9_u8).prop_map(Act::Become),
        ];
        (vec(act, 0..6), end()).prop_map(|(acts, end)| Script { acts, end })
    })
}

fn check(
    program: &[Script],
    handle: &Handle,
    record: &Record,
    given: u64,
) -> Result<(), TestCaseError> {
    let mut model = Model {
        sent: given,
        ..Model::default()
    };
    model.run(&[], program);
    prop_assert_eq!(&*record.turns.lock().unwrap(), &model.turns);
    prop_assert_eq!(handle.failures(), model.panics);
    let unhandled = model.sent - model.handled;
    prop_assert_eq!(
        handle.dead_letters(),
        unhandled - record.refused.load(Relaxed)
    );
    Ok(())
}

proptest! {
    #[test]
    fn programs_do_on_one_thread_what_the_model_says(program in vec(script(), 0..8)) {
        let local = System::builder().on_failure(|_| {}).local().unwrap();
        let record = Arc::new(Record::default());
        let root = local.spawn(actor(record.clone(), Vec::new(), 0, Vec::new()));
        for script in &program {
            root.send(script.clone()).unwrap();
        }
        drop(root);
        local.run();
        check(&program, &local.handle(), &record, program.len() as u64)?;
    }
}
