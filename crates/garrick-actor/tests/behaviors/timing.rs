//! Tests of `timer`, `delay` and `timeout`, with a clock that is set by hand.

use garrick_actor::behaviors::{broadcast, delay, timeout, timer};
use garrick_actor::system::LetterReason;
use garrick_actor::{Handle, Next, behavior};
use garrick_testkit::{Bomb, ms, silence_panics};

use crate::stand::{DROPPED, Narrow, Stand, heard};

#[test]
fn a_timer_says_how_long_it_took() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand::<u32, u32>();
    let timer = timer(&stand.handle(), service);
    let ask = timer.ask(|reply| (1, reply));
    stand.run();
    stand.advance(ms(7));
    asked.try_recv().unwrap().1.send(2);
    assert_eq!(stand.answer(ask), Ok((2, ms(7))));
}

#[test]
fn a_timer_of_nothing_has_no_answer() {
    let stand = Stand::new();
    for fails in [stand.mute::<u32, u32>(), stand.doomed(), stand.stopped()] {
        let timer = timer(&stand.handle(), fails);
        assert_eq!(stand.ask(&timer, 1), Err(DROPPED));
    }
}

#[test]
fn a_delay_keeps_order_and_outlives_its_end() {
    let stand = Stand::new();
    let (target, told) = stand.listener();
    let delay = stand.spawn(delay(target, ms(5)));
    delay.send(1).unwrap();
    stand.run();
    stand.advance(ms(3));
    delay.send(2).unwrap();
    stand.run();
    stand.stop(&delay);
    stand.advance(ms(3));
    assert_eq!(heard(&told), [1]);
    stand.advance(ms(3));
    assert_eq!(heard(&told), [2]);
}

#[test]
fn a_delay_keeps_order_though_it_moves() {
    let (here, there) = (Stand::new(), Stand::new());
    let (target, told) = here.listener();
    // An actor that its `Local` has spawned would never move.
    let delay = here.handle().spawn(delay(target, ms(5))).unwrap();
    delay.send(1).unwrap();
    here.run();
    let (far, moved) = (there.handle(), delay.clone());
    let mover = here.spawn(behavior(move |n, cx| {
        cx.send_on(&far, &moved, n).unwrap();
        Next::Continue
    }));
    mover.send(2).unwrap();
    here.run();
    there.run();
    delay.send(3).unwrap();
    there.run();
    here.run();
    // The clock of the second system is ahead.
    there.advance(ms(6));
    here.run();
    here.advance(ms(6));
    assert_eq!(heard(&told), [1, 2, 3]);
    drop((delay, mover));
    here.run();
    assert_eq!(here.dead_letters() + there.dead_letters(), 0);
}

#[test]
fn messages_that_a_delay_has_accepted_go_beyond_the_bound_of_a_full_mailbox() {
    let (stand, target) = (Stand::new(), Narrow::new());
    let delay = stand.spawn(delay(target.address.clone(), ms(5)));
    for n in 0..5 {
        delay.send(n).unwrap();
    }
    stand.run();
    stand.advance(ms(6));
    assert_eq!(target.heard(), [0, 1, 2, 3, 4]);
    assert_eq!(stand.dead_letters(), 0);
}

#[test]
fn what_a_delay_still_holds_when_its_system_ends_is_dead_letters() {
    let stand = Stand::new();
    let handle = stand.handle();
    let (target, told) = stand.listener();
    let delay = stand.spawn(delay(target, ms(5)));
    for n in 0..3 {
        delay.send(n).unwrap();
        stand.run();
        stand.advance(ms(2));
    }
    assert_eq!(heard(&told), [0]);
    drop(stand);
    assert_eq!(handle.dead_letters(), 2);
}

/// Returns the numbers of dead letters by their reasons.
fn letters(of: &Handle) -> Vec<(LetterReason, u64)> {
    let mut letters: Vec<_> = of
        .sample()
        .letters
        .iter()
        .map(|l| (l.reason, l.count))
        .collect();
    letters.sort_unstable_by_key(|(_, count)| *count);
    letters
}

#[test]
fn what_a_delay_still_holds_is_dead_letters_with_the_reason_of_its_end() {
    silence_panics();
    let holds = |stand: &Stand, first: Option<Bomb>| {
        let (target, told) = stand.listener();
        let delay = stand.spawn(delay(target.clone(), ms(5)));
        delay.send(first).unwrap();
        for _ in 0..3 {
            delay.send(None).unwrap();
        }
        stand.run();
        (target, delay, told)
    };
    // The system ends.
    let stand = Stand::new();
    let handle = stand.handle();
    let _held = holds(&stand, None);
    drop(stand);
    assert_eq!(letters(&handle), [(LetterReason::ShutDown, 4)]);
    // The target stops.
    let stand = Stand::new();
    let (target, ..) = holds(&stand, None);
    stand.stop(&target);
    stand.advance(ms(6));
    let discarded = (LetterReason::Discarded, 1);
    assert_eq!(
        letters(&stand.handle()),
        [discarded, (LetterReason::Stopped, 3)]
    );
    // The actor that holds the messages fails, because the destructor of a message panics.
    let stand = Stand::new();
    let (target, ..) = holds(&stand, Some(Bomb));
    stand.stop(&target);
    stand.advance(ms(6));
    assert_eq!(
        letters(&stand.handle()),
        [discarded, (LetterReason::Failed, 3)]
    );
}

#[test]
fn a_delay_to_nowhere_is_a_dead_letter_at_once_or_later() {
    let stand = Stand::new();
    let (target, _told) = stand.listener();
    let delay = stand.spawn(delay(target.clone(), ms(5)));
    delay.send(1).unwrap();
    stand.run();
    stand.stop(&target);
    stand.advance(ms(6));
    assert_eq!(stand.dead_letters(), 1);
    delay.send(2).unwrap();
    stand.run();
    assert_eq!(stand.dead_letters(), 2);
    assert!(delay.is_stopped());
}

#[test]
fn a_delay_goes_on_though_a_full_mailbox_behind_a_door_refuses_a_message() {
    let stand = Stand::new();
    let target = Narrow::<u32>::new();
    let delay = stand.spawn(delay(broadcast(vec![target.address.clone()]), ms(5)));
    for n in [1, 2] {
        delay.send(n).unwrap();
        stand.run();
    }
    stand.advance(ms(3));
    delay.send(3).unwrap();
    stand.run();
    stand.advance(ms(3));
    assert_eq!(target.heard(), [1]);
    assert_eq!(stand.dead_letters(), 1);
    stand.advance(ms(3));
    assert_eq!(target.heard(), [3]);
    assert_eq!(stand.dead_letters(), 1);
}

#[test]
fn an_answer_in_time_is_passed_on_and_one_too_late_vanishes() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand::<u32, u32>();
    let timed = timeout(&stand.handle(), service, ms(5));
    let in_time = timed.ask(|reply| (1, reply));
    stand.run();
    let first = asked.try_recv().unwrap();
    let late = timed.ask(|reply| (2, reply));
    stand.run();
    let second = asked.try_recv().unwrap();
    stand.advance(ms(4));
    first.1.send(10);
    assert_eq!(stand.answer(in_time), Ok(10));
    stand.advance(ms(2));
    assert_eq!(stand.answer(late), Err(DROPPED));
    second.1.send(20);
    stand.run();
    assert_eq!(stand.dead_letters(), 0);
}

#[test]
fn a_service_that_fails_is_not_waited_for() {
    let stand = Stand::new();
    for fails in [stand.mute::<u32, u32>(), stand.doomed(), stand.stopped()] {
        let timed = timeout(&stand.handle(), fails, ms(5));
        assert_eq!(stand.ask(&timed, 1), Err(DROPPED));
    }
}
