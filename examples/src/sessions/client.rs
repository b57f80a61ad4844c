//! The client of the chat, for the scripted visit, the load test and the tests.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message, protocol::WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// An event that a client receives.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line of text.
    Line(String),
    /// The end of the session, with the code and reason of the close frame.
    Closed(u16, String),
    /// The end of the session without a close frame.
    Lost,
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Closed(code, reason) => write!(f, "(closed, {code}: {reason})"),
            Self::Lost => f.write_str("(connection lost)"),
        }
    }
}

/// A client in a room.
#[derive(Debug)]
pub struct Client {
    socket: WebSocketStream<TcpStream>,
}

impl Client {
    /// Connects to the server, and enters a room under the name `name`.
    ///
    /// # Errors
    /// Returns an error if the server rejects the request, or if the connection fails.
    pub async fn enter(at: SocketAddr, room: &str, name: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(at).await?;
        stream.set_nodelay(true)?;
        let url = format!("ws://{at}/chat/{room}/{name}");
        let config = WebSocketConfig::default().read_buffer_size(4_096);
        match client_async_with_config(url, stream, Some(config)).await {
            Ok((socket, _)) => Ok(Self { socket }),
            Err(Error::Http(response)) => {
                let (head, body) = response.into_parts();
                let body = body.unwrap_or_default();
                let said = String::from_utf8_lossy(&body);
                let message = format!("{}: {}", head.status, said.trim());
                Err(io::Error::other(message))
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Sends a line of text.
    pub async fn say(&mut self, text: &str) -> io::Result<()> {
        self.send(Message::text(text)).await
    }

    /// Sends any websocket message.
    pub async fn send(&mut self, message: Message) -> io::Result<()> {
        self.socket.send(message).await.map_err(io::Error::other)
    }

    /// Waits for the next line or the end of the session.
    pub async fn hear(&mut self) -> Heard {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(line))) => return Heard::Line(line.to_string()),
                Some(Ok(Message::Close(Some(frame)))) => {
                    // Polling the socket again sends the answer to the close frame.
                    while let Some(Ok(_)) = self.socket.next().await {}
                    return Heard::Closed(frame.code.into(), frame.reason.to_string());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Heard::Lost,
            }
        }
    }

    /// Waits for the line `wanted`, and skips other lines before it.
    ///
    /// # Errors
    /// Returns an error if the session ends instead.
    pub async fn await_line(&mut self, wanted: &str) -> io::Result<()> {
        loop {
            match self.hear().await {
                Heard::Line(line) if line == wanted => return Ok(()),
                Heard::Line(_) => {}
                end => return Err(io::Error::other(format!("{end} instead of {wanted:?}"))),
            }
        }
    }

    /// Returns the TCP stream, and drops the websocket around it. An idle client needs only the
    /// stream.
    pub fn into_stream(self) -> TcpStream {
        self.socket.into_inner()
    }
}
