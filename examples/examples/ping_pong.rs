//! Two actors that have each other's addresses send a ball back and forth.

use garrick::prelude::*;

const ROUND_TRIPS: u64 = 1_000_000;

struct Player {
    name: &'static str,
    partner: Option<Address<Msg>>,
    hits: u64,
}

enum Msg {
    Meet(Address<Msg>),
    Ball { left: u64 },
    Hits(Reply<u64>),
}

impl Player {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            partner: None,
            hits: 0,
        }
    }

    fn hit(&mut self, left: u64, cx: &Context<'_, Msg>) -> Next {
        self.hits += 1;
        if left == 0 {
            println!("{} has the last ball", self.name);
            return Next::Continue;
        }
        let sent = self
            .partner
            .as_ref()
            .map(|partner| cx.send(partner, Msg::Ball { left: left - 1 }));
        if matches!(sent, Some(Ok(()))) {
            Next::Continue
        } else {
            Next::Stop
        }
    }
}

impl Actor for Player {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Meet(partner) => self.partner = Some(partner),
            Msg::Ball { left } => return self.hit(left, cx),
            Msg::Hits(reply) => reply.send(self.hits),
        }
        Next::Continue
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let local = Local::new()?;
    let (ping, pong) = (
        local.spawn(Player::new("ping")),
        local.spawn(Player::new("pong")),
    );
    ping.send(Msg::Meet(pong.clone()))?;
    pong.send(Msg::Meet(ping.clone()))?;
    ping.send(Msg::Ball {
        left: 2 * ROUND_TRIPS,
    })?;
    local.run();
    let (pings, pongs) = (ping.ask(Msg::Hits), pong.ask(Msg::Hits));
    local.run();
    let (pings, pongs) = (pings.wait()?, pongs.wait()?);
    println!("ping hit {pings} times, pong {pongs} times");
    assert_eq!((pings, pongs), (ROUND_TRIPS + 1, ROUND_TRIPS));
    Ok(())
}
