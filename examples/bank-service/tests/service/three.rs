//! A test in which one of three nodes on a NATS server is killed.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use serde_json::json;

use crate::client::Client;
use crate::nats::{self, Server};
use crate::process::{Folder, Service};

/// Number of accounts. The next constants are the initial balance of each account, and the number
/// of clients.
const ACCOUNTS: usize = 8;
const CENTS: u64 = 1_000;
const CLIENTS: usize = 4;

/// Number of changes that each client makes. The next constant is the total number of changes after
/// which a node is killed.
const CHANGES: usize = 100;
const KILLED_AFTER: usize = 100;

fn name(account: usize) -> String {
    format!("account-{account}")
}

/// Makes changes, and repeats each change until it is acknowledged or refused. Returns how many
/// cents each account must have gained.
fn change(number: usize, urls: &[String], done: &AtomicUsize) -> Vec<i64> {
    let client = Client::new();
    let mut gained = vec![0; ACCOUNTS];
    for change in 0..CHANGES {
        let account = (number * 3 + change * 5) % ACCOUNTS;
        let (to, cents) = (
            (account + 1 + change % 7) % ACCOUNTS,
            1 + change as i64 % 90,
        );
        let (action, body) = match change % 4 {
            0 => ("deposit", json!({ "cents": cents })),
            1 => ("withdraw", json!({ "cents": cents })),
            _ => ("transfer", json!({ "cents": cents, "to": name(to) })),
        };
        let (path, key) = (
            format!("/accounts/{}/{action}", name(account)),
            format!("{number}-{change}"),
        );
        let (response, _) = client.insist(urls, &path, &key, &body);
        done.fetch_add(1, SeqCst);
        if response.status == 409 {
            continue;
        }
        assert_eq!(response.status, 200, "{response:?}");
        match action {
            "deposit" => gained[account] += cents,
            "withdraw" => gained[account] -= cents,
            _ => {
                gained[account] -= cents;
                gained[to] += cents;
            }
        }
    }
    gained
}

/// Starts a NATS server on a free port, by the command that the README shows.
pub(crate) fn start_server(folder: &Folder) -> Option<Server> {
    let mut command = nats::command(folder.path())?;
    let arguments = "--jetstream --addr 127.0.0.1 --store_dir nats-data --port -1";
    command.args(arguments.split(' '));
    Some(Server::start(command))
}

#[test]
fn a_node_is_killed_and_nothing_that_was_acknowledged_is_lost() {
    let folder = Folder::new();
    let Some(server) = start_server(&folder) else {
        return;
    };
    let address = format!("nats://{}", server.address);
    let start = |node| Service::start(["--nats", &address, "--node", node]);
    let mut nodes: Vec<_> = ["bank-1", "bank-2", "bank-3"].map(start).into();
    for node in &nodes {
        node.sees("bank-1, bank-2, bank-3");
    }
    let urls: Vec<String> = nodes.iter().map(|node| node.url.clone()).collect();
    let client = Client::new();
    for account in 0..ACCOUNTS {
        let path = format!("/accounts/{}/deposit", name(account));
        let paid = client.post(&urls[0], &path, &json!({ "cents": CENTS }));
        assert_eq!(paid.cents(), CENTS);
    }

    let done = AtomicUsize::new(0);
    let gained = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (mut urls, done) = (urls.clone(), &done);
                urls.rotate_left(number % 3);
                scope.spawn(move || change(number, &urls, done))
            })
            .collect();
        while done.load(SeqCst) < KILLED_AFTER {
            thread::yield_now();
        }
        nodes[1].process.kill();
        nodes[0].sees("bank-1, bank-3");
        nodes[1] = start("bank-2");
        nodes[0].sees("bank-1, bank-2, bank-3");
        let mut gained = vec![0; ACCOUNTS];
        for client in clients {
            for (sum, own) in gained.iter_mut().zip(client.join().unwrap()) {
                *sum += own;
            }
        }
        gained
    });
    check(&client, &nodes[1].url, &gained);

    // An orderly end hands the accounts over.
    assert!(nodes[0].process.end().success());
    nodes[0]
        .process
        .waits_for("bank-1 has ended")
        .expect("it tells its end");
    check(&client, &nodes[2].url, &gained);
}

/// Waits until all transfers have arrived. Then checks that the balance of each account is the
/// initial balance plus the gained cents.
fn check(client: &Client, url: &str, gained: &[i64]) {
    for account in 0..ACCOUNTS {
        client.settled(url, &name(account));
    }
    for (account, gained) in gained.iter().enumerate() {
        let cents = client.settled(url, &name(account)) as i64;
        assert_eq!(cents, CENTS as i64 + gained, "{}", name(account));
    }
}
