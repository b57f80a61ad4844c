//! Bounded buffer: producers and consumers, with an actor between them as the buffer.
//!
//! ```text
//!   Producer 0 .. 39  -- Item --> Manager -- Item ----> Consumer 0 .. 39
//!                     <- Produce -        <- Available -
//! ```
//!
//! A producer produces an item on request. The manager is the actor that owns the buffer. When the
//! manager receives an item, it requests another one from the producer only if the number of
//! producers plus the number of items in the buffer is less than the buffer's size. Otherwise the
//! producer waits until a consumer has taken an item. So there is room for all items that are being
//! produced. When a consumer has consumed an item, the consumer reports that it can take another
//! one.
//!
//! Producing or consuming an item is the computation [`worked_on`]. At the standard cost of 25,
//! this function computes 2,500 random numbers and their logarithms. These computations take nearly
//! all of the time.
//!
//! The run is correct if each producer has produced exactly the items that a plain loop produces.
//! The consumers must have received exactly these items.

use std::collections::VecDeque;

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};
use super::work::worked_on;

pub(super) const BOUNDED_BUFFER: Scenario = Scenario {
    name: "savina-bounded-buffer",
    operation: "one item that one of 40 actors computes, that the buffer actor keeps, and that one \
                of 40 other actors uses in a computation, including the messages that request it: \
                four messages, 5,000 logarithms",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    /// Maximum total number of items in the buffer and in the producers.
    buffer: usize,
    producers: usize,
    consumers: usize,
    /// Number of items of each producer.
    items: u64,
    /// Cost of producing an item. A unit of the cost is the computation of 100 logarithms.
    produce_cost: u32,
    /// Cost of consuming an item. A unit of the cost is the computation of 100 logarithms.
    consume_cost: u32,
}

const STANDARD: Size = Size {
    buffer: 50,
    producers: 40,
    consumers: 40,
    items: 1_000,
    produce_cost: 25,
    consume_cost: 25,
};

const QUICK: Size = Size {
    items: 20,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("buffer", size.buffer.into()),
        ("producers", size.producers.into()),
        ("consumers", size.consumers.into()),
        ("items_per_producer", size.items.into()),
        ("cost", size.produce_cost.into()),
    ];
    ours(&BOUNDED_BUFFER, size, &params, bounded_buffer)
}

/// The number and the sum of the items that passed through an actor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Share {
    items: u64,
    /// Sum of the bit patterns of all items. The order of the items does not affect this sum.
    bits: u64,
}

impl Share {
    fn add(&mut self, item: f64) {
        self.items += 1;
        self.bits = self.bits.wrapping_add(item.to_bits());
    }

    fn join(self, other: Self) -> Self {
        Self {
            items: self.items + other.items,
            bits: self.bits.wrapping_add(other.bits),
        }
    }
}

/// The report of an actor that is done.
#[derive(Clone, Copy)]
enum Report {
    Produced(Share),
    Consumed(Share),
}

/// The buffer, an actor that takes items from producers and gives them to consumers.
struct Manager {
    size: Size,
    /// Items that no consumer has requested yet.
    items: VecDeque<f64>,
    /// Producers that are waiting for room.
    producers: VecDeque<Address<Produce>>,
    /// Consumers that are waiting for an item.
    consumers: VecDeque<Address<Consume>>,
    /// Number of producers that are done.
    ended: usize,
    reports: Reports<Report>,
}

/// Messages that a [`Manager`] handles.
enum ToManager {
    /// Passes an item, and the address of its producer.
    Item(f64, Address<Produce>),
    /// Reports that this consumer has consumed its item.
    Available(Address<Consume>),
    /// Reports that a producer has produced all of its items.
    ProducerEnded,
}

/// An actor that produces items.
struct Producer {
    manager: Address<ToManager>,
    /// Number of items that have not been produced yet.
    left: u64,
    /// Item that was produced most recently.
    item: f64,
    cost: u32,
    share: Share,
    reports: Reports<Report>,
}

/// Requests an item.
struct Produce;

/// An actor that consumes items.
struct Consumer {
    manager: Address<ToManager>,
    /// Value computed from all items consumed so far.
    state: f64,
    cost: u32,
    share: Share,
    reports: Reports<Report>,
}

/// Messages that a [`Consumer`] handles.
enum Consume {
    Item(f64),
    /// Reports that no more items will come.
    End,
}

impl Manager {
    /// Takes an item and passes it to a waiting consumer. If there is room, requests another item
    /// from the producer. Otherwise, the producer waits.
    fn take(&mut self, item: f64, producer: Address<Produce>, cx: &Context<'_, ToManager>) -> Next {
        let passed_on = match self.consumers.pop_front() {
            Some(consumer) => cx.send(&consumer, Consume::Item(item)).is_ok(),
            None => {
                self.items.push_back(item);
                true
            }
        };
        let room = self.size.buffer.saturating_sub(self.size.producers).max(1);
        if self.items.len() < room {
            return go_on(passed_on && cx.send(&producer, Produce).is_ok());
        }
        self.producers.push_back(producer);
        go_on(passed_on)
    }

    /// Passes an item to a consumer that requests one, and requests an item from a waiting producer
    /// if there is one. If the buffer is empty, the consumer waits.
    fn give(&mut self, consumer: Address<Consume>, cx: &Context<'_, ToManager>) -> Next {
        let Some(item) = self.items.pop_front() else {
            self.consumers.push_back(consumer);
            return self.end_if_all_rest(cx);
        };
        let given = cx.send(&consumer, Consume::Item(item)).is_ok();
        let next = self.producers.pop_front();
        go_on(given && next.is_none_or(|next| cx.send(&next, Produce).is_ok()))
    }

    fn end_if_all_rest(&self, cx: &Context<'_, ToManager>) -> Next {
        if self.ended < self.size.producers || self.consumers.len() < self.size.consumers {
            return Next::Continue;
        }
        let mut all = self.consumers.iter();
        end(all.all(|consumer| cx.send(consumer, Consume::End).is_ok()))
    }
}

impl Actor for Manager {
    type Msg = ToManager;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ToManager>) -> Next {
        for _ in 0..self.size.consumers {
            self.consumers.push_back(cx.spawn(Consumer {
                manager: cx.address(),
                state: 0.0,
                cost: self.size.consume_cost,
                share: Share::default(),
                reports: self.reports.clone(),
            }));
        }
        let mut all = 0..self.size.producers;
        go_on(all.all(|_| {
            let producer = cx.spawn(Producer {
                manager: cx.address(),
                left: self.size.items,
                item: 0.0,
                cost: self.size.produce_cost,
                share: Share::default(),
                reports: self.reports.clone(),
            });
            cx.send(&producer, Produce).is_ok()
        }))
    }

    fn receive(&mut self, message: ToManager, cx: &mut Context<'_, ToManager>) -> Next {
        match message {
            ToManager::Item(item, producer) => self.take(item, producer, cx),
            ToManager::Available(consumer) => self.give(consumer, cx),
            ToManager::ProducerEnded => {
                self.ended += 1;
                self.end_if_all_rest(cx)
            }
        }
    }
}

impl Actor for Producer {
    type Msg = Produce;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, Produce: Produce, cx: &mut Context<'_, Produce>) -> Next {
        if self.left == 0 {
            self.reports.tell(Report::Produced(self.share));
            return end(cx.send(&self.manager, ToManager::ProducerEnded).is_ok());
        }
        self.left -= 1;
        self.item = worked_on(self.item, self.cost);
        self.share.add(self.item);
        let item = ToManager::Item(self.item, cx.address());
        go_on(cx.send(&self.manager, item).is_ok())
    }
}

impl Actor for Consumer {
    type Msg = Consume;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: Consume, cx: &mut Context<'_, Consume>) -> Next {
        match message {
            Consume::Item(item) => {
                self.state = worked_on(self.state + item, self.cost);
                self.share.add(item);
                let available = ToManager::Available(cx.address());
                go_on(cx.send(&self.manager, available).is_ok())
            }
            Consume::End => {
                self.reports.tell(Report::Consumed(self.share));
                Next::Stop
            }
        }
    }
}

fn bounded_buffer(size: Size, workers: usize) -> Result<Measured> {
    let count = size.producers + size.consumers;
    let (shares, span) = run(workers, count, |on, reports| {
        on.spawn(Manager {
            size,
            items: VecDeque::new(),
            producers: VecDeque::new(),
            consumers: VecDeque::new(),
            ended: 0,
            reports: reports.clone(),
        })?;
        Ok(())
    })?;
    check(size, &shares)?;
    Ok(Measured::new(size.items * size.producers as u64, span))
}

fn check(size: Size, reports: &[Report]) -> Result<()> {
    let one = made_by_one(size);
    let (mut produced, mut consumed) = (Share::default(), Share::default());
    for report in reports {
        match *report {
            Report::Produced(share) => {
                agree("items of a producer", share.items, one.items)?;
                agree("bits of a producer's items", share.bits, one.bits)?;
                produced = produced.join(share);
            }
            Report::Consumed(share) => consumed = consumed.join(share),
        }
    }
    let all = size.items * size.producers as u64;
    agree("items produced", produced.items, all)?;
    agree("items consumed", consumed.items, all)?;
    agree("bits of the items consumed", consumed.bits, produced.bits)
}

/// Returns the expected number and sum of the items of a producer. All producers produce the same
/// items.
fn made_by_one(size: Size) -> Share {
    let mut share = Share::default();
    let mut item = 0.0;
    for _ in 0..size.items {
        item = worked_on(item, size.produce_cost);
        share.add(item);
    }
    share
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    const TINY: Size = Size {
        buffer: 5,
        producers: 3,
        consumers: 4,
        items: 20,
        produce_cost: 1,
        consume_cost: 0,
    };

    #[test]
    fn every_item_is_consumed() {
        let tight = Size {
            buffer: 1,
            consumers: 1,
            ..TINY
        };
        for workers in [1, 2] {
            for size in [TINY, tight] {
                assert_eq!(bounded_buffer(size, workers).unwrap().ops, 60);
            }
        }
    }

    #[test]
    fn items_that_are_lost_or_changed_are_found() {
        let one = made_by_one(TINY);
        let all = one.join(one).join(one);
        let reports = |last: Share, consumed: Share| {
            let produced = [one, one, last].map(Report::Produced);
            [produced.as_slice(), &[Report::Consumed(consumed)]].concat()
        };
        assert!(check(TINY, &reports(one, all)).is_ok());

        let items = one.items - 1;
        let said = refused(check(TINY, &reports(Share { items, ..one }, all)));
        assert_eq!(said, "items of a producer: 19, not 20");
        let bits = one.bits ^ 1;
        let said = refused(check(TINY, &reports(Share { bits, ..one }, all)));
        assert!(said.starts_with("bits of a producer's items: "), "{said}");
        let items = all.items - 1;
        let said = refused(check(TINY, &reports(one, Share { items, ..all })));
        assert_eq!(said, "items consumed: 59, not 60");
        let bits = all.bits ^ 1;
        let said = refused(check(TINY, &reports(one, Share { bits, ..all })));
        assert!(said.starts_with("bits of the items consumed: "), "{said}");
    }
}
