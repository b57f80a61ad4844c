//! Callers of desks. Each caller has a router whose routees are the desks of all nodes.

use std::time::Duration;

use garrick_actor::route::Router;
use garrick_actor::{Actor, Context, NoReply};

use crate::desks::ToDesk;

/// Number of calls.
const CALLS: u32 = 10;

/// Time between two calls.
const PAUSE: Duration = Duration::from_millis(300);

/// A fact: a call has ended with this result.
#[derive(Debug)]
pub(crate) struct Called(pub(crate) Result<String, NoReply>);

pub(crate) enum ToCaller {
    Call,
    Answer(Result<String, NoReply>),
}

/// Begins to call desks when all nodes know the same desks.
pub(crate) struct Caller {
    pub(crate) router: Router<ToDesk>,
    pub(crate) calls: u32,
    pub(crate) calls_after: Duration,
}

impl Actor for Caller {
    type Msg = ToCaller;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToCaller>) {
        let me = cx.address();
        let _ = cx.send_after(self.calls_after, &me, ToCaller::Call);
    }

    fn receive(&mut self, message: ToCaller, cx: &mut Context<'_, ToCaller>) {
        match message {
            ToCaller::Call => {
                cx.ask(&self.router.front(), ToDesk, ToCaller::Answer);
                self.calls += 1;
                if self.calls < CALLS {
                    let me = cx.address();
                    let _ = cx.send_after(PAUSE, &me, ToCaller::Call);
                }
            }
            ToCaller::Answer(answer) => cx.note(Called(answer)),
        }
    }
}
