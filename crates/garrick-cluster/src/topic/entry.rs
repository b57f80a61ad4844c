//! Doors through which a topic's agents on other nodes send messages to its agent on this node.

use garrick_actor::door::{Door, Notice, door};
use garrick_actor::{Address, SendError};

use super::message::{ToAgent, ToTopic};
use crate::line::Travels;

/// A door (an address that leads to a function) that passes messages from other nodes on to a
/// topic's agent.
struct Entry<M: 'static>(Address<ToAgent<M>>);

/// Returns the address to which a topic's agents on other nodes send messages for the given agent.
pub(super) fn entry<M: Travels>(agent: &Address<ToAgent<M>>) -> Address<ToTopic<M>> {
    door(Entry(agent.clone()))
}

impl<M: Travels> Door for Entry<M> {
    type Message = ToTopic<M>;

    fn pass(
        &self,
        parcel: ToTopic<M>,
        _: &Address<ToTopic<M>>,
    ) -> Result<(), SendError<ToTopic<M>>> {
        let sent = self.0.send(ToAgent::From(parcel));
        sent.map_err(|SendError(refused)| match refused {
            ToAgent::From(parcel) => SendError(parcel),
            ToAgent::Publish(_) => unreachable!("a refused message comes back as it was"),
        })
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        self.0.forward_watch(notice);
    }
}

#[cfg(test)]
mod tests {
    use garrick_actor::{Local, Next, behavior};
    use garrick_testkit::notices_kept;

    use super::*;

    #[test]
    fn cancelled_watches_of_an_entry_do_not_pile_up() {
        let local = Local::new().unwrap();
        let agent = local.spawn(behavior(|_: ToAgent<u64>, _| Next::Continue));
        let watched = entry(&agent);
        let kept = notices_kept(&watched, 1_000, || local.run());
        assert!(kept <= 2 * 8, "{kept}");
    }
}
