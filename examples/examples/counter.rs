//! Asking: a counter receives numbers to add, and is asked for its sum.

use garrick::prelude::*;

struct Counter {
    sum: u64,
}

enum Count {
    Add(u64),
    Get(Reply<u64>),
}

impl Actor for Counter {
    type Msg = Count;
    type Outcome = ();

    fn receive(&mut self, msg: Count, _: &mut Context<'_, Count>) {
        match msg {
            Count::Add(n) => self.sum += n,
            Count::Get(reply) => reply.send(self.sum),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let counter = system.spawn(Counter { sum: 0 })?;
    for n in 1..=100 {
        counter.send(Count::Add(n))?;
    }
    let sum = counter.ask(Count::Get).wait()?;
    println!("1 + 2 + ... + 100 = {sum}");
    assert_eq!(sum, 5050);
    system.shutdown();
    Ok(())
}
