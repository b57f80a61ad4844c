//! Tests of the servers of the example `sessions`, over real sockets: each scenario runs with
//! actors and with plain tasks.

use std::io;
use std::net::SocketAddr;
use std::thread;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use garrick_examples::sessions::client::{Client, Heard};
use garrick_examples::sessions::{actors, plain};
use garrick_testkit::HANGS_AFTER;

/// One of the two servers.
enum Server {
    Actors(actors::Server),
    Plain(plain::Server),
}

impl Server {
    /// Starts both servers.
    fn both() -> [Self; 2] {
        let at = SocketAddr::from(([127, 0, 0, 1], 0));
        [
            Self::Actors(actors::Server::start(at, 1).expect("a port is free")),
            Self::Plain(plain::Server::start(at, 2).expect("a port is free")),
        ]
    }

    fn address(&self) -> SocketAddr {
        match self {
            Self::Actors(server) => server.address(),
            Self::Plain(server) => server.address(),
        }
    }

    fn close(self) {
        match self {
            Self::Actors(server) => server.close(),
            Self::Plain(server) => server.close(),
        }
    }
}

/// Runs a scenario with each server.
fn with_both(scenario: impl AsyncFn(SocketAddr) -> io::Result<()>) {
    let runtime = plain::runtime(1).expect("a runtime");
    for server in Server::both() {
        let scenario = scenario(server.address());
        let ended = runtime.block_on(async { tokio::time::timeout(HANGS_AFTER, scenario).await });
        ended.expect("it does not hang").expect("all goes well");
        server.close();
    }
}

/// Makes clients enter a room, and waits until each has been notified of all.
async fn enter<const N: usize>(at: SocketAddr, names: [&str; N]) -> io::Result<[Client; N]> {
    let mut clients = Vec::new();
    for name in names {
        clients.push(Client::enter(at, "garden", name).await?);
        let line = format!("* {name} is in garden");
        for client in &mut clients {
            client.await_line(&line).await?;
        }
    }
    clients
        .try_into()
        .map_err(|_| io::Error::other("as many as names"))
}

fn line(line: &str) -> Heard {
    Heard::Line(line.to_owned())
}

/// Fetches a page, with its head.
async fn get(at: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(at).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[test]
fn who_talks_and_leaves_is_heard_by_all() {
    with_both(async |at| {
        let [mut ada, mut bob] = enter(at, ["ada", "bob"]).await?;
        bob.say("good morning").await?;
        assert_eq!(bob.hear().await, line("bob: good morning"));
        assert_eq!(ada.hear().await, line("bob: good morning"));
        ada.say("/who").await?;
        assert_eq!(ada.hear().await, line("* here: ada, bob"));
        bob.say("/quit").await?;
        assert_eq!(bob.hear().await, Heard::Closed(1000, "bye".to_owned()));
        assert_eq!(ada.hear().await, line("* bob has left: bye"));
        ada.say("alone").await?;
        assert_eq!(ada.hear().await, line("ada: alone"));
        Ok(())
    });
}

#[test]
fn rooms_hear_nothing_of_each_other() {
    with_both(async |at| {
        let [mut ada] = enter(at, ["ada"]).await?;
        let mut bob = Client::enter(at, "kitchen", "bob").await?;
        bob.await_line("* bob is in kitchen").await?;
        bob.say("in the kitchen").await?;
        bob.await_line("bob: in the kitchen").await?;
        ada.say("in the garden").await?;
        assert_eq!(ada.hear().await, line("ada: in the garden"));
        assert!(get(at, "/rooms").await?.ends_with("garden 1\nkitchen 1\n"));
        Ok(())
    });
}

#[test]
fn an_empty_room_is_forgotten_and_can_be_made_again() {
    with_both(async |at| {
        for _ in 0..3 {
            let [mut ada] = enter(at, ["ada"]).await?;
            ada.say("/quit").await?;
            assert_eq!(ada.hear().await, Heard::Closed(1000, "bye".to_owned()));
            // The lobby is notified a moment later.
            while get(at, "/rooms").await?.contains("garden") {}
        }
        Ok(())
    });
}

#[test]
fn a_bad_name_is_refused_with_what_is_wrong() {
    with_both(async |at| {
        let long = "n".repeat(33);
        let refused = [
            (
                "garden",
                "no%20name",
                "your name \"no name\": a name has letters",
            ),
            ("garden", &long, "has 1 to 32 characters, not 33"),
            (
                "gar%2Fden",
                "ada",
                "the room \"gar/den\": a name has letters",
            ),
        ];
        for (room, name, why) in refused {
            let error = Client::enter(at, room, name).await.expect_err("it is bad");
            let error = error.to_string();
            assert!(error.contains("400") && error.contains(why), "{error}");
        }
        Ok(())
    });
}

#[test]
fn a_name_is_taken_once_in_a_room() {
    with_both(async |at| {
        let [mut ada] = enter(at, ["ada"]).await?;
        let mut other = Client::enter(at, "garden", "ada").await?;
        let reason = "the name is taken in this room".to_owned();
        assert_eq!(other.hear().await, Heard::Closed(1008, reason));
        ada.say("mine").await?;
        assert_eq!(ada.hear().await, line("ada: mine"));
        Ok(())
    });
}

#[test]
fn a_message_that_is_too_long_or_no_text_ends_its_session_alone() {
    with_both(async |at| {
        let [mut ada, mut long, mut binary] = enter(at, ["ada", "long", "binary"]).await?;
        let most = "x".repeat(1_024);
        long.say(&most).await?;
        assert_eq!(ada.hear().await, Heard::Line(format!("long: {most}")));
        long.await_line(&format!("long: {most}")).await?;
        long.say(&format!("{most}x")).await?;
        let reason = "a message may have 1024 bytes";
        assert_eq!(long.hear().await, Heard::Closed(1009, reason.to_owned()));
        assert_eq!(
            ada.hear().await,
            Heard::Line(format!("* long has left: {reason}"))
        );
        binary.send(Message::binary(vec![1, 2, 3])).await?;
        let left = "* binary has left: messages are text in UTF-8";
        assert_eq!(ada.hear().await, line(left));
        Ok(())
    });
}

#[test]
fn a_panic_ends_its_session_alone() {
    with_both(async |at| {
        let [mut ada, mut eve] = enter(at, ["ada", "eve"]).await?;
        eve.say("/panic").await?;
        assert_eq!(eve.hear().await, Heard::Lost);
        let Heard::Line(said) = ada.hear().await else {
            panic!("her session has ended");
        };
        assert!(said.starts_with("* eve has left: failed"), "{said}");
        ada.say("still here").await?;
        assert_eq!(ada.hear().await, line("ada: still here"));
        // The name is free again.
        Client::enter(at, "garden", "eve").await?;
        assert_eq!(ada.hear().await, line("* eve is in garden"));
        Ok(())
    });
}

#[test]
fn who_goes_without_closing_is_missed() {
    with_both(async |at| {
        let [mut ada, bob] = enter(at, ["ada", "bob"]).await?;
        drop(bob.into_stream());
        assert_eq!(ada.hear().await, line("* bob has left: connection lost"));
        Ok(())
    });
}

#[test]
fn who_does_not_read_is_dropped_and_told_why() {
    with_both(async |at| {
        let [mut ada, mut slow] = enter(at, ["ada", "slow"]).await?;
        let reason = "reads too slowly: 256 lines wait";
        let gone = Heard::Line(format!("* slow has left: {reason}"));
        let words = "x".repeat(1_000);
        loop {
            ada.say(&words).await?;
            if ada.hear().await == gone {
                break;
            }
        }
        // Lines already in flight still arrive, and then the reason.
        let end = loop {
            match slow.hear().await {
                Heard::Line(_) => {}
                end => break end,
            }
        };
        assert_eq!(end, Heard::Closed(1008, reason.to_owned()));
        ada.await_line(&format!("ada: {words}")).await
    });
}

#[test]
fn closing_tells_every_session() {
    let runtime = plain::runtime(1).expect("a runtime");
    for server in Server::both() {
        let at = server.address();
        let entered = runtime.block_on(enter(at, ["ada", "bob", "eve"]));
        let clients = entered.expect("all get in");
        let closing = thread::spawn(|| server.close());
        for mut client in clients {
            let heard = async { tokio::time::timeout(HANGS_AFTER, client.hear()).await };
            let end = runtime.block_on(heard).expect("it does not hang");
            assert_eq!(end, Heard::Closed(1001, "the server ends".to_owned()));
        }
        closing.join().expect("it ends");
        let late = runtime.block_on(Client::enter(at, "garden", "late"));
        assert!(late.is_err(), "nobody listens any more");
    }
}
