//! An actor that changes its behavior: a turnstile is either locked or unlocked.

use garrick::prelude::*;

enum Event {
    Coin,
    Push,
}

fn locked() -> Behavior<Event> {
    behavior(|event, cx| match event {
        Event::Coin => {
            println!("locked:   a coin, unlock");
            cx.becomes_behavior(unlocked());
        }
        Event::Push => println!("locked:   the visitor cannot pass"),
    })
}

fn unlocked() -> Behavior<Event> {
    behavior(|event, cx| match event {
        Event::Coin => println!("unlocked: thank you for the coin"),
        Event::Push => {
            println!("unlocked: a visitor passes, lock");
            cx.becomes_behavior(locked());
        }
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let turnstile = system.spawn(locked())?;
    for event in [
        Event::Push,
        Event::Coin,
        Event::Coin,
        Event::Push,
        Event::Push,
    ] {
        turnstile.send(event)?;
    }
    system.shutdown();
    Ok(())
}
