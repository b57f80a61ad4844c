//! One actor fails. Its asker gets an error, and all other actors continue.

use garrick::prelude::*;

struct Divider;

impl Actor for Divider {
    type Msg = (i32, i32, Reply<i32>);
    type Outcome = ();

    fn receive(&mut self, (a, b, reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
        reply.send(a / b);
    }

    fn name() -> &'static str {
        "divider"
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let (first, second) = (system.spawn(Divider)?, system.spawn(Divider)?);
    println!("8 / 2 = {}", first.ask(|reply| (8, 2, reply)).wait()?);

    let error = first
        .ask(|reply| (1, 0, reply))
        .wait()
        .expect_err("a division by zero has no answer");
    println!("1 / 0: {error}");
    assert_eq!(error, NoReply::Dropped);
    assert!(
        first.ask(|reply| (8, 2, reply)).wait().is_err(),
        "the actor has stopped"
    );

    println!(
        "9 / 3 = {}, says the other actor",
        second.ask(|reply| (9, 3, reply)).wait()?
    );
    println!("actors that failed: {}", system.failures());
    system.shutdown();
    Ok(())
}
