//! The server of actors: each session, each room, the lobby and the listener are actors.
//!
//! ```text
//!   listener: axum ---> session, one a websocket <---> room <---> lobby
//!                                  <--- watched by ------'  <-- watched by
//! ```
//!
//! If a session fails, only this session ends. Its room watches it, and notifies the other members.
mod lobby;
mod room;
mod session;

use std::io;
use std::net::{SocketAddr, TcpListener};

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Router, serve};
use garrick::tokio::Tokio;
use garrick::{Address, Handle, Incoming, System};

use crate::sessions::wire::{HELP, Visitor, limited};
use lobby::{Lobby, ToLobby};
use session::session;

/// A running chat server.
#[derive(Debug)]
pub struct Server {
    system: System,
    lobby: Address<ToLobby>,
    listener: Address<()>,
    address: SocketAddr,
}

/// The state of the request handlers.
#[derive(Clone)]
struct Front {
    lobby: Address<ToLobby>,
    sponsor: Handle,
}

impl Server {
    /// Starts a server with `workers` workers, which listens at the address `at`.
    pub fn start(at: SocketAddr, workers: usize) -> io::Result<Self> {
        let socket = TcpListener::bind(at)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let builder = System::builder().name("sessions").workers(workers);
        let system = builder.driver(Tokio::new()).start();
        let system = system.map_err(io::Error::other)?;
        let lobby = system.spawn(Lobby::default()).map_err(|_| ending())?;
        let app = app(Front {
            lobby: lobby.clone(),
            sponsor: system.handle(),
        });
        let listen = move |_: Incoming<()>| async move {
            if let Err(error) = listen(socket, app).await {
                eprintln!("the listener has failed: {error}");
            }
        };
        let listener = system.spawn(listen).map_err(|_| ending())?;
        Ok(Self {
            system,
            lobby,
            listener,
            address,
        })
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shuts the server down gracefully. No client can enter any more, and each session is
    /// notified. Returns when all actors have stopped.
    pub fn close(self) {
        self.listener.stop();
        // If the lobby has failed, there are no sessions to notify.
        let _ = self.lobby.ask(ToLobby::Close).wait();
        self.system.shutdown();
    }
}

fn ending() -> io::Error {
    io::Error::other("the system is ending")
}

async fn listen(socket: TcpListener, app: Router) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(socket)?;
    // Lines should be sent at once. If this option cannot be set, they arrive a little later.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    serve(listener, app).await
}

fn app(front: Front) -> Router {
    Router::new()
        .route("/", get(async || HELP))
        .route("/rooms", get(rooms))
        .route("/chat/{room}/{name}", get(chat))
        .with_state(front)
}

async fn rooms(State(front): State<Front>) -> Response {
    match front.lobby.ask(ToLobby::List).await {
        Ok(list) => list.into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn chat(
    State(front): State<Front>,
    Path((room, name)): Path<(String, String)>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let visitor = match Visitor::parse(&room, &name) {
        Ok(visitor) => visitor,
        Err(error) => return (StatusCode::BAD_REQUEST, error).into_response(),
    };
    limited(upgrade).on_upgrade(async move |socket| {
        let lobby = front.lobby;
        let actor = move |mailbox| session(socket, visitor, lobby, mailbox);
        // If the system is ending, it returns the actor, and the socket is closed.
        let _ = front.sponsor.spawn(actor);
    })
}
