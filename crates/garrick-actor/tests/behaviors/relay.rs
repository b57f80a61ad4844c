//! Tests of `const`, `fwd`, `label`, `tag`, `sink`, `once`, `gatekeeper`, `counter` and
//! `contramap`.

use garrick_actor::behaviors::{
    Count, Gate, constant, counter, forward, gatekeeper, label, once, sink, tag,
};
use garrick_actor::{Ended, Reply, SendError};

use crate::stand::{DROPPED, Stand, heard};

#[test]
fn a_constant_answers_every_time() {
    let stand = Stand::new();
    let constant = constant("same");
    for _ in 0..3 {
        assert_eq!(stand.answer(constant.ask(|reply| reply)), Ok("same"));
    }
}

#[test]
fn a_forward_keeps_order_and_gives_back_what_its_target_would() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let forward = forward(target.clone());
    (0..100).for_each(|n| forward.send(n).unwrap());
    stand.run();
    assert_eq!(heard(&told), (0..100).collect::<Vec<_>>());

    stand.stop(&target);
    assert_eq!(forward.send(100), Err(SendError(100)));
}

#[test]
fn whoever_holds_a_door_cannot_stop_what_is_behind_it() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let forward = forward(target);
    forward.stop();
    stand.run();
    forward.send(1).unwrap();
    stand.run();
    assert_eq!(heard(&told), [1]);
}

#[test]
fn who_watches_a_door_with_one_target_watches_the_target() {
    let stand = Stand::new();
    let (target, _told) = stand.listener::<(char, u32)>();
    let labelled = label(target.clone(), 'a');
    let (ended, endings) = std::sync::mpsc::channel();
    for door in [labelled.clone(), forward(labelled)] {
        let ended = ended.clone();
        door.watch(move |how| ended.send(how).unwrap());
    }
    stand.run();
    assert_eq!(heard(&endings), []);
    stand.stop(&target);
    assert_eq!(heard(&endings), [Ended::Stopped, Ended::Stopped]);
}

#[test]
fn doors_give_back_what_they_got_not_what_they_made_of_it() {
    let stand = Stand::new();
    let gone = stand.stopped::<(char, u32)>();
    assert_eq!(label(gone.clone(), 'a').send(1), Err(SendError(1)));
    let adapted = gone.contramap(|n| ('a', n));
    assert_eq!(adapted.send(2), Err(SendError(2)));
    let (tagged, _) = tag(stand.stopped());
    assert_eq!(tagged.send(3), Err(SendError(3)));
}

#[test]
fn an_adapter_gives_away_one_variant() {
    let stand = Stand::new();
    let counter = stand.spawn(counter());
    let reset = counter.contramap(|()| Count::Reset);
    counter.send(Count::Up).unwrap();
    reset.send(()).unwrap();
    assert_eq!(stand.answer(counter.ask(Count::Read)), Ok(0));
}

#[test]
fn a_contramap_gives_back_what_its_target_would() {
    let stand = Stand::new();
    let seen = stand.stopped::<usize>().contramap(|word: &str| word.len());
    assert_eq!(seen.send("one"), Err(SendError("one")));
    assert!(seen.is_stopped());
}

#[test]
fn a_reply_in_an_undeliverable_message_says_so() {
    let stand = Stand::new();
    let forward = forward(stand.stopped::<Reply<u32>>());
    assert_eq!(stand.answer(forward.ask(|reply| reply)), Err(DROPPED));
}

#[test]
fn labels_tell_ways_apart() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let (a, b) = (label(target.clone(), 'a'), label(target, 'b'));
    a.send(1).unwrap();
    stand.run();
    b.send(2).unwrap();
    stand.run();
    assert_eq!(heard(&told), [('a', 1), ('b', 2)]);
}

#[test]
fn tags_are_all_different() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let ((a, tag_of_a), (b, tag_of_b)) = (tag(target.clone()), tag(target));
    a.send(1).unwrap();
    stand.run();
    b.send(2).unwrap();
    stand.run();
    assert_eq!(heard(&told), [(tag_of_a, 1), (tag_of_b, 2)]);
}

#[test]
fn a_sink_handles_what_it_swallows() {
    let stand = Stand::new();
    let sink = sink::<Reply<u32>>();
    assert_eq!(stand.answer(sink.ask(|reply| reply)), Err(DROPPED));
    assert_eq!(stand.dead_letters(), 0);
}

#[test]
fn once_passes_one_and_forgets_its_target() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let once = stand.spawn(once(target));
    (0..3).for_each(|n| once.send(n).unwrap());
    stand.run();
    assert_eq!(heard(&told), [0]);
    assert_eq!(stand.dead_letters(), 0);
    // The target was the once's alone, and is gone with its end of the channel.
    assert!(told.recv().is_err());
}

#[test]
fn once_to_a_target_that_has_stopped_is_a_dead_letter() {
    let stand = Stand::new();
    let once = stand.spawn(once(stand.stopped()));
    once.send(1).unwrap();
    stand.run();
    assert_eq!(stand.dead_letters(), 1);
}

#[test]
fn a_closed_gate_tells_whoever_comes_late() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let gate = stand.spawn(gatekeeper(target));
    let guest = gate.contramap(Gate::Pass);
    guest.send(1).unwrap();
    stand.run();
    gate.send(Gate::Close).unwrap();
    guest.send(2).unwrap();
    stand.run();
    assert_eq!(heard(&told), [1]);
    assert_eq!(stand.dead_letters(), 1);
    assert!(guest.send(3).is_err());
}

#[test]
fn a_gate_to_nowhere_stops() {
    let stand = Stand::new();
    let gate = stand.spawn(gatekeeper(stand.stopped()));
    gate.send(Gate::Pass(1)).unwrap();
    stand.run();
    assert_eq!(stand.dead_letters(), 1);
    assert!(gate.is_stopped());
}

#[test]
fn a_counter_counts_and_begins_again() {
    let stand = Stand::new();
    let counter = stand.spawn(counter());
    let count = |ask: fn(Reply<i64>) -> Count| stand.answer(counter.ask(ask));
    for up in [true, true, false, true] {
        counter
            .send(if up { Count::Up } else { Count::Down })
            .unwrap();
    }
    assert_eq!(count(Count::Read), Ok(2));
    assert_eq!(count(Count::Take), Ok(2));
    assert_eq!(count(Count::Read), Ok(0));
    counter.send(Count::Down).unwrap();
    assert_eq!(count(Count::Read), Ok(-1));
    counter.send(Count::Reset).unwrap();
    assert_eq!(count(Count::Read), Ok(0));
}
