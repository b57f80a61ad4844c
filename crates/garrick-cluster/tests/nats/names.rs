//! Names of nodes, which belong to one node at a time.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use garrick_actor::{Actor, Address, Context, Ended, Handle, SendError, System};
use garrick_cluster::nats::{NameState, NatsNet};
use garrick_cluster::{JoinError, Node};
use garrick_testkit::{HANGS_AFTER, wait};

use crate::place::{Msg, Place, ends, until, users};
use crate::server::Server;

/// Environment variable with the address of the server, for the process that is killed.
const OWNER: &str = "GARRICK_TEST_NATS_OWNER";

fn join(server: &str, name: &str) -> Result<(System, NatsNet, Node), JoinError> {
    let (system, net) = (System::new().unwrap(), NatsNet::builder(server).start());
    let net = net.unwrap();
    let node = Node::join(&system.handle(), net.clone(), "test", name)?;
    Ok((system, net, node))
}

#[test]
fn a_name_belongs_to_one_node() {
    let Some(server) = Server::start("") else {
        return;
    };
    let (system, net, node) = join(&server.address(), "here").unwrap();
    let began = Instant::now();
    let error = join(&server.address(), "here").unwrap_err();
    assert_eq!(
        error,
        JoinError::Taken {
            name: "here".into()
        }
    );
    println!("refused after {:?}", began.elapsed());
    // A connection is that of one node.
    let error = Node::join(&system.handle(), net.clone(), "test", "there").unwrap_err();
    assert!(
        error.to_string().contains("that of the node here already"),
        "{error}"
    );
    let error = Node::join(&system.handle(), net.clone(), "a.b", "here").unwrap_err();
    assert!(
        error.to_string().contains("not a valid name for a cluster"),
        "{error}"
    );
    // After the node has left, the connection can have another one.
    node.leave();
    assert!(net.close(Duration::from_secs(10)));
    let there = Node::join(&system.handle(), net, "test", "there").unwrap();
    join(&server.address(), "here").unwrap();
    drop(there);
}

/// An actor that tries to join in a turn.
struct Hasty(Handle, NatsNet);

impl Actor for Hasty {
    type Msg = garrick_actor::Reply<Result<(), JoinError>>;
    type Outcome = ();

    fn receive(&mut self, reply: Self::Msg, _: &mut Context<'_, Self::Msg>) {
        let joined = Node::join(&self.0, self.1.clone(), "test", "here");
        reply.send(joined.map(drop));
    }
}

#[test]
fn a_turn_does_not_wait_until_a_node_has_joined() {
    let Some(server) = Server::start("") else {
        return;
    };
    let system = System::new().unwrap();
    let net = NatsNet::builder(server.address()).start().unwrap();
    let hasty = system.spawn(Hasty(system.handle(), net)).unwrap();
    let joined = hasty.ask(|reply| reply).wait().unwrap();
    assert_eq!(joined, Err(JoinError::InTurn));
}

/// Starts a process that runs a test of this file. `variable` is the environment variable with the
/// address of the server. Also returns the lines that the process prints.
fn start(test: &str, variable: &str, server: &Server) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(variable, server.address())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines.map(Result::unwrap))
}

/// Starts a process with the node `here`, and waits until it has joined. Also returns the lines
/// that the process prints after that.
fn owner(server: &Server) -> (Child, impl Iterator<Item = String>) {
    let (child, mut lines) = start("names::a_crashed_node_is_replaced", OWNER, server);
    assert!(lines.any(|line| line.contains("has joined")));
    (child, lines)
}

/// Joins as a node, and waits until the node has lost its name. The process may be killed earlier.
fn be_owner(server: &str) {
    let place = Place::new(NatsNet::builder(server), "test", "here");
    let far: Address<Msg> = place.node.service("there", "counter").unwrap();
    println!("has joined");
    until("the name is lost", || {
        place.net.sample().name == NameState::Lost
    });
    // The transport has the node leave, soon after.
    until("the node has left", || far.is_stopped());
    let refused = far.send(Msg::Note(666)).is_err();
    println!("has lost its name, sends are refused: {refused}");
}

#[test]
fn a_crashed_node_is_replaced() {
    if let Ok(server) = std::env::var(OWNER) {
        return be_owner(&server);
    }
    let Some(server) = Server::start("") else {
        return;
    };
    let (mut owner, _) = owner(&server);
    let there = Place::new(NatsNet::builder(server.address()), "test", "there");
    let far = there.far("here");
    let end = ends(&far);
    let error = join(&server.address(), "here").unwrap_err();
    assert_eq!(
        error,
        JoinError::Taken {
            name: "here".into()
        }
    );
    owner.kill().unwrap();
    owner.wait().unwrap();
    let killed = Instant::now();
    let here = Place::new(NatsNet::builder(server.address()), "test", "here");
    let took = killed.elapsed();
    println!("replaced after {took:?}");
    assert!(
        took >= Duration::from_secs(5) && took < Duration::from_secs(15),
        "{took:?}"
    );
    // The others hear of the end, and find the next life.
    assert_eq!(
        end.recv_timeout(HANGS_AFTER),
        Ok(Ended::NodeLost("here".into()))
    );
    here.counter.send(Msg::Note(1)).unwrap();
    assert_eq!(there.far("here").ask(Msg::Count).wait(), Ok(1));
}

fn signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_node_that_was_stopped_for_too_long_leaves() {
    let Some(server) = Server::start("") else {
        return;
    };
    let (mut owner, mut lines) = owner(&server);
    let there = Place::new(NatsNet::builder(server.address()), "test", "there");
    let end = ends(&there.far("here"));
    signal(&owner, "-STOP");
    let here = Place::new(NatsNet::builder(server.address()), "test", "here");
    assert_eq!(
        end.recv_timeout(HANGS_AFTER),
        Ok(Ended::NodeLost("here".into()))
    );
    let far = here.far("there");
    signal(&owner, "-CONT");
    assert!(lines.any(|line| line.contains("has lost its name, sends are refused: true")));
    assert!(owner.wait().unwrap().success());
    // The next owner of the name is not disturbed.
    let losses = there.node.sample().losses;
    assert_eq!(far.ask(Msg::Count).wait(), Ok(0));
    assert_eq!(there.far("here").ask(Msg::Count).wait(), Ok(0));
    assert_eq!(there.node.sample().losses, losses);
    assert_eq!(here.net.sample().name, NameState::Held);
}

/// Environment variable with the address of the server, for the process that claims a name.
const CANDIDATE: &str = "GARRICK_TEST_NATS_CANDIDATE";

/// Time for which a record must be unchanged before a candidate may replace it.
const UNCHANGED_FOR: Duration = Duration::from_secs(5);

/// Tries to join as the node `here`, and prints the result.
fn be_candidate(server: &str) {
    let (system, net) = (System::new().unwrap(), NatsNet::builder(server));
    let net = net.join_within(HANGS_AFTER).start().unwrap();
    match Node::join(&system.handle(), net, "test", "here") {
        Ok(_) => println!("claim: has joined"),
        Err(JoinError::Taken { .. }) => println!("claim: the name is taken"),
        Err(error) => println!("claim: {error}"),
    }
}

/// Waits until the bucket with the names has changed `count` times.
fn until_changed(server: &Server, count: u64) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.address()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream("KV_g_test_nodes").await.unwrap();
        let last = async || stream.get_info().await.unwrap().state.last_sequence;
        let (before, began) = (last().await, Instant::now());
        while last().await < before + count {
            assert!(began.elapsed() < HANGS_AFTER, "nobody claims the name");
        }
    });
}

/// A process that is killed if its test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_candidate_that_was_stopped_in_the_middle_of_its_claim_takes_over_nothing() {
    if let Ok(server) = std::env::var(CANDIDATE) {
        return be_candidate(&server);
    }
    let Some(server) = Server::start("") else {
        return;
    };
    let (owner, _lines) = owner(&server);
    let mut owner = Running(owner);
    signal(&owner.0, "-STOP");
    let test = "names::a_candidate_that_was_stopped_in_the_middle_of_its_claim_takes_over_nothing";
    let (candidate, mut lines) = start(test, CANDIDATE, &server);
    let mut candidate = Running(candidate);
    // Each look at the record writes something. It has looked at least twice.
    until_changed(&server, 4);
    signal(&candidate.0, "-STOP");
    let stopped = Instant::now();
    until("the record is old", || stopped.elapsed() > UNCHANGED_FOR);
    // The candidate continues first, but it cannot know if the owner has been stopped, too.
    signal(&candidate.0, "-CONT");
    until_changed(&server, 2);
    signal(&owner.0, "-CONT");
    let claim = lines.find(|line| line.contains("claim: ")).unwrap();
    assert!(claim.contains("claim: the name is taken"), "{claim}");
    assert!(candidate.0.wait().unwrap().success());
    // The owner has kept its name, and answers.
    let there = Place::in_test(&server.address(), "there");
    assert_eq!(there.far("here").ask(Msg::Count).wait(), Ok(0));
    assert!(owner.0.try_wait().unwrap().is_none());
}

/// Writes the record of the node `here`, like another node that has taken over its name. If
/// `record` is `None`, writes the current record again.
fn overwrite(server: &Server, record: Option<&'static str>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let client = async_nats::connect(server.address()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let store = context.get_key_value("g_test_nodes").await.unwrap();
        let own = store.get("here").await.unwrap().unwrap();
        let record = record.map_or(own, Into::into);
        store.put("here", record).await.unwrap();
    });
}

#[test]
fn a_renewal_without_an_answer_was_a_renewal() {
    let Some(server) = Server::start("") else {
        return;
    };
    let here = Place::new(NatsNet::builder(server.address()), "test", "here");
    for _ in 0..3 {
        // Its own record, with a revision that it does not know.
        overwrite(&server, None);
        let error = join(&server.address(), "here").unwrap_err();
        assert_eq!(
            error,
            JoinError::Taken {
                name: "here".into()
            }
        );
    }
    assert_eq!(here.net.sample().name, NameState::Held);
    assert_eq!(here.net.sample().problem, "");
}

#[test]
fn a_candidate_whose_updates_do_not_go_through_takes_over_nothing() {
    let users = users(&["here"], |_, line| !line.contains("probe"));
    let open = "{ user: owner, password: secret }, ";
    let users = users.replace("users = [", &format!("users = [ {open}"));
    let Some(server) = Server::start(&users) else {
        return;
    };
    let as_user = |user: &str| NatsNet::builder(server.address()).user(user, "secret");
    let (system, net) = (System::new().unwrap(), as_user("owner").start().unwrap());
    let node = Node::join(&system.handle(), net.clone(), "test", "here").unwrap();
    node.leave();
    assert!(net.close(HANGS_AFTER));
    // The record of a node that has crashed, and a candidate that may change it, but not its own
    // probe.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let options = async_nats::ConnectOptions::new();
        let options = options.user_and_password("owner".into(), "secret".into());
        let client = options.connect(server.address()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let store = context.get_key_value("g_test_nodes").await.unwrap();
        store.put("here", "garrick 1 1 1".into()).await.unwrap();
    });
    let limit = Duration::from_secs(8);
    let net = as_user("here").join_within(limit).start().unwrap();
    let error = Node::join(&system.handle(), net, "test", "here").unwrap_err();
    assert!(matches!(error, JoinError::Transport { .. }), "{error}");
    let net = as_user("owner").start().unwrap();
    Node::join(&system.handle(), net, "test", "here").unwrap();
}

#[test]
fn a_node_that_has_lost_its_name_leaves() {
    let Some(server) = Server::start("") else {
        return;
    };
    let place = |name| Place::new(NatsNet::builder(server.address()), "test", name);
    let (here, there) = (place("here"), place("there"));
    let far = here.far("there");
    let (end, end_of_here) = (ends(&far), ends(&there.far("here")));
    overwrite(
        &server,
        Some("garrick 1 00000000000000000000000000000001 0"),
    );
    assert_eq!(wait(&end), Ended::NodeLost("there".into()));
    assert_eq!(wait(&end_of_here), Ended::NodeLost("here".into()));
    assert!(matches!(far.send(Msg::Note(1)), Err(SendError(_))));
    until("it knows", || here.net.sample().name == NameState::Lost);
    // The record of the other one stays.
    let error = join_within(&server, Duration::from_secs(2));
    assert!(error.contains("g_test_nodes"), "{error}");
}

/// Tries to join with the name of a node whose record does not change. The time limit is too short
/// for taking over the name.
fn join_within(server: &Server, limit: Duration) -> String {
    let builder = NatsNet::builder(server.address()).join_within(limit);
    let (system, net) = (System::new().unwrap(), builder.start().unwrap());
    let joined = Node::join(&system.handle(), net, "test", "here");
    joined.unwrap_err().to_string()
}

#[test]
fn a_server_that_has_forgotten_everything_ends_the_nodes() {
    let Some(mut server) = Server::start("") else {
        return;
    };
    let address = server.address();
    let place = |name| Place::new(NatsNet::builder(&address), "test", name);
    let (here, there) = (place("here"), place("there"));
    let far: Address<Msg> = here.far("there");
    server.kill();
    server.forget();
    server.start_again();
    // As long as nobody makes the bucket again, the nodes go on.
    until("messages pass", || far.ask(Msg::Count).wait().is_ok());
    let other = place("other");
    until("the names are lost", || {
        [&here, &there].map(|place| place.net.sample().name) == [NameState::Lost; 2]
    });
    // A node loses its name a moment before its addresses end.
    until("the node has left", || {
        matches!(far.send(Msg::Note(1)), Err(SendError(_)))
    });
    assert_eq!(other.net.sample().name, NameState::Held);
}
