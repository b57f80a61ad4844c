//! The server of actors: a session, a room and the lobby are one each, and so is who listens.
//!
//! ```text
//!   listener: axum ---> session, one a websocket <---> room <---> lobby
//!                                  <--- watched by ------'  <-- watched by
//! ```
//!
//! A session that fails ends alone: its room watches it, and tells the others.
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

/// A chat server that runs.
#[derive(Debug)]
pub struct Server {
    system: System,
    lobby: Address<ToLobby>,
    listener: Address<()>,
    address: SocketAddr,
}

/// What the handlers of requests know.
#[derive(Clone)]
struct Front {
    lobby: Address<ToLobby>,
    sponsor: Handle,
}

impl Server {
    /// Starts one with so many workers.
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
        let listener = system.spawn_async(listen).map_err(|_| ending())?;
        Ok(Self {
            system,
            lobby,
            listener,
            address,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it in order: nobody else comes in, each session is told, and then there is nothing left.
    pub fn close(self) {
        self.listener.stop();
        // A lobby that has failed has no sessions to tell.
        let _ = self.lobby.ask(ToLobby::Close).wait();
        self.system.shutdown();
    }
}

fn ending() -> io::Error {
    io::Error::other("the system is ending")
}

async fn listen(socket: TcpListener, app: Router) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(socket)?;
    // A line is wanted now. Where that cannot be had it comes a little later.
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
        // A system that is ending gives it back, and the socket closes.
        let _ = front.sponsor.spawn_async(actor);
    })
}
