//! Sleeping barber: customers wait in a room with a number of chairs. If all chairs are taken, a
//! customer leaves and returns later.
//!
//! ```text
//!   Factory: creates customers -- Enter --> Room -- Enter --> Barber -- Start, Done --> Customer -- Done --> Factory
//!        ^                                  |  ^                |
//!        +-- Returned --- Customer <- Full -+  +---- Next ------+
//! ```
//!
//! To simulate work, the factory draws 10 to 1,009 random numbers for each customer that it
//! creates. The barber does the same for each haircut. The original's factory creates all customers
//! while it handles one message. In Garrick, the messages of a turn are sent after the turn. So
//! this factory creates one customer per turn and then sends itself a message. As a result, the
//! barber can begin with the first customer at once.
//!
//! The run is correct if the barber has cut the hair of all customers, and each customer has
//! reported that it is done. The number of visits to the room must equal the number of customers,
//! plus the number of times that a customer has left and returned.

use std::collections::VecDeque;

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};
use super::work::{Random, busy_wait};

pub(super) const BARBER: Scenario = Scenario {
    name: "savina-barber",
    operation: "one customer: an actor that is created, waits in the room of a second actor or \
                returns later if the room is full, and is served by a third actor: about 1,000 \
                random numbers",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    customers: u64,
    /// Number of customers that can wait at the same time.
    chairs: usize,
    /// Limit for the cost of creating a customer. The factory draws [`COST_MIN`] random numbers,
    /// plus a random count of numbers that is below this limit.
    make_cost: u32,
    /// Limit for the cost of a haircut. The barber draws [`COST_MIN`] random numbers, plus a random
    /// count of numbers that is below this limit.
    cut_cost: u32,
}

const STANDARD: Size = Size {
    customers: 5_000,
    chairs: 1_000,
    make_cost: 1_000,
    cut_cost: 1_000,
};

const QUICK: Size = Size {
    customers: 500,
    chairs: 100,
    ..STANDARD
};

/// Minimum count of random numbers that are drawn to create a customer or to cut a customer's hair.
const COST_MIN: u32 = 10;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("customers", size.customers.into()),
        ("chairs", size.chairs.into()),
        ("make_cost", size.make_cost.into()),
        ("cut_cost", size.cut_cost.into()),
    ];
    ours(&BARBER, size, &params, barber)
}

/// Counts of haircuts and visits in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Day {
    cuts: u64,
    /// Number of customers that have reported that they are done.
    done: u64,
    /// Number of times that a customer found no free chair.
    returns: u64,
    /// Number of times that a customer came to the room.
    visits: u64,
}

/// The factory, which creates customers. If a customer found no chair, the factory sends the
/// customer to the room again.
struct Factory {
    size: Size,
    room: Address<ToRoom>,
    random: Random,
    /// Count of the customers created so far.
    made: u64,
    day: Day,
}

/// Messages that a [`Factory`] handles.
enum ToFactory {
    /// Creates the next customer.
    Make,
    /// Reports that this customer found no free chair.
    Returned(Address<ToCustomer>),
    /// Reports that a customer is done.
    Done,
}

/// A customer that wants a haircut.
struct Customer {
    factory: Address<ToFactory>,
}

/// Messages that a [`Customer`] handles.
enum ToCustomer {
    /// Reports that the room has no free chair.
    Full,
    /// Reports that the customer has a chair and must wait.
    Wait,
    /// Reports that the haircut has begun.
    Start,
    /// Reports that the haircut is done.
    Done,
}

/// An actor that stands for the waiting room, in which customers wait for the barber.
struct Room {
    barber: Address<ToBarber>,
    chairs: usize,
    waiting: VecDeque<Address<ToCustomer>>,
    barber_sleeps: bool,
    /// Number of visits to the room.
    visits: u64,
}

/// Messages that a [`Room`] handles.
enum ToRoom {
    Enter(Address<ToCustomer>),
    /// Reports that the barber is free.
    Next,
    /// Reports that all customers are done. Contains the counts that the customer factory has
    /// recorded.
    Exit(Day),
}

/// The barber, which cuts the customers' hair.
struct Barber {
    random: Random,
    cost: u32,
    cuts: u64,
    reports: Reports<Day>,
}

/// Messages that a [`Barber`] handles.
enum ToBarber {
    /// Requests a haircut for this customer. After the haircut, the barber notifies this room.
    Enter(Address<ToCustomer>, Address<ToRoom>),
    /// Reports that no customer is waiting.
    Sleep,
    Exit(Day),
}

impl Factory {
    fn make(&mut self, cx: &Context<'_, ToFactory>) -> Next {
        let factory = cx.address();
        let customer = cx.spawn(Customer { factory });
        let entered = cx.send(&self.room, ToRoom::Enter(customer)).is_ok();
        busy_wait(self.random.below(self.size.make_cost) + COST_MIN);
        self.made += 1;
        let last = self.made == self.size.customers;
        go_on(entered && (last || cx.send(&cx.address(), ToFactory::Make).is_ok()))
    }
}

impl Actor for Factory {
    type Msg = ToFactory;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToFactory, cx: &mut Context<'_, ToFactory>) -> Next {
        match message {
            ToFactory::Make => return self.make(cx),
            ToFactory::Returned(customer) => {
                self.day.returns += 1;
                return go_on(cx.send(&self.room, ToRoom::Enter(customer)).is_ok());
            }
            ToFactory::Done => {
                self.day.done += 1;
                if self.day.done == self.size.customers {
                    return end(cx.send(&self.room, ToRoom::Exit(self.day)).is_ok());
                }
            }
        }
        Next::Continue
    }
}

impl Actor for Customer {
    type Msg = ToCustomer;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToCustomer, cx: &mut Context<'_, ToCustomer>) -> Next {
        match message {
            ToCustomer::Full => {
                let returned = ToFactory::Returned(cx.address());
                go_on(cx.send(&self.factory, returned).is_ok())
            }
            ToCustomer::Wait | ToCustomer::Start => Next::Continue,
            ToCustomer::Done => end(cx.send(&self.factory, ToFactory::Done).is_ok()),
        }
    }
}

impl Actor for Room {
    type Msg = ToRoom;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToRoom, cx: &mut Context<'_, ToRoom>) -> Next {
        match message {
            ToRoom::Enter(customer) => {
                self.visits += 1;
                if self.waiting.len() == self.chairs {
                    return go_on(cx.send(&customer, ToCustomer::Full).is_ok());
                }
                let well = if self.barber_sleeps {
                    self.barber_sleeps = false;
                    cx.send(&cx.address(), ToRoom::Next).is_ok()
                } else {
                    cx.send(&customer, ToCustomer::Wait).is_ok()
                };
                self.waiting.push_back(customer);
                go_on(well)
            }
            ToRoom::Next => {
                let next = self.waiting.pop_front();
                self.barber_sleeps = next.is_none();
                let message = next.map_or(ToBarber::Sleep, |customer| {
                    ToBarber::Enter(customer, cx.address())
                });
                go_on(cx.send(&self.barber, message).is_ok())
            }
            ToRoom::Exit(day) => {
                let visits = self.visits;
                let day = Day { visits, ..day };
                go_on(cx.send(&self.barber, ToBarber::Exit(day)).is_ok())
            }
        }
    }
}

impl Actor for Barber {
    type Msg = ToBarber;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: ToBarber, cx: &mut Context<'_, ToBarber>) -> Next {
        match message {
            ToBarber::Enter(customer, room) => {
                let started = cx.send(&customer, ToCustomer::Start).is_ok();
                busy_wait(self.random.below(self.cost) + COST_MIN);
                self.cuts += 1;
                let done = cx.send(&customer, ToCustomer::Done).is_ok();
                go_on(started && done && cx.send(&room, ToRoom::Next).is_ok())
            }
            ToBarber::Sleep => Next::Continue,
            ToBarber::Exit(day) => {
                let cuts = self.cuts;
                self.reports.tell(Day { cuts, ..day });
                Next::Continue
            }
        }
    }
}

fn barber(size: Size, workers: usize) -> Result<Measured> {
    let (days, span) = run(workers, 1, |on, reports| {
        let barber = on.spawn(Barber {
            random: Random::new(Random::SEED),
            cost: size.cut_cost,
            cuts: 0,
            reports: reports.clone(),
        })?;
        let room = on.spawn(Room {
            barber,
            chairs: size.chairs,
            waiting: VecDeque::new(),
            barber_sleeps: true,
            visits: 0,
        })?;
        let factory = on.spawn(Factory {
            size,
            room,
            random: Random::new(Random::SEED),
            made: 0,
            day: Day::default(),
        })?;
        Ok(factory.send(ToFactory::Make)?)
    })?;
    days.iter().try_for_each(|day| check(size, *day))?;
    Ok(Measured::new(size.customers, span))
}

fn check(size: Size, day: Day) -> Result<()> {
    agree("haircuts", day.cuts, size.customers)?;
    agree("customers that are done", day.done, size.customers)?;
    agree("visits", day.visits, size.customers + day.returns)
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    const TINY: Size = Size {
        customers: 50,
        chairs: 3,
        make_cost: 10,
        cut_cost: 30,
    };

    #[test]
    fn everybody_is_served() {
        for workers in [1, 2] {
            for chairs in [1, 100] {
                let size = Size { chairs, ..TINY };
                assert_eq!(barber(size, workers).unwrap().ops, 50);
            }
        }
    }

    #[test]
    fn customers_that_are_lost_are_found() {
        let right = Day {
            cuts: 50,
            done: 50,
            returns: 7,
            visits: 57,
        };
        assert!(check(TINY, right).is_ok());
        let said = refused(check(TINY, Day { cuts: 49, ..right }));
        assert_eq!(said, "haircuts: 49, not 50");
        let said = refused(check(TINY, Day { done: 51, ..right }));
        assert_eq!(said, "customers that are done: 51, not 50");
        let visits = 58;
        let said = refused(check(TINY, Day { visits, ..right }));
        assert_eq!(said, "visits: 58, not 57");
    }
}
