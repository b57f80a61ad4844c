//! Random programs of actors with random failures. The test compares all their observable effects
//! with a sequential model of turns. A turn must happen wholly or not at all.
//!
//! Each turn records its message, its effects and how it ended, even if it is undone. Afterwards,
//! the model computes from these records which turns committed. So it knows which messages exist
//! and in which order they arrive, what each actor has become, which actors were created, and what
//! the answer to each question was.

mod common;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};

use common::{local, settle};
use garrick_actor::{Address, Behavior, BehaviorContext, Next, NoReply, Reply, System, behavior};
use garrick_testkit::{fail, ms, silence_panics};
use proptest::prelude::*;

/// An action of an actor in a turn. Targets are indices of the actors that existed at the start.
#[derive(Debug, Clone, Copy)]
enum Act {
    Send(usize),
    Later(usize),
    Ask(usize),
    Answer,
    Create,
    Become(usize),
}

/// The way in which a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Continue,
    Undo,
    Panic,
    Stop,
}

impl End {
    fn commits(self) -> bool {
        matches!(self, Self::Continue | Self::Stop)
    }

    fn stops(self) -> bool {
        matches!(self, Self::Panic | Self::Stop)
    }
}

const STATES: usize = 2;

/// The actions of an actor in one state, and the way in which its turn ends.
type Plan = (Vec<Act>, End);
/// For each actor, one plan per state.
type Program = Vec<[Plan; STATES]>;

/// A message with a unique number.
enum Msg {
    Work {
        id: u64,
        hops: u32,
    },
    Question {
        id: u64,
        hops: u32,
        reply: Reply<u64>,
    },
    Answer {
        ask: u64,
        answer: Result<u64, NoReply>,
    },
}

/// An effect of a turn.
#[derive(Debug, Clone)]
enum Did {
    Sent { id: u64, to: usize },
    Delayed { id: u64, to: usize },
    Asked { id: u64, to: usize },
    Answered { ask: u64 },
    Created { child: usize },
    Became(usize),
}

/// The message that a turn got.
#[derive(Debug, Clone, PartialEq)]
enum Got {
    Message(u64),
    Question(u64),
    Answer(u64, Option<u64>),
}

/// The record of one turn.
#[derive(Debug, Clone)]
struct Turn {
    actor: usize,
    state: usize,
    got: Got,
    did: Vec<Did>,
    end: End,
}

/// State that all actors of a run share. Undoing a turn does not change it.
struct Stage {
    program: Program,
    first: OnceLock<Vec<Address<Msg>>>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    turns: Vec<Turn>,
    ids: u64,
    actors: usize,
}

impl Stage {
    fn next_id(&self) -> u64 {
        let mut notes = self.notes.lock().unwrap();
        notes.ids += 1;
        notes.ids
    }

    fn next_actor(&self) -> usize {
        let mut notes = self.notes.lock().unwrap();
        notes.actors += 1;
        notes.actors - 1
    }

    fn plan(&self, actor: usize, state: usize) -> &Plan {
        &self.program[actor % self.program.len()][state]
    }

    fn target(&self, to: usize) -> (usize, &Address<Msg>) {
        let first = self.first.get().unwrap();
        (to % first.len(), &first[to % first.len()])
    }
}

fn actor(stage: Arc<Stage>, number: usize, state: usize) -> Behavior<Msg> {
    behavior(move |msg, cx| {
        let (got, hops, reply) = match msg {
            Msg::Work { id, hops } => (Got::Message(id), hops, None),
            Msg::Question { id, hops, reply } => (Got::Question(id), hops, Some(reply)),
            Msg::Answer { ask, answer } => (Got::Answer(ask, answer.ok()), 0, None),
        };
        let (acts, end) = stage.plan(number, state);
        // The last hop does nothing but end, and an answer does not even fail: it must be heard.
        let end = if matches!(got, Got::Answer(..)) {
            End::Continue
        } else {
            *end
        };
        let mut turn = Turn {
            actor: number,
            state,
            got,
            did: Vec::new(),
            end,
        };
        let mut reply = reply;
        if hops > 0 {
            for act in acts {
                perform(&stage, *act, hops - 1, &mut turn, &mut reply, cx);
            }
        }
        stage.notes.lock().unwrap().turns.push(turn);
        match end {
            End::Continue => Next::Continue,
            End::Undo => Next::Undo,
            End::Stop => Next::Stop,
            End::Panic => fail(),
        }
    })
}

fn perform(
    stage: &Arc<Stage>,
    act: Act,
    hops: u32,
    turn: &mut Turn,
    reply: &mut Option<Reply<u64>>,
    cx: &mut BehaviorContext<'_, Msg>,
) {
    let did = match act {
        Act::Send(to) => {
            let ((to, address), id) = (stage.target(to), stage.next_id());
            let sent = cx.send(address, Msg::Work { id, hops });
            sent.is_ok().then_some(Did::Sent { id, to })
        }
        Act::Later(to) => {
            let ((to, address), id) = (stage.target(to), stage.next_id());
            let sent = cx.send_after(ms(id % 7), address, Msg::Work { id, hops });
            sent.is_ok().then_some(Did::Delayed { id, to })
        }
        Act::Ask(to) => {
            let ((to, address), id) = (stage.target(to), stage.next_id());
            let asker = cx.address();
            let question = |reply| Msg::Question { id, hops, reply };
            ask(cx, &asker, id, |reply| {
                cx.send(address, question(reply)).is_ok()
            });
            Some(Did::Asked { id, to })
        }
        Act::Answer => reply.take().and_then(|reply| {
            reply.send(0);
            match turn.got {
                Got::Question(ask) => Some(Did::Answered { ask }),
                _ => None,
            }
        }),
        Act::Create => {
            let (child, id) = (stage.next_actor(), stage.next_id());
            let address = cx.spawn(actor(stage.clone(), child, 0));
            let sent = cx.send(&address, Msg::Work { id, hops });
            turn.did.push(Did::Created { child });
            sent.is_ok().then_some(Did::Sent { id, to: child })
        }
        Act::Become(state) => {
            cx.becomes_behavior(actor(stage.clone(), turn.actor, state));
            Some(Did::Became(state))
        }
    };
    turn.did.extend(did);
}

/// Asks a question through an additional actor, which adds the number of the question to the
/// answer. A conversion without captured values cannot add this number.
fn ask(
    cx: &BehaviorContext<'_, Msg>,
    asker: &Address<Msg>,
    ask: u64,
    send: impl FnOnce(Reply<u64>) -> bool,
) {
    let asker = asker.clone();
    let relay = cx.spawn(behavior(move |answer: Result<u64, NoReply>, cx| {
        let _ = cx.send(&asker, Msg::Answer { ask, answer });
        Next::Stop
    }));
    send(Reply::to_task(relay, |answer| answer));
}

/// Checks the recorded turns against the rules of turns.
fn check(turns: &[Turn], roots: &[(u64, usize)]) {
    let mut states: HashMap<usize, usize> = HashMap::new();
    let mut stopped: HashSet<usize> = HashSet::new();
    let mut handled: HashMap<u64, usize> = HashMap::new();
    let mut order: HashMap<usize, Vec<u64>> = HashMap::new();
    for turn in turns {
        assert!(!stopped.contains(&turn.actor), "{turn:?} after its end");
        let state = states.entry(turn.actor).or_insert(0);
        assert_eq!(*state, turn.state, "it is what it has become: {turn:?}");
        let became = turn.did.iter().rev().find_map(|did| match did {
            Did::Became(state) => Some(*state),
            _ => None,
        });
        if turn.end == End::Continue {
            *state = became.unwrap_or(*state);
        }
        if turn.end.stops() {
            stopped.insert(turn.actor);
        }
        if let Got::Message(id) | Got::Question(id) = turn.got {
            assert_eq!(handled.insert(id, turn.actor), None, "{id} comes once");
            order.entry(turn.actor).or_default().push(id);
        }
    }
    let exists = sent_by_committed(turns, roots, &handled, &stopped);
    for id in handled.keys() {
        assert!(
            exists.contains(id),
            "{id} was never sent, or by a turn that vanished"
        );
    }
    check_order(turns, &order);
    check_children(turns);
    check_answers(turns, &stopped);
}

/// Returns the messages that exist, that is, all messages from turns that committed. Panics if one
/// of them was not handled although its receiver has not stopped.
fn sent_by_committed(
    turns: &[Turn],
    roots: &[(u64, usize)],
    handled: &HashMap<u64, usize>,
    stopped: &HashSet<usize>,
) -> HashSet<u64> {
    let committed = turns.iter().filter(|turn| turn.end.commits());
    let sent = committed
        .flat_map(|turn| &turn.did)
        .filter_map(|did| match did {
            Did::Sent { id, to } | Did::Delayed { id, to } | Did::Asked { id, to } => {
                Some((*id, *to))
            }
            _ => None,
        });
    let mut exists = HashSet::new();
    for (id, to) in sent.chain(roots.iter().copied()) {
        exists.insert(id);
        match handled.get(&id) {
            Some(by) => assert_eq!(*by, to, "{id} went astray"),
            None => assert!(stopped.contains(&to), "{id} is lost"),
        }
    }
    exists
}

/// Checks that messages without a delay arrive in the order of sending, for each pair of sender and
/// receiver.
fn check_order(turns: &[Turn], order: &HashMap<usize, Vec<u64>>) {
    let mut sent: HashMap<(usize, usize), Vec<u64>> = HashMap::new();
    for turn in turns.iter().filter(|turn| turn.end.commits()) {
        for did in &turn.did {
            if let Did::Sent { id, to } | Did::Asked { id, to } = did {
                sent.entry((turn.actor, *to)).or_default().push(*id);
            }
        }
    }
    for ((_, to), ids) in sent {
        let heard = order.get(&to).into_iter().flatten();
        let heard: Vec<_> = heard.filter(|id| ids.contains(id)).copied().collect();
        assert_eq!(heard, ids[..heard.len()], "order to {to}");
    }
}

/// Checks that an actor which an undone turn created has never run.
fn check_children(turns: &[Turn]) {
    let vanished: HashSet<_> = turns
        .iter()
        .filter(|turn| !turn.end.commits())
        .flat_map(|turn| &turn.did)
        .filter_map(|did| match did {
            Did::Created { child } => Some(*child),
            _ => None,
        })
        .collect();
    assert!(turns.iter().all(|turn| !vanished.contains(&turn.actor)));
}

/// Checks that every question has exactly one result: the answer from a turn that committed, or no
/// answer.
fn check_answers(turns: &[Turn], stopped: &HashSet<usize>) {
    let mut given: HashSet<u64> = HashSet::new();
    let mut heard: HashMap<u64, Vec<Option<u64>>> = HashMap::new();
    for turn in turns {
        if turn.end.commits() {
            given.extend(turn.did.iter().filter_map(|did| match did {
                Did::Answered { ask } => Some(*ask),
                _ => None,
            }));
        }
        if let Got::Answer(ask, answer) = &turn.got {
            heard.entry(*ask).or_default().push(*answer);
        }
    }
    for turn in turns {
        for did in &turn.did {
            let Did::Asked { id, .. } = did else { continue };
            let expected = given.contains(id).then_some(0);
            match heard.get(id).map(Vec::as_slice) {
                Some([answer]) => assert_eq!(*answer, expected, "the answer to {id}"),
                // The relay between vanishes with the turn that has made it.
                None => assert!(stopped.contains(&turn.actor) || !turn.end.commits()),
                Some(answers) => panic!("{} answers to {id}", answers.len()),
            }
        }
    }
}

/// Number of messages that the test itself sends at the start.
const ROOTS: u32 = 4;
const HOPS: u32 = 4;

fn stage(program: Program) -> Arc<Stage> {
    let actors = program.len();
    Arc::new(Stage {
        program,
        first: OnceLock::new(),
        notes: Mutex::new(Notes {
            actors,
            ..Notes::default()
        }),
    })
}

fn send_roots(stage: &Stage) -> Vec<(u64, usize)> {
    (0..ROOTS as usize)
        .map(|number| {
            let ((to, address), id) = (stage.target(number), stage.next_id());
            let _ = address.send(Msg::Work { id, hops: HOPS });
            (id, to)
        })
        .collect()
}

fn acts(later: bool) -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..8_usize).prop_map(Act::Send),
        1 => (0..8_usize).prop_map(move |to| if later { Act::Later(to) } else { Act::Send(to) }),
        2 => (0..8_usize).prop_map(Act::Ask),
        2 => Just(Act::Answer),
        1 => Just(Act::Create),
        1 => (0..STATES).prop_map(Act::Become),
    ]
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![
        6 => Just(End::Continue),
        2 => Just(End::Undo),
        1 => Just(End::Panic),
        1 => Just(End::Stop),
    ]
}

fn programs(later: bool) -> impl Strategy<Value = Program> {
    let plan = move || (prop::collection::vec(acts(later), 0..5), ends());
    prop::collection::vec((plan(), plan()).prop_map(|(a, b)| [a, b]), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn on_one_thread_every_effect_is_one_of_a_committed_turn(program in programs(true)) {
        silence_panics();
        let stage = stage(program);
        let (clock, local) = local();
        let first = (0..stage.program.len())
            .map(|number| local.spawn(actor(stage.clone(), number, 0)))
            .collect();
        assert!(stage.first.set(first).is_ok());
        let roots = send_roots(&stage);
        for _ in 0..HOPS + 1 {
            settle(&local);
            clock.advance(ms(8));
        }
        settle(&local);
        let turns = stage.notes.lock().unwrap().turns.clone();
        check(&turns, &roots);
    }

    #[test]
    fn on_two_workers_every_effect_is_one_of_a_committed_turn(program in programs(false)) {
        silence_panics();
        let stage = stage(program);
        let system = System::builder().workers(2).on_failure(|_| ()).start().unwrap();
        let first = (0..stage.program.len())
            .map(|number| system.spawn(actor(stage.clone(), number, 0)).unwrap())
            .collect();
        assert!(stage.first.set(first).is_ok());
        let roots = send_roots(&stage);
        system.shutdown();
        let turns = stage.notes.lock().unwrap().turns.clone();
        check(&turns, &roots);
    }
}
