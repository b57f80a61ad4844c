//! Unanswered questions to other nodes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use garrick_actor::{NoReply, Reply};

use crate::line::{Carrier, Question, Travels};
use crate::options::WIRE_LIMITS;

/// The reply to a question that was sent to another node.
struct Asked<R: 'static>(Reply<R>);

impl<R: Travels> Question for Asked<R> {
    fn answer(self: Box<Self>, content: &[u8], carrier: &mut Carrier) -> bool {
        match WIRE_LIMITS.decode_with(content, carrier) {
            Ok(answer) => {
                self.0.send(answer);
                true
            }
            Err(_) => {
                self.0.refuse(NoReply::Refused);
                false
            }
        }
    }

    fn refuse(self: Box<Self>, why: NoReply) {
        // The conversion of the answer is foreign code, which must not end the link.
        let _ = catch_unwind(AssertUnwindSafe(|| self.0.refuse(why)));
    }
}

/// Converts a reply into a trait object that hides the type of the answer.
pub(crate) fn question<R: Travels>(reply: Reply<R>) -> Box<dyn Question> {
    Box::new(Asked(reply))
}
