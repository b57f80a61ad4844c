//! race, fork, join, par, seq, pipe.

use garrick_actor::behaviors::{Service, Side, fork, join, par, pipe, race, seq};
use garrick_actor::{Actor, Context, Next, NoReply, Reply};

use crate::stand::{DROPPED, Stand};

#[test]
fn the_first_answer_wins_and_the_others_vanish() {
    let stand = Stand::new();
    let (slow, asked) = stand.by_hand::<u32, u32>();
    let race = stand.spawn(race(vec![stand.mute(), slow, stand.echo()]));
    assert_eq!(stand.ask(&race, 7), Ok(7));

    let (question, reply) = asked.try_recv().unwrap();
    assert_eq!(question, 7);
    reply.send(8);
    stand.run();
    assert_eq!(stand.dead_letters(), 0);
}

#[test]
fn a_race_lasts_as_long_as_somebody_may_answer() {
    let stand = Stand::new();
    let (slow, asked) = stand.by_hand::<u32, u32>();
    let race = stand.spawn(race(vec![
        slow,
        stand.mute(),
        stand.doomed(),
        stand.stopped(),
    ]));
    let ask = race.ask(|reply| (1, reply));
    stand.run();
    asked.try_recv().unwrap().1.send(2);
    assert_eq!(stand.answer(ask), Ok(2));
}

#[test]
fn a_race_that_nobody_wins_has_no_answer() {
    let stand = Stand::new();
    let losers = vec![stand.mute(), stand.doomed(), stand.stopped()];
    for runners in [losers, Vec::new()] {
        let race = stand.spawn(race::<u32, u32>(runners));
        assert_eq!(stand.ask(&race, 1), Err(DROPPED));
        assert_eq!(stand.ask(&race, 2), Err(DROPPED));
    }
}

#[test]
fn a_fork_answers_with_both() {
    let stand = Stand::new();
    let negate = stand.service(|n: i32, reply: Reply<String>| reply.send((-n).to_string()));
    let fork = stand.spawn(fork(stand.echo(), negate));
    assert_eq!(stand.ask(&fork, 5), Ok((5, "-5".to_owned())));
}

#[test]
fn a_fork_with_one_side_failing_does_not_wait_for_the_other() {
    let stand = Stand::new();
    let failing: [Service<u32, u32>; 3] = [stand.mute(), stand.doomed(), stand.stopped()];
    for fails in failing {
        let (slow, asked) = stand.by_hand::<u32, u32>();
        let left = stand.spawn(fork(fails.clone(), slow.clone()));
        assert_eq!(stand.ask(&left, 1), Err(DROPPED));
        let right = stand.spawn(fork(slow, fails));
        assert_eq!(stand.ask(&right, 1), Err(DROPPED));
        asked.try_iter().for_each(|(n, reply)| reply.send(n));
        stand.run();
    }
    assert_eq!(stand.dead_letters(), 0);
}

/// Makes joins, and sends them what it is told to.
struct Joiner;

impl Actor for Joiner {
    type Msg = (Vec<Side<u32, u32>>, Reply<(u32, u32)>);

    fn receive(&mut self, (sides, reply): Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        let join = cx.spawn(join(reply));
        for side in sides {
            cx.send(&join, side).unwrap();
        }
        Next::Continue
    }
}

fn joined(sides: Vec<Side<u32, u32>>) -> Result<(u32, u32), NoReply> {
    let stand = Stand::new();
    let joiner = stand.spawn(Joiner);
    stand.ask(&joiner, sides)
}

#[test]
fn a_join_takes_its_sides_in_any_order() {
    assert_eq!(
        joined(vec![Side::Left(Ok(1)), Side::Right(Ok(2))]),
        Ok((1, 2))
    );
    assert_eq!(
        joined(vec![Side::Right(Ok(2)), Side::Left(Ok(1))]),
        Ok((1, 2))
    );
    let again = vec![Side::Left(Ok(3)), Side::Left(Ok(1)), Side::Right(Ok(2))];
    assert_eq!(joined(again), Ok((1, 2)));
}

#[test]
fn a_join_that_lacks_a_side_has_no_answer() {
    assert_eq!(joined(vec![]), Err(DROPPED));
    assert_eq!(joined(vec![Side::Left(Ok(1))]), Err(DROPPED));
    let failed = vec![
        Side::Left(Ok(1)),
        Side::Right(Err(DROPPED)),
        Side::Right(Ok(2)),
    ];
    assert_eq!(joined(failed), Err(DROPPED));
}

#[test]
fn par_answers_in_the_stated_order_whoever_comes_first() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand::<u32, u32>();
    let par = stand.spawn(par(vec![service; 4]));
    let ask = par.ask(|reply| (10, reply));
    stand.run();
    // All have been asked before any has answered, in order; the last one answers first.
    let requests: Vec<_> = asked.try_iter().collect();
    assert_eq!(requests.len(), 4);
    for (place, (n, reply)) in requests.into_iter().enumerate().rev() {
        reply.send(n + place as u32);
        stand.run();
    }
    assert_eq!(stand.answer(ask), Ok(vec![10, 11, 12, 13]));
}

#[test]
fn par_with_one_failing_has_no_answer() {
    let stand = Stand::new();
    let failing: [Service<u32, u32>; 3] = [stand.mute(), stand.doomed(), stand.stopped()];
    for fails in failing {
        let (slow, asked) = stand.by_hand();
        let par = stand.spawn(par(vec![stand.echo(), fails, slow]));
        assert_eq!(stand.ask(&par, 1), Err(DROPPED));
        asked.try_iter().for_each(|(n, reply)| reply.send(n));
        stand.run();
    }
    assert_eq!(stand.dead_letters(), 0);
}

#[test]
fn par_and_seq_of_nothing_answer_with_nothing() {
    let stand = Stand::new();
    let par = stand.spawn(par::<u32, u32>(Vec::new()));
    assert_eq!(stand.ask(&par, 1), Ok(Vec::new()));
    let seq = stand.spawn(seq::<u32, u32>(Vec::new()));
    assert_eq!(stand.ask(&seq, 1), Ok(Vec::new()));
}

#[test]
fn seq_asks_one_after_the_other() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand::<u32, u32>();
    let seq = stand.spawn(seq(vec![service; 3]));
    let ask = seq.ask(|reply| (10, reply));
    for place in 0..3 {
        stand.run();
        let (n, reply) = asked.try_recv().unwrap();
        assert!(
            asked.try_recv().is_err(),
            "the next one was asked too early"
        );
        reply.send(n + place);
    }
    assert_eq!(stand.answer(ask), Ok(vec![10, 11, 12]));
}

#[test]
fn seq_asks_nobody_behind_one_that_fails() {
    let stand = Stand::new();
    let failing: [Service<u32, u32>; 3] = [stand.mute(), stand.doomed(), stand.stopped()];
    for fails in failing {
        let (behind, asked) = stand.by_hand();
        let seq = stand.spawn(seq(vec![stand.echo(), fails, behind]));
        assert_eq!(stand.ask(&seq, 1), Err(DROPPED));
        assert!(asked.try_recv().is_err());
    }
}

#[test]
fn a_pipe_hands_the_first_answer_to_the_second() {
    let stand = Stand::new();
    let length = stand.service(|word: &str, reply: Reply<usize>| reply.send(word.len()));
    let double = stand.service(|n: usize, reply: Reply<usize>| reply.send(2 * n));
    let pipe = stand.spawn(pipe(length, double));
    assert_eq!(stand.ask(&pipe, "four"), Ok(8));
}

#[test]
fn a_pipe_with_a_broken_piece_has_no_answer() {
    let stand = Stand::new();
    let failing: [Service<u32, u32>; 3] = [stand.mute(), stand.doomed(), stand.stopped()];
    for fails in failing {
        let first = stand.spawn(pipe(fails.clone(), stand.echo()));
        assert_eq!(stand.ask(&first, 1), Err(DROPPED));
        let second = stand.spawn(pipe(stand.echo(), fails));
        assert_eq!(stand.ask(&second, 1), Err(DROPPED));
    }
}
