//! Tests that run the server as a user does, with several clients.
#![cfg(unix)]
#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use garrick_testkit::HANGS_AFTER;

/// A running server, which is killed on drop.
struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_chat-server"))
            .args(["--address", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line
            .strip_prefix("listens at ")
            .and_then(|rest| rest.split_once(": "));
        let address = address.expect("it tells its address").0.to_owned();
        Self {
            child,
            output,
            address,
        }
    }

    /// Connects a client, which sends its name.
    fn client(&self, name: &str) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(HANGS_AFTER)).unwrap();
        let mut client = Client(BufReader::new(stream));
        client.hears("* your name?");
        client.says(name);
        client
    }

    /// Ends the server by SIGTERM, and checks its output.
    fn end(mut self) {
        let kill = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        assert!(kill.unwrap().success());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        assert_eq!(rest, "has ended: InOrder\n");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn says(&mut self, line: &str) {
        self.0
            .get_mut()
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }

    /// Returns the next line.
    fn next(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Checks that the next line is `line`.
    #[track_caller]
    fn hears(&mut self, line: &str) {
        assert_eq!(self.next(), line);
    }
}

#[test]
fn members_of_a_room_hear_each_other_and_nobody_else() {
    let server = Server::start();
    let mut ann = server.client("ann");
    ann.hears("* ann is in hall");
    let mut bob = server.client("bob");
    for client in [&mut ann, &mut bob] {
        client.hears("* bob is in hall");
    }
    bob.says("hello");
    for client in [&mut ann, &mut bob] {
        client.hears("bob: hello");
    }
    ann.says("/join garden");
    ann.hears("* ann is in garden");
    bob.hears("* ann has left: for another room");
    ann.says("nobody else is here");
    ann.hears("ann: nobody else is here");
    ann.says("/who");
    ann.hears("* in garden: ann");
    bob.says("/who");
    bob.hears("* in hall: bob");
    bob.says("/join garden");
    bob.hears("* bob is in garden");
    ann.hears("* bob is in garden");
    bob.says("/quit");
    bob.hears("* bye: quit");
    ann.hears("* bob has left: quit");
    server.end();
}

#[test]
fn wrong_names_and_lines_are_refused_with_a_reason() {
    let server = Server::start();
    let mut ann = server.client("a b");
    ann.hears("* a name has 1 to 32 letters, digits, - and _");
    ann.hears("* your name?");
    ann.says("ann");
    ann.hears("* ann is in hall");
    ann.says("/sing");
    ann.hears("* commands: /join ROOM, /who, /quit");
    ann.says("/join a b");
    ann.hears("* that is no name for a room");
    // The name is taken in the first room, and free in another one.
    let mut other = server.client("ann");
    other.hears("* the name is taken in this room");
    other.says("hello?");
    other.hears("* you are in no room: /join ROOM");
    other.says("/join garden");
    other.hears("* ann is in garden");
    other.says(&"x".repeat(2_000));
    other.hears("* bye: a line is too long, or no text");
    // A client that is gone has left.
    let bob = server.client("bob");
    ann.hears("* bob is in hall");
    drop(bob);
    ann.hears("* bob has left: the connection is closed");
}

#[test]
fn a_client_that_does_not_read_is_sent_away_and_holds_up_nobody() {
    let server = Server::start();
    let mut ann = server.client("ann");
    ann.hears("* ann is in hall");
    let _slow = server.client("slow");
    ann.hears("* slow is in hall");
    let text = "x".repeat(1_000);
    let said = format!("ann: {text}");
    for lines in 0.. {
        ann.says(&text);
        // Her own line comes back, whatever the other client does.
        let heard = ann.next();
        if heard == said {
            continue;
        }
        assert_eq!(heard, "* slow has left: reads too slowly");
        assert!(lines > 50, "it may wait for some lines: {lines}");
        break;
    }
    ann.hears(&said);
    server.end();
}
