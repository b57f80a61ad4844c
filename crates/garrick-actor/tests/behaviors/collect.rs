//! Tests of `race`, `fork`, `join`, `par`, `seq` and `pipe`.

use garrick_actor::behaviors::{Service, Side, fork, join, par, pipe, race, seq};
use garrick_actor::{Actor, Context, Next, NoReply, Reply};

use crate::stand::{DROPPED, Stand};

#[test]
fn the_first_answer_wins_and_the_others_vanish() {
    let stand = Stand::new();
    let (slow, asked) = stand.by_hand::<u32, u32>();
    let race = race(&stand.handle(), vec![stand.mute(), slow, stand.echo()]);
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
    let race = race(
        &stand.handle(),
        vec![slow, stand.mute(), stand.doomed(), stand.stopped()],
    );
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
        let race = race::<u32, u32>(&stand.handle(), runners);
        assert_eq!(stand.ask(&race, 1), Err(DROPPED));
        assert_eq!(stand.ask(&race, 2), Err(DROPPED));
    }
}

#[test]
fn a_fork_answers_with_both() {
    let stand = Stand::new();
    let negate = stand.service(|n: i32, reply: Reply<String>| reply.send((-n).to_string()));
    let fork = fork(&stand.handle(), stand.echo(), negate);
    assert_eq!(stand.ask(&fork, 5), Ok((5, "-5".to_owned())));
}

#[test]
fn a_fork_with_one_side_failing_does_not_wait_for_the_other() {
    let stand = Stand::new();
    let failing: [Service<u32, u32>; 3] = [stand.mute(), stand.doomed(), stand.stopped()];
    for fails in failing {
        let (slow, asked) = stand.by_hand::<u32, u32>();
        let left = fork(&stand.handle(), fails.clone(), slow.clone());
        assert_eq!(stand.ask(&left, 1), Err(DROPPED));
        let right = fork(&stand.handle(), slow, fails);
        assert_eq!(stand.ask(&right, 1), Err(DROPPED));
        asked.try_iter().for_each(|(n, reply)| reply.send(n));
        stand.run();
    }
    assert_eq!(stand.dead_letters(), 0);
}

/// Creates a `join` for each message, and sends the given answers to the `join`.
struct Joiner;

impl Actor for Joiner {
    type Msg = (Vec<Side<u32, u32>>, Reply<(u32, u32)>);
    type Outcome = ();

    fn receive(&mut self, (sides, reply): Self::Msg, cx: &mut Context<'_, Self::Msg>) {
        let join = cx.spawn(join(reply));
        for side in sides {
            cx.send(&join, side).unwrap();
        }
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
    let par = par(&stand.handle(), vec![service; 4]);
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
        let par = par(&stand.handle(), vec![stand.echo(), fails, slow]);
        assert_eq!(stand.ask(&par, 1), Err(DROPPED));
        asked.try_iter().for_each(|(n, reply)| reply.send(n));
        stand.run();
    }
    assert_eq!(stand.dead_letters(), 0);
}

#[test]
fn par_and_seq_of_nothing_answer_with_nothing() {
    let stand = Stand::new();
    let par = par::<u32, u32>(&stand.handle(), Vec::new());
    assert_eq!(stand.ask(&par, 1), Ok(Vec::new()));
    let seq = seq::<u32, u32>(&stand.handle(), Vec::new());
    assert_eq!(stand.ask(&seq, 1), Ok(Vec::new()));
}

#[test]
fn seq_asks_one_after_the_other() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand::<u32, u32>();
    let seq = seq(&stand.handle(), vec![service; 3]);
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
        let seq = seq(&stand.handle(), vec![stand.echo(), fails, behind]);
        assert_eq!(stand.ask(&seq, 1), Err(DROPPED));
        assert!(asked.try_recv().is_err());
    }
}

#[test]
fn a_pipe_hands_the_first_answer_to_the_second() {
    let stand = Stand::new();
    let length = stand.service(|word: &str, reply: Reply<usize>| reply.send(word.len()));
    let double = stand.service(|n: usize, reply: Reply<usize>| reply.send(2 * n));
    let pipe = pipe(&stand.handle(), length, double);
    assert_eq!(stand.ask(&pipe, "four"), Ok(8));
}

#[test]
fn a_pipe_with_a_broken_piece_has_no_answer() {
    let stand = Stand::new();
    let failing: [Service<u32, u32>; 3] = [stand.mute(), stand.doomed(), stand.stopped()];
    for fails in failing {
        let first = pipe(&stand.handle(), fails.clone(), stand.echo());
        assert_eq!(stand.ask(&first, 1), Err(DROPPED));
        let second = pipe(&stand.handle(), stand.echo(), fails);
        assert_eq!(stand.ask(&second, 1), Err(DROPPED));
    }
}

/// Asks the service in a turn that is then undone.
struct Hesitant(Service<u32, Vec<u32>>);

impl Actor for Hesitant {
    type Msg = Reply<Vec<u32>>;
    type Outcome = Next;

    fn receive(&mut self, reply: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        cx.send(&self.0, (1, reply)).unwrap();
        Next::Undo
    }
}

#[test]
fn a_turn_that_is_undone_has_asked_nobody() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand::<u32, u32>();
    for all in [
        par(&stand.handle(), vec![service.clone(); 2]),
        seq(&stand.handle(), vec![service; 2]),
    ] {
        let hesitant = stand.spawn(Hesitant(all));
        let ask = hesitant.ask(|reply| reply);
        assert_eq!(stand.answer(ask), Err(DROPPED));
        assert!(asked.try_recv().is_err());
    }
    assert_eq!(stand.dead_letters(), 0);
}

#[test]
fn a_service_on_a_system_that_has_ended_answers_that_nobody_does() {
    let (other, stand) = (Stand::new(), Stand::new());
    let race = race(&other.handle(), vec![stand.echo::<u32>()]);
    drop(other);
    assert_eq!(stand.ask(&race, 1), Err(DROPPED));
}
