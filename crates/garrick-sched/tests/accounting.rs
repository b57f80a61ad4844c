//! Players on two workers, and a plain thread, send numbered messages to each other at random. Each
//! receiver checks that the numbers of a sender follow each other: no message is lost, doubled or
//! reordered.
//!
//! `GARRICK_ACCOUNTING_MESSAGES` sets the number of messages; CONTRIBUTING.md has the command.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use garrick_sched::{Address, Flow, Sponsor, Task, Turn, audit};
use garrick_testkit::setting;

const WORKERS: usize = 2;
const PLAYERS: usize = 16;
/// Number of senders: the players, and the plain thread as the last one.
const SENDERS: usize = PLAYERS + 1;
const OUTSIDER: usize = PLAYERS;
/// Number of unacknowledged messages at which a sender waits.
const OPEN_MAX: u64 = 4_096;
/// Number of messages of a sender that a receiver acknowledges at a time.
const ACKNOWLEDGED: u64 = 64;
/// Largest number of messages of one turn to one receiver.
const BURST_MAX: u64 = 64;
/// One turn in this many is followed by a turn that sends forbidden messages, and is undone.
const TURNS_PER_UNDO: u64 = 64;
/// The number in the forbidden messages, which no player may receive.
const NEVER: u64 = u64::MAX;

enum Note {
    /// Brings the list of players to a player, which confirms that it has received the list.
    Begin(Box<Table>),
    /// Asks a player to send a burst of messages.
    Go,
    /// Asks a player for a turn that sends forbidden messages and is undone.
    Fail,
    Numbered {
        from: usize,
        number: u64,
    },
    Acknowledged,
}

/// All players.
struct Table {
    players: Vec<Address<Note>>,
    begun: Sender<()>,
}

/// A table with a number of messages for each pair of a sender and a receiver.
type Counts = [[u64; PLAYERS]; SENDERS];

#[derive(Default)]
struct Books {
    /// Numbers of sent messages, by sender and receiver.
    sent: Mutex<Counts>,
    received: Mutex<Counts>,
    wrong: Mutex<Vec<String>>,
    /// Number of messages of the plain thread that were received.
    from_outside: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a message to a task, which must not have stopped.
fn tell(turn: &Turn<'_, Note>, to: &Address<Note>, note: Note) {
    assert!(turn.send(to, note).is_ok());
}

/// The random number generator xorshift (Marsaglia, 2003).
struct Random(u64);

impl Random {
    fn new(seed: usize) -> Self {
        Self((seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

struct Player {
    id: usize,
    players: Vec<Address<Note>>,
    random: Random,
    /// Number of numbered messages that are still to be sent.
    left: u64,
    /// Number of numbered messages that were sent and are not acknowledged.
    open: u64,
    /// True while a `Go` message is on its way to this player. True at the beginning.
    goes: bool,
    sent: [u64; PLAYERS],
    received: [u64; SENDERS],
    books: Arc<Books>,
}

impl Player {
    fn new(id: usize, left: u64, books: &Arc<Books>) -> Self {
        Self {
            id,
            players: Vec::new(),
            random: Random::new(id),
            left,
            open: 0,
            goes: true,
            sent: [0; PLAYERS],
            received: [0; SENDERS],
            books: books.clone(),
        }
    }

    /// Sends a burst of messages to another player. Continues with the next burst, unless this
    /// player must wait for acknowledgements.
    fn send_burst(&mut self, turn: &Turn<'_, Note>) {
        let to = self.random.below(PLAYERS as u64) as usize;
        let count = (1 + self.random.below(BURST_MAX)).min(self.left);
        for _ in 0..count {
            let number = self.sent[to];
            let from = self.id;
            tell(turn, &self.players[to], Note::Numbered { from, number });
            self.sent[to] += 1;
        }
        self.left -= count;
        self.open += count;
        if self.random.below(TURNS_PER_UNDO) == 0 {
            tell(turn, &turn.address(), Note::Fail);
        }
        self.go_on(turn);
    }

    fn go_on(&mut self, turn: &Turn<'_, Note>) {
        self.goes = self.left > 0 && self.open + BURST_MAX <= OPEN_MAX;
        if self.goes {
            tell(turn, &turn.address(), Note::Go);
        }
    }

    /// Sends forbidden messages, in a turn that will be undone.
    fn send_in_vain(&mut self, turn: &Turn<'_, Note>) {
        for to in &self.players {
            let from = self.id;
            let number = NEVER;
            tell(turn, to, Note::Numbered { from, number });
        }
    }

    fn receive_numbered(&mut self, from: usize, number: u64, turn: &Turn<'_, Note>) {
        let expected = self.received[from];
        if number != expected {
            let to = self.id;
            let wrong = format!("{from} to {to}: number {number} came instead of {expected}");
            lock(&self.books.wrong).push(wrong);
        }
        self.received[from] += 1;
        if from == OUTSIDER {
            self.books.from_outside.fetch_add(1, Relaxed);
        } else if self.received[from].is_multiple_of(ACKNOWLEDGED) {
            tell(turn, &self.players[from], Note::Acknowledged);
        }
    }
}

impl Task for Player {
    type Message = Note;

    fn receive(&mut self, note: Note, turn: &Turn<'_, Note>) -> Flow {
        match note {
            Note::Begin(table) => {
                self.players = table.players;
                table.begun.send(()).unwrap();
            }
            Note::Go => self.send_burst(turn),
            Note::Fail => {
                self.send_in_vain(turn);
                return Flow::Undo;
            }
            Note::Numbered { from, number } => self.receive_numbered(from, number, turn),
            Note::Acknowledged => {
                self.open -= ACKNOWLEDGED;
                if !self.goes {
                    self.go_on(turn);
                }
            }
        }
        Flow::Continue
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        lock(&self.books.sent)[self.id] = self.sent;
        let mut received = lock(&self.books.received);
        for (from, count) in self.received.iter().enumerate() {
            received[from][self.id] = *count;
        }
    }
}

/// Sends `count` messages from a plain thread, to one player after the other.
fn send_from_outside(
    players: &[Address<Note>],
    count: u64,
    books: &Books,
    goes_wrong: impl Fn() -> bool,
) {
    let mut sent = [0; PLAYERS];
    for i in 0..count {
        while i.saturating_sub(books.from_outside.load(Relaxed)) >= OPEN_MAX {
            if goes_wrong() {
                return;
            }
            thread::yield_now();
        }
        let to = (i % PLAYERS as u64) as usize;
        let (from, number) = (OUTSIDER, sent[to]);
        if players[to].send(Note::Numbered { from, number }).is_err() {
            lock(&books.wrong).push(format!("player {to} took no message"));
        }
        sent[to] += 1;
    }
    lock(&books.sent)[OUTSIDER] = sent;
}

fn messages() -> u64 {
    let usual = if cfg!(debug_assertions) {
        200_000
    } else {
        5_000_000
    };
    setting("GARRICK_ACCOUNTING_MESSAGES").unwrap_or(usual)
}

#[test]
fn stress_every_message_arrives_once_and_in_order() {
    let messages = messages();
    let each = messages / SENDERS as u64;
    // The remainder comes from outside.
    let outside = messages - each * PLAYERS as u64;
    let before = audit();
    let (books, began) = (Arc::new(Books::default()), Instant::now());
    let sponsor = Sponsor::pool(WORKERS).unwrap();
    let handle = sponsor.handle();
    let players: Vec<_> = (0..PLAYERS)
        .map(|id| handle.spawn(Player::new(id, each, &books)).unwrap())
        .collect();
    let (begun, has_begun) = channel();
    for player in &players {
        let (players, begun) = (players.clone(), begun.clone());
        let begin = player.send(Note::Begin(Box::new(Table { players, begun })));
        assert!(begin.is_ok());
    }
    (0..PLAYERS).for_each(|_| has_begun.recv().unwrap());
    assert!(players.iter().all(|player| player.send(Note::Go).is_ok()));
    thread::scope(|scope| {
        let (players, books, handle) = (&players, &books, &handle);
        let goes_wrong = move || handle.failures() > 0;
        let outsider = scope.spawn(move || send_from_outside(players, outside, books, goes_wrong));
        // Its thread must have ended, with its spare blocks given back, before the audit.
        outsider.join().unwrap();
    });
    // The players keep each other alive: the end drops them after the last message.
    sponsor.shutdown();
    drop(players);
    assert_eq!(handle.failures(), 0);
    let wrong = std::mem::take(&mut *lock(&books.wrong));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(*lock(&books.sent), *lock(&books.received));
    let arrived: u64 = lock(&books.received).iter().flatten().sum();
    assert_eq!(arrived, messages);
    assert_eq!(handle.dead_letters(), 0);
    assert_eq!(audit(), before);
    println!("{arrived} messages, {:?}", began.elapsed());
}
