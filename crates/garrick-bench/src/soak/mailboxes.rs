//! Work of a soak: bounded mailboxes that become full repeatedly.

use garrick::mailbox::{Mailbox, OnFull};
use garrick::{Actor, Address, Ask, Context, Handle, Next, Reply, System};
use garrick_measure::{Result, sent};

use super::part::{Outcome, Part, outcome, same};

/// Capacity of each mailbox.
const ROOM: usize = 64;

/// Number of messages that an actor sends to each mailbox in one turn. This number is larger than
/// the capacity [`ROOM`].
const FLOOD: u64 = 300;

/// Number of messages that a thread sends to the first mailbox in each round. The same thread
/// starts the rounds. The thread waits while this mailbox is full.
const FROM_THREAD: u64 = 500;

/// For each mailbox, the option that determines what happens to a message that arrives while the
/// mailbox is full. The thread that starts the rounds sends to the first mailbox.
const KINDS: [OnFull; 4] = [
    OnFull::Wait,
    OnFull::Fail,
    OnFull::DropNewest,
    OnFull::DropOldest,
];

pub(super) struct Mailboxes {
    /// Address of the mailbox whose senders wait for room.
    patient: Address<Work>,
    flooder: Address<Msg>,
    round: Option<Ask<Outcome>>,
}

impl Mailboxes {
    pub(super) fn new(system: &System) -> Result<Self> {
        let flooder = system.spawn(Flooder::default())?;
        let mut inlets = Vec::new();
        for (kind, on_full) in KINDS.into_iter().enumerate() {
            let mailbox = Mailbox::bounded(ROOM, on_full)?;
            let reports = flooder.clone();
            inlets.push(
                system
                    .actor(Handler { kind, reports })
                    .mailbox(mailbox)
                    .spawn()?,
            );
        }
        let patient = inlets[0].clone();
        flooder.send(Msg::Inlets(inlets))?;
        Ok(Self {
            patient,
            flooder,
            round: None,
        })
    }
}

impl Part for Mailboxes {
    fn name(&self) -> &'static str {
        "full mailboxes"
    }

    fn begin(&mut self, _: &Handle) -> Result<()> {
        self.round = Some(self.flooder.ask(Msg::Round));
        for _ in 0..FROM_THREAD {
            self.patient.send_blocking(Work)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<u64> {
        outcome(self.round.take())
    }

    fn stop(&mut self) -> Result<()> {
        // The flooder and the actors that it floods hold each other's addresses, so none of them
        // stops by itself.
        self.flooder.send(Msg::End)?;
        Ok(())
    }
}

/// A message to a bounded mailbox.
#[derive(Debug)]
struct Work;

/// An actor with a bounded mailbox, which reports each message that it handles.
struct Handler {
    kind: usize,
    reports: Address<Msg>,
}

impl Actor for Handler {
    type Msg = Work;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, Work: Work, cx: &mut Context<'_, Work>) -> Next {
        sent(&cx.send(&self.reports, Msg::Handled(self.kind)))
    }
}

enum Msg {
    Inlets(Vec<Address<Work>>),
    Round(Reply<Outcome>),
    /// Reports that a message to the mailbox with the given index was handled.
    Handled(usize),
    End,
}

/// The flooder, an actor that sends more messages than there is room for, and counts the results.
#[derive(Default)]
struct Flooder {
    inlets: Vec<Address<Work>>,
    rounds: u64,
    /// For each mailbox, the number of messages that were returned to the sender, in all rounds.
    returned: [u64; KINDS.len()],
    /// For each mailbox, the number of messages that were handled, in all rounds.
    handled: [u64; KINDS.len()],
    reply: Option<Reply<Outcome>>,
}

impl Flooder {
    fn flood(&mut self, cx: &Context<'_, Msg>) {
        self.rounds += 1;
        for (inlet, returned) in self.inlets.iter().zip(&mut self.returned) {
            for _ in 0..FLOOD {
                *returned += u64::from(cx.send(inlet, Work).is_err());
            }
        }
    }

    /// Returns the number of messages that were sent to the mailbox with the index `kind` in all
    /// rounds.
    fn sent(&self, kind: usize) -> u64 {
        let from_thread = if kind == 0 { FROM_THREAD } else { 0 };
        self.rounds * (FLOOD + from_thread)
    }

    /// Returns how many messages to the mailbox with the index `kind` were returned, handled or
    /// dropped in all rounds.
    fn ended(&self, kind: usize) -> u64 {
        self.returned[kind] + self.handled[kind] + self.inlets[kind].dropped()
    }

    /// Reports the outcome of the round if all messages were returned, handled or dropped.
    fn tell(&mut self) {
        let all = 0..KINDS.len();
        if all.clone().any(|kind| self.ended(kind) < self.sent(kind)) {
            return;
        }
        let Some(reply) = self.reply.take() else {
            return;
        };
        reply.send(all.map(|kind| self.checked(kind)).sum());
    }

    /// Returns the number of messages to the mailbox with the index `kind` in one round, or an
    /// error if a count is wrong.
    fn checked(&self, kind: usize) -> Outcome {
        let on_full = KINDS[kind];
        let name = format!("messages to a mailbox with OnFull::{on_full:?}");
        same(&name, self.ended(kind), self.sent(kind))?;
        let (returned, dropped) = (self.returned[kind], self.inlets[kind].dropped());
        let is_returned = matches!(on_full, OnFull::Wait | OnFull::Fail);
        let (full, other) = if is_returned {
            (returned, dropped)
        } else {
            (dropped, returned)
        };
        if full == 0 || other > 0 {
            return Err(format!(
                "{name}: {returned} were returned, {dropped} were dropped"
            ));
        }
        Ok(self.sent(kind) / self.rounds)
    }
}

impl Actor for Flooder {
    type Msg = Msg;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Inlets(inlets) => self.inlets = inlets,
            Msg::Round(reply) => {
                self.reply = Some(reply);
                self.flood(cx);
            }
            Msg::Handled(kind) => {
                self.handled[kind] += 1;
                self.tell();
            }
            Msg::End => return Next::Stop,
        }
        Next::Continue
    }
}
