//! Good and bad histories of each model.

use super::script::Script;
use crate::history::models::bank::{self, Bank};
use crate::history::models::counter::{self, Counter};
use crate::history::models::key_value::{self, KeyValue};
use crate::history::models::queue::{self, Queue};
use crate::history::models::register::{self, Register};
use crate::history::models::set::{self, Set};

mod registers {
    use super::*;
    use register::{Op, Ret};

    fn script() -> Script<Register<u8>> {
        Script::new(Register::new(0))
    }

    #[test]
    fn a_read_during_a_write_returns_either_value() {
        for value in [0, 1] {
            let mut script = script();
            script.together([(Op::Write(1), Ret::Written), (Op::Read, Ret::Value(value))]);
            script.accepted();
        }
    }

    #[test]
    fn a_stale_read_is_found() {
        let mut script = script();
        script.alone(Op::Write(1), Ret::Written);
        script.alone(Op::Write(2), Ret::Written);
        let read = script.alone(Op::Read, Ret::Value(1));
        script.rejected_at(read);
    }

    #[test]
    fn two_reads_during_a_write_do_not_go_back_in_time() {
        let mut script = script();
        script.pending(Op::Write(1));
        script.alone(Op::Read, Ret::Value(1));
        let read = script.alone(Op::Read, Ret::Value(0));
        script.rejected_at(read);
    }

    #[test]
    fn of_two_equal_swaps_one_succeeds() {
        let swap = |new| Op::CompareAndSwap { expected: 0, new };
        let swapped = Ret::Swapped;
        let mut good = script();
        good.together([(swap(1), swapped(false)), (swap(2), swapped(true))]);
        good.alone(Op::Read, Ret::Value(2));
        good.accepted();
        let mut bad = script();
        bad.together([(swap(1), swapped(true)), (swap(2), swapped(true))]);
        assert!(bad.check().is_not_linearizable());
    }
}

mod counters {
    use super::*;
    use counter::{Op, Ret};

    #[test]
    fn a_read_during_additions_returns_some_of_them() {
        for sum in 0..=3 {
            let mut script = Script::new(Counter);
            script.together([
                (Op::Add(1), Ret::Added),
                (Op::Read, Ret::Value(sum)),
                (Op::Add(2), Ret::Added),
            ]);
            script.alone(Op::Read, Ret::Value(3));
            script.accepted();
        }
    }

    #[test]
    fn a_lost_update_is_found() {
        let mut script = Script::new(Counter);
        script.together([(Op::Add(1), Ret::Added), (Op::Add(1), Ret::Added)]);
        let read = script.alone(Op::Read, Ret::Value(1));
        script.rejected_at(read);
    }
}

mod sets {
    use super::*;
    use set::Op;

    #[test]
    fn of_two_equal_insertions_one_succeeds() {
        let mut script = Script::new(Set::new());
        script.together([(Op::Insert(1), false), (Op::Insert(1), true)]);
        script.alone(Op::Contains(1), true);
        script.alone(Op::Remove(1), true);
        script.alone(Op::Contains(1), false);
        script.accepted();
    }

    #[test]
    fn an_element_that_was_removed_twice_is_found() {
        let mut script = Script::new(Set::new());
        script.alone(Op::Insert(2), true);
        script.alone(Op::Insert(1), true);
        script.together([(Op::Remove(1), true), (Op::Remove(1), true)]);
        let verdict = script.check();
        assert!(verdict.to_string().contains("in the part 1."), "{verdict}");
    }

    #[test]
    fn an_element_that_was_never_inserted_is_found() {
        let mut script = Script::new(Set::new());
        script.alone(Op::Insert(2), true);
        let contains = script.alone(Op::Contains(1), true);
        script.rejected_at(contains);
    }
}

mod queues {
    use super::*;
    use queue::{Op, Ret};

    fn enqueue(element: u8) -> (Op<u8>, Ret<u8>) {
        (Op::Enqueue(element), Ret::Enqueued)
    }

    fn dequeue(element: impl Into<Option<u8>>) -> (Op<u8>, Ret<u8>) {
        (Op::Dequeue, Ret::Dequeued(element.into()))
    }

    #[test]
    fn elements_that_are_enqueued_together_leave_in_any_order() {
        let mut script = Script::new(Queue::new());
        script.together([enqueue(1), enqueue(2), enqueue(3)]);
        script.together([dequeue(3), dequeue(1)]);
        script.together([dequeue(None), dequeue(2)]);
        script.accepted();
    }

    #[test]
    fn a_double_dequeue_is_found() {
        let mut script = Script::new(Queue::new());
        script.together([enqueue(1), enqueue(2)]);
        script.together([dequeue(1), dequeue(1)]);
        assert!(script.check().is_not_linearizable());
    }

    #[test]
    fn a_wrong_order_is_found() {
        let mut script = Script::new(Queue::new());
        script.alone(Op::Enqueue(1), Ret::Enqueued);
        script.alone(Op::Enqueue(2), Ret::Enqueued);
        let dequeue = script.alone(Op::Dequeue, Ret::Dequeued(Some(2)));
        script.alone(Op::Dequeue, Ret::Dequeued(Some(1)));
        script.rejected_at(dequeue);
    }

    #[test]
    fn a_lost_element_is_found() {
        let mut script = Script::new(Queue::new());
        script.alone(Op::Enqueue(1), Ret::Enqueued);
        let dequeue = script.alone(Op::Dequeue, Ret::Dequeued(None));
        script.rejected_at(dequeue);
    }
}

mod banks {
    use super::*;
    use bank::{Op, Ret};

    fn transfer(from: usize, to: usize, amount: u64) -> Op {
        Op::Transfer { from, to, amount }
    }

    #[test]
    fn balances_may_be_read_on_both_sides_of_a_transfer() {
        let mut script = Script::new(Bank::new([100, 0]));
        script.together([
            (transfer(0, 1, 30), Ret::Moved),
            (Op::Balance(0), Ret::Amount(100)),
            (Op::Balance(1), Ret::Amount(30)),
            (Op::Total, Ret::Amount(100)),
            (transfer(1, 0, 31), Ret::Refused),
        ]);
        script.accepted();
    }

    #[test]
    fn created_money_is_found() {
        let mut script = Script::new(Bank::new([100, 0]));
        script.pending(transfer(0, 1, 30));
        script.alone(Op::Balance(1), Ret::Amount(30));
        let balance = script.alone(Op::Balance(0), Ret::Amount(100));
        script.rejected_at(balance);
    }

    #[test]
    fn a_lost_update_is_found() {
        let mut script = Script::new(Bank::new([100, 0]));
        script.together([
            (transfer(0, 1, 60), Ret::Moved),
            (transfer(0, 1, 60), Ret::Moved),
        ]);
        let verdict = script.check();
        assert!(verdict.is_not_linearizable());
    }

    #[test]
    fn accounts_that_do_not_exist_are_empty() {
        let mut script = Script::new(Bank::new([100, 0]));
        script.alone(Op::Balance(2), Ret::Amount(0));
        script.alone(transfer(0, 2, 1), Ret::Refused);
        script.alone(transfer(2, 0, 0), Ret::Refused);
        script.alone(transfer(0, 0, 100), Ret::Moved);
        script.alone(Op::Total, Ret::Amount(100));
        script.accepted();
    }

    #[test]
    #[should_panic(expected = "the sum of all balances fits into a u64")]
    fn a_bank_has_a_total() {
        let _ = Bank::new([u64::MAX, 1]);
    }
}

mod maps {
    use super::*;
    use key_value::{Op, Ret};

    fn swap(expected: Option<u8>, new: u8) -> Op<char, u8> {
        let key = 'a';
        Op::CompareAndSwap { key, expected, new }
    }

    #[test]
    fn keys_have_values_until_they_are_deleted() {
        let mut script = Script::new(KeyValue::new());
        script.alone(Op::Put('a', 1), Ret::Done);
        script.alone(Op::Get('a'), Ret::Value(Some(1)));
        script.together([
            (Op::Delete('a'), Ret::Done),
            (Op::Get('b'), Ret::Value(None)),
        ]);
        script.alone(Op::Get('a'), Ret::Value(None));
        script.alone(swap(Some(1), 2), Ret::Swapped(false));
        script.alone(swap(None, 3), Ret::Swapped(true));
        script.alone(Op::Get('a'), Ret::Value(Some(3)));
        script.accepted();
    }

    #[test]
    fn a_stale_read_is_found() {
        let mut script = Script::new(KeyValue::new());
        script.alone(Op::Put('a', 1), Ret::Done);
        script.alone(Op::Put('b', 2), Ret::Done);
        let get = script.alone(Op::Get('a'), Ret::Value(None));
        script.alone(Op::Get('b'), Ret::Value(Some(2)));
        script.rejected_at(get);
    }

    #[test]
    fn two_equal_swaps_are_found() {
        let mut script = Script::new(KeyValue::new());
        script.together([
            (swap(None, 1), Ret::Swapped(true)),
            (swap(None, 2), Ret::Swapped(true)),
        ]);
        assert!(script.check().is_not_linearizable());
    }
}
