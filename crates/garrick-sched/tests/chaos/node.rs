//! The tasks of a test round, which perform random actions.

use std::marker::PhantomData;
use std::thread;
use std::time::Duration;

use garrick_sched::{Flow, Handle, SpawnError, Task, Trail, Turn};

use crate::asking::Owing;
use crate::dice::Dice;
use crate::frame::{self, InTurn};
use crate::gate::{self, Plan};
use crate::later;
use crate::ledger::{self, fate};
use crate::mind::Mind;
use crate::round::{self, Round};
use crate::shapes::{Aligned, Cargo, Huge, Kilo, Letter, Nothing, Peer, Shape, Small, Wide};
use crate::watching::{self, WORDLESS};

/// Largest delay of a timer, in microseconds.
const TIMER_US: usize = 200;

/// A task for messages of one type. The bits of `MODE` are the abilities of the task: 1 has a
/// start, 2 recovers from panics, 4 blocks, and 8 has turns whose commit is decided later.
pub(crate) struct Node<M: Shape, const MODE: u8> {
    mind: Mind,
    message: PhantomData<fn(M)>,
}

impl<M: Shape, const MODE: u8> Node<M, MODE> {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            mind: Mind::new(seed),
            message: PhantomData,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.mind.token.id()
    }

    /// Performs a few random actions.
    fn act(&mut self, round: &Round, turn: &Turn<'_, M>) -> Flow {
        for _ in 0..=self.mind.dice.below(3) {
            if !round.burn() {
                break;
            }
            let flow = self.step(round, turn);
            if flow != Flow::Continue {
                return flow;
            }
        }
        Flow::Continue
    }

    fn step(&mut self, round: &Round, turn: &Turn<'_, M>) -> Flow {
        match self.mind.dice.below(48) {
            0..=5 => self.bear(round, turn),
            6 | 7 => self.send_to_self(round, turn),
            8..=10 => self.send_elsewhere(round, turn),
            11..=13 => self.send_late(round, turn),
            14 | 15 => self.watch(turn),
            16..=18 => self.ask(round, turn),
            19 | 20 => self.open_door(round, turn),
            21 if self.mind.dice.one_in(3) => self.mind.shelter(round),
            22 | 23 => return Flow::Undo,
            24 => frame::fail(),
            25 if self.mind.dice.one_in(4) => frame::explode(),
            26 => return Flow::Stop,
            27 => {
                turn.has_more();
                turn.now();
                turn.sponsor().sample();
            }
            28 | 29 => self.block(round, turn),
            _ => self.mind.act(round),
        }
        Flow::Continue
    }

    /// Performs actions while the turn blocks, and other tasks run on its worker.
    fn block(&mut self, round: &Round, turn: &Turn<'_, M>) {
        let mind = &mut self.mind;
        turn.blocking(|| {
            frame::blocking(|| {
                if mind.dice.one_in(2) {
                    thread::yield_now();
                }
                mind.act(round);
            });
        });
    }

    fn bear(&mut self, round: &Round, turn: &Turn<'_, M>) {
        let (handle, chance) = round.draw();
        let child = match chance % 8 {
            0 => spawn_here::<M, 0>(round, turn),
            1 => spawn_here::<M, 6>(round, turn),
            2 => spawn_here::<M, 1>(round, turn),
            3 => spawn_here::<M, 2>(round, turn),
            4 => spawn_here::<M, 3>(round, turn),
            5 => spawn_here::<M, 10>(round, turn),
            6 => spawn_here::<M, 9>(round, turn),
            _ => {
                let node = Node::<M, 1>::new(round.seed);
                let id = node.id();
                Peer::task(turn.spawn_on(&handle, node), id)
            }
        };
        let me = Peer::task(turn.address(), self.id());
        let mut letter = self.mind.letter(round, true);
        if let Some(cargo) = &mut letter.cargo {
            cargo.peers.push(me);
        }
        child.send(letter);
        round.meet(&child, &mut self.mind.dice);
        self.mind.meet(child);
    }

    fn send_to_self(&mut self, round: &Round, turn: &Turn<'_, M>) {
        let me = turn.address();
        for _ in 0..=self.mind.dice.below(4) {
            let letter = self.mind.letter(round, true);
            M::pack(letter).post(|message| turn.send(&me, message));
        }
    }

    fn send_elsewhere(&mut self, round: &Round, turn: &Turn<'_, M>) {
        let (handle, _) = round.draw();
        let Some(peer) = self.mind.somebody() else {
            return;
        };
        let Some(to) = M::of(&peer.to) else {
            return;
        };
        let letter = self.mind.letter(round, !peer.is_door);
        M::pack(letter).post(|message| turn.send_on(&handle, to, message));
    }

    fn send_late(&mut self, round: &Round, turn: &Turn<'_, M>) {
        let delay = Duration::from_micros(self.mind.dice.below(TIMER_US) as u64);
        let me = turn.address();
        let peer = self.mind.somebody();
        let to = peer.as_ref().and_then(|peer| M::of(&peer.to));
        let letter = self.mind.letter(round, false);
        M::pack(letter).post(|message| turn.send_after(delay, to.unwrap_or(&me), message));
    }

    /// Watches another task, with a notice that sends a message to this task. If the message type
    /// has no room for the identity of the other task, this task gets no notice.
    fn watch(&mut self, turn: &Turn<'_, M>) {
        let Some(peer) = self.mind.somebody() else {
            return;
        };
        let Some(to) = M::of(&peer.to) else {
            return;
        };
        if M::COUNTED && !peer.is_door {
            let watch = watching::watch_for_task(turn, to, peer.task);
            self.mind.remember(watch);
        }
    }

    fn ask(&mut self, round: &Round, turn: &Turn<'_, M>) {
        if !M::COUNTED {
            return;
        }
        let me = turn.address();
        if self.mind.dice.one_in(6)
            && let Some(other) = self.mind.somebody()
        {
            let keeper = gate::keeper(&me, other);
            self.mind
                .question(round, |question| Owing::to_door(keeper, question));
            return;
        }
        self.mind
            .question(round, |question| Owing::to_task(me, question));
    }

    fn open_door(&mut self, round: &Round, turn: &Turn<'_, M>) {
        if !M::COUNTED {
            return;
        }
        let Some(other) = self.mind.somebody() else {
            return;
        };
        let plan = Plan {
            other,
            will: self.mind.will(round),
            chance: self.mind.dice.next(),
        };
        let peer = self.mind.somebody();
        let (me, own) = (turn.address(), self.id());
        let (behind, task) = match &peer {
            Some(peer) if peer.tells => match M::of(&peer.to) {
                Some(to) => (to, peer.task),
                None => (&me, own),
            },
            _ => (&me, own),
        };
        let is_row = self.mind.dice.one_in(4);
        let open = if is_row { gate::row } else { gate::before };
        let door = open(behind, task, plan);
        self.mind.send(round, &door);
        round.meet(&door, &mut self.mind.dice);
        self.mind.meet(door);
    }

    /// Ends a turn. A turn that will be undone keeps no question open, because the timer that
    /// reminds the task of the question is undone, too.
    fn end(&mut self, frame: InTurn, flow: Flow) -> Flow {
        if flow == Flow::Undo {
            self.mind.owed.clear();
        }
        frame.end(flow)
    }

    fn remind(&mut self, turn: &Turn<'_, M>) {
        let cargo = Cargo {
            pay: true,
            ..Cargo::default()
        };
        let later = Duration::from_micros(TIMER_US as u64);
        let letter = Letter::unsaid(cargo, 0);
        let reminds =
            M::pack(letter).post(|message| turn.send_after(later, &turn.address(), message));
        if !reminds {
            self.mind.owed.clear();
        }
    }
}

impl<M: Shape, const MODE: u8> Task for Node<M, MODE> {
    type Message = M;
    const STARTS: bool = MODE & 1 != 0;
    const RECOVERS: bool = MODE & 2 != 0;
    const BLOCKS: bool = MODE & 4 != 0;
    const COMMITS_LATER: bool = MODE & 8 != 0;

    fn start(&mut self, turn: &Turn<'_, M>) -> Flow {
        let frame = InTurn::begin(self.id());
        let flow = round::now().map_or(Flow::Continue, |round| self.act(&round, turn));
        self.end(frame, flow)
    }

    fn receive(&mut self, message: M, turn: &Turn<'_, M>) -> Flow {
        let mut frame = InTurn::begin(self.id());
        // Values that are dropped with it still belong to the turn.
        let letter = message.open();
        let Some(round) = round::now() else {
            return frame.end(Flow::Continue);
        };
        if Self::COMMITS_LATER
            && self.mind.dice.one_in(2)
            && let Some(decider) = round.decider()
        {
            frame.commits_later(later::request(turn, self.id(), decider));
        }
        if !Self::COMMITS_LATER && self.mind.dice.one_in(4) {
            turn.set_trail(Trail::new(self.id()));
        }
        if self.mind.take_in(&round, letter) {
            self.remind(turn);
        }
        let flow = self.act(&round, turn);
        self.end(frame, flow)
    }

    fn recover(&mut self, said: &str, turn: &Turn<'_, M>) -> Flow {
        let frame = InTurn::begin(self.id());
        if said != frame::last_words(self.id()) && said != WORDLESS {
            ledger::wrong(format!("{:#x} is to recover from: {said}", self.id()));
        }
        self.mind.owed.clear();
        let flow = match (self.mind.dice.below(8), round::now()) {
            (0 | 1, _) => Flow::Stop,
            (2, _) => {
                frame::fail();
                Flow::Stop
            }
            (_, Some(round)) => self.act(&round, turn),
            _ => Flow::Continue,
        };
        self.end(frame, flow)
    }

    fn is_letter(message: &M) -> bool {
        if !M::COUNTED {
            return true;
        }
        let fates = ledger::fate_of(message.id());
        if fates & fate::LETTER_PANICS != 0 {
            frame::fail();
        }
        fates & fate::NO_LETTER == 0
    }

    fn label(&self) -> Option<String> {
        if self.id().is_multiple_of(7) {
            frame::explode();
        }
        Some(format!("{:x}", self.id()))
    }
}

fn spawn_here<M: Shape, const MODE: u8>(round: &Round, turn: &Turn<'_, M>) -> Peer {
    let node = Node::<M, MODE>::new(round.seed);
    let id = node.id();
    Peer::task(turn.spawn(node), id)
}

/// A task that is larger than every block of the memory pool.
struct Fat {
    node: Node<Letter, 3>,
    _room: [u64; 600],
}

impl Task for Fat {
    type Message = Letter;
    const STARTS: bool = true;
    const RECOVERS: bool = true;

    fn start(&mut self, turn: &Turn<'_, Letter>) -> Flow {
        self.node.start(turn)
    }

    fn receive(&mut self, letter: Letter, turn: &Turn<'_, Letter>) -> Flow {
        self.node.receive(letter, turn)
    }

    fn recover(&mut self, said: &str, turn: &Turn<'_, Letter>) -> Flow {
        self.node.recover(said, turn)
    }

    fn is_letter(letter: &Letter) -> bool {
        Node::<Letter, 3>::is_letter(letter)
    }
}

fn spawn_on<M: Shape, const MODE: u8>(handle: &Handle, round: &Round) -> Option<Peer> {
    let node = Node::<M, MODE>::new(round.seed);
    let id = node.id();
    match handle.spawn(node) {
        Ok(address) => Some(Peer::task(address, id)),
        Err(SpawnError(_)) => None,
    }
}

/// Makes a task for a random type of messages, if the sponsor accepts the task.
pub(crate) fn spawn(handle: &Handle, round: &Round, chance: u64) -> Option<Peer> {
    let mut dice = Dice::new(chance);
    match dice.below(20) {
        0 => spawn_on::<Nothing, 0>(handle, round),
        1 => spawn_on::<Nothing, 3>(handle, round),
        2 => spawn_on::<Small, 0>(handle, round),
        3 => spawn_on::<Small, 3>(handle, round),
        4 | 5 => spawn_on::<Letter, 0>(handle, round),
        6 => spawn_on::<Letter, 5>(handle, round),
        7 => spawn_on::<Letter, 2>(handle, round),
        8 => spawn_on::<Wide, 2>(handle, round),
        9 => spawn_on::<Wide, 1>(handle, round),
        10 => spawn_on::<Kilo, 4>(handle, round),
        11 => spawn_on::<Kilo, 3>(handle, round),
        12 => spawn_on::<Huge, 2>(handle, round),
        13 => spawn_on::<Aligned, 1>(handle, round),
        14 => spawn_on::<Aligned, 2>(handle, round),
        15 => spawn_on::<Letter, 11>(handle, round),
        16 => spawn_on::<Wide, 8>(handle, round),
        17 => spawn_on::<Kilo, 10>(handle, round),
        18 => spawn_on::<Letter, 14>(handle, round),
        _ => {
            let node = Node::new(round.seed);
            let id = node.id();
            let fat = Fat {
                node,
                _room: [0; 600],
            };
            let spawned = handle.spawn(fat).ok();
            spawned.map(|address| Peer::task(address, id))
        }
    }
}
