//! A tree of 131,071 actors. Each inner actor creates two actors and waits for both. The newest
//! actor runs first, so only a few are alive at the same time.

use garrick::prelude::*;

const DEPTH: u32 = 16;

struct Node {
    parent: Parent,
    /// Number of actors in this subtree that have reported, including this actor.
    count: u64,
    /// Number of children that have not reported.
    waiting: u32,
}

enum Parent {
    Node(Address<Msg>),
    Asker(Reply<u64>),
}

enum Msg {
    Grow(u32),
    Grown(u64),
}

impl Node {
    fn new(parent: Parent) -> Self {
        Self {
            parent,
            count: 1,
            waiting: 0,
        }
    }

    fn grow(&mut self, depth: u32, cx: &Context<'_, Msg>) {
        self.waiting = 2;
        for _ in 0..2 {
            let child = cx.spawn(Node::new(Parent::Node(cx.address())));
            // A new actor cannot have stopped.
            let _ = cx.send(&child, Msg::Grow(depth - 1));
        }
    }

    fn report(&mut self, cx: &Context<'_, Msg>) -> Next {
        let above = std::mem::replace(&mut self.parent, Parent::Node(cx.address()));
        match above {
            // The parent is waiting for both of its children.
            Parent::Node(parent) => drop(cx.send(&parent, Msg::Grown(self.count))),
            Parent::Asker(reply) => reply.send(self.count),
        }
        Next::Stop
    }
}

impl Actor for Node {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Grow(0) => {}
            Msg::Grow(depth) => self.grow(depth, cx),
            Msg::Grown(count) => {
                self.count += count;
                self.waiting -= 1;
            }
        }
        if self.waiting == 0 {
            self.report(cx)
        } else {
            Next::Continue
        }
    }
}

/// Creates the root of a tree for each ask.
struct Gardener;

impl Actor for Gardener {
    type Msg = (u32, Reply<u64>);
    type Outcome = ();

    fn receive(&mut self, (depth, reply): (u32, Reply<u64>), cx: &mut Context<'_, Self::Msg>) {
        let root = cx.spawn(Node::new(Parent::Asker(reply)));
        let _ = cx.send(&root, Msg::Grow(depth));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let gardener = system.spawn(Gardener)?;
    let count = gardener.ask(|reply| (DEPTH, reply)).wait()?;
    println!("{count} actors");
    assert_eq!(count, (1 << (DEPTH + 1)) - 1);
    system.shutdown();
    Ok(())
}
