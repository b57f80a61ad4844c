//! Messages of another type or of a newer version than the receiver knows.

use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_cluster::{Carrier, Node, Wire};

use crate::pair::{Msg, Pair, ready};

/// Messages of a newer node.
mod newer {
    use super::{Carrier, Reply, Wire};

    #[derive(Wire)]
    #[wire(name = "test.Older", context = Carrier)]
    pub(super) struct Older {
        #[wire(1)]
        pub(super) number: u64,
        #[wire(2)]
        pub(super) done: Option<Reply<u64>>,
    }

    #[derive(Wire)]
    #[wire(name = "test.Choice", context = Carrier)]
    pub(super) enum Choice {
        #[wire(1)]
        Old(Reply<u64>),
        #[wire(2)]
        New(Reply<u64>),
    }

    /// Request for a choice.
    #[derive(Wire)]
    #[wire(name = "test.Choose", context = Carrier)]
    pub(super) struct Choose(pub(super) Reply<Choice>);
}

#[derive(Wire)]
#[wire(name = "test.Older", context = Carrier)]
struct Older {
    #[wire(1)]
    number: u64,
}

#[derive(Wire)]
#[wire(name = "test.Choice", context = Carrier)]
enum Choice {
    #[wire(1)]
    Old(Reply<u64>),
}

#[derive(Wire)]
#[wire(name = "test.Choose", context = Carrier)]
struct Choose(Reply<Choice>);

/// An actor that receives numbers of the older version.
struct Olds;

impl Actor for Olds {
    type Msg = Older;
    type Outcome = ();

    fn receive(&mut self, older: Older, _: &mut Context<'_, Older>) {
        assert_eq!(older.number, 1);
    }
}

/// An actor that answers with choices of the older version.
struct Chooses;

impl Actor for Chooses {
    type Msg = Choice;
    type Outcome = ();

    fn receive(&mut self, Choice::Old(reply): Choice, _: &mut Context<'_, Choice>) {
        reply.send(3);
    }
}

/// An actor that answers with a choice of the newer version, which contains a question.
struct Offers {
    is_newer: bool,
}

impl Actor for Offers {
    type Msg = newer::Choose;
    type Outcome = ();

    fn receive(&mut self, choose: newer::Choose, cx: &mut Context<'_, newer::Choose>) {
        let back = Reply::to_task(cx.spawn(Takes), |answer| answer);
        choose.0.send(if self.is_newer {
            newer::Choice::New(back)
        } else {
            newer::Choice::Old(back)
        });
    }
}

/// An actor that receives an answer.
struct Takes;

impl Actor for Takes {
    type Msg = Result<u64, NoReply>;
    type Outcome = ();

    fn receive(&mut self, _: Self::Msg, _: &mut Context<'_, Self::Msg>) {}
}

/// Checks the number of refused messages, and the reason of the last one.
#[track_caller]
fn check_refusal(node: &Node, count: u64, text: &str) {
    let sample = node.sample();
    let refusal = sample.refusal.unwrap();
    assert!(refusal.contains(text), "{refusal}");
    assert_eq!(sample.refused, count);
}

#[test]
fn messages_of_another_type_are_refused() {
    let pair = Pair::met();
    let far: Address<Choice> = pair.client.service("server", "counter").unwrap();
    let ask = far.ask(Choice::Old);
    pair.run();
    assert_eq!(ready(ask), Some(Err(NoReply::Refused)));
    let text = "from the node client: there is no such receiver of messages of this type";
    check_refusal(&pair.server, 1, text);
    // The same door to a service that is not there.
    let nobody: Address<Msg> = pair.client.service("server", "nobody").unwrap();
    assert_eq!(pair.get(&nobody), Some(Err(NoReply::Refused)));
    check_refusal(&pair.server, 2, "there is no such receiver");
    assert_eq!(pair.server.sample().delivered, 1);
    pair.check();
}

#[test]
fn a_reply_in_a_field_that_is_skipped_is_refused() {
    let pair = Pair::new();
    let olds = pair.local.spawn(Olds);
    pair.server.offer("olds", &olds);
    let far: Address<newer::Older> = pair.client.service("server", "olds").unwrap();
    let ask = far.ask(|reply| newer::Older {
        number: 1,
        done: Some(reply),
    });
    pair.run();
    assert_eq!(pair.server.sample().delivered, 1);
    assert_eq!(ready(ask), Some(Err(NoReply::Refused)));
    assert_eq!(pair.client.sample().questions, 0);
    pair.check_links();
}

#[test]
fn a_variant_of_a_newer_message_is_refused() {
    let pair = Pair::new();
    let chooses = pair.local.spawn(Chooses);
    pair.server.offer("chooses", &chooses);
    let far: Address<newer::Choice> = pair.client.service("server", "chooses").unwrap();
    let (old, new) = (far.ask(newer::Choice::Old), far.ask(newer::Choice::New));
    pair.run();
    assert_eq!(ready(old), Some(Ok(3)));
    assert_eq!(ready(new), Some(Err(NoReply::Refused)));
    assert_eq!(pair.server.sample().delivered, 1);
    check_refusal(&pair.server, 1, "from the node client");
    assert_eq!(pair.server.sample().losses, 0);
    pair.check();
}

#[test]
fn a_reply_in_an_answer_that_is_refused_is_refused() {
    for is_newer in [false, true] {
        let pair = Pair::new();
        let offers = pair.local.spawn(Offers { is_newer });
        pair.server.offer("offers", &offers);
        let far: Address<Choose> = pair.client.service("server", "offers").unwrap();
        let ask = far.ask(Choose);
        pair.run();
        match ready(ask).expect("the question has ended") {
            Ok(Choice::Old(reply)) if !is_newer => {
                assert_eq!(pair.server.sample().questions, 1);
                reply.send(1);
                pair.run();
            }
            Err(NoReply::Refused) if is_newer => check_refusal(&pair.client, 1, "an answer"),
            _ => panic!("the answer is wrong"),
        }
        assert_eq!(pair.server.sample().questions, 0);
        pair.check_links();
    }
}
