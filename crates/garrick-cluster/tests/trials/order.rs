//! The order of messages to one actor through several of its addresses.

use std::sync::{Arc, Mutex};

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Context};

use crate::pair::{Msg, Pair};

/// Capacity of the mailbox of [`Notes`].
const CAPACITY: usize = 4;

/// An actor that notes the numbers that it receives.
struct Notes(Arc<Mutex<Vec<u64>>>);

impl Actor for Notes {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) {
        if let Msg::Add(number) = msg {
            self.0.lock().unwrap().push(number);
        }
    }
}

#[test]
fn messages_through_two_addresses_of_a_full_actor_stay_in_order() {
    let pair = Pair::met();
    let noted = Arc::<Mutex<Vec<u64>>>::default();
    let mailbox = Mailbox::bounded(CAPACITY, OnFull::Fail).unwrap();
    let handle = pair.local.handle();
    let notes = handle.actor(Notes(noted.clone())).mailbox(mailbox);
    let notes = notes.spawn().unwrap();
    let far = ["one", "other"].map(|name| {
        pair.server.offer(name, &notes);
        pair.client.service("server", name).unwrap()
    });
    let [one, other]: [Address<Msg>; 2] = far;
    let send = |to: &Address<Msg>, number| to.send(Msg::Add(number));
    let count = || noted.lock().unwrap().len();
    for number in 0..2 * CAPACITY as u64 {
        send(&one, number).unwrap();
    }
    pair.run();
    // There is room again, but the link does not know it yet.
    assert_eq!(count(), CAPACITY);
    assert!(send(&one, 99).is_err());
    send(&other, 8).unwrap();
    pair.run();
    assert_eq!(count(), CAPACITY, "the message has overtaken others");
    // Now both addresses count as full.
    assert!(send(&other, 99).is_err());
    pair.pass(4);
    for (to, number) in [(&other, 9), (&one, 10)] {
        send(to, number).unwrap();
        pair.run();
    }
    assert!(noted.lock().unwrap().iter().copied().eq(0..=10));
}
