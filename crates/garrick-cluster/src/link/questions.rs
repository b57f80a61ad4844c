//! Unanswered questions to the other node. Each question waits for its answer for a limited time.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use garrick_sched::{Nanos, nanos};
use hashbrown::HashMap;

use crate::line::Question;

/// Maximum time between the first and the last question of a period (a group of questions that end
/// together). So a question ends at most this time after its own time limit.
const PERIOD: Duration = Duration::from_millis(500);

/// Questions that were sent within [`PERIOD`] and end together.
struct Period {
    /// Sequence number of the first question of this group.
    first: u64,
    began: Nanos,
    /// Time at which the latest question of this group was sent.
    last: Nanos,
    waiting: HashMap<u64, Box<dyn Question>>,
}

impl Period {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// Questions that wait for their answers. Questions that were sent within [`PERIOD`] end together,
/// so that no timer and no search is needed for each question.
#[derive(Default)]
pub(super) struct Questions {
    /// Groups of waiting questions, oldest first. The questions of a group end together. Only the
    /// last group may be empty.
    periods: VecDeque<Period>,
    len: usize,
}

impl Questions {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a question that is sent at `now`. The number of the question must be greater than the
    /// numbers of all earlier questions.
    pub(super) fn add(&mut self, number: u64, question: Box<dyn Question>, now: Nanos) {
        let is_current = |period: &&mut Period| {
            !period.is_empty() && now.saturating_sub(period.began) < nanos(PERIOD)
        };
        match self.periods.back_mut().filter(is_current) {
            Some(period) => {
                period.last = now;
                period.waiting.insert(number, question);
            }
            None => {
                let is_unused = self.periods.back().is_some_and(Period::is_empty);
                let unused = is_unused.then(|| self.periods.pop_back()).flatten();
                let mut waiting = unused.map(|period| period.waiting).unwrap_or_default();
                waiting.insert(number, question);
                self.periods.push_back(Period {
                    first: number,
                    began: now,
                    last: now,
                    waiting,
                });
            }
        }
        self.len += 1;
    }

    /// Removes and returns the question with the given number, if the question is still waiting.
    pub(super) fn take(&mut self, number: u64) -> Option<Box<dyn Question>> {
        let after = self
            .periods
            .partition_point(|period| period.first <= number);
        let index = after.checked_sub(1)?;
        let period = &mut self.periods[index];
        let question = period.waiting.remove(&number)?;
        self.len -= 1;
        let is_last = after == self.periods.len();
        if self.periods[index].is_empty() && !is_last {
            self.periods.remove(index);
        }
        Some(question)
    }

    /// Removes and returns the questions that have waited for `within` or longer, in the order of
    /// their numbers.
    pub(super) fn take_late(&mut self, now: Nanos, within: Duration) -> Vec<Box<dyn Question>> {
        let mut late = Vec::new();
        let is_late = |period: &Period| {
            !period.is_empty() && now.saturating_sub(period.last) >= nanos(within)
        };
        while self.periods.front().is_some_and(is_late)
            && let Some(period) = self.periods.pop_front()
        {
            late.extend(sorted(period.waiting));
        }
        self.len -= late.len();
        late
    }

    /// Removes and returns all questions, in the order of their numbers.
    pub(super) fn take_all(&mut self) -> Vec<Box<dyn Question>> {
        let periods = mem::take(self).periods;
        periods
            .into_iter()
            .flat_map(|period| sorted(period.waiting))
            .collect()
    }
}

/// Returns questions in the order of their numbers, which is the same in each run of a simulation.
fn sorted(waiting: HashMap<u64, Box<dyn Question>>) -> impl Iterator<Item = Box<dyn Question>> {
    let mut waiting: Vec<_> = waiting.into_iter().collect();
    waiting.sort_unstable_by_key(|(number, _)| *number);
    waiting.into_iter().map(|(_, question)| question)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use garrick_actor::NoReply;
    use garrick_sched::nanos;

    use super::{PERIOD, Questions};
    use crate::line::{Carrier, Question};

    struct Ignored;

    impl Question for Ignored {
        fn answer(self: Box<Self>, _: &[u8], _: &mut Carrier) -> bool {
            true
        }

        fn refuse(self: Box<Self>, _: NoReply) {}
    }

    const WITHIN: Duration = Duration::from_secs(2);

    #[test]
    fn questions_end_after_their_time_and_not_before() {
        let mut questions = Questions::default();
        let step = nanos(PERIOD) / 5;
        let mut ended = 0;
        for number in 1..=100_u64 {
            let now = number * step;
            questions.add(number, Box::new(Ignored), now);
            ended += questions.take_late(now, WITHIN).len() as u64;
            let over = now.saturating_sub(nanos(WITHIN)) / step;
            // All that are late by a period, and none that is not late.
            assert!(ended <= over && ended + 5 > over, "{ended} of {over}");
            assert_eq!(questions.len() as u64, number - ended);
        }
        assert_eq!(questions.take_all().len() as u64, 100 - ended);
        assert!(questions.is_empty());
    }

    #[test]
    fn answered_questions_leave_nothing() {
        let mut questions = Questions::default();
        let step = nanos(PERIOD);
        questions.add(1, Box::new(Ignored), 0);
        for number in 2..10_000 {
            questions.add(number, Box::new(Ignored), number * step);
            assert!(questions.take(number).is_some());
            assert!(questions.take(number).is_none());
            assert!(questions.periods.len() <= 2);
        }
        assert!(questions.take(1).is_some() && questions.take(0).is_none());
        assert!(questions.is_empty() && questions.periods.len() <= 2);
        assert!(questions.take_late(u64::MAX, WITHIN).is_empty());
    }
}
