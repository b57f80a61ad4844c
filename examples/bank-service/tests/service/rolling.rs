//! A test in which nodes join, restart and leave while clients make deposits. No request may fail.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::process::{Folder, Service};
use crate::three::start_server;

/// Number of accounts. The next constant is the number of clients.
const ACCOUNTS: usize = 24;
const CLIENTS: usize = 3;

fn path(account: usize) -> String {
    format!("/accounts/account-{account}")
}

/// Makes deposits until `ends` is true. If a node cannot be reached, uses the next node, as a load
/// balancer does. Each response must be a success. Returns how long each deposit took.
fn pay_in(number: usize, urls: &Mutex<Vec<String>>, ends: &AtomicBool) -> Vec<Duration> {
    let client = Client::new();
    let (mut times, mut next) = (Vec::new(), number);
    while !ends.load(SeqCst) {
        let count = times.len();
        let path = format!("{}/deposit", path((number + count * CLIENTS) % ACCOUNTS));
        let key = format!("{number}-{count}");
        let began = Instant::now();
        loop {
            next += 1;
            let url = {
                let urls = urls.lock().unwrap();
                urls[next % urls.len()].clone()
            };
            let body = json!({ "cents": 1 }).to_string();
            if let Ok(response) = client.try_post(&url, &path, Some(&key), &body) {
                assert_eq!(response.status, 200, "{response:?}");
                break;
            }
        }
        times.push(began.elapsed());
    }
    times
}

/// Shuts a node down gracefully.
fn end(node: &mut Service, name: &str) {
    assert!(node.process.end().success());
    let ended = format!("{name} has ended");
    node.process.waits_for(&ended).expect("it tells its end");
}

#[test]
fn nodes_come_and_go_and_no_request_fails() {
    let folder = Folder::new();
    let Some(server) = start_server(&folder) else {
        return;
    };
    let address = format!("nats://{}", server.address);
    let start = |name: &str| Service::start(["--nats", &address, "--node", name]);
    let mut nodes = vec![start("bank-1"), start("bank-2")];
    nodes[0].sees("bank-1, bank-2");
    let urls: Vec<String> = nodes.iter().map(|node| node.url.clone()).collect();
    let urls = Mutex::new(urls);
    let ends = AtomicBool::new(false);
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let (urls, ends) = (&urls, &ends);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| scope.spawn(move || pay_in(number, urls, ends)))
            .collect();
        nodes.push(start("bank-3"));
        urls.lock().unwrap().push(nodes[2].url.clone());
        nodes[0].sees("bank-1, bank-2, bank-3");
        for (place, name) in ["bank-1", "bank-2", "bank-3"].into_iter().enumerate() {
            end(&mut nodes[place], name);
            nodes[place] = start(name);
            nodes[place].sees("bank-1, bank-2, bank-3");
            urls.lock().unwrap()[place] = nodes[place].url.clone();
        }
        end(&mut nodes[2], "bank-3");
        ends.store(true, SeqCst);
        let times = clients.into_iter().map(|client| client.join().unwrap());
        times.flatten().collect()
    });
    let client = Client::new();
    let sum = |account| client.get(&nodes[0].url, &path(account)).cents();
    let sum: u64 = (0..ACCOUNTS).map(sum).sum();
    assert_eq!(sum, times.len() as u64);
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 1_000];
    println!("{sum} payments: p99 {:?}, longest {:?}", at(990), at(1_000));
}
