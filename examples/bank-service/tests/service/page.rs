//! Checks that `docs/running-clusters.md` and the README show the same configurations and commands
//! that the tests use.

use std::fs;
use std::path::Path;

use crate::nats;
use crate::process::service;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_page_shows_the_configuration_that_is_tested() {
    let page = text("../../docs/running-clusters.md");
    assert!(page.contains(&nats::file("server.conf")), "server.conf");
}

#[test]
fn the_users_are_those_that_the_command_prints() {
    let mut command = std::process::Command::new(service::<&str>([]).get_program());
    let output = command
        .args(["users", "bank-1", "bank-2", "bank-3"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        nats::file("users.conf")
    );
}

#[test]
fn the_readme_runs_the_commands_that_are_tested() {
    let readme = text("README.md");
    for command in [
        "nats-server --jetstream --addr 127.0.0.1 --store_dir nats-data",
        "--nats nats://localhost --node bank-1",
        "Idempotency-Key: ",
        "/accounts/alice/deposit",
        "/accounts/alice/transfer",
        "/healthz",
    ] {
        assert!(readme.contains(command), "{command}");
    }
}
