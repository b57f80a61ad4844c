//! Desks: actors that are listed in the receptionist. Visitors look for them.

use std::collections::BTreeSet;
use std::time::Duration;

use garrick_actor::naming::{Key, Listing};
use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_cluster::{Carrier, Receptionist, Wire};

pub(crate) const DESKS: Key<ToDesk> = Key::new("desks");

/// A message to a desk.
#[derive(Wire)]
#[wire(name = "test.Desk", context = Carrier)]
pub(crate) struct ToDesk(pub(crate) Reply<String>);

/// A fact: a desk was listed.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) node: &'static str,
    pub(crate) life: u64,
    pub(crate) name: String,
}

/// A fact: the desks that a node knows at the end, by their answers.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) node: &'static str,
    pub(crate) life: u64,
    pub(crate) listed: usize,
    pub(crate) names: BTreeSet<String>,
    /// Number of desks that the receptionist has returned at the end.
    pub(crate) found: usize,
}

/// A fact: a listing contradicts earlier listings.
#[derive(Debug)]
pub(crate) struct Contradicts(#[expect(dead_code, reason = "shown")] &'static str);

pub(crate) struct Desk(pub(crate) String);

impl Actor for Desk {
    type Msg = ToDesk;
    type Outcome = ();

    fn receive(&mut self, ToDesk(reply): ToDesk, _: &mut Context<'_, ToDesk>) {
        reply.send(self.0.clone());
    }
}

pub(crate) enum ToVisitor {
    Listing(Listing<ToDesk>),
    /// Request to ask all desks for an answer.
    Visit,
    Answer(Result<String, NoReply>),
    Found(usize),
    /// Request to record the desks that the visitor knows.
    Note,
}

/// A visitor, which subscribes to the list of all desks.
pub(crate) struct Visitor {
    pub(crate) node: &'static str,
    pub(crate) life: u64,
    pub(crate) receptionist: Receptionist,
    pub(crate) desks: Vec<Address<ToDesk>>,
    pub(crate) names: BTreeSet<String>,
    pub(crate) found: usize,
    /// Time after which the visitor asks the desks and records their answers.
    pub(crate) visits_after: Duration,
}

/// Time limit for the answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

impl Visitor {
    fn listed(&mut self, listing: Listing<ToDesk>, cx: &Context<'_, ToVisitor>) {
        match listing {
            Listing::Present(all) => self.desks = all,
            Listing::Added(desk) => {
                if self.desks.contains(&desk) {
                    cx.note(Contradicts("added twice"));
                }
                self.desks.push(desk);
            }
            Listing::Removed(desk) => match self.desks.iter().position(|known| *known == desk) {
                Some(place) => drop(self.desks.remove(place)),
                None => cx.note(Contradicts("removed, but unknown")),
            },
        }
    }
}

impl Actor for Visitor {
    type Msg = ToVisitor;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToVisitor>) {
        let me = cx.address();
        let to = me.contramap(ToVisitor::Listing);
        drop(self.receptionist.subscribe(&DESKS, &to));
        let _ = cx.send_after(self.visits_after, &me, ToVisitor::Visit);
        let noted = self.visits_after + ANSWERS_WITHIN;
        let _ = cx.send_after(noted, &me, ToVisitor::Note);
    }

    fn receive(&mut self, message: ToVisitor, cx: &mut Context<'_, ToVisitor>) {
        match message {
            ToVisitor::Listing(listing) => self.listed(listing, cx),
            ToVisitor::Visit => {
                for desk in &self.desks {
                    cx.ask(desk, ToDesk, ToVisitor::Answer);
                }
                self.receptionist.find_from(cx, &DESKS, |found| {
                    ToVisitor::Found(found.map_or(0, |found| found.len()))
                });
            }
            ToVisitor::Answer(answer) => self.names.extend(answer),
            ToVisitor::Found(count) => self.found = count,
            ToVisitor::Note => cx.note(Known {
                node: self.node,
                life: self.life,
                listed: self.desks.len(),
                names: self.names.clone(),
                found: self.found,
            }),
        }
    }
}
