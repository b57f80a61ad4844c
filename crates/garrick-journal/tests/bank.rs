//! A bank of durable actors on a real disk is killed at random moments. Each transfer whose answer
//! has come is there when the bank starts again, without holes, and no money is lost. Each engine
//! has a test.

#![cfg(unix)]
#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use garrick_actor::{Actor, Address, Context, NoReply, Reply, System};
use garrick_core::random::mix;
use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Journal, Stored};

/// Set in the process of the bank.
const FOLDER: &str = "GARRICK_BANK_FOLDER";
/// Number of branches.
const BRANCHES: usize = 6;
/// Number of accounts of a branch, and the money of each at first.
const ACCOUNTS: usize = 4;
const CENTS: u64 = 1_000;
/// Number of times that the bank is killed. The environment variable `GARRICK_JOURNAL_KILLS` sets
/// another number.
const KILLS: u64 = 10;

/// A branch of the bank.
struct Branch;

/// The accounts of a branch, and the number of transfers so far.
#[derive(Clone)]
struct Books {
    accounts: [u64; ACCOUNTS],
    transfers: u64,
}

impl Default for Books {
    fn default() -> Self {
        Self {
            accounts: [CENTS; ACCOUNTS],
            transfers: 0,
        }
    }
}

enum Order {
    /// Transfers at most a number of cents. Returns the number of the transfer.
    Transfer(usize, usize, u64, Reply<u64>),
    Look(Reply<Books>),
}

/// A transfer with its number.
struct Transferred {
    number: u64,
    from: u8,
    to: u8,
    cents: u64,
}

impl Stored for Transferred {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.number.to_le_bytes());
        bytes.extend([self.from, self.to]);
        bytes.extend(self.cents.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        let (number, rest) = bytes.split_first_chunk().ok_or("no number")?;
        let ([from, to], cents) = rest.split_first_chunk().ok_or("no accounts")?;
        Ok(Self {
            number: u64::from_le_bytes(*number),
            from: *from,
            to: *to,
            cents: u64::from_le_bytes(cents.try_into()?),
        })
    }
}

impl DurableActor for Branch {
    type Msg = Order;
    type State = Books;
    type Event = Transferred;
    type Outcome = ();

    fn decide(&self, books: &Books, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Transfer(from, to, cents, reply) => {
                let number = books.transfers + 1;
                cx.record(Transferred {
                    number,
                    from: from as u8,
                    to: to as u8,
                    cents: cents.min(books.accounts[from]),
                });
                reply.send(number);
            }
            Order::Look(reply) => reply.send(books.clone()),
        }
    }

    fn apply(books: &mut Books, event: &Transferred) {
        books.transfers += 1;
        assert_eq!(event.number, books.transfers, "no transfer is missing");
        books.accounts[usize::from(event.from)] -= event.cents;
        books.accounts[usize::from(event.to)] += event.cents;
    }

    const SAVE_EVERY: u64 = 50;

    fn save(books: &Books, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend(books.transfers.to_le_bytes());
        let cents = books.accounts.iter().flat_map(|cents| cents.to_le_bytes());
        bytes.extend(cents);
        Some(EventKind::default())
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<Books, BoxError> {
        let mut numbers = bytes.chunks_exact(8).map(|chunk| {
            let chunk = chunk.try_into().expect("8 bytes");
            u64::from_le_bytes(chunk)
        });
        let transfers = numbers.next().ok_or("no number")?;
        let mut accounts = [0; ACCOUNTS];
        for account in &mut accounts {
            *account = numbers.next().ok_or("too few accounts")?;
        }
        Ok(Books {
            accounts,
            transfers,
        })
    }
}

/// Orders transfers for ever, and prints the number of each transfer that is done.
struct Teller {
    number: usize,
    branch: Address<Order>,
    chance: u64,
}

/// The answer to a teller.
struct Done(Result<u64, NoReply>);

impl Teller {
    fn order(&mut self, cx: &Context<'_, Done>) {
        self.chance = mix(self.chance);
        let (from, to) = (
            self.chance as usize % ACCOUNTS,
            (self.chance >> 8) as usize % ACCOUNTS,
        );
        let cents = (self.chance >> 16) % 100;
        let transfer = move |reply| Order::Transfer(from, to, cents, reply);
        cx.ask(&self.branch, transfer, Done);
    }
}

impl Actor for Teller {
    type Msg = Done;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Done>) {
        self.order(cx);
    }

    fn receive(&mut self, Done(done): Done, cx: &mut Context<'_, Done>) {
        let number = done.expect("the disk works");
        let line = format!("done {} {number}\n", self.number);
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        self.order(cx);
    }
}

/// The store of the events.
#[derive(Debug, Clone, Copy)]
enum Engine {
    Segments,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Engine {
    /// Returns the name of the test of this engine.
    fn test(self) -> &'static str {
        match self {
            Self::Segments => "a_bank_survives_kills",
            #[cfg(feature = "sqlite")]
            Self::Sqlite => "a_bank_in_sqlite_survives_kills",
        }
    }

    fn open(self, system: &System, folder: &Path) -> Journal {
        match self {
            Self::Segments => Journal::open(&system.handle(), folder).unwrap().0,
            #[cfg(feature = "sqlite")]
            Self::Sqlite => {
                let path = folder.join("journal.sqlite");
                Journal::open_sqlite(&system.handle(), path).unwrap()
            }
        }
    }

    /// Checks the log from end to end.
    fn verify(self, folder: &Path) {
        match self {
            // It is read from end to end when it is opened.
            Self::Segments => assert!(folder.is_dir()),
            #[cfg(feature = "sqlite")]
            Self::Sqlite => {
                let log = garrick_journal::SqliteLog::inspect(folder.join("journal.sqlite"));
                let log = log.unwrap();
                log.check().unwrap();
                for listed in log.journals().unwrap() {
                    log.read_each(listed.journal, 1, |_| ()).unwrap();
                }
            }
        }
    }
}

fn branches(engine: Engine, system: &System, folder: &Path) -> (Journal, Vec<Address<Order>>) {
    let journal = engine.open(system, folder);
    let branch = |number| {
        let entity = journal.entity(format!("branch/{number}"), Branch);
        system.spawn(entity.unwrap()).unwrap()
    };
    let branches = (0..BRANCHES).map(branch).collect();
    (journal, branches)
}

/// Runs the bank until it is killed.
fn run(engine: Engine, folder: &Path) {
    let system = System::new().unwrap();
    let (_journal, branches) = branches(engine, &system, folder);
    let tellers: Vec<_> = (branches.into_iter().enumerate())
        .flat_map(|(number, branch)| [(number, branch.clone(), 1), (number, branch, 2)])
        .map(|(number, branch, chance)| {
            let chance = mix(chance ^ u64::from(process::id()));
            let teller = Teller {
                number,
                branch,
                chance,
            };
            system.spawn(teller).unwrap()
        })
        .collect();
    // Until this process is killed.
    let _ = std::io::stdin().lines().next();
    drop(tellers);
}

/// Checks that the bank has the transfers that were acknowledged, and all its money.
fn check(engine: Engine, folder: &Path, acknowledged: &[u64]) {
    let system = System::new().unwrap();
    let (journal, branches) = branches(engine, &system, folder);
    for (branch, &acknowledged) in branches.iter().zip(acknowledged) {
        let books = branch.ask(Order::Look).wait().unwrap();
        let transfers = books.transfers;
        assert!(
            transfers >= acknowledged,
            "{transfers} after {acknowledged}"
        );
        let money: u64 = books.accounts.iter().sum();
        assert_eq!(money, CENTS * ACCOUNTS as u64);
    }
    drop(journal);
    system.shutdown();
    engine.verify(folder);
}

/// Starts the bank, and kills it after some transfers. Updates the numbers of the transfers that it
/// has acknowledged.
fn kill_after(engine: Engine, folder: &Path, transfers: u64, acknowledged: &mut [u64]) {
    let mut bank = Command::new(env::current_exe().unwrap())
        .args([engine.test(), "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(bank.stdout.take().unwrap()).lines();
    let mut left = transfers;
    for line in lines.map(Result::unwrap) {
        // What was printed before the kill counts, too. The first line may follow other text.
        let Some((_, numbers)) = line.split_once("done ") else {
            continue;
        };
        let mut numbers = numbers.split(' ').flat_map(str::parse::<u64>);
        if let (Some(branch), Some(number)) = (numbers.next(), numbers.next()) {
            let known = &mut acknowledged[branch as usize];
            *known = number.max(*known);
        }
        left = left.saturating_sub(1);
        if left == 0 {
            let _ = bank.kill();
        }
    }
    assert!(!bank.wait().unwrap().success());
}

/// Returns an empty folder, which is removed in the end.
struct Place(PathBuf);

impl Place {
    fn new(engine: Engine) -> Self {
        let name = format!("garrick-bank-{engine:?}-{}", process::id());
        Self(env::temp_dir().join(name))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn survives_kills(engine: Engine) {
    if let Some(folder) = env::var_os(FOLDER) {
        return run(engine, Path::new(&folder));
    }
    let kills = env::var("GARRICK_JOURNAL_KILLS").ok();
    let kills = kills.map_or(KILLS, |kills| kills.parse().expect("it is a number"));
    let (place, mut acknowledged) = (Place::new(engine), [0; BRANCHES]);
    for kill in 0..kills {
        kill_after(engine, &place.0, 1 + mix(kill) % 60, &mut acknowledged);
        check(engine, &place.0, &acknowledged);
    }
    let all: u64 = acknowledged.iter().sum();
    println!("{engine:?}: {kills} kills, {all} transfers acknowledged");
}

#[test]
fn a_bank_survives_kills() {
    survives_kills(Engine::Segments);
}

#[cfg(feature = "sqlite")]
#[test]
fn a_bank_in_sqlite_survives_kills() {
    survives_kills(Engine::Sqlite);
}
