//! A round of the test: sponsors, their tasks, plain threads, and the end of all of them.

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::thread::{self, JoinHandle};

use garrick_sched::{Failure, Handle, Room, Sponsor, audit};

use crate::dice::Dice;
use crate::frame::{self, ON_PURPOSE};
use crate::later::{self, Undecided};
use crate::ledger;
use crate::mind::Mind;
use crate::outside;
use crate::shapes::{Cargo, Letter, Peer};
use crate::sponsors::{Earth, Keep, Kept, STACK, Threads, Unrest};
use crate::watching::WORDLESS;

/// Number of places in the bounded mailbox that all peers share.
const ROOM: usize = 6;
/// Largest number of peers that become known to all tasks and threads.
const KNOWN_MAX: usize = 24;

static NOW: RwLock<Option<Arc<Round>>> = RwLock::new(None);

/// Returns the current round.
pub(crate) fn now() -> Option<Arc<Round>> {
    NOW.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn set_now(round: Option<Arc<Round>>) {
    *NOW.write().unwrap_or_else(PoisonError::into_inner) = round;
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shared state of a round.
pub(crate) struct Round {
    pub(crate) seed: u64,
    /// Number of steps that are left.
    pub(crate) fuel: AtomicI64,
    dice: Mutex<Dice>,
    /// Handles of all sponsors, including those that have ended.
    handles: Mutex<Vec<Handle>>,
    known: Mutex<Vec<Peer>>,
    kept: Mutex<Vec<Option<Keep>>>,
    graves: Mutex<Vec<Sponsor>>,
    pub(crate) room: Arc<Room>,
    pub(crate) threads: Arc<Threads>,
    /// The channel to the thread that decides whether turns commit. `None` after the end of all
    /// sponsors.
    decider: Mutex<Option<Sender<Undecided>>>,
}

impl Round {
    fn new(seed: u64, fuel: i64, decider: Sender<Undecided>) -> Self {
        Self {
            seed,
            fuel: AtomicI64::new(fuel),
            dice: Mutex::new(Dice::new(seed)),
            handles: Mutex::default(),
            known: Mutex::default(),
            kept: Mutex::default(),
            graves: Mutex::default(),
            room: Room::new(ROOM),
            threads: Arc::default(),
            decider: Mutex::new(Some(decider)),
        }
    }

    /// Returns a channel to the thread that decides whether turns commit.
    pub(crate) fn decider(&self) -> Option<Sender<Undecided>> {
        lock(&self.decider).clone()
    }

    pub(crate) fn has_fuel(&self) -> bool {
        self.fuel.load(SeqCst) > 0
    }

    /// Uses up a step of the round. Returns false if no step is left.
    pub(crate) fn burn(&self) -> bool {
        self.fuel.fetch_sub(1, SeqCst) > 0
    }

    /// Returns a sponsor of the round, which may have ended, and a random number.
    pub(crate) fn draw(&self) -> (Handle, u64) {
        let mut dice = lock(&self.dice);
        let handles = lock(&self.handles);
        // Sponsors that were made later have usually ended.
        let index = dice.below(handles.len().min(4));
        (handles[index].clone(), dice.next())
    }

    pub(crate) fn welcome(&self, handle: Handle) {
        lock(&self.handles).push(handle);
    }

    pub(crate) fn somebody(&self, dice: &mut Dice) -> Option<Peer> {
        dice.pick(&lock(&self.known)).cloned()
    }

    /// Makes a peer known to all tasks and threads, with a certain probability.
    pub(crate) fn meet(&self, peer: &Peer, dice: &mut Dice) {
        if !dice.one_in(4) {
            return;
        }
        let mut known = lock(&self.known);
        let peer = peer.clone();
        if known.len() < KNOWN_MAX {
            known.push(peer);
            return;
        }
        let index = dice.below(KNOWN_MAX);
        let before = std::mem::replace(&mut known[index], peer);
        drop(known);
        // Values that are dropped with it may look for peers.
        drop(before);
    }

    /// Returns an additional owner of a random sponsor.
    pub(crate) fn keep(&self, dice: &mut Dice) -> Option<Keep> {
        dice.pick(&lock(&self.kept)).cloned().flatten()
    }

    /// Gives up the round's ownership of a sponsor.
    pub(crate) fn let_go(&self, index: usize) -> Option<Keep> {
        lock(&self.kept).get_mut(index)?.take()
    }

    /// Drops a sponsor on a thread that may wait for the end of the sponsor.
    pub(crate) fn bury(&self, sponsor: Sponsor) {
        lock(&self.graves).push(sponsor);
    }

    /// Returns the function that receives reports of failures. It sends messages, and sometimes
    /// panics.
    pub(crate) fn reporter(&self) -> impl Fn(&Failure) + Send + Sync + 'static {
        let dice = Mutex::new(Dice::new(!self.seed));
        move |failure: &Failure| {
            let meant = failure.message.starts_with(ON_PURPOSE) || failure.message == WORDLESS;
            // A worker itself has no failures on purpose.
            if !meant || failure.task == "a worker" {
                ledger::wrong(format!("{} failed: {}", failure.task, failure.message));
            }
            let Some(round) = now() else { return };
            let (chance, peer) = {
                let mut dice = lock(&dice);
                (dice.below(8), round.somebody(&mut dice))
            };
            if !round.burn() {
                return;
            }
            match (chance, peer) {
                (0..=3, Some(peer)) => {
                    peer.send(Letter::plain(Cargo::default()));
                }
                (4 | 5, _) => frame::fail(),
                _ => {}
            }
        }
    }
}

/// Starts the sponsors of the round, with `workers` workers each.
fn start(round: &Arc<Round>, dice: &mut Dice, workers: usize) -> Vec<Weak<Kept>> {
    let count = 1 + dice.below(3);
    let mut kept = Vec::new();
    for index in 0..count {
        let world = Earth::new(index, round.threads.clone());
        let mut builder = Sponsor::builder()
            .name(format!("chaos-{index}"))
            .workers(workers)
            .world(world)
            .probes(dice.one_in(2))
            .blocking_threads([0, 1, 3, 64][dice.below(4)])
            .lend_at_once(dice.one_in(2))
            .refuse_strangers(dice.one_in(3))
            .on_failure(round.reporter());
        if dice.one_in(3) {
            let seed = dice.next();
            builder = builder.driver(Unrest { seed, index });
        }
        let sponsor = builder.start().expect("there are threads enough");
        round.welcome(sponsor.handle());
        kept.push(Arc::new(Kept::new(sponsor, index)));
    }
    let weak = kept.iter().map(Arc::downgrade).collect();
    *lock(&round.kept) = kept.into_iter().map(Some).collect();
    weak
}

/// Makes the first tasks of the round.
fn sow(round: &Round, dice: &mut Dice) {
    // Fewer if a sponsor has ended already.
    let roots: Vec<_> = (0..12)
        .filter_map(|_| Mind::spawn_anywhere(round))
        .collect();
    for root in &roots {
        let others = (0..3).filter_map(|_| dice.pick(&roots).cloned());
        let cargo = Cargo {
            peers: others.collect(),
            ..Cargo::default()
        };
        root.send(Letter::plain(cargo));
    }
    let met = std::mem::replace(&mut *lock(&round.known), roots);
    // Values that are dropped with the known peers may look for peers, or wait for a task that
    // does.
    drop(met);
}

fn spawn(body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let thread = thread::Builder::new().stack_size(STACK).spawn(body);
    thread.expect("there are threads enough")
}

fn threads(round: &Arc<Round>, dice: &mut Dice) -> Vec<JoinHandle<()>> {
    let mut threads: Vec<_> = (1..=2)
        .map(|number| {
            let round = round.clone();
            spawn(move || outside::stranger(&round, number))
        })
        .collect();
    if dice.one_in(2) {
        let round = round.clone();
        threads.push(spawn(move || outside::hermit(&round)));
    }
    threads
}

/// Ends all sponsors that have not ended yet.
fn end(round: &Round, sponsors: &[Weak<Kept>], now: bool) {
    for (index, weak) in sponsors.iter().enumerate() {
        if let Some(sponsor) = weak.upgrade() {
            sponsor.begin(now);
        }
        drop(round.let_go(index));
    }
}

/// Runs one round. After that, the ledger contains the errors.
pub(crate) fn run(seed: u64, workers: usize, fuel: i64) {
    let before = audit();
    ledger::begin();
    let (decider, undecided) = channel();
    let decides = spawn(move || later::decide(&undecided, seed));
    let round = Arc::new(Round::new(seed, fuel, decider));
    set_now(Some(round.clone()));
    let mut dice = Dice::new(seed);
    let sponsors = start(&round, &mut dice, workers);
    sow(&round, &mut dice);
    let mut strangers = threads(&round, &mut dice);
    let mut join = || {
        for stranger in strangers.drain(..) {
            if stranger.join().is_err() {
                ledger::wrong("a plain thread ended in a panic".to_owned());
            }
        }
    };
    match dice.below(4) {
        0 => end(&round, &sponsors, true),
        1 => end(&round, &sponsors, false),
        2 => (0..sponsors.len()).for_each(|index| drop(round.let_go(index))),
        _ => {}
    }
    join();
    end(&round, &sponsors, dice.one_in(2));
    // A sponsor that one of its own tasks has dropped may end after that.
    round.threads.wait_for_all();
    let known = std::mem::take(&mut *lock(&round.known));
    drop(known);
    let graves = std::mem::take(&mut *lock(&round.graves));
    drop(graves);
    drop(lock(&round.decider).take());
    if decides.join().is_err() {
        ledger::wrong("the thread that decides ended in a panic".to_owned());
    }
    if sponsors.iter().any(|sponsor| sponsor.strong_count() > 0) {
        ledger::wrong("somebody still has a sponsor".to_owned());
    }
    set_now(None);
    let handles = std::mem::take(&mut *lock(&round.handles));
    let dead_letters = handles.iter().map(Handle::dead_letters).sum();
    drop(handles);
    if round.room.taken() != 0 {
        ledger::wrong(format!("{} places are still taken", round.room.taken()));
    }
    drop(round);
    ledger::close(dead_letters);
    let after = audit();
    if after != before {
        ledger::wrong(format!("blocks in use before {before:?}, after {after:?}"));
    }
}
