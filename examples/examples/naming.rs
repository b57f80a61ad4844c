//! Names and topics: a reader finds the newspaper by its name, and reads the published news.

use garrick::naming::{LookupError, Registry, Topic};
use garrick::prelude::*;

type News = &'static str;

/// A newspaper, which publishes the news that it receives, and accepts subscribers.
struct Newspaper(Topic<News>);

enum Desk {
    Print(News),
    Subscribe(Address<News>, Reply<()>),
}

impl Actor for Newspaper {
    type Msg = Desk;
    type Outcome = Next;

    fn receive(&mut self, msg: Desk, _: &mut Context<'_, Desk>) -> Next {
        let done = match msg {
            Desk::Print(news) => self.0.publish(news).is_ok(),
            Desk::Subscribe(reader, reply) => {
                reply.send(());
                self.0.subscribe(&reader).is_ok()
            }
        };
        if done { Next::Continue } else { Next::Stop }
    }
}

struct Reader {
    name: &'static str,
}

impl Actor for Reader {
    type Msg = News;
    type Outcome = ();

    fn receive(&mut self, news: News, _: &mut Context<'_, News>) {
        println!("{} reads: {news}", self.name);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let registry = Registry::spawn(&system.handle())?;
    let topic = Topic::spawn(&system.handle())?;
    let newspaper = system.spawn(Newspaper(topic))?;
    registry.register("newspaper", &newspaper).wait()?;

    for name in ["Ada", "Alan"] {
        let newspaper = registry.lookup::<Desk>("newspaper").wait()?;
        let reader = system.spawn(Reader { name })?;
        newspaper
            .ask(|reply| Desk::Subscribe(reader, reply))
            .wait()?;
    }
    newspaper.send(Desk::Print("actors have names"))?;

    let mistaken = registry.lookup::<News>("newspaper").wait();
    let Err(error @ LookupError::Mismatch { .. }) = mistaken else {
        unreachable!("no news is sent directly to the newspaper's desk");
    };
    println!("{error}");
    system.shutdown();
    Ok(())
}
