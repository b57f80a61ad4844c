//! The parts that both servers share: names, limits, and a websocket to which a session writes
//! without waiting.
//!
//! A session receives lines from its room and frames from its client, and must wait for both at the
//! same time. So lines for the client are put into a backlog. While [`Wire::hear`] waits for the
//! client's next line, it writes as much of the backlog as the client takes. If a client does not
//! read, its backlog grows. When it contains [`BACKLOG_MAX`] lines, the session ends.
//!
//! ```text
//!   room ---> Wire::tell ---> backlog, at most 256 lines ---> websocket's buffer ---> socket
//!                                 written by Wire::hear ------^
//!   room <--- Wire::hear <--------------------------------- websocket <-------------- socket
//! ```
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Error as SocketError;

/// Maximum length of a message from a client, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1_024;
/// Maximum number of lines that wait for a client that does not read, in addition to the lines in
/// the socket's buffers.
pub(crate) const BACKLOG_MAX: usize = 256;
/// Maximum number of characters of a name.
pub(crate) const NAME_CHARS_MAX: usize = 32;
/// Maximum number of rooms at the same time.
pub(crate) const ROOMS_MAX: usize = 10_000;
/// Maximum time for a client to receive the last lines that were sent to it, and then the reason
/// for the end of its session.
const GRACE: Duration = Duration::from_secs(10);
/// Size of each session's read buffer. The default of tungstenite is 128 KiB. The buffer grows for
/// longer messages.
const READ_BUFFER_BYTES: usize = 512;
/// Size of the buffer that collects bytes for one write.
const WRITE_BUFFER_BYTES: usize = 4_096;

/// Help text of both servers.
pub const HELP: &str = "A chat. GET /rooms lists the rooms. A websocket to /chat/ROOM/NAME enters \
                        ROOM under the name NAME.\nEach text message is a line for the room, \
                        except for /who, /quit, and /panic, which shows what a panic does.\n";

/// The name of a room or of a visitor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(Arc<str>);

/// The error returned when a text is not a valid name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NameError {
    /// The name is empty or too long. Contains its number of characters.
    Length(usize),
    /// The name contains a character that is not allowed. Contains this character and its position
    /// in the name.
    Character(char, usize),
}

impl Name {
    /// Parses a name.
    pub(crate) fn parse(name: &str) -> Result<Self, NameError> {
        let count = name.chars().count();
        if count == 0 || count > NAME_CHARS_MAX {
            return Err(NameError::Length(count));
        }
        let mut characters = name.chars().enumerate();
        match characters.find(|(_, it)| !it.is_alphanumeric() && !matches!(it, '-' | '_')) {
            Some((index, character)) => Err(NameError::Character(character, index)),
            None => Ok(Self(name.into())),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(count) => {
                write!(
                    f,
                    "a name has 1 to {NAME_CHARS_MAX} characters, not {count}"
                )
            }
            Self::Character(character, index) => write!(
                f,
                "a name has letters, digits, '-' and '_', not {character:?} as its character {index}"
            ),
        }
    }
}

/// A visitor of a room.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    /// Name of the room.
    pub(crate) room: Name,
    /// Name of the visitor in the room.
    pub(crate) name: Name,
}

impl Visitor {
    /// Parses both names. The error text contains the invalid name and the reason.
    pub(crate) fn parse(room: &str, name: &str) -> Result<Self, String> {
        Ok(Self {
            room: Name::parse(room).map_err(|error| format!("the room {room:?}: {error}\n"))?,
            name: Name::parse(name).map_err(|error| format!("your name {name:?}: {error}\n"))?,
        })
    }
}

/// The reason for the end of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The client has closed its websocket.
    Left,
    /// The client has requested the end by `/quit`.
    Quit,
    /// The connection has ended without a close frame.
    Lost,
    /// The client has sent a message that is too long.
    TooLong,
    /// The client has sent bytes that are not text.
    NotText,
    /// The client has violated the websocket protocol.
    Protocol(String),
    /// The client reads too slowly, so its backlog is full.
    TooSlow,
    /// Another visitor in the room has the same name.
    NameTaken,
    /// There are too many rooms.
    NoRoom,
    /// The room has failed.
    RoomGone,
    /// The server is ending.
    Closing,
}

impl Reason {
    /// Returns the reason that corresponds to an error of the websocket.
    fn of(error: axum::Error) -> Self {
        match error.into_inner().downcast::<SocketError>() {
            Ok(error) => match *error {
                SocketError::Capacity(_) => Self::TooLong,
                SocketError::Utf8(_) => Self::NotText,
                SocketError::ConnectionClosed => Self::Left,
                SocketError::Protocol(error) if !is_loss(&error) => {
                    Self::Protocol(error.to_string())
                }
                _ => Self::Lost,
            },
            Err(_) => Self::Lost,
        }
    }

    /// Returns the code of the close frame for this reason, or `None` if the client has closed or
    /// lost the connection.
    fn close_code(&self) -> Option<u16> {
        match self {
            Self::Left | Self::Lost => None,
            Self::Quit => Some(close_code::NORMAL),
            Self::TooLong => Some(close_code::SIZE),
            Self::NotText => Some(close_code::UNSUPPORTED),
            Self::Protocol(_) => Some(close_code::PROTOCOL),
            Self::TooSlow | Self::NameTaken => Some(close_code::POLICY),
            Self::NoRoom => Some(close_code::AGAIN),
            Self::RoomGone => Some(close_code::ERROR),
            Self::Closing => Some(close_code::AWAY),
        }
    }
}

/// The meaning of a client's line.
pub(crate) enum Word {
    /// A request for the list of members.
    Who,
    /// A line for the room.
    Say(Utf8Bytes),
}

impl Word {
    /// Parses a client's line.
    ///
    /// # Errors
    /// Returns [`Reason::Quit`] if the line is `/quit`.
    ///
    /// # Panics
    /// Panics if the line is `/panic`.
    pub(crate) fn parse(line: Utf8Bytes) -> Result<Self, Reason> {
        match line.as_str() {
            "/quit" => Err(Reason::Quit),
            "/panic" => panic!("its client asked for a panic"),
            "/who" => Ok(Self::Who),
            _ => Ok(Self::Say(line)),
        }
    }
}

/// Returns the reason why a visitor cannot enter this room, if there is one. `rooms` is the number
/// of existing rooms, and `has_room` is true if this room is among them.
pub(crate) fn refusal(is_closed: bool, rooms: usize, has_room: bool) -> Option<Reason> {
    if is_closed {
        Some(Reason::Closing)
    } else if rooms == ROOMS_MAX && !has_room {
        Some(Reason::NoRoom)
    } else {
        None
    }
}

/// Returns true if the error means that the connection has ended without a close frame.
fn is_loss(error: &tokio_tungstenite::tungstenite::error::ProtocolError) -> bool {
    use tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake;
    *error == ResetWithoutClosingHandshake
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left => f.write_str("closed"),
            Self::Quit => f.write_str("bye"),
            Self::Lost => f.write_str("connection lost"),
            Self::TooLong => write!(f, "a message may have {MESSAGE_BYTES_MAX} bytes"),
            Self::NotText => f.write_str("messages are text in UTF-8"),
            Self::Protocol(error) => write!(f, "protocol: {error}"),
            Self::TooSlow => write!(f, "reads too slowly: {BACKLOG_MAX} lines wait"),
            Self::NameTaken => f.write_str("the name is taken in this room"),
            Self::NoRoom => write!(f, "there are {ROOMS_MAX} rooms already"),
            Self::RoomGone => f.write_str("the room has failed"),
            Self::Closing => f.write_str("the server ends"),
        }
    }
}

impl Error for Reason {}

/// Sets the limits of a session's websocket. These limits determine most of the memory of an idle
/// session.
pub(crate) fn limited(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
}

/// The server's end of a websocket.
pub(crate) struct Wire {
    socket: WebSocket,
    /// Lines that the socket has not taken yet.
    backlog: VecDeque<Utf8Bytes>,
}

impl Wire {
    /// Creates a wire for a websocket.
    pub(crate) fn new(socket: WebSocket) -> Self {
        Self {
            socket,
            backlog: VecDeque::new(),
        }
    }

    /// Adds a line to the backlog, which [`hear`](Self::hear) writes.
    ///
    /// # Errors
    /// Returns [`Reason::TooSlow`] if the backlog is full.
    pub(crate) fn tell(&mut self, line: Utf8Bytes) -> Result<(), Reason> {
        if self.backlog.len() == BACKLOG_MAX {
            return Err(Reason::TooSlow);
        }
        self.backlog.push_back(line);
        Ok(())
    }

    /// Waits for the client's next line, and writes the backlog in the meantime.
    ///
    /// # Errors
    /// Returns the reason why the session must end.
    ///
    /// # Cancel safety
    /// No line is lost if the future is dropped.
    pub(crate) async fn hear(&mut self) -> Result<Utf8Bytes, Reason> {
        poll_fn(|task| self.poll_hear(task)).await
    }

    fn poll_hear(&mut self, task: &mut Context<'_>) -> Poll<Result<Utf8Bytes, Reason>> {
        if let Poll::Ready(Err(error)) = self.poll_write(task) {
            return Poll::Ready(Err(Reason::of(error)));
        }
        loop {
            match ready!(self.socket.poll_next_unpin(task)) {
                Some(Ok(Message::Text(text))) => return Poll::Ready(Ok(text)),
                Some(Ok(Message::Binary(_))) => return Poll::Ready(Err(Reason::NotText)),
                // tungstenite answers pings.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_))) => return Poll::Ready(Err(Reason::Left)),
                Some(Err(error)) => return Poll::Ready(Err(Reason::of(error))),
                None => return Poll::Ready(Err(Reason::Lost)),
            }
        }
    }

    /// Writes as much of the backlog as the client accepts.
    fn poll_write(&mut self, task: &mut Context<'_>) -> Poll<Result<(), axum::Error>> {
        while !self.backlog.is_empty() {
            ready!(self.socket.poll_ready_unpin(task))?;
            if let Some(line) = self.backlog.pop_front() {
                self.socket.start_send_unpin(Message::Text(line))?;
            }
        }
        self.socket.poll_flush_unpin(task)
    }

    /// Sends the client the reason for the end of its session, and waits until the client has
    /// received it, but at most for [`GRACE`]. Drops the remaining backlog.
    pub(crate) async fn end(self, reason: &Reason) {
        // A client that takes longer does not receive the reason.
        let _ = tokio::time::timeout(GRACE, part(self.socket, reason)).await;
    }
}

/// Sends the close frame, and waits for the client's close frame.
async fn part(mut socket: WebSocket, reason: &Reason) {
    if let Some(code) = reason.close_code() {
        let reason = reason.to_string().into();
        let frame = Message::Close(Some(CloseFrame { code, reason }));
        if socket.send(frame).await.is_err() {
            return;
        }
    }
    // Later messages of the client are ignored.
    while let Some(Ok(_)) = socket.recv().await {}
}
