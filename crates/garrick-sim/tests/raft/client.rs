//! A client that proposes commands one after another. It sends each command to one server after
//! another, until a leader has applied the command.

use std::time::Duration;

use garrick_actor::{Actor, Context, Timer};

use crate::directory::Directory;
use crate::log::Command;
use crate::server::Rpc;

/// Time after which a client tries another server.
const RETRY: Duration = Duration::from_millis(80);

/// A fact: a client has heard that a command was applied.
#[derive(Debug)]
#[expect(dead_code, reason = "formatted")]
pub(crate) struct Confirmed(pub(crate) Command);

/// The actor of a client.
pub(crate) struct Client {
    /// The command that the client proposes now.
    command: Command,
    /// Number of commands of the client.
    commands: u32,
    servers: Directory,
    count: usize,
    /// The server that the client tries next.
    next: usize,
    timer: Option<Timer>,
}

/// A message to a client.
pub(crate) enum Event {
    Retry,
    /// A leader has applied a command.
    Done(Command),
}

impl Client {
    /// Creates a client with a number of commands for `count` servers.
    pub(crate) fn new(id: usize, commands: u32, servers: Directory, count: usize) -> Self {
        let command = Command {
            client: id,
            number: 1,
        };
        Self {
            command,
            commands,
            servers,
            count,
            next: id % count,
            timer: None,
        }
    }

    /// Proposes the current command to the next server.
    fn propose(&mut self, cx: &Context<'_, Event>) {
        if let Some(timer) = self.timer.take() {
            timer.cancel();
        }
        if self.command.number > self.commands {
            return;
        }
        self.servers.send(self.next, Rpc::Propose(self.command), cx);
        self.timer = cx.start_timer(RETRY, &cx.address(), Event::Retry).ok();
    }
}

impl Actor for Client {
    type Msg = Event;
    type Outcome = ();
    const MESSAGES: &'static [&'static str] = &["Retry", "Done"];

    fn started(&mut self, cx: &mut Context<'_, Event>) {
        self.propose(cx);
    }

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) {
        match event {
            Event::Retry => self.next = (self.next + 1) % self.count,
            Event::Done(command) if command == self.command => {
                cx.note(Confirmed(command));
                self.command.number += 1;
            }
            Event::Done(_) => return,
        }
        self.propose(cx);
    }

    fn message_kind(event: &Event) -> usize {
        match event {
            Event::Retry => 0,
            Event::Done(_) => 1,
        }
    }
}
