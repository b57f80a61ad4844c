//! Tests of messages and answers of the maximum size.
#![forbid(unsafe_code)]

use std::sync::mpsc;

use garrick_actor::system::MESSAGE_BYTES_MAX;
use garrick_actor::{Actor, Address, Context, Next, Reply, System, behavior};

/// Returns an array of different numbers, so that a test notices a byte at the wrong place.
fn bytes<const N: usize>(first: u8) -> [u8; N] {
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = first.wrapping_add((index % 251) as u8);
    }
    bytes
}

/// Number of bytes that fit into a message of the maximum size together with a reply.
const BESIDE: usize = MESSAGE_BYTES_MAX - size_of::<Reply<Page>>();

type Page = [u8; MESSAGE_BYTES_MAX];

/// An actor that passes pages on to another actor.
struct Pass(Address<Page>);

impl Actor for Pass {
    type Msg = Page;
    type Outcome = ();

    fn receive(&mut self, page: Page, cx: &mut Context<'_, Page>) {
        let _ = cx.send(&self.0, page);
    }
}

#[test]
fn a_page_goes_from_outside_to_an_actor_and_to_the_next() {
    let system = System::builder().workers(2).start().unwrap();
    let (told, tells) = mpsc::channel();
    let last = system
        .spawn(behavior(move |page: Page, _| {
            told.send(page == bytes(page[0])).unwrap();
            Next::Continue
        }))
        .unwrap();
    let pass = system.spawn(Pass(last)).unwrap();
    for first in 0..100 {
        pass.send(bytes(first)).unwrap();
    }
    drop(pass);
    system.shutdown();
    assert_eq!(tells.iter().collect::<Vec<_>>(), [true; 100]);
}

#[test]
fn a_question_and_its_answer_may_have_as_many() {
    /// A question of the maximum size.
    struct Question([u8; BESIDE], Reply<Page>);
    assert_eq!(size_of::<Question>(), MESSAGE_BYTES_MAX);

    let system = System::builder().workers(1).start().unwrap();
    let oracle = system
        .spawn(behavior(|Question(asked, reply): Question, _| {
            assert_eq!(asked, bytes(asked[0]));
            reply.send(bytes(asked[0] + 1));
            Next::Continue
        }))
        .unwrap();
    for first in 0..100 {
        let answer = oracle.ask(|reply| Question(bytes(first), reply)).wait();
        assert!(answer == Ok(bytes(first + 1)));
    }
    drop(oracle);
    system.shutdown();
}
