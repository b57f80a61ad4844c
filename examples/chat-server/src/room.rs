//! Rooms: actors that know their members, and pass each line to all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use garrick::{Actor, Address, Context};

/// A message to a session.
pub(crate) enum ToSession {
    /// The session has entered the room with the contained address.
    Entered(Address<ToRoom>),
    /// The session cannot enter the room, for the contained reason.
    Refused(&'static str),
    /// A line for the client.
    Line(Arc<str>),
}

/// A message to a room.
pub(crate) enum ToRoom {
    Enter(Arc<str>, Address<ToSession>),
    /// A member sends a line to all members.
    Say(Arc<str>, String),
    /// A member requests the list of members.
    Who(Arc<str>),
    /// A member leaves, for the contained reason.
    Leave(Arc<str>, &'static str),
    /// The session of a member has ended.
    Ended(Arc<str>, Address<ToSession>),
}

/// A room.
pub(crate) struct Room {
    pub(crate) name: String,
    pub(crate) members: BTreeMap<Arc<str>, Address<ToSession>>,
}

impl Room {
    fn tell_all(&self, line: &str, cx: &Context<'_, ToRoom>) {
        let line: Arc<str> = format!("{line}\n").into();
        for session in self.members.values() {
            // A session takes each line at once, and ends if its client does not. The room notices
            // the end of a session by its watch.
            let _ = cx.send(session, ToSession::Line(line.clone()));
        }
    }

    fn enter(&mut self, name: Arc<str>, session: Address<ToSession>, cx: &Context<'_, ToRoom>) {
        if self.members.contains_key(&name) {
            let _ = cx.send(
                &session,
                ToSession::Refused("the name is taken in this room"),
            );
            return;
        }
        let (ended, who) = (name.clone(), session.clone());
        cx.watch(&session, move |_| ToRoom::Ended(ended, who));
        let _ = cx.send(&session, ToSession::Entered(cx.address()));
        let line = format!("* {name} is in {}", self.name);
        self.members.insert(name, session);
        self.tell_all(&line, cx);
    }

    fn leave(&mut self, name: &str, why: &str, cx: &Context<'_, ToRoom>) {
        if self.members.remove(name).is_some() {
            self.tell_all(&format!("* {name} has left: {why}"), cx);
        }
    }
}

impl Actor for Room {
    type Msg = ToRoom;
    type Outcome = ();

    fn receive(&mut self, message: ToRoom, cx: &mut Context<'_, ToRoom>) {
        match message {
            ToRoom::Enter(name, session) => self.enter(name, session, cx),
            ToRoom::Say(name, text) => self.tell_all(&format!("{name}: {text}"), cx),
            ToRoom::Who(name) => {
                if let Some(session) = self.members.get(&name) {
                    let names: Vec<_> = self.members.keys().map(|name| &**name).collect();
                    let line = format!("* in {}: {}\n", self.name, names.join(", "));
                    let _ = cx.send(session, ToSession::Line(line.into()));
                }
            }
            ToRoom::Leave(name, why) => self.leave(&name, why, cx),
            ToRoom::Ended(name, session) => {
                // Another session may have the name meanwhile.
                if self.members.get(&name) == Some(&session) {
                    self.leave(&name, "the session has ended", cx);
                }
            }
        }
    }
}
