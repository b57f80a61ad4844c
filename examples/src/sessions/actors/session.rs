//! A session: an async actor that waits for its client and for its room.

use axum::extract::ws::{Utf8Bytes, WebSocket};
use garrick::{Address, Incoming};

use super::lobby::ToLobby;
use super::room::ToRoom;
use crate::sessions::wire::{Reason, Visitor, Wire, Word};

/// Lines of a client that are heard in one turn.
const HEARD_MAX: usize = 16;

/// What a session is told.
pub(crate) enum ToSession {
    /// It is in a room.
    Joined(Place),
    /// A line for its client.
    Line(Utf8Bytes),
    /// It is to end.
    End(Reason),
}

/// A session's place in its room.
pub(crate) struct Place {
    pub(crate) room: Address<ToRoom>,
    pub(crate) number: u64,
}

/// The whole actor.
pub(crate) async fn session(
    socket: WebSocket,
    visitor: Visitor,
    lobby: Address<ToLobby>,
    mut mailbox: Incoming<ToSession>,
) {
    let mut wire = Wire::new(socket);
    let session = mailbox.context().address();
    let reason = match lobby.send(ToLobby::Enter(visitor, session)) {
        Ok(()) => match mailbox.recv().await {
            Some(ToSession::Joined(place)) => stay(&mut wire, &mut mailbox, place).await,
            Some(ToSession::End(reason)) => reason,
            Some(ToSession::Line(_)) | None => Reason::RoomGone,
        },
        Err(_) => Reason::Closing,
    };
    drop(lobby);
    wire.end(&reason).await;
}

/// Talks as long as both sides want to, and then gives the place back, before the client is waited for any more.
async fn stay(wire: &mut Wire, mailbox: &mut Incoming<ToSession>, place: Place) -> Reason {
    let reason = talk(wire, mailbox, &place).await;
    // A room that has stopped needs no telling.
    let _ = place.room.send(ToRoom::Leave(place.number, reason.clone()));
    reason
}

async fn talk(wire: &mut Wire, mailbox: &mut Incoming<ToSession>, place: &Place) -> Reason {
    let cx = mailbox.context();
    let mut heard = 0;
    loop {
        tokio::select! {
            biased;
            told = mailbox.recv() => match told {
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
                // What was said goes to the room when the turn ends.
                heard += 1;
                if heard % HEARD_MAX == 0 {
                    cx.yield_now().await;
                }
            }
        }
    }
}

/// Hands a line of the client on.
fn say(place: &Place, line: Utf8Bytes) -> Result<(), Reason> {
    let word = match Word::parse(line)? {
        Word::Who => ToRoom::Who(place.number),
        Word::Say(line) => ToRoom::Say(place.number, line),
    };
    place.room.send(word).map_err(|_| Reason::RoomGone)
}
