//! Random trees with random failures, compared with a sequential model. The model predicts which
//! children restart, in which order, and when a supervisor gives up.
#![forbid(unsafe_code)]

mod troupe;

use std::time::Duration;

use garrick_actor::Address;
use garrick_actor::supervise::{Restart, Strategy, Supervisor, Tree};
use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use troupe::{Msg, Stage, player};

const WINDOW: Duration = Duration::from_secs(10);

/// Description of a tree that the test creates.
#[derive(Debug, Clone)]
enum Node {
    Leaf(Restart),
    Branch(Strategy, usize, Vec<Node>),
}

/// An event that the test causes: a leaf ends, or time passes.
#[derive(Debug, Clone, Copy)]
enum Blow {
    Panic(usize),
    Fail(usize),
    Stop(usize),
    /// Advance the clock by the given number of seconds.
    Wait(u64),
}

/// The sequential model of one node of the tree.
#[derive(Debug)]
struct Model {
    name: String,
    kind: Kind,
    is_up: bool,
    is_gone: bool,
}

#[derive(Debug)]
enum Kind {
    Leaf {
        restart: Restart,
        made: u32,
    },
    Branch {
        strategy: Strategy,
        restarts_max: usize,
        recent: Vec<u64>,
        children: Vec<Model>,
    },
}

/// Result of an event, as the supervisor above the node sees it.
#[derive(PartialEq, Eq)]
enum Outcome {
    /// No running leaf was hit, or a supervisor at or below the node has handled the fault.
    Fine,
    /// The node is down. `by_itself` is true if the leaf stopped without a failure.
    Fault { by_itself: bool },
}

impl Model {
    fn start(&mut self, said: &mut Vec<String>) {
        if self.is_gone {
            return;
        }
        self.is_up = true;
        match &mut self.kind {
            Kind::Leaf { made, .. } => {
                *made += 1;
                said.push(format!("+{}{made}", self.name));
            }
            Kind::Branch {
                children, recent, ..
            } => {
                recent.clear();
                children.iter_mut().for_each(|child| child.start(said));
            }
        }
    }

    fn stop(&mut self, said: &mut Vec<String>) {
        match &mut self.kind {
            Kind::Leaf { made, .. } if self.is_up => said.push(format!("-{}{made}", self.name)),
            Kind::Leaf { .. } => {}
            Kind::Branch { children, .. } => {
                children.iter_mut().rev().for_each(|child| child.stop(said));
            }
        }
        self.is_up = false;
    }

    fn restart_type(&self) -> Restart {
        match self.kind {
            Kind::Leaf { restart, .. } => restart,
            Kind::Branch { .. } => Restart::Permanent,
        }
    }

    /// Ends the leaf with the given name, if it is running, and restarts nodes as their supervisors
    /// would.
    fn strike(&mut self, name: &str, by_itself: bool, now: u64, said: &mut Vec<String>) -> Outcome {
        let Kind::Branch {
            strategy,
            restarts_max,
            recent,
            children,
        } = &mut self.kind
        else {
            return if self.name == name && self.is_up {
                Outcome::Fault { by_itself }
            } else {
                Outcome::Fine
            };
        };
        let hit = (0..children.len()).find_map(|at| {
            match children[at].strike(name, by_itself, now, said) {
                Outcome::Fine => None,
                Outcome::Fault { by_itself } => Some((at, by_itself)),
            }
        });
        let Some((at, by_itself)) = hit else {
            return Outcome::Fine;
        };
        let restarts = match children[at].restart_type() {
            Restart::Permanent => true,
            Restart::Transient => !by_itself,
            Restart::Temporary => false,
        };
        if !restarts {
            children[at].stop(said);
            children[at].is_gone = true;
            return Outcome::Fine;
        }
        recent.retain(|then| now - then < WINDOW.as_secs());
        if recent.len() >= *restarts_max {
            children.iter_mut().rev().for_each(|child| child.stop(said));
            self.is_up = false;
            return Outcome::Fault { by_itself: false };
        }
        recent.push(now);
        let affected = match strategy {
            Strategy::OneForOne => at..at + 1,
            Strategy::OneForAll => 0..children.len(),
            Strategy::RestForOne => at..children.len(),
        };
        for child in children[affected.clone()].iter_mut().rev() {
            child.stop(said);
            child.is_gone |= child.restart_type() == Restart::Temporary;
        }
        for child in &mut children[affected] {
            child.start(said);
        }
        Outcome::Fine
    }
}

fn strategies() -> impl proptest::strategy::Strategy<Value = Strategy> {
    prop_oneof![
        Just(Strategy::OneForOne),
        Just(Strategy::OneForAll),
        Just(Strategy::RestForOne),
    ]
}

fn nodes() -> impl proptest::strategy::Strategy<Value = Node> {
    let leaf = prop_oneof![
        4 => Just(Restart::Permanent),
        1 => Just(Restart::Transient),
        1 => Just(Restart::Temporary),
    ]
    .prop_map(Node::Leaf);
    leaf.prop_recursive(3, 16, 4, |inner| {
        (strategies(), 0..4usize, prop::collection::vec(inner, 1..5))
            .prop_map(|(strategy, restarts_max, nodes)| Node::Branch(strategy, restarts_max, nodes))
    })
}

fn blows() -> impl proptest::strategy::Strategy<Value = Vec<Blow>> {
    let blow = prop_oneof![
        3 => any::<usize>().prop_map(Blow::Panic),
        3 => any::<usize>().prop_map(Blow::Fail),
        1 => any::<usize>().prop_map(Blow::Stop),
        2 => (1..12u64).prop_map(Blow::Wait),
    ];
    prop::collection::vec(blow, 0..25)
}

/// Spawns the children of a supervisor and returns their models.
fn build(
    stage: &Stage,
    tree: &Tree,
    nodes: &[Node],
    leaves: &mut Vec<(String, Address<Msg>)>,
) -> Vec<Model> {
    let mut models = Vec::new();
    for node in nodes {
        let (name, kind) = match node {
            Node::Leaf(restart) => {
                let name = format!("{}.", leaves.len());
                let leaf = tree.handle().actor(player(stage, &name)).named(&name);
                let leaf = leaf.supervised_by(tree).restart(*restart).spawn();
                leaves.push((name.clone(), leaf.unwrap()));
                let (restart, made) = (*restart, 0);
                (name, Kind::Leaf { restart, made })
            }
            Node::Branch(strategy, restarts_max, nodes) => {
                let (strategy, restarts_max) = (*strategy, *restarts_max);
                let below = Supervisor::new("branch", strategy).intensity(restarts_max, WINDOW);
                let below = below.spawn_under(tree).unwrap();
                let children = build(stage, &below, nodes, leaves);
                let kind = Kind::Branch {
                    strategy,
                    restarts_max,
                    recent: Vec::new(),
                    children,
                };
                ("branch".into(), kind)
            }
        };
        let (is_up, is_gone) = (false, false);
        models.push(Model {
            name,
            kind,
            is_up,
            is_gone,
        });
    }
    models
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3000 }))]

    #[test]
    fn restarts_follow_the_model(
        strategy in strategies(),
        restarts_max in 0..5usize,
        nodes in prop::collection::vec(nodes(), 1..5),
        blows in blows(),
    ) {
        let stage = Stage::new();
        let supervisor = Supervisor::new("tree", strategy).intensity(restarts_max, WINDOW);
        let tree = supervisor.spawn(&stage.handle()).unwrap();
        let mut leaves = Vec::new();
        let children = build(&stage, &tree, &nodes, &mut leaves);
        let kind = Kind::Branch { strategy, restarts_max, recent: Vec::new(), children };
        let mut model = Model { name: "tree".into(), kind, is_up: false, is_gone: false };
        let (mut expected, mut now) = (Vec::new(), 0);
        model.start(&mut expected);
        stage.run();
        prop_assert_eq!(stage.said(), expected);
        for blow in blows {
            let mut expected = Vec::new();
            let (at, msg) = match blow {
                Blow::Panic(at) => (at, Msg::Panic),
                Blow::Fail(at) => (at, Msg::Fail),
                Blow::Stop(at) => (at, Msg::Stop),
                Blow::Wait(seconds) => {
                    now += seconds;
                    stage.world.advance(Duration::from_secs(seconds));
                    continue;
                }
            };
            let (name, address) = &leaves[at % leaves.len()];
            let is_gone = address.send(msg).is_err();
            let outcome = model.strike(name, matches!(msg, Msg::Stop), now, &mut expected);
            stage.run();
            prop_assert_eq!(stage.said(), expected, "{:?}, gone: {}", blow, is_gone);
            prop_assert_eq!(tree.is_stopped(), outcome != Outcome::Fine);
            if tree.is_stopped() {
                prop_assert!(leaves.iter().all(|(_, address)| address.is_stopped()));
                return Ok(());
            }
        }
    }
}
