//! The stash: a shop that keeps its customers waiting until it opens.

use garrick::prelude::*;

enum Msg {
    Open,
    Customer(u32),
}

fn closed() -> Behavior<Msg> {
    behavior(|msg, cx| match msg {
        Msg::Open => {
            println!("the shop opens for {} customers", cx.unstash_all());
            cx.becomes_behavior(open());
        }
        customer => {
            if let Err(error) = cx.stash(customer) {
                println!("a customer goes away, because {error}");
            }
        }
    })
}

fn open() -> Behavior<Msg> {
    behavior(|msg, _| {
        if let Msg::Customer(number) = msg {
            println!("customer {number} is served");
        }
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let shop = system.actor(closed()).named("shop").stash(3).spawn()?;
    shop.send_batch((1..=5).map(Msg::Customer))?;
    shop.send(Msg::Open)?;
    system.shutdown();
    Ok(())
}
