//! Checks of chain replication (van Renesse and Schneider, OSDI 2004), right and with mistakes.

use garrick_sim::Choosing;

use super::properties::{ALL_ACKNOWLEDGED, NOT_BACK, NOT_LOST, PREFIX, SEEN, STORED_ONCE};
use super::{Mistake, chain};
use crate::{assert_found, assert_right};

/// The strategy for chains. All messages of a chain arrive sooner or later, so any strategy can be
/// used.
const ANY: Choosing = Choosing::Portfolio;

#[test]
fn a_chain_is_right() {
    assert_right("chain", ANY, |sim| chain(sim, 3, Mistake::None));
}

#[test]
fn an_acknowledgement_of_the_head_is_found() {
    assert_found("chain, head acknowledges", ANY, &[NOT_LOST], 25, |sim| {
        chain(sim, 0, Mistake::AcknowledgesAtHead);
    });
}

#[test]
fn forgotten_updates_in_flight_are_found() {
    assert_found(
        "chain, nothing sent again",
        ANY,
        &[PREFIX, ALL_ACKNOWLEDGED],
        30,
        |sim| {
            chain(sim, 0, Mistake::ForgetsInFlight);
        },
    );
}

#[test]
fn an_answer_of_the_head_is_found() {
    assert_found("chain, all answer", ANY, &[NOT_BACK, SEEN], 25, |sim| {
        chain(sim, 3, Mistake::AnswersEverywhere);
    });
}

#[test]
fn an_update_that_is_applied_again_is_found() {
    assert_found("chain, applied again", ANY, &[STORED_ONCE], 30, |sim| {
        chain(sim, 0, Mistake::AppliesAgain);
    });
}

#[test]
fn an_early_answer_is_found() {
    assert_found("chain, early answer", ANY, &[SEEN, NOT_BACK], 35, |sim| {
        chain(sim, 3, Mistake::AnswersEarly);
    });
}
