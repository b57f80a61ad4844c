//! News that all nodes publish, and their readers.

use std::collections::BTreeMap;
use std::time::Duration;

use garrick_actor::{Actor, Context};
use garrick_cluster::{Entities, MembersSample, Node, Topic, TopicSample, Wire};
use garrick_sim::Facts;

/// Time between two messages of the same publisher.
const PAUSE: Duration = Duration::from_secs(1);

/// Time after its start at which a reader must receive the news of all nodes.
const SUBSCRIBED_AFTER: u64 = 5_000_000_000;

/// A message. Each incarnation of a node has a publisher.
#[derive(Wire, Clone, Debug, PartialEq, Eq)]
#[wire(name = "test.News")]
pub(crate) struct News {
    publisher: String,
    number: u64,
}

/// An incarnation of a node: the name of the node, and the number of the incarnation.
pub(crate) type LifeName = (&'static str, u64);

#[derive(Debug)]
pub(crate) struct Published(LifeName, u64);
#[derive(Debug)]
pub(crate) struct Subscribed(LifeName);
#[derive(Debug)]
pub(crate) struct Read(LifeName, News);

/// A fact: the counters of a node, after the last publication.
#[derive(Debug)]
pub(crate) struct Sampled {
    life: LifeName,
    topic: TopicSample,
    members: MembersSample,
    /// Number of times that the node has lost another node.
    losses: u64,
}

pub(crate) struct Reader(pub(crate) LifeName);

impl Actor for Reader {
    type Msg = News;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, News>) {
        cx.note(Subscribed(self.0));
    }

    fn receive(&mut self, news: News, cx: &mut Context<'_, News>) {
        cx.note(Read(self.0, news));
    }
}

pub(crate) enum ToPublisher {
    Publish,
    Sample,
}

/// Publishes a message each second.
pub(crate) struct Publisher {
    pub(crate) life: LifeName,
    pub(crate) node: Node,
    pub(crate) entities: Entities,
    pub(crate) topic: Topic<News>,
    pub(crate) number: u64,
    /// Time after which the publisher stops.
    pub(crate) ends_at: Duration,
    pub(crate) samples_after: Duration,
}

impl Actor for Publisher {
    type Msg = ToPublisher;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToPublisher>) {
        let me = cx.address();
        let _ = cx.send_after(PAUSE, &me, ToPublisher::Publish);
        let _ = cx.send_after(self.samples_after, &me, ToPublisher::Sample);
    }

    fn receive(&mut self, message: ToPublisher, cx: &mut Context<'_, ToPublisher>) {
        match message {
            ToPublisher::Publish if Duration::from_nanos(cx.now()) < self.ends_at => {
                self.number += 1;
                let news = News {
                    publisher: format!("{:?}", self.life),
                    number: self.number,
                };
                if self.topic.publish(news).is_ok() {
                    cx.note(Published(self.life, self.number));
                }
                let me = cx.address();
                let _ = cx.send_after(PAUSE, &me, ToPublisher::Publish);
            }
            ToPublisher::Publish => {}
            ToPublisher::Sample => cx.note(Sampled {
                life: self.life,
                topic: self.topic.sample(),
                members: self.entities.members(),
                losses: self.node.sample().losses,
            }),
        }
    }
}

/// Numbers of the news that each reader has received from each publisher.
type Got<'a> = BTreeMap<(LifeName, &'a str), Vec<u64>>;

fn got(facts: &Facts) -> Got<'_> {
    let mut got = Got::new();
    for Read(reader, news) in facts.seen::<Read>() {
        let of_publisher = got.entry((*reader, &*news.publisher)).or_default();
        of_publisher.push(news.number);
    }
    got
}

/// Checks that readers receive the news of a publisher in order, and only once.
pub(crate) fn come_in_order(facts: &Facts) -> Result<(), String> {
    for (pair, numbers) in got(facts) {
        if !numbers.is_sorted_by(|one, other| one < other) {
            return Err(format!("{pair:?}: {numbers:?}"));
        }
    }
    Ok(())
}

/// Checks that the readers of all nodes in `lives` receive all news that these nodes publish after
/// `from`.
pub(crate) fn all_come(facts: &Facts, lives: &[LifeName], from: Duration) -> Result<(), String> {
    let (from, got) = (from.as_nanos() as u64, got(facts));
    let mut begun: BTreeMap<LifeName, u64> = BTreeMap::new();
    for (at, Subscribed(reader)) in facts.timed::<Subscribed>() {
        begun.insert(*reader, at + SUBSCRIBED_AFTER);
    }
    let mut checked = 0;
    for (at, Published(publisher, number)) in facts.timed::<Published>() {
        let readers = lives.iter().filter(|reader| at >= begun[*reader].max(from));
        let name = format!("{publisher:?}");
        for reader in readers.filter(|_| lives.contains(publisher)) {
            checked += 1;
            let numbers = got.get(&(*reader, &*name));
            if !numbers.is_some_and(|numbers| numbers.contains(number)) {
                return Err(format!(
                    "{reader:?} has not got {number} of {name}, sent at {at}"
                ));
            }
        }
    }
    match checked {
        0..20 => Err(format!("only {checked} were checked")),
        _ => Ok(()),
    }
}

/// Checks that each message that is missing between two received messages is counted as lost, if no
/// node was lost. While a node is lost, messages are not sent to it, and are not counted.
pub(crate) fn losses_are_counted(facts: &Facts) -> Result<(), String> {
    let is_lost = |sampled: &Sampled| {
        let members = &sampled.members;
        // A node that joins may be removed before it knows that it is a member.
        members.lost + members.removed + sampled.losses > 0 || members.joined > 1
    };
    if facts.seen::<Sampled>().any(is_lost) {
        return Ok(());
    }
    let mut missed: BTreeMap<LifeName, u64> = BTreeMap::new();
    for ((reader, _), numbers) in got(facts) {
        let [first, .., last] = numbers[..] else {
            continue;
        };
        *missed.entry(reader).or_default() += last + 1 - first - numbers.len() as u64;
    }
    for Sampled { life, topic, .. } in facts.seen::<Sampled>() {
        let missed = missed.get(life).copied().unwrap_or(0);
        if missed > topic.lost {
            return Err(format!("{life:?} has missed {missed}, but {topic:?}"));
        }
    }
    Ok(())
}

/// Checks that no news are lost.
pub(crate) fn nothing_is_lost(facts: &Facts) -> Result<(), String> {
    let is_bad = |sampled: &&Sampled| {
        let topic = &sampled.topic;
        topic.lost + topic.refused + topic.missed + topic.failed > 0 || topic.received == 0
    };
    match facts.seen::<Sampled>().find(is_bad) {
        Some(sampled) => Err(format!("{sampled:?}")),
        None => Ok(()),
    }
}
