//! Tests of nodes on a cluster of three NATS servers, with users, permissions and encryption. The
//! servers use the files in the folder `nats`, which `docs/running-clusters.md` shows.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use garrick_testkit::HANGS_AFTER;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;

use crate::client::Client;
use crate::nats::{self, Server};
use crate::process::{Folder, Process, Service, service};

/// Writes the certificate of an authority, and the certificate and key of a server.
fn make_certificates(folder: &Path) {
    let (mut params, key) = (CertificateParams::default(), KeyPair::generate().unwrap());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap();
    fs::write(folder.join("authority.pem"), authority.pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = KeyPair::generate().unwrap();
    let signed = params.signed_by(&key, &issuer).unwrap();
    fs::write(folder.join("server.pem"), signed.pem()).unwrap();
    fs::write(folder.join("server.key"), key.serialize_pem()).unwrap();
}

/// Sets the passwords of all users in the environment of a command that runs a server.
fn with_passwords(mut command: Command) -> Command {
    for node in ["BANK_1", "BANK_2", "BANK_3", "ADMIN"] {
        command.env(format!("{node}_PASSWORD"), password(node));
    }
    command
}

fn password(user: &str) -> String {
    format!("secret-of-{user}")
}

/// Starts three NATS servers, each in a separate folder, with the files of the folder `nats`.
fn cluster(folder: &Path) -> Option<Vec<Server>> {
    let ports: [u16; 3] = nats::free_ports();
    let routes = ports
        .map(|port| format!("nats://127.0.0.1:{port}"))
        .join(", ");
    let start = |number: usize| {
        let own = folder.join(format!("nats-{number}"));
        fs::create_dir(&own).unwrap();
        make_certificates_of(folder, &own);
        nats::write(&own, "users.conf", &nats::file("users.conf"), &[]);
        let cluster = format!("listen: \"127.0.0.1:{}\"", ports[number - 1]);
        let config = nats::write(
            &own,
            "server.conf",
            &nats::file("server.conf"),
            &[
                (
                    "server_name: nats-1",
                    &format!("server_name: nats-{number}"),
                ),
                ("listen: \"0.0.0.0:4222\"", "listen: \"127.0.0.1:-1\""),
                ("listen: \"0.0.0.0:6222\"", &cluster),
                (
                    "nats://nats-1:6222, nats://nats-2:6222, nats://nats-3:6222",
                    &routes,
                ),
                ("/var/lib/nats", "store"),
            ],
        );
        let mut command = with_passwords(nats::command(&own)?);
        command.arg("-c").arg(config);
        Some(Server::start(command))
    };
    (1..=3).map(start).collect()
}

/// Copies the certificates to the folder of a server.
fn make_certificates_of(folder: &Path, own: &Path) {
    for name in ["authority.pem", "server.pem", "server.key"] {
        fs::copy(folder.join(name), own.join(name)).unwrap();
    }
}

/// Returns a command that runs a node of the bank, connected to `servers`.
fn node(servers: &[Server], folder: &Path, name: &str, password: &str) -> Command {
    let addresses: Vec<_> = servers
        .iter()
        .map(|server| format!("tls://{}", server.address))
        .collect();
    let mut command = service([
        "--nats",
        &addresses.join(","),
        "--node",
        name,
        "--replicas",
        "3",
    ]);
    command.arg("--authority").arg(folder.join("authority.pem"));
    command.env("BANK_PASSWORD", password);
    command
}

#[test]
fn nodes_meet_on_three_servers_with_users_permissions_and_encryption() {
    let folder = Folder::new();
    let folder = folder.path();
    make_certificates(folder);
    let Some(mut servers) = cluster(folder) else {
        return;
    };
    let began = Instant::now();
    let start = |name: &str, user: &str| {
        loop {
            assert!(began.elapsed() < HANGS_AFTER * 2, "{name} does not start");
            // Until the servers have elected a leader, a node that starts fails.
            let command = node(&servers, folder, name, &password(user));
            if let Some(node) = Service::try_start(command) {
                return node;
            }
        }
    };
    let nodes = [start("bank-1", "BANK_1"), start("bank-2", "BANK_2")];
    nodes[0].sees("bank-1, bank-2");
    let urls: Vec<_> = nodes.iter().map(|node| node.url.clone()).collect();
    let client = Client::new();
    for key in ["a", "b"] {
        let (response, _) = client.insist(
            &urls,
            "/accounts/alice/deposit",
            key,
            &json!({ "cents": 100 }),
        );
        assert_eq!(response.status, 200, "{response:?}");
    }

    // The password of another node is refused.
    let mut stranger = Process::start(node(&servers, folder, "bank-3", &password("BANK_1")), true);
    let why = stranger.waits_for("error: ").expect("it tells why");
    assert!(why.contains("refuses the credentials"), "{why}");
    assert!(!stranger.wait().success());

    // The bank goes on while one of three servers is away.
    servers[0].process.kill();
    let body = json!({ "cents": 11 });
    let (response, attempts) = client.insist(&urls, "/accounts/alice/deposit", "c", &body);
    println!("acknowledged after {attempts} attempts");
    assert_eq!(response.cents(), 211);
}
