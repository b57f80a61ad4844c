//! The lobby: an actor that finds or creates the room for a visitor, and removes the room when the
//! last visitor leaves.

use std::collections::BTreeMap;
use std::fmt::Write;

use garrick::{Actor, Address, Context, Reply};

use super::room::{Room, ToRoom};
use super::session::ToSession;
use crate::sessions::wire::{Name, Visitor, refusal};

/// A message to the lobby.
pub(crate) enum ToLobby {
    /// A session asks to enter a room.
    Enter(Visitor, Address<ToSession>),
    /// A session that the lobby sent to the contained room has ended.
    OneLess(RoomId),
    /// A room has ended.
    Gone(RoomId),
    /// A request for the list of rooms.
    List(Reply<String>),
    /// A request to close all sessions. The reply is sent when all of them have ended.
    Close(Reply<()>),
}

/// The identity of a room.
#[derive(Clone)]
pub(crate) struct RoomId {
    pub(crate) name: Name,
    /// Unique number of the room, which distinguishes it from an earlier room with the same name.
    number: u64,
}

struct Entry {
    number: u64,
    room: Address<ToRoom>,
    /// Number of sessions that were sent to this room and have not been reported as ended.
    members: usize,
}

/// The actor that keeps all rooms.
#[derive(Default)]
pub(crate) struct Lobby {
    rooms: BTreeMap<Name, Entry>,
    next_number: u64,
    /// Reply that is sent when all sessions have ended. `None` until the lobby is closed.
    closing: Option<Reply<()>>,
    is_closed: bool,
}

impl Lobby {
    fn enter(&mut self, visitor: Visitor, session: Address<ToSession>, cx: &Context<'_, ToLobby>) {
        let Visitor { room, name } = visitor;
        let has_room = self.rooms.contains_key(&room);
        if let Some(reason) = refusal(self.is_closed, self.rooms.len(), has_room) {
            // A session that has ended in the meantime needs no answer.
            let _ = cx.send(&session, ToSession::End(reason));
            return;
        }
        let next_number = &mut self.next_number;
        let entry = self.rooms.entry(room.clone()).or_insert_with(|| {
            *next_number += 1;
            open(room, *next_number, cx)
        });
        entry.members += 1;
        // A room that has failed drops the session's address, which ends the session. The lobby is
        // notified of the failure by `Gone`.
        let _ = cx.send(&entry.room, ToRoom::Enter(name, session));
    }

    fn one_less(&mut self, id: &RoomId) {
        if let Some(entry) = self.rooms.get_mut(&id.name)
            && entry.number == id.number
        {
            entry.members -= 1;
            if entry.members == 0 {
                // This drops the last address of the room, except those in sessions that are
                // ending. So the room ends too.
                self.rooms.remove(&id.name);
            }
        }
        self.answer_if_empty();
    }

    fn gone(&mut self, id: &RoomId) {
        if self
            .rooms
            .get(&id.name)
            .is_some_and(|entry| entry.number == id.number)
        {
            self.rooms.remove(&id.name);
        }
        self.answer_if_empty();
    }

    fn list(&self) -> String {
        let mut list = String::new();
        for (name, entry) in &self.rooms {
            // A string accepts every write.
            let _ = writeln!(list, "{name} {}", entry.members);
        }
        list
    }

    fn close(&mut self, reply: Reply<()>, cx: &Context<'_, ToLobby>) {
        self.is_closed = true;
        self.closing = Some(reply);
        for entry in self.rooms.values() {
            let _ = cx.send(&entry.room, ToRoom::Close);
        }
        self.answer_if_empty();
    }

    fn answer_if_empty(&mut self) {
        if self.rooms.is_empty()
            && let Some(reply) = self.closing.take()
        {
            reply.send(());
        }
    }
}

/// Creates a room, and makes the lobby watch it.
fn open(name: Name, number: u64, cx: &Context<'_, ToLobby>) -> Entry {
    let id = RoomId { name, number };
    let room = cx.spawn(Room::new(id.clone(), cx.address()));
    cx.watch(&room, |_| ToLobby::Gone(id));
    Entry {
        number,
        room,
        members: 0,
    }
}

impl Actor for Lobby {
    type Msg = ToLobby;
    type Outcome = ();

    fn receive(&mut self, msg: ToLobby, cx: &mut Context<'_, ToLobby>) {
        match msg {
            ToLobby::Enter(visitor, session) => self.enter(visitor, session, cx),
            ToLobby::OneLess(id) => self.one_less(&id),
            ToLobby::Gone(id) => self.gone(&id),
            ToLobby::List(reply) => reply.send(self.list()),
            ToLobby::Close(reply) => self.close(reply, cx),
        }
    }
}
