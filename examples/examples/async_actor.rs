//! An actor that awaits the answers of a slow actor, and stops waiting for answers that take too
//! long.

use std::time::Duration;

use garrick::prelude::*;
use garrick::{AsyncActor, AsyncContext, Incoming};

/// The slow actor, which answers with the price of an item after some time.
struct Shop;

impl AsyncActor for Shop {
    type Msg = (&'static str, Reply<usize>);
    type Outcome = ();

    async fn receive(&mut self, msg: Self::Msg, cx: &mut AsyncContext<Self::Msg>) {
        let (thing, reply) = msg;
        cx.sleep(Duration::from_millis(thing.len() as u64)).await;
        reply.send(thing.len() * 100);
    }
}

/// A customer's question about an item, with the reply for the answer.
type Question = (&'static str, Reply<String>);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let shop = system.spawn(Shop)?;
    let handle = system.handle();
    let clerk = system.spawn(move |mut mailbox: Incoming<Question>| async move {
        let patience = Duration::from_millis(40);
        while let Some((thing, reply)) = mailbox.recv().await {
            let price = handle.ask_within(patience, &shop, |reply| (thing, reply));
            reply.send(match price.await {
                Ok(price) => format!("{thing}: {price}"),
                Err(none) => format!("{thing}: {none}"),
            });
        }
        println!("the shop is closed");
    })?;
    for thing in [
        "tea",
        "coffee",
        "a very long story about a teapot and its cup",
    ] {
        println!("{}", clerk.ask(|reply| (thing, reply)).wait()?);
    }
    drop(clerk);
    system.shutdown();
    Ok(())
}
