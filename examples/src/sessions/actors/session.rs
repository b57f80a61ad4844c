//! A session: an async actor that waits for its client and for its room.

use axum::extract::ws::{Utf8Bytes, WebSocket};
use garrick::{Address, Incoming};

use super::lobby::ToLobby;
use super::room::ToRoom;
use crate::sessions::wire::{Reason, Visitor, Wire, Word};

/// Maximum number of the client's lines that are handled in one turn.
const HEARD_MAX: usize = 16;

/// A message to a session.
pub(crate) enum ToSession {
    /// The session has entered a room.
    Joined(Place),
    /// A line for the client.
    Line(Utf8Bytes),
    /// A request to end the session, for this reason.
    End(Reason),
}

/// A session's place in its room.
pub(crate) struct Place {
    pub(crate) room: Address<ToRoom>,
    pub(crate) number: u64,
}

/// Runs a session from its start to its end.
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

/// Talks until one side ends the conversation. Then gives the place in the room back at once,
/// before the session waits for its client again.
async fn stay(wire: &mut Wire, mailbox: &mut Incoming<ToSession>, place: Place) -> Reason {
    let reason = talk(wire, mailbox, &place).await;
    // A room that has stopped needs no message.
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
                // The client's lines are sent to the room when the turn ends.
                heard += 1;
                if heard % HEARD_MAX == 0 {
                    cx.yield_now().await;
                }
            }
        }
    }
}

/// Passes a line of the client on to its room.
fn say(place: &Place, line: Utf8Bytes) -> Result<(), Reason> {
    let word = match Word::parse(line)? {
        Word::Who => ToRoom::Who(place.number),
        Word::Say(line) => ToRoom::Say(place.number, line),
    };
    place.room.send(word).map_err(|_| Reason::RoomGone)
}
