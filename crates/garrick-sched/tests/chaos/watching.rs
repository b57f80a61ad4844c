//! Watches, and the plausible contents of their notices.

use garrick_sched::{Address, Ended, Turn, Watch};

use crate::frame;
use crate::ledger::{self, Kind, Token, fate};
use crate::shapes::{Cargo, Letter, Peer, Shape};
use crate::will::Will;

/// The reported message of a panic whose payload is not a text.
pub(crate) const WORDLESS: &str = "a panic without a message";

/// Watches a peer. The notice may panic. When the notice is dropped, the actions in `will` are
/// performed.
pub(crate) fn watch<M: Shape>(
    address: &Address<M>,
    peer: &Peer,
    will: Will,
    fails: bool,
) -> (u32, Watch) {
    let token = Token::new(Kind::Notice);
    let (id, task) = (token.id(), peer.task);
    if !peer.tells {
        ledger::mark(id, fate::MAY_BE_SILENT);
    }
    frame::stage(id);
    let watch = address.watch(move |ended| {
        let (_token, _will) = (&token, &will);
        tell(id, task, &ended);
        if fails {
            frame::fail();
        }
    });
    (id, watch)
}

/// Watches a task for another task, which gets a message about the end.
pub(crate) fn watch_for_task<M: Shape>(
    turn: &Turn<'_, M>,
    whom: &Address<M>,
    task: u32,
) -> (u32, Watch) {
    let token = Token::new(Kind::Notice);
    let id = token.id();
    frame::stage(id);
    let watch = turn.watch(whom, move |ended| {
        let _token = &token;
        tell(id, task, &ended);
        let cargo = Cargo {
            notice: Some((task, ended)),
            ..Cargo::default()
        };
        let letter = Letter::unsaid(cargo, 0);
        frame::stage(letter.token.id());
        M::pack(letter)
    });
    (id, watch)
}

/// Cancels a watch.
pub(crate) fn cancel(id: u32, watch: &Watch) {
    ledger::mark(id, fate::MAY_BE_SILENT);
    watch.cancel();
}

/// Checks a notice about the end of a task.
fn tell(id: u32, task: u32, ended: &Ended) {
    if ledger::mark(id, fate::TOLD) & fate::TOLD != 0 {
        ledger::wrong(format!("notice {id:#x} comes twice"));
    }
    let fates = ledger::fate_of(task);
    let plausible = match ended {
        Ended::Stopped => fates & fate::STOPS != 0,
        Ended::Failed(said) => {
            let own = **said == *frame::last_words(task) || &**said == WORDLESS;
            fates & fate::FAILS != 0 && own
        }
        Ended::Before => fates & fate::DROPPED != 0,
        _ => true,
    };
    if !plausible {
        ledger::wrong(format!(
            "task {task:#x} ({fates:#x}) is told to have ended: {ended}"
        ));
    }
}
