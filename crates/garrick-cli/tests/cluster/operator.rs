//! Test of an operator who inspects a bank, and drains one of its nodes.

use std::process::Output;

use serde_json::Value;

use super::bank::{Node, as_user, serve};
use super::server::Server;
use super::{assert_says, said};

/// Runs a command as the operator.
fn operate(server: &Server, arguments: &[&str]) -> Output {
    let mut command = as_user(server, "operator", arguments);
    let output = command.args(["--cluster", "bank"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    output
}

fn json(server: &Server, arguments: &[&str]) -> Value {
    let output = operate(server, &[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn an_operator_sees_the_members_and_drains_one() {
    let Some(server) = serve(&["bank-1", "bank-2", "operator"]) else {
        return;
    };
    let mut first = Node::start(&server, "bank-1");
    let _second = Node::start(&server, "bank-2");
    // A look waits for the next beat of a member.
    let status = loop {
        let status = json(&server, &["status"]);
        if status["members"][1]["runs"][0] == "account" && status["kinds"][0]["without_owner"] == 0
        {
            break status;
        }
    };
    let shards = |status: &Value, member: usize| status["members"][member]["shards"].as_u64();
    let owned = shards(&status, 0).unwrap() + shards(&status, 1).unwrap();
    assert_eq!(owned, 64, "{status}");
    assert_eq!(status["members"][0]["name"], "bank-1");
    assert_eq!(status["members"][0]["state"], "member");
    let beat = &status["members"][0]["seconds_since_beat"];
    assert!((0.0..5.0).contains(&beat.as_f64().unwrap()), "{status}");
    let page = said(&operate(&server, &["status"]));
    for word in ["bank-1", "bank-2", "s ago", "2 members", "account", "64"] {
        assert!(page.contains(word), "{word} is missing: {page}");
    }

    for (typed, meant) in [
        (["shards", "acount"], "'account'"),
        (["drain", "bank-3"], "'bank-"),
    ] {
        let mut command = as_user(&server, "operator", &typed);
        command.args(["--cluster", "bank"]);
        assert_says(&mut command, 2, &["did you mean", meant]);
    }

    let drained = said(&operate(&server, &["drain", "bank-1"]));
    assert!(drained.contains("bank-1 has left the cluster"), "{drained}");
    assert!(first.0.wait().unwrap().success(), "its program has ended");
    let shards = json(&server, &["shards", "account"]);
    let shards = shards["shards"].as_array().unwrap();
    assert_eq!(shards.len(), 64);
    assert!(
        shards.iter().all(|shard| shard["node"] == "bank-2"),
        "{shards:?}"
    );
    let page = said(&operate(&server, &["shards", "account"]));
    assert!(page.contains("0-63"), "{page}");
}

#[test]
fn a_user_without_permissions_is_told_so() {
    let Some(server) = serve(&["operator"]) else {
        return;
    };
    let status = ["status", "--cluster", "bank"];
    let words = ["does not permit", "garrick cluster permissions"];
    assert_says(&mut as_user(&server, "stranger", &status), 1, &words);
    assert_says(
        &mut as_user(&server, "nobody", &status),
        1,
        &["refuses the credentials"],
    );
    let words = ["no cluster is called 'bank'"];
    assert_says(&mut as_user(&server, "operator", &status), 2, &words);
}
