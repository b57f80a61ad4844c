//! Messages between nodes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Address, Ended, NoReply};
use garrick_cluster::nats::{NameState, NatsNet};
use garrick_testkit::wait;

use crate::place::{Msg, Place, ends, may_be, noted, until, users};
use crate::server::Server;

#[test]
fn messages_answers_and_ends_cross_a_server() {
    let Some(server) = Server::start("") else {
        return;
    };
    let (there, here) = Place::pair(&server.address());
    let far = here.far("there");
    for number in 0..10_000 {
        far.send(Msg::Note(number)).unwrap();
    }
    assert_eq!(far.ask(Msg::Count).wait(), Ok(10_000));
    assert!(noted(&there.counter).into_iter().eq(0..10_000));
    // Large frames, and more than a window.
    for _ in 0..40 {
        far.send(Msg::Large(vec![7; 400_000])).unwrap();
    }
    assert_eq!(far.ask(Msg::Count).wait(), Ok(10_040));
    // A watch hears of the end of an actor, and of that of a node.
    let second = there
        .system
        .spawn(crate::place::Counter::default())
        .unwrap();
    there.node.offer("second", &second);
    let far_second: Address<Msg> = here.node.service("there", "second").unwrap();
    let (end, end_of_node) = (ends(&far_second), ends(&far));
    let never = far.ask(Msg::Never);
    assert_eq!(far.ask(Msg::Count).wait(), Ok(10_040));
    far_second.stop();
    assert_eq!(wait(&end), Ended::Stopped);
    there.node.leave();
    assert_eq!(wait(&end_of_node), Ended::NodeLost("there".into()));
    assert_eq!(never.wait(), Err(NoReply::NodeLost));
    assert!(there.net.close(Duration::from_secs(10)));
    assert_eq!(there.net.sample().name, NameState::Left);
    until("its record is deleted", || here.net.sample().nodes == 1);
    // The name is free at once, and its next life is known.
    let again = Place::in_test(&server.address(), "there");
    assert_eq!(far.ask(Msg::Count).wait(), Ok(0));
    drop(again);
    let sample = here.net.sample();
    assert!(
        sample.is_connected && sample.slow_consumers == 0,
        "{sample:?}"
    );
    assert_eq!(sample.name, NameState::Held);
}

#[test]
fn a_node_answers_a_node_of_which_it_has_not_heard_yet() {
    // The node `there` may not watch the records.
    let users = users(&["here", "there"], |node, line| {
        node == "here" || !line.contains("CONSUMER.CREATE")
    });
    let Some(server) = Server::start(&users) else {
        return;
    };
    let place = |name: &str| {
        let builder = NatsNet::builder(server.address()).user(name, "secret");
        Place::new(builder, "test", name)
    };
    let (there, here) = (place("there"), place("here"));
    until("all records are known", || here.net.sample().nodes == 2);
    assert_eq!(there.net.sample().nodes, 0);
    let far: Address<Msg> = here.node.service("there", "counter").unwrap();
    // The first question, at once.
    assert_eq!(far.ask(Msg::Count).wait(), Ok(0));
    assert_eq!(there.net.sample().nodes, 1);
}

#[test]
fn nothing_comes_twice_or_late_if_the_server_is_killed() {
    let Some(mut server) = Server::start("") else {
        return;
    };
    let (there, here) = Place::pair(&server.address());
    let far = here.far("there");
    let (is_over, next) = (AtomicBool::new(false), AtomicU64::new(0));
    let answers = std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            while !is_over.load(Relaxed) {
                // Refused if too much is waiting.
                if far.send(Msg::Note(next.load(Relaxed))).is_ok() {
                    next.fetch_add(1, Relaxed);
                }
                std::thread::yield_now();
            }
        });
        let asker = scope.spawn(|| {
            let mut answers = Vec::new();
            while !is_over.load(Relaxed) {
                answers.push(far.ask(Msg::Count).wait());
                std::thread::park_timeout(Duration::from_millis(1));
            }
            answers
        });
        for _ in 0..3 {
            let before = next.load(Relaxed);
            let count = || there.counter.ask(Msg::Count).wait().unwrap();
            let noted = count();
            until("messages flow", || count() > noted + 500);
            server.kill();
            until("both notice", || {
                !(here.net.sample().is_connected || there.net.sample().is_connected)
            });
            server.start_again();
            until("both are connected", || {
                here.net.sample().is_connected && there.net.sample().is_connected
            });
            let noted = count();
            until("messages flow again", || count() > noted + 500);
            assert!(next.load(Relaxed) > before);
        }
        until("the names are held", || {
            [&here, &there].map(|place| place.net.sample().name) == [NameState::Held; 2]
        });
        is_over.store(true, Relaxed);
        sender.join().unwrap();
        asker.join().unwrap()
    });
    assert!(answers.iter().all(may_be), "{answers:?}");
    let far = here.far("there");
    let noted = noted(&there.counter);
    assert_eq!(far.ask(Msg::Count).wait(), Ok(noted.len() as u64));
    assert!(noted.is_sorted_by(|one, other| one < other));
    println!(
        "{} of {} messages came; {} answers, {} lost; {:?}",
        noted.len(),
        next.load(Relaxed),
        answers.iter().filter(|answer| answer.is_ok()).count(),
        answers.iter().filter(|answer| answer.is_err()).count(),
        here.node.sample(),
    );
    assert_eq!(here.net.sample().connects, 4);
    // The nodes hear of others again.
    let _third = Place::in_test(&server.address(), "third");
    until("the new node is known", || here.net.sample().nodes == 3);
}

#[test]
fn clusters_on_one_server_do_not_see_each_other() {
    let Some(server) = Server::start("") else {
        return;
    };
    let place = |cluster, name| Place::new(NatsNet::builder(server.address()), cluster, name);
    let one = [place("one", "here"), place("one", "there")];
    let two = [place("two", "here"), place("two", "there")];
    let [far_one, far_two] = [&one, &two].map(|cluster| cluster[0].far("there"));
    far_one.send(Msg::Note(1)).unwrap();
    assert_eq!(far_one.ask(Msg::Count).wait(), Ok(1));
    assert_eq!(far_two.ask(Msg::Count).wait(), Ok(0));
    let only = place("three", "here");
    until("it knows itself", || only.net.sample().nodes == 1);
    assert_eq!(only.net.sample().frames_received, 0);
    for place in one.iter().chain(&two) {
        assert_eq!(place.node.sample().frames_dropped, 0);
        assert_eq!(place.net.sample().nodes, 2);
    }
}
