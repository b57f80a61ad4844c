//! Children of a supervisor that leave the commits of their starts to a later decision.
#![forbid(unsafe_code)]

use std::sync::mpsc::{self, Receiver, Sender};

use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Actor, Context, Pending, Reply, System};
use garrick_testkit::HANGS_AFTER;

/// An actor whose start is committed or undone by the test.
struct Late(u32, Sender<(u32, Pending)>);

impl Actor for Late {
    type Msg = Reply<u32>;
    type Outcome = ();
    const COMMITS_LATER: bool = true;

    fn started(&mut self, cx: &mut Context<'_, Reply<u32>>) {
        let (number, decides) = (self.0, self.1.clone());
        cx.commit_later(move |pending| decides.send((number, pending)).unwrap());
    }

    fn receive(&mut self, reply: Reply<u32>, _: &mut Context<'_, Reply<u32>>) {
        reply.send(self.0);
    }
}

fn next(starts: &Receiver<(u32, Pending)>) -> (u32, Pending) {
    starts.recv_timeout(HANGS_AFTER).expect("the child starts")
}

#[test]
fn children_start_while_the_starts_of_others_are_undecided() {
    let system = System::builder().workers(2).start().unwrap();
    let tree = Supervisor::new("late", Strategy::OneForOne);
    let tree = tree.spawn(&system.handle()).unwrap();
    let (decides, starts) = mpsc::channel();
    let children: Vec<_> = (0..3)
        .map(|number| {
            let decides = decides.clone();
            let make = move || Late(number, decides.clone());
            system.actor(make).supervised_by(&tree).spawn().unwrap()
        })
        .collect();
    let asks: Vec<_> = children
        .iter()
        .map(|child| child.ask(|reply| reply))
        .collect();
    let mut undecided: Vec<(u32, Pending)> = (0..3).map(|_| next(&starts)).collect();
    undecided.sort_by_key(|(number, _)| *number);
    let mut undecided = undecided.into_iter().map(|(_, pending)| pending);
    undecided.next().unwrap().commit();
    undecided.next().unwrap().undo("this start must not count");
    undecided.next().unwrap().commit();
    // The child whose start was undone starts again.
    let (number, again) = next(&starts);
    assert_eq!(number, 1);
    again.commit();
    let answers: Vec<_> = asks.into_iter().map(garrick_actor::Ask::wait).collect();
    assert_eq!(answers, [Ok(0), Ok(1), Ok(2)]);
    system.shutdown();
}
