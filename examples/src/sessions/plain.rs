//! The equivalent server with plain tokio tasks and channels, for comparison. Each session, each
//! room and the lobby is a task.
//!
//! The server has the same protocol and the same limits as the server of actors. The sessions of
//! both servers write through a `Wire`. Features that are built into actors are written by hand: a
//! `Place` reports a panic of its session to the room, and the lobby counts the sessions.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};

use axum::extract::ws::{Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Router, serve};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use super::wire::{HELP, Name, Reason, Visitor, Wire, Word, limited, refusal};

enum ToSession {
    Joined(Place),
    Line(Utf8Bytes),
    End(Reason),
}

enum ToRoom {
    Enter(Name, Session),
    Say(u64, Utf8Bytes),
    Who(u64),
    Leave(u64, Reason),
    Ended(u64),
    Close,
}

enum ToLobby {
    Enter(Visitor, Session),
    OneLess(Name),
    List(oneshot::Sender<String>),
    Close(oneshot::Sender<()>),
}

type Session = mpsc::UnboundedSender<ToSession>;
type Lobby = mpsc::UnboundedSender<ToLobby>;

/// The place of a session in its room. On drop, the place reports the end of the session to the
/// room.
struct Place {
    room: mpsc::UnboundedSender<ToRoom>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        // A room that has ended needs no report.
        let _ = self.room.send(ToRoom::Ended(self.number));
    }
}

/// A running chat server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    close: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Starts a server with `workers` threads, which listens at the address `at`.
    pub fn start(at: SocketAddr, workers: usize) -> io::Result<Self> {
        let socket = TcpListener::bind(at)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let runtime = runtime(workers)?;
        let (close, closed) = oneshot::channel();
        let run = move || runtime.block_on(run(socket, closed));
        let thread = thread::Builder::new().name("plain".to_owned()).spawn(run)?;
        Ok(Self {
            address,
            close,
            thread,
        })
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shuts the server down gracefully: notifies all sessions, and waits until they have ended.
    pub fn close(self) {
        // If the send fails, the server has already ended.
        let _ = self.close.send(());
        let _ = self.thread.join();
    }
}

/// Builds a tokio runtime with `workers` threads. For one thread, builds a current-thread runtime.
pub fn runtime(workers: usize) -> io::Result<Runtime> {
    let mut builder = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.worker_threads(workers).enable_all().build()
}

async fn run(socket: TcpListener, closed: oneshot::Receiver<()>) {
    let (lobby, told) = mpsc::unbounded_channel();
    tokio::spawn(run_lobby(told, lobby.clone()));
    let listener = tokio::spawn(listen(socket, app(lobby.clone())));
    // The receive also returns when the `Server` is dropped, which ends the server too.
    let _ = closed.await;
    listener.abort();
    let (done, all_left) = oneshot::channel();
    if lobby.send(ToLobby::Close(done)).is_ok() {
        let _ = all_left.await;
    }
}

async fn listen(socket: TcpListener, app: Router) {
    let served = async {
        let listener = tokio::net::TcpListener::from_std(socket)?;
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        serve(listener, app).await
    };
    if let Err(error) = served.await {
        eprintln!("the listener has failed: {error}");
    }
}

fn app(lobby: Lobby) -> Router {
    Router::new()
        .route("/", get(async || HELP))
        .route("/rooms", get(rooms))
        .route("/chat/{room}/{name}", get(chat))
        .with_state(lobby)
}

async fn rooms(State(lobby): State<Lobby>) -> Response {
    let (reply, list) = oneshot::channel();
    if lobby.send(ToLobby::List(reply)).is_ok()
        && let Ok(list) = list.await
    {
        return list.into_response();
    }
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}

async fn chat(
    State(lobby): State<Lobby>,
    Path((room, name)): Path<(String, String)>,
    upgrade: WebSocketUpgrade,
) -> Response {
    match Visitor::parse(&room, &name) {
        Ok(visitor) => {
            limited(upgrade).on_upgrade(move |socket| run_session(socket, visitor, lobby))
        }
        Err(error) => (StatusCode::BAD_REQUEST, error).into_response(),
    }
}

async fn run_session(socket: WebSocket, visitor: Visitor, lobby: Lobby) {
    let mut wire = Wire::new(socket);
    let (session, mut told) = mpsc::unbounded_channel();
    let mut place = None;
    let reason = match lobby.send(ToLobby::Enter(visitor, session)) {
        Ok(()) => match told.recv().await {
            Some(ToSession::Joined(joined)) => {
                let place = place.insert(joined);
                let reason = talk(&mut wire, &mut told, place).await;
                let _ = place.room.send(ToRoom::Leave(place.number, reason.clone()));
                reason
            }
            Some(ToSession::End(reason)) => reason,
            Some(ToSession::Line(_)) | None => Reason::RoomGone,
        },
        Err(_) => Reason::Closing,
    };
    wire.end(&reason).await;
    drop(place);
}

async fn talk(
    wire: &mut Wire,
    told: &mut mpsc::UnboundedReceiver<ToSession>,
    place: &Place,
) -> Reason {
    loop {
        tokio::select! {
            biased;
            told = told.recv() => match told {
                Some(ToSession::Line(line)) => {
                    if let Err(reason) = wire.tell(line) {
                        return reason;
                    }
                }
                Some(ToSession::End(reason)) => return reason,
                Some(ToSession::Joined(_)) => {}
                None => return Reason::RoomGone,
            },
            line = wire.hear() => {
                if let Err(reason) = line.and_then(|line| say(place, line)) {
                    return reason;
                }
            }
        }
    }
}

fn say(place: &Place, line: Utf8Bytes) -> Result<(), Reason> {
    let word = match Word::parse(line)? {
        Word::Who => ToRoom::Who(place.number),
        Word::Say(line) => ToRoom::Say(place.number, line),
    };
    place.room.send(word).map_err(|_| Reason::RoomGone)
}

struct Room {
    name: Name,
    lobby: Lobby,
    /// Sender of messages to this room. New members get a clone of the sender in their places.
    own: mpsc::WeakUnboundedSender<ToRoom>,
    members: BTreeMap<u64, (Name, Session)>,
    next_number: u64,
    closing: bool,
}

impl Room {
    async fn run(mut self, mut told: mpsc::UnboundedReceiver<ToRoom>) {
        while let Some(word) = told.recv().await {
            match word {
                ToRoom::Enter(name, session) => self.enter(name, session),
                ToRoom::Say(number, text) => self.say(number, &text),
                ToRoom::Who(number) => self.who(number),
                ToRoom::Leave(number, reason) => self.leave(number, &reason.to_string()),
                ToRoom::Ended(number) => self.ended(number),
                ToRoom::Close => self.close(),
            }
        }
    }

    fn enter(&mut self, name: Name, session: Session) {
        let Some(room) = self.own.upgrade() else {
            return;
        };
        let number = self.next_number;
        self.next_number += 1;
        let place = Place { room, number };
        if self.members.values().any(|(member, _)| *member == name) {
            let _ = session.send(ToSession::End(Reason::NameTaken));
            return;
        }
        let _ = session.send(ToSession::Joined(place));
        let line = format!("* {name} is in {}", self.name);
        self.members.insert(number, (name, session));
        self.tell_all(line);
    }

    fn leave(&mut self, number: u64, why: &str) {
        if let Some((name, _)) = self.members.remove(&number)
            && !self.closing
        {
            self.tell_all(format!("* {name} has left: {why}"));
        }
    }

    fn ended(&mut self, number: u64) {
        self.leave(number, "failed");
        let _ = self.lobby.send(ToLobby::OneLess(self.name.clone()));
    }

    fn say(&self, number: u64, text: &str) {
        if let Some((name, _)) = self.members.get(&number) {
            self.tell_all(format!("{name}: {text}"));
        }
    }

    fn tell_all(&self, line: String) {
        let line = Utf8Bytes::from(line);
        for (_, session) in self.members.values() {
            let _ = session.send(ToSession::Line(line.clone()));
        }
    }

    fn who(&self, number: u64) {
        if let Some((_, session)) = self.members.get(&number) {
            let names: Vec<_> = self.members.values().map(|it| it.0.to_string()).collect();
            let line = format!("* here: {}", names.join(", "));
            let _ = session.send(ToSession::Line(line.into()));
        }
    }

    fn close(&mut self) {
        self.closing = true;
        for (_, session) in self.members.values() {
            let _ = session.send(ToSession::End(Reason::Closing));
        }
    }
}

#[derive(Default)]
struct Rooms {
    rooms: BTreeMap<Name, (mpsc::UnboundedSender<ToRoom>, usize)>,
    closing: Option<oneshot::Sender<()>>,
    is_closed: bool,
}

async fn run_lobby(mut told: mpsc::UnboundedReceiver<ToLobby>, own: Lobby) {
    let mut rooms = Rooms::default();
    while let Some(word) = told.recv().await {
        match word {
            ToLobby::Enter(visitor, session) => rooms.enter(visitor, session, &own),
            ToLobby::OneLess(name) => rooms.one_less(&name),
            ToLobby::List(reply) => drop(reply.send(rooms.list())),
            ToLobby::Close(reply) => rooms.close(reply),
        }
    }
}

impl Rooms {
    fn enter(&mut self, visitor: Visitor, session: Session, lobby: &Lobby) {
        let Visitor { room, name } = visitor;
        let has_room = self.rooms.contains_key(&room);
        if let Some(reason) = refusal(self.is_closed, self.rooms.len(), has_room) {
            let _ = session.send(ToSession::End(reason));
            return;
        }
        let (to_room, members) = self
            .rooms
            .entry(room.clone())
            .or_insert_with(|| (open(room, lobby), 0));
        *members += 1;
        let _ = to_room.send(ToRoom::Enter(name, session));
    }

    fn one_less(&mut self, name: &Name) {
        if let Some((_, members)) = self.rooms.get_mut(name) {
            *members -= 1;
            if *members == 0 {
                self.rooms.remove(name);
            }
        }
        self.answer_if_empty();
    }

    fn list(&self) -> String {
        let mut list = String::new();
        for (name, (_, members)) in &self.rooms {
            let _ = writeln!(list, "{name} {members}");
        }
        list
    }

    fn close(&mut self, reply: oneshot::Sender<()>) {
        self.is_closed = true;
        self.closing = Some(reply);
        for (room, _) in self.rooms.values() {
            let _ = room.send(ToRoom::Close);
        }
        self.answer_if_empty();
    }

    fn answer_if_empty(&mut self) {
        if self.rooms.is_empty()
            && let Some(reply) = self.closing.take()
        {
            let _ = reply.send(());
        }
    }
}

fn open(name: Name, lobby: &Lobby) -> mpsc::UnboundedSender<ToRoom> {
    let (own, told) = mpsc::unbounded_channel();
    let room = Room {
        name,
        lobby: lobby.clone(),
        own: own.downgrade(),
        members: BTreeMap::new(),
        next_number: 0,
        closing: false,
    };
    tokio::spawn(room.run(told));
    own
}
