//! Tests stages with many channels: fan-out, fan-in, partition by key, waits for bundles, and full
//! channels that block others.
use std::error::Error;
use std::sync::mpsc;

use garrick_flow::testing::{Seen, StageDriver};
use garrick_flow::{CONDITIONS_MAX, Graph, Receivers, Senders, Slots, Wait, stages};

type Result = std::result::Result<(), Box<dyn Error>>;

/// Number of values that the tests with whole graphs send.
const MANY: u64 = if cfg!(debug_assertions) {
    30_000
} else {
    300_000
};

/// Takes all values that are in a channel.
fn taken(receiver: &mut garrick_flow::Receiver<u64>) -> Vec<u64> {
    let mut values = Vec::new();
    receiver.pop_each(usize::MAX, |value| values.push(value));
    values
}

#[test]
fn a_wait_over_a_bundle_is_one_condition() -> Result {
    let mut graph = Graph::new();
    let (mut tx, mut rx): (Senders<u64>, Receivers<u64>) = graph.bundle(3 * CONDITIONS_MAX, 4)?;
    let waits = [
        Wait::any_readable(&rx, 2),
        Wait::readable_of(2, &rx, 1),
        Wait::all_readable(&rx, 1),
        Wait::any_free(&tx, 4),
        Wait::all_free(&tx, 4),
    ];
    let probes =
        waits.map(|wait| StageDriver::new(&graph, move |_: &mut garrick_flow::Cx<'_>| wait));
    let mut probes = probes;
    let mut seen = || probes.each_mut().map(|probe| probe.step() == Seen::Ready);
    assert_eq!(seen(), [false, false, false, true, true]);
    tx[11].push_slice(&[1]);
    assert_eq!(seen(), [false, false, false, true, false]);
    tx[5].push_slice(&[1]);
    assert_eq!(seen(), [false, true, false, true, false]);
    tx[11].push_slice(&[1]);
    assert_eq!(seen(), [true, true, false, true, false]);
    tx.iter_mut().for_each(|tx| {
        tx.push_slice(&[1]);
    });
    assert_eq!(seen(), [true, true, true, false, false]);
    for rx in &mut rx {
        taken(rx);
    }
    assert_eq!(seen(), [false, false, false, true, true]);
    Ok(())
}

#[test]
fn channels_of_a_bundle_that_are_over_do_not_count() -> Result {
    let mut graph = Graph::new();
    let (tx, mut rx) = graph.bundle::<u64>(3, 4)?;
    let wait = Wait::all_readable(&rx, 1).and(Wait::until(u64::MAX));
    let all = Wait::all_readable(&rx, 1);
    let mut never = StageDriver::new(&graph, move |_: &mut garrick_flow::Cx<'_>| wait);
    let mut all = StageDriver::new(&graph, move |_: &mut garrick_flow::Cx<'_>| all);
    let mut senders = tx.into_iter();
    let (mut first, second, third) = (senders.next(), senders.next(), senders.next());
    drop(second);
    assert_eq!((all.step(), never.step()), (Seen::Waits, Seen::Waits));
    first.as_mut().ok_or("there are three")?.push_slice(&[7]);
    assert_eq!(all.look(), Seen::Waits, "the third is empty");
    drop(third);
    assert_eq!((all.look(), never.look()), (Seen::Ready, Seen::Waits));
    drop(first);
    assert_eq!(never.look(), Seen::Waits, "a value is left");
    taken(&mut rx[0]);
    assert_eq!(never.look(), Seen::Ready, "nothing can come");
    Ok(())
}

#[test]
fn equal_keys_go_one_way_in_order() -> Result {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel(64)?;
    let (parts, parts_in) = graph.bundle::<u64>(3, Slots::of(16).named("part"))?;
    graph.source("numbers", stages::produce(numbers, 0..MANY));
    graph.stage("part", stages::partition(input, parts, |n| n % 100));
    let (keys, seen) = mpsc::channel();
    for (index, part) in parts_in.into_iter().enumerate() {
        let keys = keys.clone();
        let mut last = [None; 100];
        let check = move |numbers: &[u64]| {
            for number in numbers {
                let key = (number % 100) as usize;
                assert!(last[key].replace(*number) < Some(*number), "out of order");
                let _ = keys.send((key, index));
            }
        };
        graph.stage("check", stages::consume(part, check));
    }
    drop(keys);
    let report = graph.start()?.join();
    assert!(report.failures().is_empty(), "{report:?}");
    let mut home = [None; 100];
    let mut count = 0;
    for (key, index) in seen {
        assert_eq!(*home[key].get_or_insert(index), index, "{key} is at home");
        count += 1;
    }
    assert_eq!(count, MANY);
    let used = (0..3).filter(|part| home.contains(&Some(*part)));
    assert_eq!(used.count(), 3, "{home:?}");
    assert_eq!(report.channels()[2].name.as_deref(), Some("part 1"));
    Ok(())
}

#[test]
fn a_full_part_holds_up_all_and_a_closed_one_ends_the_stage() -> Result {
    let mut graph = Graph::new();
    let (mut numbers, input) = graph.channel(64)?;
    let (parts, parts_in) = graph.bundle::<u64>(2, 4)?;
    let mut probe = StageDriver::new(&graph, stages::partition(input, parts, |n| *n));
    // Two keys, one for each part.
    let mut parts_in: Vec<_> = parts_in.into_iter().collect();
    let mut home = |key, probe: &mut StageDriver<'_, _>| {
        numbers.push_slice(&[key]);
        probe.run(10);
        parts_in.iter_mut().position(|part| !taken(part).is_empty())
    };
    let first = home(0, &mut probe);
    let other = (1..100).find(|key| home(*key, &mut probe) != first);
    let other = other.ok_or("all keys have one home")?;
    let [full, free] = if first == Some(0) { [0, 1] } else { [1, 0] };
    numbers.push_slice(&[0, 0, 0, 0, 0, other]);
    assert_eq!(probe.run(10), Seen::Waits);
    assert_eq!(
        parts_in[free].readable(),
        0,
        "its value is behind the fifth"
    );
    assert_eq!(taken(&mut parts_in[full]), [0; 4]);
    assert_eq!(probe.look(), Seen::Ready);
    assert_eq!(probe.run(10), Seen::Waits);
    assert_eq!(taken(&mut parts_in[free]), [other]);
    drop(parts_in.remove(full));
    assert_eq!(probe.step(), Seen::Done);
    Ok(())
}

#[test]
fn a_stage_whose_receivers_are_all_gone_ends_even_if_no_value_comes() -> Result {
    let mut graph = Graph::new();
    let (_numbers, input) = graph.channel::<u64>(4)?;
    let (parts, parts_in) = graph.bundle::<u64>(2, 4)?;
    let mut probe = StageDriver::new(&graph, stages::partition(input, parts, |n| *n));
    assert_eq!(probe.run(10), Seen::Waits);
    drop(parts_in);
    assert_eq!(probe.run(10), Seen::Done);
    Ok(())
}

#[test]
fn turns_pass_over_the_full_and_the_gone() -> Result {
    let mut graph = Graph::new();
    let (mut numbers, input) = graph.channel(Slots::of(64).batch(2))?;
    let (work, work_in) = graph.bundle::<u64>(3, Slots::of(4).batch(2))?;
    let mut probe = StageDriver::new(&graph, stages::distribute(input, work));
    let mut work_in: Vec<_> = work_in.into_iter().collect();
    numbers.push_iter(0..6);
    assert_eq!(probe.run(10), Seen::Waits);
    let got: Vec<_> = work_in.iter_mut().map(taken).collect();
    assert_eq!(got, [[0, 1], [2, 3], [4, 5]]);
    // The second output is not read: the others get all values.
    numbers.push_iter(10..30);
    probe.run(100);
    while work_in[0].readable() + work_in[2].readable() > 0 {
        taken(&mut work_in[0]);
        taken(&mut work_in[2]);
        probe.run(100);
    }
    assert_eq!(work_in[1].readable(), 4);
    assert_eq!(numbers.sent(), 26);
    work_in.remove(1);
    work_in.remove(1);
    numbers.push_iter(30..34);
    assert_eq!(probe.run(10), Seen::Waits);
    assert_eq!(taken(&mut work_in[0]), [30, 31, 32, 33]);
    work_in.clear();
    assert_eq!(probe.step(), Seen::Done);
    Ok(())
}

#[test]
fn a_broadcast_reaches_all_that_are_there() -> Result {
    let mut graph = Graph::new();
    let (mut numbers, input) = graph.channel(64)?;
    let (copies, copies_in) = graph.bundle::<u64>(3, 4)?;
    let mut probe = StageDriver::new(&graph, stages::broadcast(input, copies));
    let mut copies_in: Vec<_> = copies_in.into_iter().collect();
    numbers.push_iter(0..6);
    assert_eq!(probe.run(10), Seen::Waits);
    assert_eq!(taken(&mut copies_in[0]), [0, 1, 2, 3]);
    assert_eq!(taken(&mut copies_in[1]), [0, 1, 2, 3]);
    assert_eq!(probe.look(), Seen::Waits, "the third is full");
    drop(copies_in.pop());
    assert_eq!(probe.run(10), Seen::Waits);
    for copy in &mut copies_in {
        assert_eq!(taken(copy), [4, 5]);
    }
    drop(numbers);
    assert_eq!(probe.run(10), Seen::Done);
    assert!(copies_in.iter().all(|copy| copy.is_closed()));
    Ok(())
}

#[test]
fn inputs_take_turns_and_keep_their_order() -> Result {
    let mut graph = Graph::new();
    let (parts, parts_in) = graph.bundle::<u64>(3, Slots::of(8).batch(2))?;
    let (all, mut all_in) = graph.channel(Slots::of(8).batch(2))?;
    let mut probe = StageDriver::new(&graph, stages::merge(parts_in, all));
    let mut parts: Vec<_> = parts.into_iter().collect();
    for (index, part) in (0..).zip(&mut parts) {
        part.push_iter(10 * index..10 * index + 5);
    }
    probe.step();
    assert_eq!(taken(&mut all_in), [0, 1, 10, 11, 20, 21]);
    assert_eq!(probe.run(10), Seen::Waits);
    assert_eq!(taken(&mut all_in), [2, 3, 12, 13, 22, 23, 4, 14]);
    parts.truncate(1);
    assert_eq!(probe.run(10), Seen::Waits);
    assert_eq!(taken(&mut all_in), [24]);
    parts.clear();
    assert_eq!(probe.run(10), Seen::Done);
    Ok(())
}

#[test]
fn nothing_is_lost_between_fan_out_and_fan_in() -> Result {
    for (width, capacity, is_team) in [
        (2, 1, false),
        (3, 16, true),
        (20, 256, true),
        (2, 64, false),
    ] {
        let mut graph = Graph::new();
        let (numbers, input) = graph.channel(capacity)?;
        let (work, work_in) = graph.bundle::<u64>(width, capacity)?;
        let (results, results_in) = graph.bundle::<u64>(width, capacity)?;
        let (all, all_in) = graph.channel(capacity)?;
        let count = MANY.min(5_000 * capacity as u64);
        let (sums, total) = mpsc::channel();
        let mut sum = 0;
        let add = move |numbers: &[u64]| {
            sum += numbers.iter().sum::<u64>();
            let _ = sums.send(sum);
        };
        let maps = work_in.into_iter().zip(results);
        let maps = maps.map(|(work, results)| stages::map(work, results, |n| n + 1));
        if is_team {
            let team = graph.team("maps");
            maps.fold(team, |team, map| team.stage("map", map));
        } else {
            maps.for_each(|map| graph.stage("map", map));
        }
        graph
            .team("fan")
            .stage("deal", stages::distribute(input, work))
            .stage("gather", stages::merge(results_in, all));
        graph.source("numbers", stages::produce(numbers, 0..count));
        graph.stage("add", stages::consume(all_in, add));
        let report = graph.start()?.join();
        assert!(report.failures().is_empty(), "{report:?}");
        assert_eq!(total.iter().last(), Some(count * (count + 1) / 2));
    }
    Ok(())
}
