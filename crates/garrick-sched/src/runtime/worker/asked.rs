//! Requests by which a turn leaves its commit to a later decision.

use std::any::Any;

use crate::cell::CellPtr;
use crate::runtime::pending::Pending;
use crate::runtime::stage::Carried;

/// Function that gets the right to decide if a turn commits.
pub(super) type Request = Box<dyn FnOnce(Pending)>;

/// Shows if a turn may leave its commit to a later decision, and if it has done so.
#[derive(Default)]
pub(super) enum Wish {
    /// The turn must not leave its commit to a later decision.
    #[default]
    Never,
    /// The turn is allowed to leave its commit to a later decision, but has not done so yet.
    NotYet,
    /// A part of the turn (the handling of one message) has left the commit to a later decision.
    /// Contains the request, and the index of the part.
    By(Request, usize),
}

/// Effects of one message, which are kept until the turn commits.
pub(super) struct Part {
    pub(super) carried: Carried,
    /// New cells without messages, which start when the turn commits. This list holds a reference
    /// to each of these cells.
    pub(super) newborns: Vec<CellPtr>,
}

/// The parts of a turn that have ended (one for each message), and the request by which the turn
/// leaves its commit to a later decision.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) wish: Wish,
    /// Effects of each message that the turn has handled before the current one, oldest first.
    pub(super) parts: Vec<Part>,
    /// Source of the further messages that the turn may take.
    pub(super) source: Source,
    /// True if the turn must not take more messages.
    pub(super) is_barred: bool,
}

/// The source of the further messages that a turn may take.
#[derive(Default)]
pub(super) enum Source {
    #[default]
    Nothing,
    /// The mailbox of the task.
    Mailbox,
    /// Messages that the task keeps for later, in a `VecDeque` of the task's message type.
    Held(Box<dyn Any>),
}

impl Asked {
    /// Returns the state at the beginning of a turn. If `has_more` is true, the mailbox of the task
    /// has more messages.
    pub(super) fn new(has_more: bool) -> Self {
        let source = if has_more {
            Source::Mailbox
        } else {
            Source::Nothing
        };
        Self {
            wish: Wish::NotYet,
            parts: Vec::new(),
            source,
            is_barred: false,
        }
    }

    /// Removes and returns the turn's request for a later decision. Returns `None` if there is no
    /// request.
    pub(super) fn take_request(&mut self) -> Option<Request> {
        match std::mem::take(&mut self.wish) {
            Wish::By(request, _) => Some(request),
            Wish::Never | Wish::NotYet => None,
        }
    }

    /// Lets the turn's request for a later decision call `first` before anything else. Drops
    /// `first` if there is no request.
    pub(super) fn precede(&mut self, first: impl FnOnce() + 'static) {
        self.wish = match std::mem::take(&mut self.wish) {
            Wish::By(request, part) => {
                let both = |pending| {
                    first();
                    request(pending);
                };
                Wish::By(Box::new(both), part)
            }
            wish @ (Wish::Never | Wish::NotYet) => wish,
        };
    }

    /// Returns true if an earlier part of the turn (an earlier message) has made a request for a
    /// later decision. So the turn waits for a decision even if its current part is undone.
    pub(super) fn is_asked_before(&self) -> bool {
        matches!(&self.wish, Wish::By(_, part) if *part < self.parts.len())
    }

    /// Removes and returns the request for a later decision, if the current part of the turn (the
    /// handling of one message) has made this request. Called when the current part is undone.
    pub(super) fn take_own_request(&mut self) -> Option<Request> {
        match &self.wish {
            Wish::By(_, part) if *part == self.parts.len() => self.take_request(),
            _ => None,
        }
    }
}
