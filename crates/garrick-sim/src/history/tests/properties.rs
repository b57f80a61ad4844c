//! Tests with random histories. A simple check that tries all orders must come to the same verdict.

use proptest::prelude::*;

use super::execution::{Entry, Execution, arbitrary, mutant};
use super::oracle;
use super::sample::{Bag, Sample, Whole};
use crate::history::models::bank::Bank;
use crate::history::models::counter::Counter;
use crate::history::models::key_value::KeyValue;
use crate::history::models::queue::Queue;
use crate::history::models::register::Register;
use crate::history::models::set::Set;
use crate::history::{History, Model, Verdict};

/// Checks that the verdict for a history is correct, and that the evidence in the verdict is
/// correct.
#[track_caller]
fn assert_correct<M: Model>(model: &M, history: &History<M::Op, M::Ret>) {
    let expected = oracle::is_linearizable(model, history);
    let verdict = history.check(model);
    assert_eq!(verdict, history.check(model), "the verdict changes");
    match verdict {
        Verdict::Linearizable(order) => oracle::assert_order(model, history, &order),
        Verdict::NotLinearizable(explanation) => {
            assert!(!expected, "{explanation}");
            let prefix = explanation.prefix();
            assert!(!prefix.contains(&explanation.operation()));
            oracle::assert_prefix(model, history, prefix);
        }
        verdict @ Verdict::Unknown { .. } => panic!("{verdict}"),
    }
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let number = || 0..200_u64;
    let entry = (number(), number(), 0..20_u8, 0..12_u8, 0..6_u8);
    prop::collection::vec(entry, 0..6)
}

/// Returns an execution with a few operations on a correct object.
fn small() -> Execution {
    Execution {
        clients: 3,
        operations: 6,
        crash_every: 6,
    }
}

fn compare<M: Sample>(entries: &[Entry], seed: u64) {
    let model = M::model();
    assert_correct(&model, &arbitrary::<M>(entries));
    let history = small().run::<M>(seed);
    if let Some(mutant) = mutant::<M>(&history, seed) {
        assert_correct(&model, &mutant);
    }
    assert_correct(&model, &history);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 2_000 }))]

    #[test]
    fn verdicts_about_registers_are_correct(entries in entries(), seed: u64) {
        compare::<Register<u8>>(&entries, seed);
    }

    #[test]
    fn verdicts_about_counters_are_correct(entries in entries(), seed: u64) {
        compare::<Counter>(&entries, seed);
    }

    #[test]
    fn verdicts_about_sets_are_correct(entries in entries(), seed: u64) {
        compare::<Set<u8>>(&entries, seed);
    }

    #[test]
    fn verdicts_about_queues_are_correct(entries in entries(), seed: u64) {
        compare::<Queue<u8>>(&entries, seed);
    }

    #[test]
    fn verdicts_about_banks_are_correct(entries in entries(), seed: u64) {
        compare::<Bank>(&entries, seed);
    }

    #[test]
    fn verdicts_about_maps_are_correct(entries in entries(), seed: u64) {
        compare::<KeyValue<u8, u8>>(&entries, seed);
    }

    #[test]
    fn verdicts_about_nondeterministic_models_are_correct(entries in entries()) {
        assert_correct(&Bag, &arbitrary::<Bag>(&entries));
    }

    #[test]
    fn parts_are_linearizable_if_the_whole_is(
        entries in entries(),
        clients in 2..6_usize,
        operations in 1..60_usize,
        crash_every in 0..20_u64,
        seed: u64,
    ) {
        let execution = Execution { clients, operations, crash_every };
        compare_parts::<Set<u8>>(&entries, &execution, seed);
        compare_parts::<KeyValue<u8, u8>>(&entries, &execution, seed);
    }

    #[test]
    fn executions_of_correct_objects_are_accepted(
        clients in 1..6_usize,
        operations in 1..100_usize,
        crash_every in 0..20_u64,
        seed: u64,
    ) {
        let execution = Execution { clients, operations, crash_every };
        accept::<Register<u8>>(&execution, seed);
        accept::<Counter>(&execution, seed);
        accept::<Set<u8>>(&execution, seed);
        accept::<Bank>(&execution, seed);
        accept::<KeyValue<u8, u8>>(&execution, seed);
        // The order of elements shows late. So the work grows fast with the length of the history
        // and with the number of crashes, and long histories would reach the limit.
        let operations = operations.min(30);
        accept::<Queue<u8>>(&Execution { operations, ..execution }, seed);
    }
}

fn compare_parts<M: Sample>(entries: &[Entry], execution: &Execution, seed: u64) {
    let correct = execution.run::<M>(seed);
    let wrong = mutant::<M>(&correct, seed);
    for history in [Some(arbitrary::<M>(entries)), Some(correct), wrong] {
        let Some(history) = history else { continue };
        let parts = history.check(&M::model());
        let whole = history.check(&Whole(M::model()));
        assert_eq!(parts.is_linearizable(), whole.is_linearizable(), "{parts}");
        assert_eq!(
            parts.is_not_linearizable(),
            whole.is_not_linearizable(),
            "{whole}"
        );
    }
}

fn accept<M: Sample>(execution: &Execution, seed: u64) {
    let model = M::model();
    let history = execution.run::<M>(seed);
    let order = history.check(&model).expect_order();
    oracle::assert_order(&model, &history, &order);
}

/// Returns how many of a hundred changed histories are rejected.
fn rejected<M: Sample>() -> usize {
    let execution = Execution {
        clients: 3,
        operations: 30,
        crash_every: 0,
    };
    let mutants = (0..).filter_map(|seed| mutant::<M>(&execution.run::<M>(seed), seed));
    let verdicts = mutants.take(100).map(|history| history.check(&M::model()));
    verdicts.filter(Verdict::is_not_linearizable).count()
}

#[test]
fn mutants_are_mostly_rejected() {
    assert!(rejected::<Register<u8>>() > 60);
    assert!(rejected::<Counter>() > 60);
    assert!(rejected::<Set<u8>>() > 60);
    assert!(rejected::<Queue<u8>>() > 60);
    assert!(rejected::<Bank>() > 60);
    assert!(rejected::<KeyValue<u8, u8>>() > 60);
}
