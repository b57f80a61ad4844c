//! The smallest standard actors, which answer, pass on, tag or discard messages, and combine or
//! number questions.
use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use garrick::behaviors::{self, Mux, Side, Tag};
use garrick::prelude::*;

/// Tags, sorts and copies messages on the way to a printer.
fn pass_on(system: &System) -> Result<(), Box<dyn Error>> {
    let (to, printed) = mpsc::channel();
    let printer = system.spawn(behavior(move |line: (&'static str, u32), _| {
        match to.send(line) {
            Ok(()) => Next::Continue,
            Err(_) => Next::Stop,
        }
    }))?;
    let even = behaviors::label(printer.clone(), "even");
    let odd = behaviors::tee(behaviors::label(printer, "odd"), behaviors::sink());
    let late = system.spawn(behaviors::delay(odd, Duration::from_millis(1)))?;
    let sorted = behaviors::demux([(0, even), (1, late)]);
    let numbers = behaviors::forward(sorted.contramap(|n: u32| (n % 2, n)));
    (1..=4).try_for_each(|n| numbers.send(n))?;
    for (kind, n) in printed.iter().take(4) {
        println!("{n} is {kind}");
    }
    Ok(())
}

/// Sends messages to a judge through two addresses that the judge can distinguish. One of the
/// addresses can be used only once.
fn tell_apart(system: &System) -> Result<(), Box<dyn Error>> {
    let (to, heard) = mpsc::channel();
    let judge = system.spawn(behavior(move |tagged: (Tag, &'static str), _| {
        match to.send(tagged) {
            Ok(()) => Next::Continue,
            Err(_) => Next::Stop,
        }
    }))?;
    let (friend, tag_of_friend) = behaviors::tag(judge.clone());
    let (stranger, _) = behaviors::tag(judge);
    let stranger = system.spawn(behaviors::once(stranger))?;
    behaviors::broadcast(vec![friend, stranger.clone()]).send("let me in")?;
    stranger.send("please")?;
    for (tag, words) in heard.iter().take(2) {
        println!("\"{words}\", said by a friend: {}", tag == tag_of_friend);
    }
    Ok(())
}

/// Asks two services at the same time, a service over a connection, and two services in sequence.
/// Then joins two answers by hand.
fn ask(system: &System) -> Result<(), Box<dyn Error>> {
    let on = system.handle();
    let one = behaviors::constant(1).contramap(|(_, reply): ((), _)| reply);
    let name = behaviors::constant("one").contramap(|(_, reply)| reply);
    let both = behaviors::fork(&on, one.clone(), name);
    println!("{:?}", both.ask(|reply| ((), reply)).wait()?);

    let wire = behaviors::sink::<(u64, i32)>();
    let mux = system.spawn(behaviors::mux(wire))?;
    let remote = mux.contramap(Mux::Ask);
    let piped = behaviors::pipe(&on, one, remote.clone());
    let asked = remote.ask(|reply| (2, reply));
    mux.send(Mux::Answer((0, "two")))?;
    println!("{}", asked.wait()?);
    let asked = piped.ask(|reply| ((), reply));
    mux.send(Mux::Close)?;
    println!("{:?}", asked.wait());

    let asker = system.spawn(behavior(|reply: Reply<(u32, u32)>, cx| {
        let join = cx.spawn(behaviors::join(reply));
        let sides = [Side::Right(Ok(2)), Side::Left(Ok(1))];
        let all_sent = sides.into_iter().all(|side| cx.send(&join, side).is_ok());
        assert!(all_sent, "a join waits for both");
    }))?;
    println!("{:?}", asker.ask(|reply| reply).wait()?);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let system = System::new()?;
    pass_on(&system)?;
    tell_apart(&system)?;
    ask(&system)?;
    system.shutdown();
    Ok(())
}
