//! The tasks of a worker that stand out: those with the longest mailboxes, those with the oldest
//! messages, and the busiest tasks.

use std::cmp::Reverse;
use std::sync::Arc;

use super::TaskSample;
use crate::cell::{Table, TaskId};
use crate::world::Nanos;

/// Maximum number of tasks in each list of a sample.
pub(super) const LISTED: usize = 20;

/// Maximum number of tasks for which a worker counts running times at the same time. A task that
/// uses more than 1/64 of the counted time is always among these tasks.
const FOLLOWED: usize = 64;

/// An entry of a list: a task, and the amount by which the list is sorted (a time or a number of
/// messages).
#[derive(Clone)]
pub(super) struct Listed {
    pub(super) task: TaskId,
    pub(super) table: &'static Table,
    pub(super) label: Option<Arc<str>>,
    /// True if the label of the task was requested.
    is_named: bool,
    /// Number of waiting messages or time in nanoseconds, depending on the list.
    pub(super) amount: u64,
}

impl Listed {
    /// Returns true if this is the entry of `task`. If a task has ended, a new task may have the
    /// same identity. The function table shows whether the new task is of the same kind.
    pub(super) fn is_of(&self, task: TaskId, table: &Table) -> bool {
        self.task == task && self.table.is_of_kind(table)
    }
}

/// Returns the index of the entry with the smallest amount, or `None` if the list is empty.
fn least(list: &[Listed]) -> Option<usize> {
    (0..list.len()).min_by_key(|&index| list[index].amount)
}

/// Sorts the entries by their amounts, largest first, and removes all but the first [`LISTED`].
pub(super) fn rank(list: &mut Vec<Listed>) {
    list.sort_by_key(|listed| Reverse(listed.amount));
    list.truncate(LISTED);
}

/// A list of the tasks with the largest amounts (times or numbers of messages).
#[derive(Default)]
pub(super) struct Highest {
    list: Vec<Listed>,
}

impl Highest {
    /// Adds a task if its amount is among the largest. If the task is already listed, updates its
    /// amount. Calls `label` only for a new entry. Returns true if the task is listed.
    pub(super) fn puts(
        &mut self,
        task: TaskId,
        table: &'static Table,
        amount: u64,
        label: impl FnOnce() -> Option<String>,
    ) -> bool {
        if let Some(known) = self.list.iter_mut().find(|known| known.is_of(task, table)) {
            known.amount = amount;
            return true;
        }
        let place = if self.list.len() < LISTED {
            None
        } else {
            let place = least(&self.list);
            if place.is_some_and(|place| self.list[place].amount >= amount) {
                return false;
            }
            place
        };
        let new = Listed {
            task,
            table,
            label: label().map(Arc::from),
            is_named: true,
            amount,
        };
        match place {
            Some(place) => self.list[place] = new,
            None => self.list.push(new),
        }
        true
    }

    /// Empties the list. Returns the tasks in it, the one with the largest amount first.
    pub(super) fn take(&mut self) -> Vec<Listed> {
        let mut list = std::mem::take(&mut self.list);
        rank(&mut list);
        list
    }
}

/// The busiest tasks, found by the algorithm Space-Saving (Metwally, Agrawal and El Abbadi, 2005).
///
/// If the list is full, a new task replaces the least busy task. The counted time of the new task
/// begins with the time of the replaced task. So the counted time of a task is never too short. The
/// error is at most the total counted time divided by [`FOLLOWED`].
#[derive(Default)]
pub(super) struct Busiest {
    list: Vec<Listed>,
    /// Index in `list` of the task that runs now.
    current: usize,
    /// True if there may be listed tasks whose labels were not requested yet.
    wants_names: bool,
}

impl Busiest {
    /// Begins to add up the running times of `task`, unless these times are already counted. `task`
    /// runs now. Returns true if the caller must pass the label of the task to [`Busiest::name`].
    ///
    /// If a task replaces another task in the list, the label of the new task is not requested yet.
    /// The label is requested when the new task runs again, if it is still in the list. Without
    /// this rule, tasks that alternate in the list would be asked for their labels at each
    /// activation.
    pub(super) fn follow(&mut self, task: TaskId, table: &'static Table) -> bool {
        let known = |known: &Listed| known.is_of(task, table);
        if let Some(index) = self.list.iter().position(known) {
            self.current = index;
            return !std::mem::replace(&mut self.list[index].is_named, true);
        }
        let has_room = self.list.len() < FOLLOWED;
        let mut new = Listed {
            task,
            table,
            label: None,
            is_named: has_room,
            amount: 0,
        };
        match least(&self.list) {
            Some(place) if !has_room => {
                new.amount = self.list[place].amount;
                self.list[place] = new;
                self.current = place;
            }
            _ => {
                self.current = self.list.len();
                self.list.push(new);
            }
        }
        has_room
    }

    /// Sets the label of the task that runs now.
    pub(super) fn name(&mut self, label: Option<String>) {
        if let Some(current) = self.list.get_mut(self.current) {
            current.label = label.map(Arc::from);
        }
    }

    /// Records that the label of the task that runs now could not be requested. The label will be
    /// requested when the task runs again, or when a census (count of waiting messages) finds the
    /// task.
    pub(super) fn name_later(&mut self) {
        if let Some(current) = self.list.get_mut(self.current) {
            current.is_named = false;
            self.wants_names = true;
        }
    }

    /// Adds `time`, in nanoseconds, to the running time of the task that runs now.
    pub(super) fn add(&mut self, time: u64) {
        if let Some(current) = self.list.get_mut(self.current) {
            current.amount = current.amount.saturating_add(time);
        }
    }

    /// Adds `time`, in nanoseconds, to the running time of a task. The task need not be running
    /// now, and may have ended.
    pub(super) fn add_for(&mut self, task: TaskId, table: &'static Table, time: u64) {
        let known = |known: &Listed| known.is_of(task, table);
        if let Some(index) = self.list.iter().position(known) {
            self.list[index].amount = self.list[index].amount.saturating_add(time);
            self.wants_names |= !self.list[index].is_named;
            return;
        }
        let mut new = Listed {
            task,
            table,
            label: None,
            is_named: false,
            amount: time,
        };
        self.wants_names = true;
        if self.list.len() < FOLLOWED {
            self.list.push(new);
            return;
        }
        let others = (0..self.list.len()).filter(|&index| index != self.current);
        if let Some(place) = others.min_by_key(|&index| self.list[index].amount) {
            new.amount = new.amount.saturating_add(self.list[place].amount);
            self.list[place] = new;
        }
    }

    /// Returns true if there may be listed tasks whose labels were not requested yet.
    /// [`Busiest::name_one`] then sets the label of such a task.
    pub(super) fn wants_names(&self) -> bool {
        self.wants_names
    }

    /// Sets the label of a task that does not run now, if the task is listed without a label.
    pub(super) fn name_one(
        &mut self,
        task: TaskId,
        table: &'static Table,
        label: impl FnOnce() -> Option<String>,
    ) {
        let unnamed = |listed: &&mut Listed| listed.is_of(task, table) && !listed.is_named;
        if let Some(listed) = self.list.iter_mut().find(unnamed) {
            listed.is_named = true;
            listed.label = label().map(Arc::from);
        }
    }

    /// Begins a new period, in which all times begin at 0. Returns the busiest tasks of the
    /// previous period, the busiest first. Only the task that runs now stays in the list.
    pub(super) fn take(&mut self) -> Vec<Listed> {
        let mut list = self.list.clone();
        let current = self.list.get(self.current).cloned();
        self.list.clear();
        (self.current, self.wants_names) = (0, false);
        self.list.extend(current.map(|mut current| {
            current.amount = 0;
            current
        }));
        list.retain(|listed| listed.amount > 0);
        rank(&mut list);
        list
    }
}

/// The tasks that a census (a count of waiting messages) has listed. Each list is sorted by its
/// amount, the largest first.
#[derive(Clone, Default)]
pub(super) struct Found {
    /// Time of the previous census (count of waiting messages). The times in `busiest` are counted
    /// from this time on.
    pub(super) began: Nanos,
    /// Time of the census (count of waiting messages).
    pub(super) at: Nanos,
    pub(super) busiest: Vec<Listed>,
    pub(super) longest: Vec<Listed>,
    /// The tasks whose oldest message has waited longest.
    pub(super) oldest: Vec<Listed>,
}

/// The tasks that the workers of a sponsor (a group of workers) have listed because they stand out,
/// such as the busiest tasks.
#[derive(Default)]
pub(super) struct Outstanding {
    tasks: Vec<(&'static Table, TaskSample)>,
}

impl Outstanding {
    /// Adds the tasks that one worker has listed. `over` is the length of the period in which the
    /// worker has counted running times.
    pub(super) fn add(&mut self, found: Found, over: Nanos) {
        for listed in found.busiest {
            let amount = listed.amount;
            let sample = self.of(listed);
            sample.busy = sample.busy.saturating_add(amount);
            sample.over = sample.over.max(over);
        }
        for listed in found.longest {
            let amount = listed.amount;
            let sample = self.of(listed);
            sample.waiting = sample.waiting.max(amount);
        }
        for listed in found.oldest {
            let amount = listed.amount;
            let sample = self.of(listed);
            sample.oldest = sample.oldest.max(amount);
        }
    }

    /// Sorts the tasks by an amount, the largest first. Returns the amount of the task that comes
    /// directly after the first [`LISTED`] tasks, or 0 if there is none.
    fn amount_below(&mut self, amount: fn(&TaskSample) -> u64) -> u64 {
        self.tasks
            .sort_by_key(|(_, sample)| Reverse(amount(sample)));
        self.tasks
            .get(LISTED)
            .map_or(0, |(_, sample)| amount(sample))
    }

    /// Returns the sample of a task. Creates the sample if there is none yet.
    fn of(&mut self, listed: Listed) -> &mut TaskSample {
        let known = |(table, sample): &(&Table, TaskSample)| listed.is_of(sample.task, table);
        let index = self.tasks.iter().position(known);
        if let (Some(index), Some(label)) = (index, &listed.label) {
            // The other list may have no label.
            self.tasks[index]
                .1
                .label
                .get_or_insert_with(|| label.clone());
        }
        let index = index.unwrap_or_else(|| {
            self.tasks.push((
                listed.table,
                TaskSample {
                    name: "",
                    internal: listed.table.internal,
                    label: listed.label,
                    task: listed.task,
                    waiting: 0,
                    oldest: 0,
                    busy: 0,
                    over: 0,
                },
            ));
            self.tasks.len() - 1
        });
        &mut self.tasks[index].1
    }

    /// Returns the samples of the tasks with the longest mailboxes, of those with the oldest
    /// messages, and of the busiest tasks. The task with the longest mailbox comes first. Calls
    /// foreign code: the functions that return the names of the tasks.
    pub(super) fn samples(mut self) -> Vec<TaskSample> {
        let least_busy = self.amount_below(|sample| sample.busy);
        let least_old = self.amount_below(|sample| sample.oldest);
        self.tasks
            .sort_by_key(|(_, sample)| Reverse((sample.waiting, sample.busy)));
        let stands_out = |(rank, (_, sample)): &(usize, (_, TaskSample))| {
            *rank < LISTED && sample.waiting > 0
                || sample.busy > least_busy
                || sample.oldest > least_old
        };
        let named = |(_, (table, sample)): (usize, (&'static Table, TaskSample))| TaskSample {
            name: table.name_of(),
            ..sample
        };
        let ranked = self.tasks.into_iter().enumerate();
        ranked.filter(stands_out).map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::tables::nothing_to_drop;

    static TABLE: Table = Table::of_messages::<u8>(nothing_to_drop);

    fn ids(list: &[Listed]) -> Vec<usize> {
        list.iter().map(|listed| listed.task.0).collect()
    }

    #[test]
    fn the_longest_mailboxes_are_listed_whatever_their_order() {
        let mut longest = Highest::default();
        for step in 0..1_000 {
            let task = step * 7 % 1_000;
            longest.puts(TaskId(task), &TABLE, task as u64, || Some(task.to_string()));
        }
        let label = || -> Option<String> { panic!("it is listed, or not among the largest") };
        assert!(longest.puts(TaskId(999), &TABLE, 5_000, label));
        assert!(!longest.puts(TaskId(5), &TABLE, 5, label));
        let list = longest.take();
        let expected: Vec<usize> = (980..1_000).rev().collect();
        assert_eq!(ids(&list), expected);
        assert_eq!(list[0].amount, 5_000);
        assert_eq!(list[1].label.as_deref(), Some("998"));
        assert!(longest.take().is_empty());
    }

    fn run(busiest: &mut Busiest, task: usize, time: u64) {
        if busiest.follow(TaskId(task), &TABLE) {
            busiest.name(Some(task.to_string()));
        }
        busiest.add(time);
    }

    #[test]
    fn only_tasks_that_stay_listed_are_asked_for_their_labels() {
        let mut busiest = Busiest::default();
        let mut asked = 0;
        for _ in 0..10 {
            for task in 0..1_000 {
                asked += usize::from(busiest.follow(TaskId(task), &TABLE));
                busiest.add(10);
            }
        }
        assert_eq!(asked, FOLLOWED, "those for which there was room");
        assert!(!busiest.follow(TaskId(7_000), &TABLE));
        assert!(busiest.follow(TaskId(7_000), &TABLE), "it runs again");
        assert!(!busiest.follow(TaskId(7_000), &TABLE), "it was asked");
    }

    #[test]
    fn a_task_of_another_kind_at_the_same_place_is_another_task() {
        static OTHER: Table = Table::of_messages::<u16>(nothing_to_drop);
        let mut busiest = Busiest::default();
        run(&mut busiest, 1, 10);
        assert!(busiest.follow(TaskId(1), &OTHER));
        busiest.add(30);
        let amounts: Vec<u64> = busiest.take().iter().map(|listed| listed.amount).collect();
        assert_eq!(amounts, [30, 10]);
    }

    #[test]
    fn a_busy_task_is_found_among_any_number_of_others() {
        let mut busiest = Busiest::default();
        for round in 0..100 {
            run(&mut busiest, 1, 1_000);
            for other in 0..1_000 {
                run(&mut busiest, 2 + round * 1_000 + other, 10);
            }
        }
        let all = 100 * (1_000 + 1_000 * 10);
        let list = busiest.take();
        assert_eq!(list[0].task, TaskId(1));
        assert!(list[0].amount >= 100_000, "{}", list[0].amount);
        assert!(list[0].amount <= 100_000 + all / FOLLOWED as u64);
        assert_eq!(list.len(), LISTED);
    }

    #[test]
    fn a_task_that_was_seen_from_outside_is_listed_and_named_later() {
        let mut busiest = Busiest::default();
        run(&mut busiest, 1, 10);
        busiest.add_for(TaskId(2), &TABLE, 1_000);
        assert!(busiest.wants_names());
        busiest.name_one(TaskId(1), &TABLE, || panic!("it has a label"));
        busiest.name_one(TaskId(2), &TABLE, || Some("two".to_owned()));
        busiest.add_for(TaskId(2), &TABLE, 500);
        // The task that runs now keeps its place in a full list.
        (10..100).for_each(|task| busiest.add_for(TaskId(task), &TABLE, 20));
        busiest.add(5_000);
        let list = busiest.take();
        let first: Vec<_> = list[..2].iter().map(|l| (l.task.0, l.amount)).collect();
        assert_eq!(first, [(1, 5_010), (2, 1_500)]);
        assert_eq!(list[1].label.as_deref(), Some("two"));
    }

    #[test]
    fn a_task_whose_label_could_not_be_requested_is_named_later() {
        let mut busiest = Busiest::default();
        assert!(busiest.follow(TaskId(1), &TABLE));
        busiest.name_later();
        busiest.add(10);
        assert!(busiest.wants_names());
        assert_eq!(busiest.take()[0].label, None);
        // The task still runs, and stays in the list without a label.
        assert!(busiest.follow(TaskId(1), &TABLE));
        busiest.name(Some("one".to_owned()));
        busiest.add(10);
        assert_eq!(busiest.take()[0].label.as_deref(), Some("one"));
        assert!(!busiest.follow(TaskId(1), &TABLE));
    }

    #[test]
    fn a_period_counts_only_its_own_time() {
        let mut busiest = Busiest::default();
        run(&mut busiest, 1, 10);
        run(&mut busiest, 2, 20);
        assert_eq!(ids(&busiest.take()), [2, 1]);
        // The second task still runs.
        busiest.add(5);
        let list = busiest.take();
        assert_eq!((ids(&list), list[0].amount), (vec![2], 5));
        assert!(busiest.take().is_empty(), "nothing ran in this period");
    }
}
