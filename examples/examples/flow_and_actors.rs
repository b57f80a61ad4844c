//! A graph asks an actor to handle each message, with at most 64 asks in flight. The actor answers
//! when it has handled the message. The actor keeps sums, which is a typical task for an actor.
//!
//! Run it with `cargo run --release -p garrick-examples --example flow_and_actors`.
use std::error::Error;

use garrick::flow::{AsyncSender, Graph, stages};
use garrick::{Actor, Context, Reply, System};

enum Sum {
    Add(u64, Reply<()>),
    Get(Reply<u64>),
}

struct Summer(u64);

impl Actor for Summer {
    type Msg = Sum;
    type Outcome = ();

    fn receive(&mut self, msg: Sum, _: &mut Context<'_, Sum>) {
        match msg {
            Sum::Add(number, reply) => {
                self.0 += number;
                reply.send(());
            }
            Sum::Get(reply) => reply.send(self.0),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let system = System::new()?;
    let summer = system.spawn(Summer(0))?;

    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel::<u64>(1024)?;
    // A future is the source. It could also wait for a socket.
    let count = |mut numbers: AsyncSender<u64>| async move {
        for number in 1..=100_000 {
            if numbers.send(number).await.is_err() {
                return;
            }
        }
    };
    graph.source("count", stages::from_async(numbers, count));
    let asked = summer.clone();
    let add = move |number| {
        let done = asked.ask(|reply| Sum::Add(number, reply));
        async move { done.await.expect("the actor answers as long as it lives") }
    };
    graph.stage("add", stages::for_each_async(numbers_in, add).at_once(64));

    let report = graph.start()?.join();
    let sum = summer.ask(Sum::Get).wait()?;
    println!(
        "{} numbers, and their sum is {sum}",
        report.channels()[0].taken
    );
    system.shutdown();
    Ok(())
}
