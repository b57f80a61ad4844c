//! Slow disks, in runs whose messages have times.

use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::{Actor, Address, Context};
use garrick_sim::{Check, Sim};

/// A fact: the writer has handled a message.
#[derive(Debug)]
struct Wrote;

/// A fact: the reader has received the message of the writer.
#[derive(Debug)]
struct Heard;

/// A fact: another actor of the node has handled a message.
#[derive(Debug)]
struct Other;

struct Writer {
    files: Arc<dyn Files>,
    reader: Address<()>,
}

impl Actor for Writer {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        // Five operations.
        let mut file = self.files.open("log").unwrap();
        file.append(b"x").unwrap();
        file.sync().unwrap();
        file.read().unwrap();
        self.files.sync_names().unwrap();
        cx.note(Wrote);
        let _ = cx.send(&self.reader, ());
    }
}

struct Reader;

impl Actor for Reader {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        cx.note(Heard);
    }
}

struct Stranger;

impl Actor for Stranger {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        cx.note(Other);
    }
}

fn program(sim: &mut Sim) {
    let files = Arc::new(sim.disk("n"));
    files.create("log").unwrap();
    sim.disks().of("n").slow(ms(10)..ms(11));
    let node = sim.node("n");
    let reader = node.spawn(Reader).unwrap();
    let writer = node.spawn(Writer { files, reader }).unwrap();
    let stranger = node.spawn(Stranger).unwrap();
    writer.send(()).unwrap();
    writer.send(()).unwrap();
    stranger.send(()).unwrap();
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn a_turn_holds_back_its_actor_and_what_it_has_sent() {
    let check = Check::new("slow").seeds(100);
    let report = check.run(|sim| {
        program(sim);
        sim.latency(ms(1)..ms(2));
        sim.explained("times", |facts| {
            let wrote: Vec<_> = facts.timed::<Wrote>().map(|(at, _)| at).collect();
            let heard: Vec<_> = facts.timed::<Heard>().map(|(at, _)| at).collect();
            let other = facts.timed::<Other>().next().map(|(at, _)| at);
            let five = 50_000_000..55_000_000;
            let is_right = five.contains(&(wrote[1] - wrote[0]))
                && (51_000_000..57_000_000).contains(&(heard[0] - wrote[0]))
                && (51_000_000..57_000_000).contains(&(heard[1] - wrote[1]))
                && other.is_some_and(|at| at < 2_000_000);
            let text = format!("{wrote:?} {heard:?} {other:?}");
            if is_right { Ok(()) } else { Err(text) }
        });
    });
    report.unwrap_or_else(|failed| panic!("{failed}"));
}

#[test]
fn without_times_a_disk_is_not_slow() {
    let check = Check::new("no times").seeds(100);
    let report = check.run(|sim| {
        program(sim);
        sim.at_end("no time has passed", |facts| {
            facts.timed::<Heard>().all(|(at, _)| at == 0)
        });
    });
    report.unwrap_or_else(|failed| panic!("{failed}"));
}
