//! Timers and time limits: an egg timer that ticks, an ask with a time limit, and an actor that
//! notices when it gets no more messages.

use std::time::Duration;

use garrick::prelude::*;

#[derive(Clone)]
enum Msg {
    Begin,
    Tick,
    Done(Result<bool, NoReply>),
    Silence,
}

/// A cook, who boils an egg for three ticks, and asks whether it is done.
struct Cook {
    guest: Address<Reply<bool>>,
    ticks: u32,
}

impl Actor for Cook {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Begin => {
                let period = Duration::from_millis(2);
                if let Err(error) = cx.send_every(period, &cx.address(), Msg::Tick) {
                    eprintln!("{error}");
                    return Next::Stop;
                }
            }
            Msg::Tick => {
                self.ticks += 1;
                println!("tick {}", self.ticks);
                if self.ticks == 3 {
                    let patience = Duration::from_millis(2);
                    cx.ask_within(patience, &self.guest, |reply| reply, Msg::Done);
                }
            }
            Msg::Done(answer) => {
                println!("is it done? {answer:?}");
                // The ticks end when the cook stops.
                return Next::Stop;
            }
            Msg::Silence => println!("no message has arrived"),
        }
        Next::Continue
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let sleepy = system.spawn(behavior(|reply: Reply<bool>, cx| {
        let awake = cx.spawn(behavior(|reply: Reply<bool>, _| {
            reply.send(true);
        }));
        match cx.send_after(Duration::from_secs(1), &awake, reply) {
            Ok(()) => Next::Continue,
            Err(_) => Next::Stop,
        }
    }))?;
    let cook = Cook {
        guest: sleepy,
        ticks: 0,
    };
    let cook = system
        .actor(cook)
        .named("cook")
        .receive_timeout(Duration::from_millis(1), || Msg::Silence)
        .spawn()?;
    cook.send(Msg::Begin)?;
    while !cook.is_stopped() {
        std::thread::yield_now();
    }
    system.shutdown();
    Ok(())
}
