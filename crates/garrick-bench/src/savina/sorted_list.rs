//! Concurrent sorted list: an actor owns one linked list. Most requests of the workers search the
//! list, some insert a value, and a few ask for the length.
//!
//! ```text
//!   Worker 0 .. Worker 19  -- Contains(value), Insert(value) or Len -->  List    one open at a time for each worker
//!                          <-------------------------------- answer --
//! ```
//!
//! Each worker draws its requests from its own random number generator. For each request, the
//! worker first draws a number below 100, which selects the kind of request. Then the worker draws
//! the value to search for or to insert. The list is singly linked, and each request traverses the
//! list from its head. After the last insert, the list contains about 16,000 values, so the
//! traversals take nearly all of the time. A search stops at the first larger value. In the
//! original benchmark, a search does not stop there.
//!
//! The run is correct if the list finally contains all inserted values, sorted. All workers
//! together must have sent as many requests of each kind as their generators draw. No worker may
//! receive a smaller length than before.

use std::mem;

use garrick::{Actor, Address, Context, Next, NoReply, Reply};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};
use super::work::Random;

pub(super) const SORTED_LIST: Scenario = Scenario {
    name: "savina-sorted-list",
    operation: "one search, insertion or length query of a sorted linked list that an actor owns, \
                asked and answered; each of 20 actors has one request open",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    /// Number of workers that send requests.
    askers: u32,
    /// Number of requests of each worker.
    messages: u32,
    /// Percentage of the requests that insert a value.
    write_percent: u32,
    /// Percentage of the requests that ask for the length.
    len_percent: u32,
}

const STANDARD: Size = Size {
    askers: 20,
    messages: 8_000,
    write_percent: 10,
    len_percent: 1,
};

const QUICK: Size = Size {
    messages: 400,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("actors", size.askers.into()),
        ("messages_per_actor", size.messages.into()),
        ("write_percent", size.write_percent.into()),
        ("len_percent", size.len_percent.into()),
    ];
    ours(&SORTED_LIST, size, &params, sorted_list)
}

/// A request of a worker.
#[derive(Clone, Copy)]
enum Request {
    Contains(u32),
    Insert(u32),
    Len,
}

/// Returns a closure that creates the random requests of a worker, one at each call.
fn requests(size: Size, id: u32) -> impl FnMut() -> Request {
    let seed = id + size.messages + size.write_percent + size.len_percent;
    let mut random = Random::new(u64::from(seed));
    move || match random.below(100) {
        drawn if drawn < size.len_percent => Request::Len,
        drawn if drawn < size.len_percent + size.write_percent => Request::Insert(random.next()),
        _ => Request::Contains(random.next()),
    }
}

/// A sorted list, singly linked.
#[derive(Default)]
struct Linked(Option<Box<Node>>);

struct Node {
    value: u32,
    next: Linked,
}

impl Linked {
    fn iter(&self) -> impl Iterator<Item = u32> {
        let mut here = self;
        std::iter::from_fn(move || {
            let node = here.0.as_ref()?;
            here = &node.next;
            Some(node.value)
        })
    }

    fn contains(&self, value: u32) -> bool {
        self.iter().find(|known| *known >= value) == Some(value)
    }

    /// Inserts `value` before the first larger value of the list.
    fn insert(&mut self, value: u32) {
        let mut here = self;
        while here.0.as_ref().is_some_and(|node| node.value <= value) {
            // The node exists, as the loop has just checked.
            let Some(node) = &mut here.0 else { return };
            here = &mut node.next;
        }
        let next = Self(here.0.take());
        here.0 = Some(Box::new(Node { value, next }));
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        // Iterative: if each node dropped its next one in a nested call, a long list would overflow
        // the stack.
        let mut next = self.0.take();
        while let Some(mut node) = next {
            next = node.next.0.take();
        }
    }
}

/// Counts of the requests that one worker or all workers have sent, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Tally {
    searches: u64,
    inserts: u64,
    lengths: u64,
    /// Number of times that a worker received a smaller length than before.
    shrunk: u64,
}

/// The master, which creates the workers, and waits until they are done.
struct Master {
    size: Size,
    list: Address<ToList>,
    /// Number of workers that are done.
    ended: u32,
    /// Sum of the request counts that finished workers have reported.
    tally: Tally,
}

/// Reports that a worker is done. Contains the counts of the worker's requests.
struct Ended(Tally);

/// A worker, which sends requests to the list.
struct Worker<F> {
    master: Address<Ended>,
    list: Address<ToList>,
    /// Number of requests that have not been sent yet.
    left: u32,
    /// Closure that creates the next random request.
    next: F,
    /// Length of the list in the latest answer that contained a length.
    len: u64,
    tally: Tally,
}

/// Messages that a [`Worker`] handles.
enum Work {
    /// Starts the first request.
    Begin,
    /// Reports that a search or an insert is done.
    Done(std::result::Result<bool, NoReply>),
    /// Passes the length of the list.
    Len(std::result::Result<u64, NoReply>),
}

/// The actor that owns the list.
struct Keeper {
    list: Linked,
    reports: Reports<(Tally, Linked)>,
}

/// Messages that a [`Keeper`] handles.
enum ToList {
    /// Requests a search for this value.
    Contains(u32, Reply<bool>),
    /// Requests an insert of this value.
    Insert(u32, Reply<bool>),
    /// Requests the length of the list.
    Len(Reply<u64>),
    /// Reports that all workers are done. Contains the sum of their counts.
    End(Tally),
}

impl Actor for Master {
    type Msg = Ended;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, Ended>) -> Next {
        let mut all = 0..self.size.askers;
        let well = all.all(|id| {
            let worker = cx.spawn(Worker {
                master: cx.address(),
                list: self.list.clone(),
                left: self.size.messages,
                next: requests(self.size, id),
                len: 0,
                tally: Tally::default(),
            });
            cx.send(&worker, Work::Begin).is_ok()
        });
        go_on(well)
    }

    fn receive(&mut self, Ended(tally): Ended, cx: &mut Context<'_, Ended>) -> Next {
        self.tally.searches += tally.searches;
        self.tally.inserts += tally.inserts;
        self.tally.lengths += tally.lengths;
        self.tally.shrunk += tally.shrunk;
        self.ended += 1;
        if self.ended < self.size.askers {
            return Next::Continue;
        }
        end(cx.send(&self.list, ToList::End(self.tally)).is_ok())
    }
}

impl<F: FnMut() -> Request> Worker<F> {
    /// Sends the next request, or stops if there is none.
    fn go(&mut self, cx: &Context<'_, Work>) -> Next {
        if self.left == 0 {
            return end(cx.send(&self.master, Ended(self.tally)).is_ok());
        }
        self.left -= 1;
        match (self.next)() {
            Request::Contains(value) => {
                self.tally.searches += 1;
                let contains = |reply| ToList::Contains(value, reply);
                cx.ask(&self.list, contains, Work::Done);
            }
            Request::Insert(value) => {
                self.tally.inserts += 1;
                let insert = |reply| ToList::Insert(value, reply);
                cx.ask(&self.list, insert, Work::Done);
            }
            Request::Len => {
                self.tally.lengths += 1;
                cx.ask(&self.list, ToList::Len, Work::Len);
            }
        }
        Next::Continue
    }
}

impl<F: FnMut() -> Request + Send + 'static> Actor for Worker<F> {
    type Msg = Work;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: Work, cx: &mut Context<'_, Work>) -> Next {
        match message {
            Work::Begin | Work::Done(Ok(_)) => {}
            Work::Len(Ok(len)) => {
                self.tally.shrunk += u64::from(len < self.len);
                self.len = len;
            }
            Work::Done(Err(none)) | Work::Len(Err(none)) => return cx.fail(none),
        }
        self.go(cx)
    }
}

impl Actor for Keeper {
    type Msg = ToList;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToList, _: &mut Context<'_, ToList>) -> Next {
        match message {
            ToList::Contains(value, reply) => reply.send(self.list.contains(value)),
            ToList::Insert(value, reply) => {
                self.list.insert(value);
                reply.send(true);
            }
            ToList::Len(reply) => reply.send(self.list.iter().count() as u64),
            ToList::End(tally) => {
                self.reports.tell((tally, mem::take(&mut self.list)));
                return Next::Stop;
            }
        }
        Next::Continue
    }
}

fn sorted_list(size: Size, workers: usize) -> Result<Measured> {
    let (ends, span) = run(workers, 1, |on, reports| {
        let list = on.spawn(Keeper {
            list: Linked::default(),
            reports: reports.clone(),
        })?;
        on.spawn(Master {
            size,
            list,
            ended: 0,
            tally: Tally::default(),
        })?;
        Ok(())
    })?;
    for (tally, list) in ends {
        check(size, tally, &list)?;
    }
    let ops = u64::from(size.askers) * u64::from(size.messages);
    Ok(Measured::new(ops, span))
}

fn check(size: Size, tally: Tally, list: &Linked) -> Result<()> {
    let (expected, mut inserted) = model(size);
    inserted.sort_unstable();
    agree("searches", tally.searches, expected.searches)?;
    agree("inserts", tally.inserts, expected.inserts)?;
    agree("lengths", tally.lengths, expected.lengths)?;
    agree("lengths smaller than before", tally.shrunk, 0)?;
    agree("the list's length", list.iter().count(), inserted.len())?;
    for (index, (found, expected)) in list.iter().zip(inserted).enumerate() {
        agree(format!("the list's value {index}"), found, expected)?;
    }
    Ok(())
}

/// Returns the expected sum of all workers' counts, and the values that the workers insert.
fn model(size: Size) -> (Tally, Vec<u32>) {
    let mut tally = Tally::default();
    let mut inserted = Vec::new();
    for id in 0..size.askers {
        let mut next = requests(size, id);
        for _ in 0..size.messages {
            match next() {
                Request::Contains(_) => tally.searches += 1,
                Request::Insert(value) => inserted.push(value),
                Request::Len => tally.lengths += 1,
            }
        }
    }
    tally.inserts = inserted.len() as u64;
    (tally, inserted)
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    const TINY: Size = Size {
        askers: 4,
        messages: 100,
        write_percent: 30,
        len_percent: 10,
    };

    fn list_of(values: &[u32]) -> Linked {
        let mut list = Linked::default();
        values.iter().for_each(|value| list.insert(*value));
        list
    }

    #[test]
    fn every_question_is_answered() {
        for workers in [1, 2] {
            assert_eq!(sorted_list(TINY, workers).unwrap().ops, 400);
        }
    }

    #[test]
    fn whatever_is_wrong_is_found() {
        let (right, mut inserted) = model(TINY);
        assert!(check(TINY, right, &list_of(&inserted)).is_ok());

        let list = list_of(&inserted);
        let shrunk = Tally { shrunk: 1, ..right };
        assert!(refused(check(TINY, shrunk, &list)).starts_with("lengths smaller than before"));
        let searches = right.searches + 1;
        let more = Tally { searches, ..right };
        assert!(refused(check(TINY, more, &list)).starts_with("searches: "));
        inserted[3] += 1;
        let said = refused(check(TINY, right, &list_of(&inserted)));
        assert!(said.starts_with("the list's value "), "{said}");
        inserted.pop();
        let said = refused(check(TINY, right, &list_of(&inserted)));
        assert!(said.starts_with("the list's length: "), "{said}");
    }

    #[test]
    fn the_list_is_sorted_and_finds_what_it_has() {
        let list = list_of(&[5, 1, 9, 5, 3]);
        assert!(list.iter().eq([1, 3, 5, 5, 9]));
        for value in 0..11 {
            assert_eq!(list.contains(value), [1, 3, 5, 9].contains(&value));
        }
        assert!(!Linked::default().contains(0));
    }

    #[test]
    fn a_long_list_is_dropped() {
        let mut list = Linked::default();
        for value in (0..200_000).rev() {
            list.insert(value);
        }
        assert!(list.iter().eq(0..200_000));
    }
}
