//! An example of an actor: its state, its messages, and a test.

use garrick::prelude::*;

/// A ledger, which adds up the booked amounts.
#[derive(Default)]
pub struct Ledger {
    cents: u64,
}

/// A message to a ledger.
pub enum Entry {
    /// Books the contained number of cents. A payment of zero cents is an error, which the ledger's
    /// supervisor handles.
    Book(u64, Reply<()>),
    /// Replies with the sum of the booked amounts.
    Sum(Reply<u64>),
}

impl Actor for Ledger {
    type Msg = Entry;
    type Outcome = Next;

    fn receive(&mut self, entry: Entry, cx: &mut Context<'_, Entry>) -> Next {
        match entry {
            Entry::Book(0, _) => return cx.fail("a payment of nothing"),
            Entry::Book(cents, booked) => {
                self.cents += cents;
                booked.send(());
            }
            Entry::Sum(reply) => reply.send(self.cents),
        }
        Next::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_booked_adds_up() {
        let local = Local::new().unwrap();
        let ledger = local.spawn(Ledger::default());
        let booked = [20, 22].map(|cents| ledger.ask(|reply| Entry::Book(cents, reply)));
        let sum = ledger.ask(Entry::Sum);
        local.run();
        assert!(booked.into_iter().all(|booked| booked.wait() == Ok(())));
        assert_eq!(sum.wait(), Ok(42));
    }

    #[test]
    fn nothing_is_not_booked() {
        let local = Local::new().unwrap();
        let ledger = local.spawn(Ledger::default());
        let booked = ledger.ask(|reply| Entry::Book(0, reply));
        local.run();
        assert_eq!(booked.wait(), Err(NoReply::Dropped));
        assert_eq!(local.handle().failures(), 1);
    }
}
