//! The lobby: the actor that finds or creates the room for a client.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use garrick::{Actor, Address, Context, Handle};

use crate::room::{Room, ToRoom, ToSession};

/// Maximum number of rooms. A room continues to exist when it is empty.
const ROOMS_MAX: usize = 10_000;

/// The request of a session to enter a room under a name.
pub(crate) struct ToLobby {
    pub(crate) room: String,
    pub(crate) name: Arc<str>,
    pub(crate) session: Address<ToSession>,
}

pub(crate) struct Lobby {
    handle: Handle,
    rooms: HashMap<String, Address<ToRoom>>,
}

impl Lobby {
    pub(crate) fn new(handle: Handle) -> Self {
        Self {
            handle,
            rooms: HashMap::new(),
        }
    }

    /// Returns the address of a room, and creates the room if necessary. Returns `None` if there
    /// are too many rooms.
    fn room(&mut self, name: &str) -> Option<&Address<ToRoom>> {
        if !self.rooms.contains_key(name) && self.rooms.len() < ROOMS_MAX {
            let room = Room {
                name: name.to_owned(),
                members: BTreeMap::new(),
            };
            self.rooms
                .insert(name.to_owned(), self.handle.spawn(room).ok()?);
        }
        self.rooms.get(name)
    }
}

impl Actor for Lobby {
    type Msg = ToLobby;
    type Outcome = ();

    fn receive(&mut self, message: ToLobby, cx: &mut Context<'_, ToLobby>) {
        let ToLobby {
            room,
            name,
            session,
        } = message;
        let _ = match self.room(&room) {
            Some(room) => cx.send(room, ToRoom::Enter(name, session)).is_ok(),
            None => {
                let why = ToSession::Refused("there are too many rooms");
                cx.send(&session, why).is_ok()
            }
        };
    }
}
