//! A room: an actor that knows its members, and passes each line to all of them.

use std::collections::BTreeMap;

use axum::extract::ws::Utf8Bytes;
use garrick::supervise::Ended;
use garrick::{Actor, Address, Context};

use super::lobby::{RoomId, ToLobby};
use super::session::{Place, ToSession};
use crate::sessions::wire::{Name, Reason};

/// A message to a room. The contained numbers identify the places of sessions in the room.
pub(crate) enum ToRoom {
    /// A session asks to enter under the contained name.
    Enter(Name, Address<ToSession>),
    /// A line for all members.
    Say(u64, Utf8Bytes),
    /// A request for the list of members.
    Who(u64),
    /// A session gives up its place, for the contained reason. The client has possibly not received
    /// the reason yet.
    Leave(u64, Reason),
    /// A session has ended, for any reason.
    Ended(u64, Ended),
    /// A request to close all sessions of the room.
    Close,
}

struct Member {
    name: Name,
    session: Address<ToSession>,
}

/// The actor that keeps the members of one room.
pub(crate) struct Room {
    id: RoomId,
    lobby: Address<ToLobby>,
    members: BTreeMap<u64, Member>,
    /// Number of the next place. This number only increases, so no place has the number of an
    /// earlier place.
    next_number: u64,
    closing: bool,
}

impl Room {
    pub(crate) fn new(id: RoomId, lobby: Address<ToLobby>) -> Self {
        Self {
            id,
            lobby,
            members: BTreeMap::new(),
            next_number: 0,
            closing: false,
        }
    }

    fn enter(&mut self, name: Name, session: Address<ToSession>, cx: &Context<'_, ToRoom>) {
        let number = self.next_number;
        self.next_number += 1;
        cx.watch(&session, move |ended| ToRoom::Ended(number, ended));
        if self.members.values().any(|member| member.name == name) {
            // A session that has ended in the meantime needs no answer.
            let _ = cx.send(&session, ToSession::End(Reason::NameTaken));
            return;
        }
        let room = cx.address();
        let _ = cx.send(&session, ToSession::Joined(Place { room, number }));
        let line = format!("* {name} is in {}", self.id.name);
        self.members.insert(number, Member { name, session });
        self.tell_all(line, cx);
    }

    fn leave(&mut self, number: u64, why: &str, cx: &Context<'_, ToRoom>) {
        let Some(member) = self.members.remove(&number) else {
            // The session has already left.
            return;
        };
        if !self.closing {
            self.tell_all(format!("* {} has left: {why}", member.name), cx);
        }
    }

    /// Handles the end of a session. A session that has not given a reason has failed.
    fn ended(&mut self, number: u64, ended: &Ended, cx: &Context<'_, ToRoom>) {
        self.leave(number, &ended.to_string(), cx);
        // If the lobby has stopped, the server is ending.
        let _ = cx.send(&self.lobby, ToLobby::OneLess(self.id.clone()));
    }

    fn say(&self, number: u64, text: &str, cx: &Context<'_, ToRoom>) {
        if let Some(member) = self.members.get(&number) {
            self.tell_all(format!("{}: {text}", member.name), cx);
        }
    }

    fn tell_all(&self, line: String, cx: &Context<'_, ToRoom>) {
        let line = Utf8Bytes::from(line);
        for member in self.members.values() {
            // Members that have stopped will be removed, because they are watched.
            let _ = cx.send(&member.session, ToSession::Line(line.clone()));
        }
    }

    fn who(&self, number: u64, cx: &Context<'_, ToRoom>) {
        if let Some(member) = self.members.get(&number) {
            let names: Vec<_> = self
                .members
                .values()
                .map(|it| it.name.to_string())
                .collect();
            let line = format!("* here: {}", names.join(", "));
            let _ = cx.send(&member.session, ToSession::Line(line.into()));
        }
    }

    fn close(&mut self, cx: &Context<'_, ToRoom>) {
        self.closing = true;
        for member in self.members.values() {
            let _ = cx.send(&member.session, ToSession::End(Reason::Closing));
        }
    }
}

impl Actor for Room {
    type Msg = ToRoom;
    type Outcome = ();

    fn receive(&mut self, msg: ToRoom, cx: &mut Context<'_, ToRoom>) {
        match msg {
            ToRoom::Enter(name, session) => self.enter(name, session, cx),
            ToRoom::Say(number, text) => self.say(number, &text, cx),
            ToRoom::Who(number) => self.who(number, cx),
            ToRoom::Leave(number, reason) => self.leave(number, &reason.to_string(), cx),
            ToRoom::Ended(number, ended) => self.ended(number, &ended, cx),
            ToRoom::Close => self.close(cx),
        }
    }
}
