//! Becoming: a turnstile has one of two behaviors at any time.

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
        Event::Push => println!("locked:   nobody passes"),
    })
}

fn unlocked() -> Behavior<Event> {
    behavior(|event, cx| match event {
        Event::Coin => println!("unlocked: thank you for the coin"),
        Event::Push => {
            println!("unlocked: somebody passes, lock");
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
