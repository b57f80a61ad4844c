//! The smallest program: one actor, one message.

use garrick::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let greeter = system.spawn(behavior(|name: String, _| {
        println!("Hello, {name}!");
    }))?;
    greeter.send("actor".to_owned())?;
    system.shutdown();
    Ok(())
}
