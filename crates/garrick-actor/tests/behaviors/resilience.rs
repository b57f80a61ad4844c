//! Tests of `retry` and `breaker`.

use std::sync::mpsc::Receiver;

use garrick_actor::NoReply;
use garrick_actor::behaviors::{Circuit, Request, Service, breaker, retry};
use garrick_testkit::ms;

use crate::stand::{DROPPED, Narrow, Stand, heard};

/// Answers the only pending question, or drops its reply if `with` is `None`.
fn answer(asked: &Receiver<Request<u32, u32>>, with: Option<u32>) {
    let (_, reply) = asked.try_recv().expect("it was not asked");
    assert!(asked.try_recv().is_err(), "it was asked twice");
    if let Some(with) = with {
        reply.send(with);
    }
}

#[test]
fn a_question_is_tried_again_until_it_is_answered() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand();
    let retry = stand.spawn(retry(service).tries(4).backoff(ms(10), ms(15)));
    let ask = retry.ask(|reply| (1, reply));
    stand.run();
    for ceiling in [10, 15, 15] {
        answer(&asked, None);
        stand.run();
        stand.advance(ms(ceiling + 1));
    }
    answer(&asked, Some(5));
    assert_eq!(stand.answer(ask), Ok(5));
}

#[test]
fn after_the_last_try_there_is_no_answer() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand();
    let retry = stand.spawn(retry(service).tries(2).backoff(ms(10), ms(10)));
    let ask = retry.ask(|reply| (1, reply));
    stand.run();
    answer(&asked, None);
    stand.run();
    stand.advance(ms(11));
    answer(&asked, None);
    assert_eq!(stand.answer(ask), Err(DROPPED));
    stand.advance(ms(100));
    assert!(asked.try_recv().is_err());
}

#[test]
fn a_bad_answer_is_tried_again_and_the_last_one_is_the_answer() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand();
    let retry = retry(service)
        .tries(2)
        .backoff(ms(10), ms(10))
        .when(|&n| n == 0);
    let retry = stand.spawn(retry);
    for last in [0, 1] {
        let ask = retry.ask(|reply| (1, reply));
        stand.run();
        answer(&asked, Some(0));
        stand.run();
        stand.advance(ms(11));
        answer(&asked, Some(last));
        assert_eq!(stand.answer(ask), Ok(last));
    }
}

#[test]
fn one_that_has_stopped_is_not_tried_again() {
    let stand = Stand::new();
    for fails in [stand.doomed::<u32, u32>(), stand.stopped()] {
        let retry = stand.spawn(retry(fails).tries(100));
        assert_eq!(stand.ask(&retry, 1), Err(DROPPED));
    }
}

#[test]
#[should_panic(expected = "at least one try")]
fn no_tries_are_refused() {
    let stand = Stand::new();
    let _ = retry(stand.mute::<u32, u32>()).tries(0);
}

/// A circuit breaker that opens for 10 ms after two failures, and then passes two probes.
struct Circuitry {
    stand: Stand,
    breaker: Service<u32, u32>,
    asked: Receiver<Request<u32, u32>>,
    changes: Receiver<Circuit>,
}

impl Circuitry {
    fn new() -> Self {
        let stand = Stand::new();
        let (service, asked) = stand.by_hand();
        let (observer, changes) = stand.listener();
        let breaker = breaker(service).failures(2).rest(ms(10)).probes(2);
        let breaker = stand.spawn(breaker.notify(observer).when(|&n| n == 0));
        Self {
            stand,
            breaker,
            asked,
            changes,
        }
    }

    /// Asks the breaker, lets the service answer with `with`, and returns the result.
    fn asks(&self, with: Option<u32>) -> Result<u32, NoReply> {
        let ask = self.breaker.ask(|reply| (1, reply));
        self.stand.run();
        answer(&self.asked, with);
        self.stand.answer(ask)
    }

    /// Asks the breaker, and returns true if the question is refused without reaching the service.
    fn is_refused(&self) -> bool {
        let refused = self.stand.ask(&self.breaker, 1) == Err(DROPPED);
        refused && self.asked.try_recv().is_err()
    }

    fn opened() -> Self {
        let circuitry = Self::new();
        assert_eq!(circuitry.asks(None), Err(DROPPED));
        assert_eq!(circuitry.asks(None), Err(DROPPED));
        assert_eq!(heard(&circuitry.changes), [Circuit::Open]);
        circuitry
    }
}

#[test]
fn failures_in_a_row_open_it_and_others_do_not() {
    let circuitry = Circuitry::new();
    assert_eq!(circuitry.asks(None), Err(DROPPED));
    assert_eq!(circuitry.asks(Some(1)), Ok(1));
    assert_eq!(circuitry.asks(Some(0)), Ok(0), "a bad answer is passed on");
    assert_eq!(circuitry.asks(Some(1)), Ok(1));
    assert_eq!(heard(&circuitry.changes), []);
    assert_eq!(circuitry.asks(Some(0)), Ok(0));
    assert_eq!(circuitry.asks(None), Err(DROPPED));
    assert_eq!(heard(&circuitry.changes), [Circuit::Open]);
    assert!(circuitry.is_refused());
}

#[test]
fn when_the_probes_succeed_it_closes() {
    let circuitry = Circuitry::opened();
    circuitry.stand.advance(ms(9));
    assert!(circuitry.is_refused());
    circuitry.stand.advance(ms(1));
    assert_eq!(circuitry.asks(Some(1)), Ok(1));
    assert_eq!(heard(&circuitry.changes), [Circuit::HalfOpen]);
    assert_eq!(circuitry.asks(Some(1)), Ok(1));
    assert_eq!(heard(&circuitry.changes), [Circuit::Closed]);
    assert_eq!(circuitry.asks(Some(1)), Ok(1));
}

#[test]
fn when_a_probe_fails_it_opens_again() {
    let circuitry = Circuitry::opened();
    circuitry.stand.advance(ms(10));
    assert_eq!(circuitry.asks(Some(1)), Ok(1));
    assert_eq!(circuitry.asks(None), Err(DROPPED));
    assert_eq!(
        heard(&circuitry.changes),
        [Circuit::HalfOpen, Circuit::Open]
    );
    assert!(circuitry.is_refused());
}

#[test]
fn while_the_probes_are_out_others_are_refused_but_not_for_ever() {
    let circuitry = Circuitry::opened();
    circuitry.stand.advance(ms(10));
    let probes: Vec<_> = (0..2)
        .map(|n| circuitry.breaker.ask(|reply| (n, reply)))
        .collect();
    circuitry.stand.run();
    let kept = heard(&circuitry.asked);
    assert_eq!(kept.len(), 2);
    assert!(circuitry.is_refused());

    circuitry.stand.advance(ms(10));
    assert_eq!(circuitry.asks(Some(1)), Ok(1));
    assert_eq!(
        heard(&circuitry.changes),
        [Circuit::HalfOpen, Circuit::HalfOpen]
    );
    // What the old probes come to does not count, but is passed on.
    kept.into_iter().for_each(|(_, reply)| reply.send(0));
    for probe in probes {
        assert_eq!(circuitry.stand.answer(probe), Ok(0));
    }
    assert_eq!(heard(&circuitry.changes), []);
}

#[test]
fn an_observer_whose_mailbox_was_full_hears_of_later_changes() {
    let stand = Stand::new();
    let observer = Narrow::new();
    let breaker = breaker(stand.mute::<u32, u32>()).failures(1).rest(ms(10));
    let breaker = stand.spawn(breaker.notify(observer.address.clone()));
    let fail = || {
        assert_eq!(stand.ask(&breaker, 1), Err(DROPPED));
        stand.advance(ms(10));
    };
    fail();
    // The observer has not yet heard that the circuit is open, and misses two changes.
    fail();
    assert_eq!(observer.heard(), [Circuit::Open]);
    assert_eq!(stand.dead_letters(), 2);
    fail();
    assert_eq!(observer.heard(), [Circuit::HalfOpen]);
}

#[test]
fn a_breaker_stops_when_its_service_has() {
    let stand = Stand::new();
    for fails in [stand.doomed::<u32, u32>(), stand.stopped()] {
        let breaker = stand.spawn(breaker(fails));
        for n in 0..4 {
            assert_eq!(stand.ask(&breaker, n), Err(DROPPED));
        }
        assert!(breaker.is_stopped());
    }
}

#[test]
#[should_panic(expected = "at least one probe")]
fn no_probes_are_refused() {
    let stand = Stand::new();
    let _ = breaker(stand.mute::<u32, u32>()).probes(0);
}
