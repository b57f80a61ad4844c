//! Tests of actors made by `#[garrick::actor]`, from outside.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use garrick::prelude::*;
use garrick::{Ask, SendError, behavior};

#[derive(Debug, Default)]
struct Counter {
    n: u64,
    began: u64,
}

#[garrick::actor(pub(crate), name = "the counter", derive(Debug))]
impl Counter {
    const STEP: u64 = 1;

    fn new() -> Self {
        Self::default()
    }

    #[actor(started)]
    fn begin(&mut self, cx: &mut Context<'_, CounterMsg>) {
        self.n = 100;
        self.began += 1;
        let this = CounterHandle::new(cx.address());
        this.add(0).expect("it has just begun");
    }

    /// Adds to the count.
    ///
    /// However much.
    fn add(&mut self, by: u64) {
        self.n += by;
    }

    #[must_use = "it was asked for"]
    fn get(&self) -> u64 {
        self.n
    }

    fn began(&self) -> u64 {
        self.began
    }

    /// Counts `left` steps, one message each.
    fn step(&mut self, left: u64, cx: &mut Context<'_, CounterMsg>) -> Next {
        self.bump();
        match left {
            0 => Next::Stop,
            left => match cx.send(&cx.address(), CounterMsg::Step(left - 1)) {
                Ok(()) => Next::Continue,
                Err(_) => Next::Stop,
            },
        }
    }

    /// Answers with its count and stops.
    fn end(&mut self, reply: Reply<u64>) -> Next {
        reply.send(self.n);
        Next::Stop
    }

    /// Undoes its own answer, so that there is none.
    fn deny(&mut self, reply: Reply<u64>, (_, why): (u8, &'static str)) -> Next {
        assert_eq!(why, "because");
        reply.send(self.n);
        Next::Undo
    }

    fn crash(&mut self, _: &Context<'_, CounterMsg>) -> ! {
        panic!("as told, at {}", self.n)
    }

    fn r#type(&self, mut suffix: String) -> String {
        suffix.insert_str(0, "counter");
        suffix
    }

    /// Adds the counts of other counters.
    fn merge(&mut self, others: Vec<Self>) {
        self.n += others.into_iter().map(|other| other.n).sum::<u64>();
    }

    #[cfg(not(test))]
    fn absent(&mut self, nothing: NoSuchType) -> NoSuchType {
        nothing
    }

    #[cfg(test)]
    fn chosen(&self) -> &'static str {
        "the right one"
    }

    #[cfg(not(test))]
    fn chosen(&self) -> u8 {
        0
    }

    #[actor(skip)]
    fn bump(&mut self) {
        self.n += Self::STEP;
    }
}

fn counter(local: &Local) -> CounterHandle {
    local.spawn(Counter::new()).into()
}

/// Returns the answer to `ask` after the actors of `local` have run.
fn answer<R>(local: &Local, ask: Ask<R>) -> Result<R, NoReply> {
    local.run();
    ask.wait()
}

#[test]
fn methods_without_an_answer_send_and_the_others_ask() {
    let local = Local::new().unwrap();
    let counter = counter(&local);
    counter.add(2).unwrap();
    counter.add(3).unwrap();
    counter.merge(vec![Counter { n: 10, began: 0 }]).unwrap();
    assert_eq!(answer(&local, counter.get()), Ok(115));
    assert_eq!(answer(&local, counter.began()), Ok(1));
    assert_eq!(answer(&local, counter.chosen()), Ok("the right one"));
    let named = counter.r#type("!".to_owned());
    assert_eq!(answer(&local, named).as_deref(), Ok("counter!"));
    assert_eq!(Counter::name(), "the counter");
}

#[test]
fn what_comes_next_is_obeyed() {
    let local = Local::new().unwrap();
    let stepping = counter(&local);
    stepping.step(9).unwrap();
    local.run();
    assert!(stepping.address().is_stopped());
    let refused = stepping.add(1);
    assert!(matches!(refused, Err(SendError(CounterMsg::Add(1)))));
    assert_eq!(stepping.get().wait(), Err(NoReply::Dropped));

    let ending = counter(&local);
    assert_eq!(answer(&local, ending.end()), Ok(100));
    assert!(ending.address().is_stopped());

    let denying = counter(&local);
    let denied = answer(&local, denying.deny((0, "because")));
    assert_eq!(denied, Err(NoReply::Dropped));
    assert_eq!(answer(&local, denying.get()), Ok(100));
}

#[test]
fn a_method_may_never_return() {
    let local = garrick::System::builder()
        .on_failure(|failure| assert_eq!(failure.message, "as told, at 100"))
        .local()
        .unwrap();
    let counter = counter(&local);
    counter.crash().unwrap();
    assert_eq!(answer(&local, counter.get()), Err(NoReply::Dropped));
    assert_eq!(local.handle().failures(), 1);
}

#[test]
fn a_system_runs_them_too() {
    let system = System::new().unwrap();
    let counter = CounterHandle::from(system.spawn(Counter::new()).unwrap());
    for n in 1..=100 {
        counter.add(n).unwrap();
    }
    assert_eq!(counter.get().wait(), Ok(5150));
    system.shutdown();
}

#[test]
fn handles_are_as_good_as_addresses() {
    let local = Local::new().unwrap();
    let (one, two) = (counter(&local), counter(&local));
    assert_eq!(one, one.clone());
    assert_ne!(one, two);
    let set = HashSet::from([one.clone(), two.clone(), one.clone()]);
    assert_eq!(set.len(), 2);
    let address: Address<CounterMsg> = one.clone().into();
    assert_eq!(&address, one.address());
    assert_eq!(CounterHandle::from(address.clone()), one);
    assert_eq!(format!("{one:?}"), format!("CounterHandle({address:?})"));
}

#[test]
fn messages_can_be_made_by_hand() {
    let local = Local::new().unwrap();
    let counter = counter(&local);
    counter.address().send(CounterMsg::Add(1)).unwrap();
    let asked = counter.address().ask(CounterMsg::Get);
    assert_eq!(answer(&local, asked), Ok(101));
    assert_eq!(format!("{:?}", CounterMsg::Add(1)), "Add(1)");
    let denied = counter
        .address()
        .ask(|reply| CounterMsg::Deny((1, "because"), reply));
    assert_eq!(answer(&local, denied), Err(NoReply::Dropped));
}

/// Keeps the entries that it receives. The handle's type has the parameters of the block.
struct Cache<K, V> {
    entries: HashMap<K, V>,
}

#[garrick::actor(handle = Lookup, message = Entry)]
impl<K, V> Cache<K, V>
where
    K: Hash + Eq + Send + 'static,
    V: Clone + Send + 'static,
{
    fn put(&mut self, key: K, value: V) {
        self.entries.insert(key, value);
    }

    fn find(&self, key: K) -> Option<V> {
        self.entries.get(&key).cloned()
    }

    /// Returns the entry, or its default.
    fn take(&mut self, key: K, reply: Reply<V>, cx: &Context<'_, Entry<K, V>>) {
        let _ = cx.now();
        if let Some(value) = self.entries.remove(&key) {
            reply.send(value);
        }
    }
}

#[test]
fn parameters_of_the_block_are_those_of_the_handle() {
    let local = Local::new().unwrap();
    let entries = HashMap::new();
    let cache: Lookup<&str, Vec<u8>> = local.spawn(Cache { entries }).into();
    cache.put("a", vec![1]).unwrap();
    cache.put("b", vec![2]).unwrap();
    let message: Entry<&str, u8> = Entry::Put("c", 3);
    assert_eq!(format!("{message:?}"), "Put(..)");
    assert_eq!(answer(&local, cache.find("a")), Ok(Some(vec![1])));
    assert_eq!(answer(&local, cache.take("b")), Ok(vec![2]));
    assert_eq!(answer(&local, cache.take("b")), Err(NoReply::Dropped));
}

/// An actor whose parameters are in no message.
struct Pick<T, const N: usize> {
    of: [T; N],
    by: fn(&T) -> u64,
}

#[garrick::actor]
impl<T: 'static, const N: usize> Pick<T, N> {
    fn largest(&self, bias: [u64; N]) -> Option<u64> {
        let biased = self.of.iter().zip(bias);
        biased.map(|(one, bias)| (self.by)(one) + bias).max()
    }
}

#[test]
fn a_parameter_need_not_be_in_any_message() {
    let local = Local::new().unwrap();
    let of = ["one", "three"];
    let by = |word: &&str| word.len() as u64;
    let pick: PickHandle<&str, 2> = local.spawn(Pick { of, by }).into();
    assert_eq!(answer(&local, pick.largest([3, 0])), Ok(Some(6)));
    let asked = pick
        .address()
        .ask(|reply| match PickMsg::<&str, 2>::Largest([0, 9], reply) {
            PickMsg::Largest([a, b], reply) => PickMsg::Largest([b, a], reply),
        });
    assert_eq!(answer(&local, asked), Ok(Some(12)));
}

#[test]
fn the_methods_are_the_kinds_of_messages() {
    let names = ["Largest"];
    assert_eq!(<Pick<u8, 3> as Actor>::MESSAGES, names);
    assert_eq!(Counter::MESSAGES[..2], ["Add", "Get"]);
    assert_eq!(Counter::message_kind(&CounterMsg::Add(7)), 0);
    let system = System::builder().workers(1).probes(true).start().unwrap();
    let handle = system.handle();
    let counter: CounterHandle = system.spawn(Counter::new()).unwrap().into();
    counter.add(1).unwrap();
    counter.add(2).unwrap();
    assert_eq!(counter.get().wait(), Ok(103));
    system.shutdown();
    let sample = handle.sample();
    let mut kinds = sample.kinds.iter();
    let kind = kinds.find(|kind| kind.name == "the counter").unwrap();
    let turns = |name: &str| {
        let mut messages = kind.messages.iter();
        messages.find(|one| one.name == name).map(|one| one.turns)
    };
    // The start has sent one more.
    assert_eq!((turns("Add"), turns("Get")), (Some(3), Some(1)), "{kind:?}");
    assert_eq!(kind.messages.len(), 2, "{kind:?}");
}

/// Asks two counters, and answers with their sum when both have answered.
struct Sum {
    counters: [CounterHandle; 2],
    missing: usize,
    sum: u64,
    asked: Option<Reply<u64>>,
}

#[garrick::actor]
impl Sum {
    fn get(&mut self, reply: Reply<u64>, cx: &mut Context<'_, SumMsg>) {
        for counter in &self.counters {
            counter.get_to(cx, SumMsg::Got);
        }
        self.missing = self.counters.len();
        self.asked = Some(reply);
    }

    fn got(&mut self, answer: Result<u64, NoReply>) {
        self.sum += answer.unwrap_or(0);
        self.missing -= 1;
        if self.missing == 0
            && let Some(asked) = self.asked.take()
        {
            asked.send(self.sum);
        }
    }
}

#[test]
fn an_actor_gets_answers_as_messages() {
    let local = Local::new().unwrap();
    let counters = [counter(&local), counter(&local)];
    counters[0].add(20).unwrap();
    counters[1].add(3).unwrap();
    let sum = SumHandle::new(local.spawn(Sum {
        counters,
        missing: 0,
        sum: 0,
        asked: None,
    }));
    assert_eq!(answer(&local, sum.get()), Ok(223));
}

#[test]
fn a_behavior_gets_answers_as_messages() {
    let local = Local::new().unwrap();
    let counter = counter(&local);
    let (to, got) = std::sync::mpsc::channel();
    let asker = local.spawn(behavior(move |msg: Result<String, NoReply>, cx| {
        match msg {
            Ok(suffix) => counter.type_to(suffix, cx, |answer| match answer {
                Ok(_) => Err(NoReply::TimedOut),
                Err(error) => Err(error),
            }),
            Err(error) => to.send(error).unwrap(),
        }
        Next::Continue
    }));
    asker.send(Ok("!".to_owned())).unwrap();
    local.run();
    assert_eq!(got.try_recv(), Ok(NoReply::TimedOut));
}

/// Message that is neither `Send` nor `Clone`. It can be sent on one thread.
struct Bag(Vec<std::rc::Rc<u64>>);

#[garrick::actor]
impl Bag {
    fn put(&mut self, what: std::rc::Rc<u64>) {
        self.0.push(what);
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn messages_need_not_be_send() {
    let local = Local::new().unwrap();
    let bag = BagHandle::new(local.spawn(Bag(Vec::new())));
    bag.put(std::rc::Rc::new(1)).unwrap();
    assert_eq!(answer(&local, bag.len()), Ok(1));
}

/// Actor whose names look like those that the macro generates, but do not collide with them.
struct Names<H>(H);

#[derive(Clone, Copy)]
struct Asker(u8);

#[garrick::actor]
impl<H: Into<u8> + Copy + Send + 'static> Names<H> {
    fn all(&mut self, reply: u8, cx: u8, convert: u8, message: u8, address: u8) -> u8 {
        reply + cx + convert + message + address
    }

    fn unnamed(&self, [a, b]: [u8; 2], argument_1: Asker, _: u8) -> Asker {
        Asker(a + b + argument_1.0 + self.0.into())
    }
}

#[test]
fn arguments_may_have_any_name() {
    let local = Local::new().unwrap();
    let names = NamesHandle::new(local.spawn(Names(1_u8)));
    assert_eq!(answer(&local, names.all(1, 2, 3, 4, 5)), Ok(15));
    let sum = answer(&local, names.unnamed([1, 2], Asker(3), 0));
    assert_eq!(sum.map(|sum| sum.0), Ok(7));
}

/// Actor that no message ever reaches.
struct Silent(std::sync::mpsc::Sender<&'static str>);

#[garrick::actor]
impl Silent {
    #[actor(started)]
    fn begin(&self) -> Next {
        self.0.send("began").unwrap();
        Next::Stop
    }
}

#[test]
fn an_actor_may_have_no_messages() {
    let local = Local::new().unwrap();
    let (to, got) = std::sync::mpsc::channel();
    let silent = SilentHandle::new(local.spawn(Silent(to)));
    local.run();
    assert_eq!(got.try_recv(), Ok("began"));
    assert!(silent.address().is_stopped());
}
