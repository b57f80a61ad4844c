//! Concurrent dictionary: many reads and a few writes of one map, which an actor owns.
//!
//! ```text
//!   Worker 0 .. Worker 19  -- Read(key) or Write(key, value) -->  Dictionary     one open at a time for each worker
//!                          <------------------------- value ----
//! ```
//!
//! Before the measured time begins, the map has a value for each number below 524,287. Each worker
//! draws its requests from its own random number generator. For each request, the worker first
//! draws a number below 100, which selects a read or a write. Then the worker draws the key, and
//! the value of a write.
//!
//! The run is correct if each write was answered with the written value. The number of writes must
//! equal the number of writes that the workers' generators draw. At the end, each value in the map
//! must be a value that was written for its key. If no value was written for a key, the map must
//! contain the initial value of the key.

use std::collections::HashMap;
use std::mem;

use garrick::{Actor, Address, Context, Next, NoReply, Reply};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};
use super::work::Random;

pub(super) const DICTIONARY: Scenario = Scenario {
    name: "savina-dictionary",
    operation: "one read or write of a map that an actor owns, asked and answered; each of 20 \
                actors has one request open",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    /// Number of workers that send requests.
    askers: u32,
    /// Number of requests of each worker.
    messages: u32,
    /// Percentage of requests that write.
    write_percent: u32,
    /// Number of entries of the map.
    entries: u32,
}

const STANDARD: Size = Size {
    askers: 20,
    messages: 10_000,
    write_percent: 10,
    entries: 524_287,
};

const QUICK: Size = Size {
    messages: 500,
    entries: 10_000,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("actors", size.askers.into()),
        ("messages_per_actor", size.messages.into()),
        ("write_percent", size.write_percent.into()),
        ("entries", size.entries.into()),
    ];
    ours(&DICTIONARY, size, &params, dictionary)
}

type Map = HashMap<u32, u32>;

#[derive(Clone, Copy)]
enum Request {
    Read(u32),
    Write(u32, u32),
}

/// Returns a closure that creates the random requests of a worker, one at each call.
fn requests(size: Size, id: u32) -> impl FnMut() -> Request {
    let seed = id + size.messages + size.write_percent;
    let mut random = Random::new(u64::from(seed));
    move || {
        let writes = random.below(100) < size.write_percent;
        let key = random.wide() % size.entries;
        if writes {
            Request::Write(key, random.wide())
        } else {
            Request::Read(key)
        }
    }
}

/// Counts of the requests that one worker or all workers have sent, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Tally {
    reads: u64,
    writes: u64,
    /// Number of writes that were not answered with the written value.
    wrong: u64,
}

/// The master, which creates the workers, and waits until they are done.
struct Master {
    size: Size,
    dictionary: Address<ToDictionary>,
    /// Number of workers that are done.
    ended: u32,
    /// Sum of the request counts that finished workers have reported.
    tally: Tally,
}

/// Reports that a worker is done. Contains the counts of the worker's requests.
struct Ended(Tally);

/// A worker, which sends requests to the dictionary.
struct Worker<F> {
    master: Address<Ended>,
    dictionary: Address<ToDictionary>,
    /// Number of requests that have not been sent yet.
    left: u32,
    /// Closure that creates the next random request.
    next: F,
    /// Value of the latest write, if the latest request was a write.
    written: Option<u32>,
    tally: Tally,
}

/// Messages that a [`Worker`] handles.
enum Work {
    /// Starts the first request.
    Begin,
    /// Passes the value that was read or written.
    Answer(std::result::Result<u32, NoReply>),
}

/// The actor that owns the map, and answers the requests of the workers to read and write it.
struct Dictionary {
    map: Map,
    reports: Reports<(Tally, Map)>,
}

/// Messages that a [`Dictionary`] handles.
enum ToDictionary {
    Read(u32, Reply<u32>),
    Write(u32, u32, Reply<u32>),
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
                dictionary: self.dictionary.clone(),
                left: self.size.messages,
                next: requests(self.size, id),
                written: None,
                tally: Tally::default(),
            });
            cx.send(&worker, Work::Begin).is_ok()
        });
        go_on(well)
    }

    fn receive(&mut self, Ended(tally): Ended, cx: &mut Context<'_, Ended>) -> Next {
        self.tally.reads += tally.reads;
        self.tally.writes += tally.writes;
        self.tally.wrong += tally.wrong;
        self.ended += 1;
        if self.ended < self.size.askers {
            return Next::Continue;
        }
        let message = ToDictionary::End(self.tally);
        end(cx.send(&self.dictionary, message).is_ok())
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
            Request::Read(key) => {
                self.tally.reads += 1;
                self.written = None;
                let read = |reply| ToDictionary::Read(key, reply);
                cx.ask(&self.dictionary, read, Work::Answer);
            }
            Request::Write(key, value) => {
                self.tally.writes += 1;
                self.written = Some(value);
                let write = |reply| ToDictionary::Write(key, value, reply);
                cx.ask(&self.dictionary, write, Work::Answer);
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
            Work::Begin => {}
            Work::Answer(Ok(value)) => {
                let wrong = self.written.is_some_and(|written| written != value);
                self.tally.wrong += u64::from(wrong);
            }
            Work::Answer(Err(none)) => return cx.fail(none),
        }
        self.go(cx)
    }
}

impl Actor for Dictionary {
    type Msg = ToDictionary;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToDictionary, cx: &mut Context<'_, ToDictionary>) -> Next {
        match message {
            ToDictionary::Read(key, reply) => match self.map.get(&key) {
                Some(value) => reply.send(*value),
                None => return cx.fail(format!("the map has no value for the key {key}")),
            },
            ToDictionary::Write(key, value, reply) => {
                self.map.insert(key, value);
                reply.send(value);
            }
            ToDictionary::End(tally) => {
                self.reports.tell((tally, mem::take(&mut self.map)));
                return Next::Stop;
            }
        }
        Next::Continue
    }
}

fn dictionary(size: Size, workers: usize) -> Result<Measured> {
    let map: Map = (0..size.entries).map(|key| (key, key)).collect();
    let (ends, span) = run(workers, 1, |on, reports| {
        let dictionary = on.spawn(Dictionary {
            map,
            reports: reports.clone(),
        })?;
        on.spawn(Master {
            size,
            dictionary,
            ended: 0,
            tally: Tally::default(),
        })?;
        Ok(())
    })?;
    for (tally, map) in ends {
        check(size, tally, &map)?;
    }
    let ops = u64::from(size.askers) * u64::from(size.messages);
    Ok(Measured::new(ops, span))
}

fn check(size: Size, tally: Tally, map: &Map) -> Result<()> {
    let written = written(size);
    let writes: usize = written.values().map(Vec::len).sum();
    let all = u64::from(size.askers) * u64::from(size.messages);
    agree("reads and writes", tally.reads + tally.writes, all)?;
    agree("writes", tally.writes, writes as u64)?;
    agree("writes with a wrong answer", tally.wrong, 0)?;
    agree("entries", map.len(), size.entries as usize)?;
    for (key, value) in map {
        let possible = written
            .get(key)
            .map_or_else(|| value == key, |all| all.contains(value));
        if !possible {
            return Err(
                format!("entry {key}: {value}, a value that no worker has written there").into(),
            );
        }
    }
    Ok(())
}

/// Returns, for each key, all values that the workers write.
fn written(size: Size) -> HashMap<u32, Vec<u32>> {
    let mut written: HashMap<u32, Vec<u32>> = HashMap::new();
    for id in 0..size.askers {
        let mut next = requests(size, id);
        for _ in 0..size.messages {
            if let Request::Write(key, value) = next() {
                written.entry(key).or_default().push(value);
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    const TINY: Size = Size {
        askers: 4,
        messages: 100,
        write_percent: 30,
        entries: 50,
    };

    #[test]
    fn every_question_is_answered() {
        for workers in [1, 2] {
            assert_eq!(dictionary(TINY, workers).unwrap().ops, 400);
        }
    }

    #[test]
    fn whatever_is_wrong_is_found() {
        let written = written(TINY);
        let writes: usize = written.values().map(Vec::len).sum();
        let right = Tally {
            reads: 400 - writes as u64,
            writes: writes as u64,
            wrong: 0,
        };
        let last = |key: u32| written.get(&key).map_or(key, |all| all[0]);
        let mut map: Map = (0..50).map(|key| (key, last(key))).collect();
        assert!(check(TINY, right, &map).is_ok());

        let wrong = Tally { wrong: 1, ..right };
        assert!(refused(check(TINY, wrong, &map)).starts_with("writes with a wrong answer: 1"));
        let reads = right.reads - 1;
        assert!(refused(check(TINY, Tally { reads, ..right }, &map)).ends_with("399, not 400"));
        let (reads, writes) = (right.reads + 1, right.writes - 1);
        let fewer = Tally {
            reads,
            writes,
            ..right
        };
        assert!(refused(check(TINY, fewer, &map)).starts_with("writes: "));
        map.insert(7, 1_000_000_007);
        assert!(refused(check(TINY, right, &map)).starts_with("entry 7: 1000000007"));
        map.remove(&7);
        assert_eq!(refused(check(TINY, right, &map)), "entries: 49, not 50");
    }
}
