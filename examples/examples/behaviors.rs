//! Combinations of small standard actors. Weather stations are asked all at once, in a race, in
//! sequence, and one question at a time. Chapters that arrive in any order are published in the
//! right order.
use std::error::Error;
use std::sync::mpsc;

use garrick::behaviors::{self, Count, Gate, Request, Service, Subject};
use garrick::prelude::*;

/// A weather station, which answers the name of a city with a temperature.
struct Station(i32);

impl Actor for Station {
    type Msg = Request<&'static str, i32>;
    type Outcome = ();

    fn receive(&mut self, (city, reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
        reply.send(self.0 + city.len() as i32);
    }
}

/// Asks several stations in several ways.
fn ask_stations(system: &System) -> Result<(), Box<dyn Error>> {
    let on = system.handle();
    let stations: Vec<Service<_, _>> = [8, 9, 10]
        .map(|base| system.spawn(Station(base)))
        .into_iter()
        .collect::<Result<_, _>>()?;
    let all = behaviors::par(&on, stations.clone());
    println!(
        "all of them: {:?}",
        all.ask(|reply| ("Oslo", reply)).wait()?
    );
    let first = behaviors::race(&on, stations.clone());
    println!("the first: {}", first.ask(|reply| ("Oslo", reply)).wait()?);
    let in_turn = behaviors::seq(&on, stations.clone());
    println!(
        "in sequence: {:?}",
        in_turn.ask(|reply| ("Rome", reply)).wait()?
    );
    let one_by_one = system.spawn(behaviors::serializer(stations[0].clone()))?;
    let timed = behaviors::timer(&on, one_by_one);
    let (answer, took) = timed.ask(|reply| ("Bern", reply)).wait()?;
    println!("one at a time: {answer}, in {took:?}");
    Ok(())
}

/// Sends chapters to a reader until the gate is closed. On the way, the chapters are counted and
/// put in order.
fn publish(system: &System) -> Result<(), Box<dyn Error>> {
    let (to, read) = mpsc::channel();
    let reader = system.spawn(behavior(move |chapter: &'static str, _| {
        match to.send(chapter) {
            Ok(()) => Next::Continue,
            Err(_) => Next::Stop,
        }
    }))?;
    let counter = system.spawn(behaviors::counter())?;
    let subject = system.spawn(behaviors::subject())?;
    let counted = counter.contramap(|_: &'static str| Count::Up);
    subject.send(Subject::Subscribe(behaviors::tee(reader, counted)))?;
    let notify = subject.contramap(Subject::Notify);
    let gate = system.spawn(behaviors::gatekeeper(notify))?;
    let author = gate.contramap(Gate::Pass);
    let sequencer = system.spawn(behaviors::sequencer(author))?;
    for numbered in [(2, "the end"), (0, "the beginning"), (1, "the middle")] {
        sequencer.send(numbered)?;
    }
    for _ in 0..3 {
        println!("{}", read.recv()?);
    }
    gate.send(Gate::Close)?;
    println!("{} chapters", counter.ask(Count::Read).wait()?);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let system = System::new()?;
    ask_stations(&system)?;
    publish(&system)?;
    system.shutdown();
    Ok(())
}
