//! Shared code of the tests of supervision: a system whose clock is set by hand, and actors that
//! log what they do.
#![allow(dead_code, reason = "each scenario uses a part of it")]

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::{Actor, Address, Context, Handle, Local, Next, System};
use garrick_testkit::{ByHand, fail, silence_panics};

/// A message to a [`Player`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Msg {
    /// Log the number.
    Say(u32),
    /// Log the number, and undo the turn.
    Undo(u32),
    Panic,
    Fail,
    Stop,
}

type Script = Arc<Mutex<Vec<String>>>;

/// An actor that logs what it does: `+a2` when the second incarnation of `a` starts, `a2: 7` when
/// it receives the number 7, and `-a2` when it is dropped.
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

/// A system on the current thread, with a clock that is set by hand and a shared log.
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

    /// Returns all lines that were logged since the last call.
    pub(crate) fn said(&self) -> Vec<String> {
        std::mem::take(&mut *self.script.lock().unwrap())
    }

    /// Spawns a supervisor that allows 1000 restarts per second.
    pub(crate) fn tree(&self, strategy: Strategy) -> Tree {
        Supervisor::new("tree", strategy)
            .intensity(1000, Duration::from_secs(1))
            .spawn(&self.handle())
            .unwrap()
    }

    /// Spawns the children `a`, `b` and `c`.
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

/// Returns a factory of [`Player`]s with the given name. The factory numbers the incarnations.
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
