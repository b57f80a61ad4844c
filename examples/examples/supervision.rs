//! A tree of supervisors. Children fail, are restarted with the same addresses, and stop in order.

use std::time::Duration;

use garrick::prelude::*;
use garrick::supervise::{Backoff, Decision, Fault, Restart, Strategy, Supervisor};

/// An actor that divides. A panic or an error ends the actor, but its address remains valid.
#[derive(Default)]
struct Divider {
    divided: u32,
}

enum Msg {
    Divide(i32, i32, Reply<i32>),
    Refuse,
    Divided(Reply<u32>),
}

impl Actor for Divider {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Divide(a, b, reply) => reply.send(a / b),
            Msg::Refuse => return cx.fail("the message requests a failure"),
            Msg::Divided(reply) => {
                reply.send(self.divided);
                return Next::Continue;
            }
        }
        self.divided += 1;
        Next::Continue
    }

    fn name() -> &'static str {
        "divider"
    }
}

/// Restarts after panics, and resumes after errors.
fn decide(fault: &Fault) -> Decision {
    println!("the supervisor decides about: {fault}");
    match fault {
        Fault::Error(_) => Decision::Resume,
        _ => Decision::Restart,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let tree = Supervisor::new("app", Strategy::RestForOne).spawn(&system.handle())?;
    let below =
        Supervisor::new("dividers", Strategy::OneForOne).intensity(10, Duration::from_secs(1));
    let dividers = below.spawn_under(&tree)?;
    let backoff = Backoff::exponential(Duration::from_millis(1), Duration::from_millis(100));
    let first = system
        .actor(Divider::default)
        .named("first")
        .supervised_by(&dividers)
        .decide(decide)
        .backoff(backoff)
        .spawn()?;
    let _second = system
        .actor(Divider::default)
        .named("second")
        .supervised_by(&dividers)
        .restart(Restart::Transient)
        .spawn()?;

    let half = |n| first.ask(|reply| Msg::Divide(n, 2, reply));
    println!("8 / 2 = {}", half(8).wait()?);
    first.send(Msg::Refuse)?;
    println!("divided so far: {}", first.ask(Msg::Divided).wait()?);
    let failed = first.ask(|reply| Msg::Divide(1, 0, reply));
    let behind = half(6);
    println!(
        "1 / 0: {}",
        failed.wait().expect_err("a division by zero has no answer")
    );
    println!("6 / 2 = {}, says the new actor", behind.wait()?);
    assert_eq!(first.ask(Msg::Divided).wait(), Ok(1));
    println!("{tree}");

    tree.stop().wait()?;
    assert!(first.is_stopped());
    system.shutdown();
    Ok(())
}
