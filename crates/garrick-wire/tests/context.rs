//! Values that the encoder moves into a table of the context, and the decoder takes out of it.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};

use garrick_wire::{Decoder, Encoder, Limits, Reason, Shape, Wire, WireError};

/// One end of a link. A number in each answer identifies the handle to which the answer belongs.
#[derive(Default)]
struct Link {
    waiting: BTreeMap<u64, Sender<String>>,
    next: u64,
    /// Maximum number of answers that the link waits for.
    max: usize,
    /// Answers that this end sends to the other end. The field replaces a socket.
    answers: Vec<(u64, String)>,
}

/// A handle for one answer. It is neither `Clone` nor `Sync`, like a reply of an actor.
struct Answer(Target);

enum Target {
    Here(Sender<String>),
    There(u64),
}

impl Answer {
    fn new() -> (Self, Receiver<String>) {
        let (sender, receiver) = channel();
        (Self(Target::Here(sender)), receiver)
    }

    fn send(self, text: &str, link: &mut Link) {
        match self.0 {
            Target::Here(sender) => sender.send(text.to_owned()).unwrap(),
            Target::There(number) => link.answers.push((number, text.to_owned())),
        }
    }
}

impl Wire<Link> for Answer {
    const NAME: &'static str = "answer";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Link>) -> Result<(), WireError> {
        let Target::Here(sender) = self.0 else {
            return Err(out.refused("an answer cannot be passed on"));
        };
        let link = out.context();
        if link.waiting.len() >= link.max {
            return Err(out.refused("the link waits for too many answers"));
        }
        let number = link.next;
        link.next += 1;
        link.waiting.insert(number, sender);
        out.varint(number)
    }

    fn decode(input: &mut Decoder<'_, Link>) -> Result<Self, WireError> {
        let number = input.varint()?;
        Ok(Self(Target::There(number)))
    }
}

/// The orphan rule allows this implementation for a type of another crate, because the context is a
/// type of this crate.
impl Wire<Link> for Sender<String> {
    const NAME: &'static str = "sender";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Link>) -> Result<(), WireError> {
        Answer(Target::Here(self)).encode(out)
    }

    fn decode(input: &mut Decoder<'_, Link>) -> Result<Self, WireError> {
        let number = input.varint()?;
        let known = input.context().waiting.remove(&number);
        known.ok_or_else(|| input.refused("the link has no such sender"))
    }
}

/// A message whose fields are in containers of the standard library, which do not use the context.
#[derive(Wire)]
#[wire(context = Link)]
enum Question {
    One {
        text: String,
        answer: Answer,
    },
    Many {
        answers: Vec<(u8, Option<Box<Answer>>)>,
    },
    Generic(Page<Answer>),
}

/// A generic type that implements `Wire` for all contexts. Its argument may need a context.
#[derive(Wire)]
struct Page<T> {
    items: Vec<T>,
    total: u64,
}

fn link() -> Link {
    Link {
        max: 10,
        ..Link::default()
    }
}

#[test]
fn a_value_is_moved_into_a_table_and_taken_out_at_the_other_side() {
    let (mut near, mut far, mut bytes) = (link(), link(), Vec::new());
    let (answer, answered) = Answer::new();
    let question = Question::One {
        text: "how many?".to_owned(),
        answer,
    };
    Limits::new()
        .encode_with(question, &mut bytes, &mut near)
        .unwrap();
    assert_eq!(near.waiting.len(), 1);

    let question: Question = Limits::new().decode_with(&bytes, &mut far).unwrap();
    let Question::One { text, answer } = question else {
        panic!("another variant");
    };
    assert_eq!(text, "how many?");
    answer.send("seven", &mut far);
    for (number, text) in far.answers {
        near.waiting.remove(&number).unwrap().send(text).unwrap();
    }
    assert_eq!(answered.recv().unwrap(), "seven");
}

#[test]
fn containers_and_generic_types_pass_the_context_on() {
    let (mut near, mut far, mut bytes) = (link(), link(), Vec::new());
    let answers = vec![
        (1, Some(Box::new(Answer::new().0))),
        (2, None),
        (3, Some(Box::new(Answer::new().0))),
    ];
    let limits = Limits::new();
    limits
        .encode_with(Question::Many { answers }, &mut bytes, &mut near)
        .unwrap();
    let Question::Many { answers } = limits.decode_with(&bytes, &mut far).unwrap() else {
        panic!("another variant");
    };
    let numbers: Vec<Option<u64>> = answers
        .into_iter()
        .map(|(_, answer)| match answer?.0 {
            Target::There(number) => Some(number),
            Target::Here(_) => None,
        })
        .collect();
    assert_eq!(numbers, [Some(0), None, Some(1)]);

    bytes.clear();
    let page = Page {
        items: vec![Answer::new().0],
        total: 1,
    };
    limits
        .encode_with(Question::Generic(page), &mut bytes, &mut near)
        .unwrap();
    let Question::Generic(page) = limits.decode_with(&bytes, &mut far).unwrap() else {
        panic!("another variant");
    };
    assert_eq!((page.items.len(), page.total), (1, 1));
    assert_eq!(
        <Page<Answer> as Wire<Link>>::NAME,
        "garrick-wire.Page<answer>"
    );
    // The generic type needs no context for arguments that need none.
    garrick_wire::to_vec(Page {
        items: vec![1_u8],
        total: 1,
    })
    .unwrap();
}

#[test]
fn a_context_may_refuse_a_value_at_each_side() {
    let (mut near, mut bytes) = (link(), b"before".to_vec());
    near.max = 1;
    let items = vec![Answer::new().0, Answer::new().0];
    let page = Question::Generic(Page { items, total: 2 });
    let error = Limits::new().encode_with(page, &mut bytes, &mut near);
    let error = error.unwrap_err();
    let why = "the link waits for too many answers".into();
    assert_eq!(*error.reason(), Reason::Refused { why });
    assert_eq!(bytes, b"before");
    // What was moved before the error stays, and the owner of the table decides about it.
    assert_eq!(near.waiting.len(), 1);

    let error = Limits::new().decode_with::<Link, Vec<Sender<String>>>(&[3, 0b1111], &mut near);
    let text = "at byte 2: the link has no such sender";
    assert_eq!(error.map(drop).unwrap_err().to_string(), text);
}

struct Panics;

impl Wire<Link> for Panics {
    const NAME: &'static str = "panics";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Link>) -> Result<(), WireError> {
        out.varint(1)?;
        garrick_testkit::fail()
    }

    fn decode(_: &mut Decoder<'_, Link>) -> Result<Self, WireError> {
        Ok(Self)
    }
}

#[test]
fn a_panic_leaves_the_buffer_as_it_was() {
    let (mut near, mut bytes) = (link(), b"before".to_vec());
    garrick_testkit::silence_panics();
    let encoded = catch_unwind(AssertUnwindSafe(|| {
        Limits::new().encode_with(vec![Panics], &mut bytes, &mut near)
    }));
    assert!(encoded.is_err());
    assert_eq!(bytes, b"before");
}
