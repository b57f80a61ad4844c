//! Shared code of the scenarios of supervision: a world with a clock by hand, and players that log
//! their acts.
#![allow(dead_code, reason = "each scenario uses a part of it")]

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::{Actor, Address, Context, Handle, Local, Next, System};
use garrick_testkit::{ByHand, fail, silence_panics};

/// A message to a player.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Msg {
    /// Say it.
    Say(u32),
    /// Say it, and undo the turn.
    Undo(u32),
    Panic,
    Fail,
    Stop,
}

type Script = Arc<Mutex<Vec<String>>>;

/// Says what it does: `+a2` when the second `a` is made, `a2: 7` when it is told to say 7, `-a2`
/// when it is dropped.
pub(crate) struct Player {
    name: String,
    script: Script,
}

impl Player {
    fn say(&self, line: String) {
        self.script.lock().unwrap().push(line);
    }
}

impl Actor for Player {
    type Msg = Msg;
    type Outcome = Next;

    fn started(&mut self, _: &mut Context<'_, Msg>) -> Next {
        self.say(format!("+{}", self.name));
        Next::Continue
    }

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        // Vanishes with the turn, or is silent.
        let _ = cx.send(&cx.address(), Msg::Say(u32::MAX));
        match msg {
            Msg::Say(u32::MAX) => return Next::Undo,
            Msg::Say(n) => self.say(format!("{}: {n}", self.name)),
            Msg::Undo(n) => {
                self.say(format!("{}: undo {n}", self.name));
                return Next::Undo;
            }
            Msg::Panic => fail(),
            Msg::Fail => return cx.fail("as told"),
            Msg::Stop => return Next::Stop,
        }
        Next::Continue
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.say(format!("-{}", self.name));
    }
}

/// A local system in a world by hand.
pub(crate) struct Stage {
    local: Local,
    pub(crate) world: Arc<ByHand>,
    script: Script,
}

impl Stage {
    pub(crate) fn new() -> Self {
        silence_panics();
        let world = ByHand::new();
        let local = System::builder()
            .world(world.clone())
            .on_failure(|_| {})
            .local()
            .unwrap();
        Self {
            local,
            world,
            script: Script::default(),
        }
    }

    pub(crate) fn handle(&self) -> Handle {
        self.local.handle()
    }

    pub(crate) fn run(&self) {
        self.local.run();
    }

    pub(crate) fn dead_letters(&self) -> u64 {
        self.local.handle().dead_letters()
    }

    /// Returns everything that was logged since the last call.
    pub(crate) fn said(&self) -> Vec<String> {
        std::mem::take(&mut *self.script.lock().unwrap())
    }

    /// A supervisor that allows much.
    pub(crate) fn tree(&self, strategy: Strategy) -> Tree {
        Supervisor::new("tree", strategy)
            .intensity(1000, Duration::from_secs(1))
            .spawn(&self.handle())
            .unwrap()
    }

    /// The children `a`, `b` and `c`.
    pub(crate) fn three(&self, tree: &Tree) -> [Address<Msg>; 3] {
        ["a", "b", "c"].map(|name| {
            tree.handle()
                .actor(player(self, name))
                .named(name)
                .supervised_by(tree)
                .spawn()
                .unwrap()
        })
    }
}

/// Creates players of that name.
pub(crate) fn player(stage: &Stage, name: &str) -> impl Fn() -> Player + Send + use<> {
    let (made, owned, script) = (Cell::new(0), name.to_owned(), stage.script.clone());
    move || {
        made.set(made.get() + 1);
        Player {
            name: format!("{owned}{}", made.get()),
            script: script.clone(),
        }
    }
}
