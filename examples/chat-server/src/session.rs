//! Sessions: async actors, each of which waits for its client and its room at the same time.
//!
//! A session never waits only for its client: it accepts lines from its room at any time. Lines
//! that the client has not received yet are kept, up to a limit. If the limit is exceeded, the
//! client is too slow, and its session ends. So a slow client uses little memory, and delays no
//! other client.

use std::sync::Arc;

use garrick::{Address, Incoming};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::line::{LINE_BYTES_MAX, Lines, NAME_BYTES_MAX, Said, is_name};
use crate::lobby::ToLobby;
use crate::room::{ToRoom, ToSession};

/// Maximum number of bytes that wait for a client.
const WAITING_MAX: usize = 64 * 1_024;

/// Number of a client's lines that the session handles before it lets other actors run.
const LINES_MAX: usize = 16;

/// Room that each new session enters.
const FIRST_ROOM: &str = "hall";

struct Session {
    name: Arc<str>,
    /// Address of this session, which keeps the session alive while the session is in no room.
    me: Address<ToSession>,
    room: Option<Address<ToRoom>>,
    /// Bytes that wait for the client.
    waiting: Vec<u8>,
}

/// Runs a session from the first byte of its client to the last.
pub(crate) async fn session(
    stream: TcpStream,
    lobby: Address<ToLobby>,
    mut mailbox: Incoming<ToSession>,
) {
    let (mut from, mut to) = stream.into_split();
    let mut lines = Lines::default();
    let Some(name) = meet(&mut from, &mut to, &mut lines).await else {
        return;
    };
    let mut session = Session {
        name,
        me: mailbox.context().address(),
        room: None,
        waiting: Vec::new(),
    };
    session.enter(FIRST_ROOM, &lobby);
    let why = session
        .talk(&mut from, &mut to, &mut lines, &lobby, &mut mailbox)
        .await;
    session.leave(why);
    // As much as fits. The end does not wait for the client either.
    session.tell(&format!("* bye: {why}\n"));
    let _ = to.try_write(&session.waiting);
}

/// Asks a client for its name. Returns `None` if the client has disconnected.
async fn meet(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    lines: &mut Lines,
) -> Option<Arc<str>> {
    let mut buffer = [0; LINE_BYTES_MAX];
    loop {
        to.write_all(b"* your name?\n").await.ok()?;
        let line = loop {
            match lines.next().ok()? {
                Some(line) => break line,
                None => match from.read(&mut buffer).await.ok()? {
                    0 => return None,
                    count => lines.add(&buffer[..count]),
                },
            }
        };
        if is_name(&line) {
            return Some(line.into());
        }
        let why = format!("* a name has 1 to {NAME_BYTES_MAX} letters, digits, - and _\n");
        to.write_all(why.as_bytes()).await.ok()?;
    }
}

impl Session {
    /// Adds a line to the bytes that wait for the client.
    fn tell(&mut self, line: &str) {
        self.waiting.extend(line.as_bytes());
    }

    /// Asks the lobby to let this session enter a room.
    fn enter(&self, room: &str, lobby: &Address<ToLobby>) {
        // If the server is ending, nobody answers.
        let _ = lobby.send(ToLobby {
            room: room.to_owned(),
            name: self.name.clone(),
            session: self.me.clone(),
        });
    }

    fn leave(&mut self, why: &'static str) {
        if let Some(room) = self.room.take() {
            let _ = room.send(ToRoom::Leave(self.name.clone(), why));
        }
    }

    /// Passes lines between the client and the room until one side ends the session. Returns the
    /// reason of the end.
    async fn talk(
        &mut self,
        from: &mut OwnedReadHalf,
        to: &mut OwnedWriteHalf,
        lines: &mut Lines,
        lobby: &Address<ToLobby>,
        mailbox: &mut Incoming<ToSession>,
    ) -> &'static str {
        let mut buffer = [0; LINE_BYTES_MAX];
        let cx = mailbox.context();
        let mut handled = 0;
        loop {
            // All futures can be dropped without a loss.
            tokio::select! {
                biased;
                told = mailbox.recv() => match told {
                    Some(ToSession::Line(line)) => self.tell(&line),
                    Some(ToSession::Entered(room)) => {
                        self.leave("for another room");
                        self.room = Some(room);
                    }
                    Some(ToSession::Refused(why)) => self.tell(&format!("* {why}\n")),
                    None => return "the server is ending",
                },
                written = to.write(&self.waiting), if !self.waiting.is_empty() => match written {
                    Ok(count) => drop(self.waiting.drain(..count)),
                    Err(_) => return "the connection is lost",
                },
                read = from.read(&mut buffer) => match read {
                    Ok(0) | Err(_) => return "the connection is closed",
                    Ok(count) => lines.add(&buffer[..count]),
                },
            }
            if self.waiting.len() > WAITING_MAX {
                return "reads too slowly";
            }
            loop {
                let line = match lines.next() {
                    Ok(Some(line)) => line,
                    Ok(None) => break,
                    Err(_) => return "a line is too long, or no text",
                };
                match Said::parse(line) {
                    Said::Quit => return "quit",
                    said => self.handle(said, lobby),
                }
                handled += 1;
                if handled % LINES_MAX == 0 {
                    cx.yield_now().await;
                }
            }
        }
    }

    /// Handles a line of the client.
    fn handle(&mut self, said: Said, lobby: &Address<ToLobby>) {
        let (name, room) = (self.name.clone(), self.room.as_ref());
        match (said, room) {
            (Said::Join(room), _) if is_name(&room) => self.enter(&room, lobby),
            (Said::Join(_), _) => self.tell("* that is no name for a room\n"),
            (Said::Text(text), Some(room)) => drop(room.send(ToRoom::Say(name, text))),
            (Said::Who, Some(room)) => drop(room.send(ToRoom::Who(name))),
            (Said::Text(_) | Said::Who, None) => self.tell("* you are in no room: /join ROOM\n"),
            (Said::Unknown | Said::Quit, _) => {
                self.tell("* commands: /join ROOM, /who, /quit\n");
            }
        }
    }
}
