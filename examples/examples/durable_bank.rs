//! A bank of durable accounts is killed in the middle of its transfers, and loses no money.
//!
//! The program starts itself as the process of the bank, and kills this process after some
//! transfers. It then reads the accounts from the disk, and counts the money.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use garrick::Ask;
use garrick::journal::{Decide, Journal, Stored};
use garrick::prelude::*;

/// Environment variable that is set only in the process of the bank. Contains the folder of the
/// journal.
const FOLDER: &str = "GARRICK_EXAMPLE_BANK";
const ACCOUNTS: usize = 8;
/// Initial balance of each account.
const CENTS: u64 = 1_000;
/// Number of times that the process of the bank is killed.
const KILLS: usize = 3;
/// Number of acknowledged transfers after which the process of the bank is killed.
const TRANSFERS: u64 = 100;

/// The state of an account.
#[derive(Stored)]
#[stored(tag = 1)]
struct Account {
    cents: u64,
    /// Number of transfers that were sent from this account.
    sent: u64,
    /// Transfers that have left, but may not have arrived: their numbers, receivers and cents.
    on_their_way: BTreeMap<u64, (usize, u64)>,
    /// Number of the newest transfer from each account.
    received: BTreeMap<usize, u64>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            cents: CENTS,
            sent: 0,
            on_their_way: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }
}

#[derive(Stored)]
enum Event {
    #[stored(tag = 1)]
    Sent { to: usize, cents: u64 },
    #[stored(tag = 2)]
    Received {
        from: usize,
        number: u64,
        cents: u64,
    },
    #[stored(tag = 3)]
    Arrived(u64),
}

/// An account with its number.
type Numbered = (usize, AccountHandle);

#[garrick::durable(save = 50)]
impl Account {
    /// Sends money from this account, which has the number `from`. Returns true if there is enough
    /// money. The money leaves the account when the transfer is on the disk.
    fn send(
        &self,
        from: usize,
        (to, account): Numbered,
        cents: u64,
        cx: &mut Decide<'_, '_, Self>,
    ) -> bool {
        if cents > self.cents {
            return false;
        }
        let number = self.sent + 1;
        cx.record(Event::Sent { to, cents });
        account.receive_to(from, number, cents, cx, AccountMsg::Confirmed);
        true
    }

    /// Receives a transfer, but only once. Returns the number of the transfer when the money is on
    /// the disk.
    fn receive(&self, from: usize, number: u64, cents: u64, cx: &mut Decide<'_, '_, Self>) -> u64 {
        let newest = self.received.get(&from);
        if newest.is_none_or(|newest| number > *newest) {
            cx.record(Event::Received {
                from,
                number,
                cents,
            });
        }
        number
    }

    /// Handles the answer of the account that has received a transfer.
    fn confirmed(&self, number: Result<u64, NoReply>, cx: &mut Decide<'_, '_, Self>) {
        if let Ok(number) = number {
            cx.record(Event::Arrived(number));
        }
    }

    /// Returns the balance in cents, the number of transfers that were sent, and the transfers that
    /// have not arrived yet.
    fn books(&self) -> (u64, u64, Vec<(u64, usize, u64)>) {
        let on_their_way = self.on_their_way.iter();
        let on_their_way = on_their_way.map(|(&number, &(to, cents))| (number, to, cents));
        (self.cents, self.sent, on_their_way.collect())
    }

    #[durable(apply)]
    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Sent { to, cents } => {
                self.cents -= cents;
                self.sent += 1;
                self.on_their_way.insert(self.sent, (to, cents));
            }
            Event::Received {
                from,
                number,
                cents,
            } => {
                self.cents += cents;
                self.received.insert(from, number);
            }
            Event::Arrived(number) => {
                self.on_their_way.remove(&number);
            }
        }
    }
}

/// Spawns all accounts, which read their states.
fn accounts(system: &System, folder: &Path) -> Result<Vec<AccountHandle>, Box<dyn Error>> {
    let (journal, _) = Journal::open(&system.handle(), folder)?;
    let mut accounts = Vec::new();
    for number in 0..ACCOUNTS {
        let account = journal.entity_of::<Account>(format!("account/{number}"))?;
        accounts.push(system.spawn(account)?.into());
    }
    Ok(accounts)
}

/// Transfers money until this process is killed, and prints a line for each transfer.
fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let system = System::new()?;
    let accounts = accounts(&system, folder)?;
    for round in 0.. {
        let send = |from: usize| {
            let to = (from + 1 + round % (ACCOUNTS - 1)) % ACCOUNTS;
            let cents = (round * 7 + from) as u64 % 50;
            accounts[from].send(from, (to, accounts[to].clone()), cents)
        };
        // All transfers of a round are under way at once, and share syncs of the disk.
        let transfers: Vec<Ask<bool>> = (0..ACCOUNTS).map(send).collect();
        for transfer in transfers {
            if transfer.wait()? {
                println!("transferred");
            }
        }
    }
    Ok(())
}

/// Starts the bank, and kills it after some transfers. Returns the number of transfers that it has
/// acknowledged.
fn kill_bank(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut bank = Command::new(env::current_exe()?)
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()?;
    let output = bank.stdout.take().ok_or("the bank has no output")?;
    let mut acknowledged = 0;
    // What the bank has printed before its end counts, too.
    for line in BufReader::new(output).lines() {
        line?;
        acknowledged += 1;
        if acknowledged == TRANSFERS {
            // On Unix, this is `kill -9`.
            bank.kill()?;
        }
    }
    if bank.wait()?.success() || acknowledged < TRANSFERS {
        return Err("the bank has stopped by itself".into());
    }
    Ok(acknowledged)
}

/// Reads the accounts from the disk, and delivers the money that was on its way. Returns the sum of
/// all accounts, and the number of all transfers.
fn recover(folder: &Path) -> Result<(u64, u64), Box<dyn Error>> {
    let system = System::new()?;
    let accounts = accounts(&system, folder)?;
    let mut delivered = 0;
    for (from, account) in accounts.iter().enumerate() {
        let (_, _, on_their_way) = account.books().wait()?;
        for (number, to, cents) in on_their_way {
            // The receiver may already have the money. It then ignores the transfer.
            let number = accounts[to].receive(from, number, cents).wait()?;
            account.confirmed(Ok(number))?;
            delivered += 1;
        }
    }
    println!("  {delivered} transfers were on their way");
    let (mut sum, mut count) = (0, 0);
    for account in &accounts {
        let (cents, sent, on_their_way) = account.books().wait()?;
        assert!(on_their_way.is_empty());
        sum += cents;
        count += sent;
    }
    system.shutdown();
    Ok((sum, count))
}

/// A folder that is removed on drop.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(folder) = env::var_os(FOLDER) {
        return run(Path::new(&folder));
    }
    let name = format!("garrick-durable-bank-{}", process::id());
    let folder = Temporary(env::temp_dir().join(name));
    println!("{ACCOUNTS} accounts have {CENTS} cents each");
    let mut acknowledged = 0;
    for _ in 0..KILLS {
        acknowledged += kill_bank(&folder.0)?;
        println!("killed the bank after {acknowledged} acknowledged transfers");
        let (sum, transfers) = recover(&folder.0)?;
        println!("  {transfers} transfers are on the disk, and the accounts have {sum} cents");
        assert!(
            transfers >= acknowledged,
            "no acknowledged transfer is lost"
        );
        assert_eq!(sum, CENTS * ACCOUNTS as u64, "no money is lost");
    }
    Ok(())
}
