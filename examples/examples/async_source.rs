//! Plain futures at both ends of a graph: one future sends lines, and another reads their lengths.
//! Both wait without blocking a thread. They run on the executor of the actors, on the calling
//! thread. Any other executor would work too.
//!
//! Run it with `cargo run --release -p garrick-examples --example async_source`.
use std::error::Error;
use std::thread;

use garrick::Local;
use garrick::flow::{AsyncReceiver, AsyncSender, Graph, SendError, stages};

fn main() -> Result<(), Box<dyn Error>> {
    let mut graph = Graph::new();
    let (lines, lines_in) = graph.channel::<String>(16)?;
    let (lengths, lengths_in) = graph.channel::<usize>(16)?;
    graph.stage("measure", stages::map(lines_in, lengths, |line| line.len()));
    let running = graph.start()?;

    let mut lines = AsyncSender::from(lines);
    let sender = thread::spawn(move || {
        let local = Local::new().map_err(|error| error.to_string())?;
        let send = local.block_on(async move {
            for number in 0..10_000 {
                // Waits while there are sixteen lines in the channel.
                lines.send(format!("line {number}")).await?;
            }
            Ok::<_, SendError<String>>(())
        });
        send.map_err(|error| error.to_string())
    });

    let mut lengths = AsyncReceiver::from(lengths_in);
    let total = Local::new()?.block_on(async move {
        let mut total = 0;
        while let Some(length) = lengths.recv().await {
            total += length;
        }
        total
    });
    sender.join().map_err(|_| "the sender panicked")??;
    println!("10,000 lines have {total} bytes");
    match running.join().failures() {
        [] => Ok(()),
        [first, ..] => Err(first.message.clone().into()),
    }
}
