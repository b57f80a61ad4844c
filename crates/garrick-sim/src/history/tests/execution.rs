//! Random histories of clients that use a correct object, and arbitrary histories.

use std::mem;

use garrick_core::random::mix;

use super::sample::Sample;
use crate::history::model::Model;
use crate::history::record::{Call, History, Outcome};

type HistoryOf<M> = History<<M as Model>::Op, <M as Model>::Ret>;

/// Returns numbers that depend only on the seed.
pub(super) fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |n| mix(mix(seed) ^ n))
}

/// The state of a client.
enum Client<Ret> {
    Idle,
    /// The operation has been invoked, and has had no effect yet.
    Invoked(Call),
    /// The operation has had its effect, and has not returned yet.
    Applied(Call, Ret),
}

/// A random execution, in which clients use a correct object at the same time.
pub(super) struct Execution {
    pub(super) clients: usize,
    pub(super) operations: usize,
    /// Average number of client steps for each crash or failure. With 0, there are no crashes and
    /// no failures.
    pub(super) crash_every: u64,
}

impl Execution {
    /// Lets random clients take random steps, until all operations have ended.
    pub(super) fn run<M: Sample>(&self, seed: u64) -> HistoryOf<M> {
        let mut object = Object::<M>::new();
        let mut clients: Vec<_> = (0..self.clients).map(|_| Client::Idle).collect();
        let mut numbers = numbers(seed);
        let mut next = move || numbers.next().unwrap_or(0);
        loop {
            let may_invoke = object.calls.len() < self.operations;
            if !may_invoke && clients.iter().all(|c| matches!(c, Client::Idle)) {
                return object.history;
            }
            let index = index(next(), self.clients);
            let is_crash = self.crash_every > 0 && next().is_multiple_of(self.crash_every);
            let client = mem::replace(&mut clients[index], Client::Idle);
            clients[index] = match client {
                Client::Idle if may_invoke => object.invoke(index, next()),
                Client::Invoked(call) if is_crash => object.crash(call, next()),
                Client::Applied(..) if is_crash => Client::Idle,
                client => object.step(client),
            };
        }
    }
}

/// Converts a random number into an index below `len`.
fn index(number: u64, len: usize) -> usize {
    usize::try_from(number >> 32).expect("32 bits") % len
}

/// A correct object, and the history of its operations.
struct Object<M: Model> {
    model: M,
    state: M::State,
    history: HistoryOf<M>,
    calls: Vec<Call>,
}

impl<M: Sample> Object<M> {
    fn new() -> Self {
        let model = M::model();
        Self {
            state: model.init(),
            model,
            history: History::new(),
            calls: Vec::new(),
        }
    }

    fn invoke(&mut self, client: usize, number: u64) -> Client<M::Ret> {
        let client = u64::try_from(client).expect("few clients");
        let call = self.history.invoke(client, M::op(number >> 20));
        self.calls.push(call);
        Client::Invoked(call)
    }

    /// Ends the operation without an effect. Half of these operations are recorded as failed, and
    /// the others stay pending.
    fn crash(&mut self, call: Call, number: u64) -> Client<M::Ret> {
        if number.is_multiple_of(2) {
            self.history.fail(call);
        }
        Client::Idle
    }

    fn step(&mut self, client: Client<M::Ret>) -> Client<M::Ret> {
        match client {
            Client::Idle => {}
            Client::Invoked(call) => {
                let op = &self.history.operations()[call.index()].op;
                let ret = self.model.answer(&self.state, op);
                let ret = ret.expect("a deterministic model");
                let next = self.model.step(&self.state, op, Some(&ret));
                let next = next.into_iter().next().expect("a next state");
                self.state = next;
                return Client::Applied(call, ret);
            }
            Client::Applied(call, ret) => self.history.complete(call, ret),
        }
        Client::Idle
    }
}

/// Returns a copy of a history in which one operation has a different result. `number` selects the
/// operation and its new result. Returns `None` if the operation has not returned, or if the new
/// result equals the old one.
pub(super) fn mutant<M: Sample>(history: &HistoryOf<M>, number: u64) -> Option<HistoryOf<M>> {
    let target = index(mix(number), history.len());
    let operation = &history.operations()[target];
    let changed = M::ret(&operation.op, mix(number + 1) >> 20);
    if operation.ret().is_none_or(|ret| *ret == changed) {
        return None;
    }
    Some(copy(history, |index, ret| {
        let is_target = index == target;
        if is_target {
            changed.clone()
        } else {
            ret.clone()
        }
    }))
}

/// Returns a copy of a history with other results. `ret` returns the new result of an operation.
fn copy<Op: Clone, Ret>(
    history: &History<Op, Ret>,
    ret: impl Fn(usize, &Ret) -> Ret,
) -> History<Op, Ret> {
    let mut events: Vec<_> = Vec::new();
    for (index, operation) in history.operations().iter().enumerate() {
        events.push((operation.invoked, index, false));
        events.extend(operation.ended().map(|time| (time, index, true)));
    }
    events.sort_unstable();
    let mut copy = History::new();
    for (_, index, is_end) in events {
        let operation = &history.operations()[index];
        match &operation.outcome {
            _ if !is_end => drop(copy.invoke(operation.client, operation.op.clone())),
            Outcome::Returned { ret: old, .. } => copy.complete(Call::new(index), ret(index, old)),
            Outcome::Failed { .. } | Outcome::Pending => copy.fail(Call::new(index)),
        }
    }
    copy
}

/// Random numbers that determine an operation: its arguments, its result, the time at which it
/// begins, its duration, and the way in which it ends.
pub(super) type Entry = (u64, u64, u8, u8, u8);

/// Returns a history of operations whose results are random too.
pub(super) fn arbitrary<M: Sample>(entries: &[Entry]) -> HistoryOf<M> {
    let mut events = Vec::new();
    for (index, &(.., start, duration, _)) in entries.iter().enumerate() {
        events.push((u16::from(start), index, false));
        events.push((u16::from(start) + u16::from(duration), index, true));
    }
    events.sort_by_key(|(time, _, is_end)| (*time, *is_end));
    let mut history = History::new();
    let mut calls = vec![None; entries.len()];
    for (_, index, is_end) in events {
        let (op, ret, .., outcome) = entries[index];
        let client = u64::try_from(index).expect("few clients");
        let op = M::op(op);
        let Some(call) = calls[index].filter(|_| is_end) else {
            calls[index] = Some(history.invoke(client, op));
            continue;
        };
        match outcome {
            0 => {}
            1 => history.fail(call),
            _ => history.complete(call, M::ret(&op, ret)),
        }
    }
    history
}
