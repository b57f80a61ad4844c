//! Nodes as sources of telemetry.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_cluster::placement::{Change, LocalPlacement, News, Placement};
use garrick_cluster::{
    Carrier, Entities, Incoming, JoinError, Kind, KindOptions, LocalNet, Node, NodeName, Transport,
    Wire,
};
use garrick_sim::testing::Kit;
use garrick_telemetry::{
    KindStatus, Level, LinkState, LinkStatus, MemberState, MemberStatus, Moment, Sampler, Settings,
    Snapshot, metrics_text,
};

#[derive(Wire)]
#[wire(name = "test.Count", context = Carrier)]
enum Count {
    Add(u64),
    Get(Reply<u64>),
}

#[derive(Default)]
struct Counter(u64);

impl Actor for Counter {
    type Msg = Count;
    type Outcome = ();

    fn receive(&mut self, count: Count, _: &mut Context<'_, Count>) {
        match count {
            Count::Add(number) => self.0 += number,
            Count::Get(reply) => reply.send(self.0),
        }
    }
}

const COUNTER: Kind<Count> = Kind::new("counter");

/// Number of shards of the kind of entities.
const SHARDS: u32 = 16;

/// The network and the placement of one node. Both lose all messages from and to the node that is
/// cut off.
#[derive(Clone)]
struct Cable {
    own: &'static str,
    net: LocalNet,
    placement: LocalPlacement,
    cut: Arc<Mutex<Option<&'static str>>>,
}

impl Cable {
    fn is_cut(&self, name: &str) -> bool {
        *self.cut.lock().unwrap() == Some(name)
    }
}

impl Transport for Cable {
    fn join(&self, of: &str, name: &NodeName, to: Address<Incoming>) -> Result<u64, JoinError> {
        self.net.join(of, name, to)
    }

    fn leave(&self, name: &NodeName, life: u64) {
        self.net.leave(name, life);
    }

    fn send(&self, to: &NodeName, frame: Incoming) -> bool {
        self.is_cut(self.own) || self.is_cut(to.as_str()) || self.net.send(to, frame)
    }
}

impl Placement for Cable {
    fn read(&self, since: u64, to: &Address<News>) {
        if !self.is_cut(self.own) {
            self.placement.read(since, to);
        }
    }

    fn change(&self, change: Change, to: &Address<News>) {
        if !self.is_cut(self.own) {
            self.placement.change(change, to);
        }
    }

    fn watch(&self, to: &Address<News>) {
        self.placement.watch(to);
    }
}

/// Two nodes, and a sampler that watches the node `a`.
struct Cluster {
    kit: Kit,
    cable: Cable,
    nodes: [Node; 2],
    sampler: Sampler,
    looks: u64,
    /// Texts of the alerts that have begun or ended.
    told: Vec<String>,
}

impl Cluster {
    fn new() -> Self {
        let kit = Kit::new();
        let cable = Cable {
            own: "",
            net: LocalNet::new(),
            placement: LocalPlacement::new(kit.handle()).unwrap(),
            cut: Arc::default(),
        };
        let nodes = ["a", "b"].map(|own| {
            let cable = Cable {
                own,
                ..cable.clone()
            };
            Node::join(kit.handle(), cable, "test", own).unwrap()
        });
        let mut sampler = Sampler::new(Settings::default()).unwrap();
        sampler.watch(nodes[0].clone());
        Self {
            kit,
            cable,
            nodes,
            sampler,
            looks: 0,
            told: Vec::new(),
        }
    }

    /// Starts entities on both nodes, and waits until they share the shards.
    fn with_entities() -> (Self, [Entities; 2]) {
        let mut cluster = Self::new();
        let mut entities = Vec::new();
        for (own, node) in ["a", "b"].into_iter().zip(&cluster.nodes) {
            let cable = Cable {
                own,
                ..cluster.cable.clone()
            };
            let of_node = Entities::start(node, cable).unwrap();
            let options = KindOptions::new()
                .shards(SHARDS)
                .idle(Some(Duration::from_secs(5)));
            let make = |_: &str| Counter::default();
            of_node.host(COUNTER, options, make).unwrap();
            entities.push(of_node);
        }
        cluster.kit.advance(Duration::from_secs(30));
        (cluster, entities.try_into().unwrap_or_else(|_| panic!()))
    }

    /// Offers a counter on the node `b`, and returns its address on the node `a`.
    fn counter(&mut self) -> Address<Count> {
        let counter = self.kit.spawn(Counter::default()).unwrap();
        self.nodes[1].offer("counter", &counter);
        self.nodes[0].service("b", "counter").unwrap()
    }

    /// Sends messages, each in a frame of its own.
    fn add(&mut self, counter: &Address<Count>, count: u64) {
        for _ in 0..count {
            counter.send(Count::Add(1)).unwrap();
            self.kit.run();
        }
    }

    fn cut(&mut self, name: Option<&'static str>) {
        *self.cable.cut.lock().unwrap() = name;
    }

    fn look(&mut self) -> Snapshot {
        self.looks += 1;
        let (snapshot, transitions) = self.sampler.tick(Moment {
            uptime: Duration::from_secs(self.looks),
            unix_ms: self.looks * 1_000,
        });
        let texts = transitions.into_iter().map(|one| one.alert.text);
        self.told.extend(texts);
        snapshot
    }

    /// Takes a sample, and returns the only link in it.
    fn link(&mut self) -> LinkStatus {
        let mut links = self.look().links;
        assert_eq!(links.len(), 1, "{links:?}");
        links.remove(0)
    }

    /// Takes a sample, and returns the two members in it.
    fn members(&mut self) -> [MemberStatus; 2] {
        self.look().members.try_into().unwrap()
    }

    /// Takes a sample, and returns the only kind of entities in it.
    fn kind(&mut self) -> KindStatus {
        let mut kinds = self.look().kinds;
        assert_eq!(kinds.len(), 1, "{kinds:?}");
        kinds.remove(0)
    }
}

#[test]
fn the_counters_of_a_link_are_exact_at_both_ends() {
    let mut cluster = Cluster::new();
    assert!(cluster.look().links.is_empty(), "no node was used yet");
    let counter = cluster.counter();
    cluster.add(&counter, 10);
    assert_eq!(cluster.kit.answer(counter.ask(Count::Get)), Ok(10));
    let link = cluster.link();
    assert_eq!((&*link.local, &*link.name, &*link.label), ("a", "b", "b"));
    assert_eq!(
        (link.state, link.level, &*link.incarnation),
        (LinkState::Up, Level::Ok, "1")
    );
    assert_eq!((link.sent_messages, link.received_messages), (11, 1));
    assert_eq!((link.connects, link.questions), (1, 0));
    let [a, b] = [0, 1].map(|node: usize| cluster.nodes[node].links().remove(0));
    assert_eq!((b.peer.as_str(), b.messages_taken), ("a", 11));
    assert_eq!((a.messages_sent, b.messages_sent), (11, 1));
    assert_eq!(
        (a.frames_sent, a.bytes_sent),
        (b.frames_taken, b.bytes_taken)
    );
    assert_eq!(
        (b.frames_sent, b.bytes_sent),
        (a.frames_taken, a.bytes_taken)
    );
    // The numbers of the node are the sums over its links.
    let sample = cluster.nodes[0].sample();
    assert_eq!(
        (link.sent_frames, link.sent_bytes),
        (sample.frames_sent, sample.bytes_sent)
    );
    assert_eq!(
        (link.lost_messages, link.missing_frames, link.waiting_frames),
        (0, 0, 0)
    );
    // A question without an answer is open.
    cluster.cut(Some("b"));
    let asked = counter.ask(Count::Get);
    cluster.kit.run();
    assert_eq!(cluster.link().questions, 1);
    drop(asked);
}

#[test]
fn a_loss_is_told_with_the_number_of_messages() {
    let mut cluster = Cluster::new();
    let counter = cluster.counter();
    cluster.add(&counter, 2);
    cluster.look();
    cluster.cut(Some("b"));
    cluster.add(&counter, 3);
    assert_eq!(cluster.link().lost_messages, 0, "nobody knows it yet");
    cluster.cut(None);
    cluster.add(&counter, 1);
    let link = cluster.link();
    assert_eq!((link.lost_frames, link.lost_messages), (3, 3));
    assert_eq!((link.new_lost_messages, link.sent_messages), (3, 6));
    assert_eq!(cluster.nodes[1].links()[0].frames_missing, 3);
    cluster.kit.advance(Duration::from_secs(2));
    assert_eq!(cluster.link().state, LinkState::Up);
    assert_eq!(cluster.kit.answer(counter.ask(Count::Get)), Ok(3));
}

#[test]
fn a_cut_link_is_down_until_the_nodes_are_connected_again() {
    let mut cluster = Cluster::new();
    let counter = cluster.counter();
    cluster.add(&counter, 4);
    cluster.kit.advance(Duration::from_secs(1));
    assert_eq!(cluster.link().state, LinkState::Up);
    cluster.cut(Some("b"));
    cluster.add(&counter, 5);
    cluster.kit.advance(Duration::from_secs(2));
    let silent = cluster.link();
    assert_eq!(silent.state, LinkState::Up);
    assert!(silent.silent_seconds.unwrap() >= 2.0, "{silent:?}");
    assert!(silent.unconfirmed_bytes > 0, "{silent:?}");
    cluster.kit.advance(Duration::from_secs(5));
    let down = cluster.link();
    assert_eq!((down.state, down.connects), (LinkState::Down, 1));
    assert_eq!((down.unconfirmed_messages, down.lost_messages), (5, 0));
    assert_eq!((down.unconfirmed_bytes, down.waiting_frames), (0, 0));
    // Messages now wait, and are lost when the node is still silent.
    let again: Address<Count> = cluster.nodes[0].service("b", "counter").unwrap();
    cluster.add(&again, 2);
    let waiting = cluster.link();
    assert_eq!(waiting.waiting_frames, 1);
    assert!(waiting.waiting_bytes > 0, "{waiting:?}");
    cluster.kit.advance(Duration::from_secs(7));
    let lost = cluster.link();
    assert_eq!((lost.waiting_frames, lost.lost_messages), (0, 2));
    assert!(
        lost.state_seconds > 7.0,
        "it was down all the time: {lost:?}"
    );
    cluster.cut(None);
    let again: Address<Count> = cluster.nodes[0].service("b", "counter").unwrap();
    cluster.add(&again, 1);
    cluster.kit.advance(Duration::from_secs(2));
    let up = cluster.link();
    assert_eq!((up.state, up.connects), (LinkState::Up, 2));
    cluster.nodes[1].leave();
    cluster.kit.run();
    assert_eq!(cluster.link().state, LinkState::Left);
    // After some time, it is no longer shown.
    cluster.kit.advance(Duration::from_secs(301));
    assert!(cluster.look().links.is_empty());
}

#[test]
fn a_killed_member_is_removed_and_its_shards_get_an_owner() {
    let (mut cluster, _entities) = Cluster::with_entities();
    let [a, b] = cluster.members();
    assert_eq!((&*a.name, &*b.name, &*b.local), ("a", "b", "a"));
    for member in [&a, &b] {
        assert_eq!(member.state, MemberState::Up);
        assert!(member.silent_seconds.unwrap() < 1.5, "{member:?}");
        assert_eq!(member.shards["counter"], member.owned_shards);
    }
    assert_eq!(a.owned_shards + b.owned_shards, u64::from(SHARDS));
    assert!(a.owned_shards > 0 && b.owned_shards > 0, "{a:?} {b:?}");
    let own = a.own.unwrap();
    assert!((3.0..=4.5).contains(&own.lease_seconds.unwrap()), "{own:?}");
    assert_eq!((own.joined, own.lost, b.own), (1, 0, None));
    let kind = cluster.kind();
    assert_eq!((&*kind.name, kind.is_hosted), ("counter", true));
    assert_eq!((kind.shards, kind.unowned_shards), (SHARDS.into(), 0));
    assert_eq!(kind.owned_shards, a.owned_shards);
    cluster.cut(Some("b"));
    cluster.kit.advance(Duration::from_secs(4));
    assert!(cluster.members()[1].silent_seconds.unwrap() > 2.5);
    cluster.kit.advance(Duration::from_secs(6));
    let [a, b] = cluster.members();
    assert_eq!((b.state, b.silent_seconds), (MemberState::Removed, None));
    assert_eq!((a.owned_shards, b.owned_shards), (SHARDS.into(), 0));
    assert_eq!(a.own.unwrap().removed, 1);
    assert_eq!(cluster.kind().owned_shards, u64::from(SHARDS));
    cluster.cut(None);
    cluster.kit.advance(Duration::from_secs(3));
    assert_eq!(cluster.members()[1].state, MemberState::Up);
}

#[test]
fn a_node_that_is_cut_off_shows_that_its_lease_is_over_and_holds_turns() {
    let (mut cluster, [entities, _]) = Cluster::with_entities();
    let own = (0..100).map(|number| entities.get(COUNTER, &number.to_string()).unwrap());
    let own: Vec<Address<Count>> = own.collect();
    cluster.cut(Some("a"));
    cluster.kit.advance(Duration::from_millis(4_600));
    let over = cluster.members()[0].clone();
    assert_eq!(over.own.unwrap().lease_seconds, Some(0.0));
    for counter in &own {
        counter.send(Count::Add(1)).unwrap();
    }
    cluster.kit.advance(Duration::from_millis(300));
    let held = cluster.members()[0].own.clone().unwrap();
    assert!(held.held_turns > 0, "{held:?}");
    assert!(cluster.kind().entities >= held.held_turns);
    cluster.cut(None);
    cluster.kit.advance(Duration::from_secs(5));
    let own = cluster.members()[0].own.clone().unwrap();
    assert_eq!(own.held_turns, 0);
    assert!(own.lease_seconds.unwrap() > 3.0, "{own:?}");
}

#[test]
fn entities_are_counted_until_they_are_idle() {
    let (mut cluster, [entities, _]) = Cluster::with_entities();
    for number in 0..20 {
        let counter = entities.get(COUNTER, &number.to_string()).unwrap();
        assert_eq!(cluster.kit.answer(counter.ask(Count::Get)), Ok(0));
    }
    let kind = cluster.kind();
    assert!((1..20).contains(&kind.entities), "{kind:?}");
    assert_eq!((kind.created, kind.passivated), (kind.entities, 0));
    cluster.kit.advance(Duration::from_secs(20));
    let idle = cluster.kind();
    assert_eq!((idle.entities, idle.passivated), (0, kind.created));
}

#[test]
fn a_node_that_drains_or_leaves_is_no_silent_one() {
    let (mut cluster, [_, entities]) = Cluster::with_entities();
    let drained = entities.drain();
    let mut states = Vec::new();
    for _ in 0..100 {
        cluster.kit.advance(Duration::from_millis(50));
        let state = cluster.members()[1].state;
        if states.last() != Some(&state) {
            states.push(state);
        }
    }
    assert_eq!(states.last(), Some(&MemberState::Left), "{states:?}");
    assert!(!states.contains(&MemberState::Removed), "{states:?}");
    assert_eq!(cluster.kit.answer(drained), Ok::<(), NoReply>(()));
    // The node that has left knows nothing about others any more.
    let mut sampler = Sampler::new(Settings::default()).unwrap();
    sampler.watch(cluster.nodes[1].clone());
    cluster.kit.advance(Duration::from_secs(60));
    let own = sampler.tick(Moment::default()).0;
    let states: Vec<_> = own.members.iter().map(|member| member.state).collect();
    assert_eq!(
        (&states[..], own.kinds.len()),
        (&[MemberState::Left][..], 0)
    );
    assert!(own.alerts.is_empty(), "{:?}", own.alerts);
    assert_eq!(cluster.kind().owned_shards, u64::from(SHARDS));
    cluster.kit.advance(Duration::from_secs(241));
    assert_eq!(cluster.look().members.len(), 1);
    assert!(cluster.told.is_empty(), "{:?}", cluster.told);
}

#[test]
fn alerts_tell_of_a_member_and_a_link_that_are_silent() {
    let (mut cluster, _entities) = Cluster::with_entities();
    let counter = cluster.counter();
    cluster.add(&counter, 3);
    cluster.look();
    cluster.cut(Some("b"));
    for _ in 0..40 {
        cluster.kit.advance(Duration::from_millis(250));
        cluster.look();
    }
    let [a, b] = cluster.members();
    assert_eq!((a.level, b.level), (Level::Ok, Level::Critical));
    assert_eq!(cluster.link().level, Level::Critical);
    let told = cluster.told.join("\n");
    for text in [
        "The member `b` has not renewed its membership for 3.",
        "The node `b` was removed from the cluster, because it was silent.",
        "The link to the node `b` is down: nothing arrives from that node.",
    ] {
        assert!(told.contains(text), "{text}\n{told}");
    }
    cluster.cut(None);
    cluster.add(&counter, 1);
    cluster.kit.advance(Duration::from_secs(3));
    cluster.look();
    let told = cluster.told.join("\n");
    assert!(
        told.contains("The node `b` no longer counts as removed."),
        "{told}"
    );
}

#[test]
fn alerts_tell_of_a_lease_that_ends() {
    let (mut cluster, _entities) = Cluster::with_entities();
    cluster.look();
    cluster.cut(Some("a"));
    for _ in 0..30 {
        cluster.kit.advance(Duration::from_millis(250));
        cluster.look();
    }
    let told = cluster.told.join("\n");
    assert!(
        told.contains("The lease of the node `a` ends in 1."),
        "{told}"
    );
    let over = "The lease of the node `a` has ended, so its entities hold the effects";
    assert!(told.contains(over), "{told}");
    // Others may be silent, but the node itself cannot tell.
    assert!(!told.contains("The member `b`"), "{told}");
    cluster.cut(None);
    cluster.kit.advance(Duration::from_secs(20));
    cluster.look();
    let told = cluster.told.join("\n");
    assert!(
        told.contains("The node `a` renews its lease again."),
        "{told}"
    );
}

#[test]
fn alerts_tell_of_lost_messages() {
    let mut cluster = Cluster::new();
    let counter = cluster.counter();
    cluster.add(&counter, 1);
    cluster.look();
    cluster.cut(Some("b"));
    cluster.add(&counter, 2);
    cluster.cut(None);
    cluster.add(&counter, 1);
    assert_eq!(cluster.link().level, Level::Warning);
    let lost = "The link to the node `b` has lost 2 messages in the window.";
    assert_eq!(cluster.told, [lost]);
}

#[test]
fn the_numbers_are_metrics_with_the_names_of_both_nodes() {
    let (mut cluster, _entities) = Cluster::with_entities();
    let counter = cluster.counter();
    cluster.add(&counter, 3);
    let snapshot = cluster.look();
    let text = metrics_text(&snapshot, "").text;
    for line in [
        "garrick_cluster_member_up{local=\"a\",peer=\"b\"} 1\n",
        "garrick_cluster_link_up{local=\"a\",peer=\"b\"} 1\n",
        "garrick_cluster_kind_shards{local=\"a\",kind=\"counter\"} 16\n",
        "garrick_cluster_joins_total{local=\"a\"} 1\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
