//! Servers, settings and frames that are refused.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Duration;

use async_nats::ConnectOptions;
use futures_util::StreamExt;
use garrick_actor::System;
use garrick_cluster::nats::{NameState, NatsError, NatsNet};
use garrick_cluster::{Incoming, JoinError, Node, NodeName, Transport};
use tokio::time::timeout;

use crate::place::{Msg, Place, until, users};
use crate::server::Server;

/// Starts a server that only sends the greeting of a NATS server with these properties.
fn greeter(version: &'static str, jetstream: bool, max_payload: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let port = address.port();
        let info = format!(
            "INFO {{\"server_id\":\"x\",\"server_name\":\"greeter\",\"version\":\"{version}\",\
             \"host\":\"127.0.0.1\",\"port\":{port},\"max_payload\":{max_payload},\
             \"headers\":true,\"proto\":1,\"jetstream\":{jetstream}}}\r\n"
        );
        stream.write_all(info.as_bytes()).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            if line.starts_with("PING") {
                stream.write_all(b"PONG\r\n").unwrap();
            }
        }
    });
    format!("nats://{address}")
}

#[test]
fn a_server_that_cannot_be_used_is_refused() {
    let error = |version, jetstream, max_payload| {
        let net = NatsNet::builder(greeter(version, jetstream, max_payload)).start();
        net.unwrap_err()
    };
    let old = error("2.9.10", true, 1 << 20);
    assert!(matches!(&old, NatsError::OldServer { version, .. } if version == "2.9.10"));
    let old = old.to_string();
    assert!(
        old.contains("greeter at 127.0.0.1") && old.contains("2.12 or a later one"),
        "{old}"
    );
    let bare = error("2.15.2", false, 1 << 20).to_string();
    assert!(bare.contains("has no JetStream"), "{bare}");
    let small = error("2.15.2", true, 64 << 10).to_string();
    assert!(small.contains("65536 bytes: at least 262144"), "{small}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = NatsNet::builder(address.to_string()).start().unwrap_err();
    assert!(matches!(error, NatsError::Unreachable { .. }));
    let error = error.to_string();
    assert!(error.contains(&address.to_string()), "{error}");
    let error = NatsNet::builder("nats.example.org").start().unwrap_err();
    assert!(matches!(error, NatsError::PlainText { .. }), "{error}");
    let nowhere = NatsNet::builder("localhost").credentials("/no/such.creds");
    let error = nowhere.start().unwrap_err().to_string();
    assert!(error.starts_with("/no/such.creds: "), "{error}");
}

#[test]
fn encryption_is_not_optional_if_it_was_asked_for() {
    let Some(server) = Server::start("") else {
        return;
    };
    // The server cannot encrypt.
    let error = NatsNet::builder(server.address()).tls().start();
    assert!(
        matches!(error, Err(NatsError::Unreachable { .. })),
        "{error:?}"
    );
    let address = server.address().replace("nats://", "tls://");
    let error = NatsNet::builder(address).start();
    assert!(
        matches!(error, Err(NatsError::Unreachable { .. })),
        "{error:?}"
    );
}

#[test]
fn async_programs_connect_and_join() {
    let Some(server) = Server::start("") else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        // The own thread of the connection.
        let net = NatsNet::connect(server.address()).await.unwrap();
        let system = System::new().unwrap();
        let handle = system.handle();
        let joined = tokio::task::spawn_blocking(move || {
            Node::join(&handle, net, "test", "here").map(|node| node.leave())
        });
        joined.await.unwrap().unwrap();
        // The runtime of the program.
        let here = tokio::runtime::Handle::current();
        let builder = NatsNet::builder(server.address()).runtime(here);
        let net = builder.connect().await.unwrap();
        let handle = system.handle();
        let joined = tokio::task::spawn_blocking(move || Node::join(&handle, net, "test", "there"));
        joined.await.unwrap().unwrap();
    });
}

#[test]
fn a_node_needs_its_own_credentials_and_no_more() {
    let Some(server) = Server::start(&users(&["here", "there"], |_, _| true)) else {
        return;
    };
    let as_user = |user: &str| NatsNet::builder(server.address()).user(user, "secret");
    let anonymous = NatsNet::builder(server.address()).start().unwrap_err();
    assert!(
        matches!(anonymous, NatsError::Refused { .. }),
        "{anonymous}"
    );
    let wrong = NatsNet::builder(server.address()).user("here", "hunter2");
    let wrong = wrong.start().unwrap_err().to_string();
    assert!(
        wrong.contains("refuses the credentials") && wrong.contains("127.0.0.1"),
        "{wrong}"
    );
    assert!(!wrong.contains("hunter2"), "{wrong}");
    // With its own credentials, a node can do everything.
    let place = |name| Place::new(as_user(name), "test", name);
    let (here, there) = (place("here"), place("there"));
    let far = here.far("there");
    for number in 0..1_000 {
        far.send(Msg::Note(number)).unwrap();
    }
    assert_eq!(far.ask(Msg::Count).wait(), Ok(1_000));
    until("both know both", || {
        here.net.sample().nodes == 2 && there.net.sample().nodes == 2
    });
    assert_eq!(here.net.sample().problem, "");
    // It changes no other record, and hears nothing that is for others.
    let seen = tampers(&server);
    assert_eq!(seen, Vec::<String>::new());
    assert_eq!(there.net.sample().name, NameState::Held);
    assert_eq!(far.ask(Msg::Count).wait(), Ok(1_000));
    // With those of another node, it cannot be a third one, and not in another cluster.
    let (system, limit) = (System::new().unwrap(), Duration::from_secs(4));
    for (cluster, name) in [("test", "third"), ("other", "here")] {
        let net = as_user("here").join_within(limit).start().unwrap();
        let error = Node::join(&system.handle(), net, cluster, name).unwrap_err();
        assert!(matches!(error, JoinError::Transport { .. }), "{error}");
    }
}

/// Tries operations that the user `here` must not perform. Returns the operations that were
/// possible.
fn tampers(server: &Server) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let options = ConnectOptions::with_user_and_password("here".into(), "secret".into())
            .custom_inbox_prefix("g.test.i.here.x")
            .request_timeout(Some(Duration::from_millis(500)));
        let client = options.connect(server.address()).await.unwrap();
        let mut possible = Vec::new();
        let bucket = "KV_g_test_nodes";
        let to = |deliver: &str| {
            format!(
                r#"{{"stream_name":"{bucket}","config":{{"deliver_subject":"{deliver}",
                "ack_policy":"none","deliver_policy":"all","replay_policy":"instant"}}}}"#
            )
        };
        let requests = [
            (
                "$KV.g_test_nodes.there".to_owned(),
                "garrick 1 1 1".to_owned(),
            ),
            ("$KV.g_test_nodes.there.probe".to_owned(), String::new()),
            (format!("$JS.API.STREAM.DELETE.{bucket}"), String::new()),
            (format!("$JS.API.STREAM.PURGE.{bucket}"), String::new()),
            (format!("$JS.API.STREAM.UPDATE.{bucket}"), String::new()),
            (
                "$JS.API.STREAM.CREATE.other".to_owned(),
                r#"{"name":"other"}"#.to_owned(),
            ),
            (format!("$JS.API.CONSUMER.LIST.{bucket}"), String::new()),
            // Records that the server would write over other records.
            (
                format!("$JS.API.CONSUMER.CREATE.{bucket}"),
                to("$KV.g_test_nodes.there"),
            ),
        ];
        for (subject, content) in requests {
            if let Ok(answer) = client.request(subject.clone(), content.into()).await
                && !answer.payload.windows(7).any(|part| part == b"\"error\"")
            {
                possible.push(subject);
            }
        }
        for subject in ["g.test.n.there.*", "g.>", "g.test.i.there.>", "$KV.>", ">"] {
            let mut others = client.subscribe(subject).await.unwrap();
            let heard = timeout(Duration::from_millis(1_500), others.next()).await;
            if matches!(heard, Ok(Some(_))) {
                possible.push(subject.to_owned());
            }
        }
        possible
    })
}

#[test]
fn frames_and_messages_have_the_size_that_the_server_allows() {
    let Some(server) = Server::start("") else {
        return;
    };
    let place = |name| Place::new(NatsNet::builder(server.address()), "test", name);
    let (there, here) = (place("there"), place("here"));
    let (far, name) = (here.far("there"), NodeName::new("there").unwrap());
    assert_eq!(here.net.max_frame(), 1 << 20);
    let frame = |bytes: usize| here.net.send(&name, Incoming::new(vec![0; bytes]));
    let (refused, lost) = (
        here.net.sample().frames_refused,
        here.node.sample().frames_lost,
    );
    assert!(!frame((1 << 20) + 1));
    assert_eq!(here.net.sample().frames_refused, refused + 1);
    assert!(frame(1 << 20));
    until("it is dropped", || there.node.sample().frames_dropped == 1);
    // A message that would not fit is refused at once, and a smaller one is not.
    far.send(Msg::Large(vec![1; 500_000])).unwrap();
    let refusal = here.node.sample().refusal.unwrap();
    assert!(
        refusal.contains("at most 491520 bytes are allowed"),
        "{refusal}"
    );
    far.send(Msg::Large(vec![1; 490_000])).unwrap();
    assert_eq!(far.ask(Msg::Count).wait(), Ok(1));
    assert_eq!(here.net.sample().frames_refused, refused + 1);
    assert_eq!(here.node.sample().frames_lost, lost);
}

#[test]
fn frames_to_nobody_are_refused() {
    let Some(server) = Server::start("") else {
        return;
    };
    let net = NatsNet::builder(server.address()).start().unwrap();
    let nobody = NodeName::new("nobody").unwrap();
    assert!(!net.send(&nobody, Incoming::new("too early")));
    let system = System::new().unwrap();
    let node = Node::join(&system.handle(), net.clone(), "test", "here").unwrap();
    assert!(!net.send(&nobody, Incoming::new("to nobody")));
    assert_eq!(net.sample().frames_refused, 1);
    let far = node.service::<Msg>("nobody", "counter").unwrap();
    assert!(far.ask(Msg::Count).wait().is_err());
}
