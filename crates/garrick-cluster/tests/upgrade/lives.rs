//! Nodes that join and leave according to a plan, with different versions of the program.

use std::ops::RangeInclusive;
use std::time::Duration;

use garrick_actor::{Actor, Context, Handle};
use garrick_cluster::{Entities, KindOptions, Node};
use garrick_journal::Journal;

use crate::Shared;
use crate::account::{newer, older};

/// A version of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Older,
    Newer,
}

/// A step of a node's plan.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Joins with a version of the program that can read the given versions of the kind. The older
    /// program writes version 1.
    Join(Version, RangeInclusive<u32>),
    /// Begins to hand its shards over.
    Leave,
    /// Leaves at once, at the end of the program.
    End,
}

/// State of a node at one second of the run.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) node: &'static str,
    pub(crate) version: Version,
    pub(crate) owned: usize,
    pub(crate) failure: Option<String>,
}

/// An actor that makes its node follow a plan.
pub(crate) struct Life {
    handle: Handle,
    shared: Shared,
    name: &'static str,
    acts: &'static [(u64, Act)],
    joined: Option<(Node, Entities, Version)>,
    drains: bool,
}

pub(crate) enum ToLife {
    Act(Act),
    Look,
}

/// Number of shards of the kind `account`.
pub(crate) const SHARDS: usize = 16;

/// Time between two checks of a node's state.
const LOOK: Duration = Duration::from_secs(1);

impl Life {
    pub(crate) fn new(
        handle: Handle,
        shared: Shared,
        name: &'static str,
        acts: &'static [(u64, Act)],
    ) -> Self {
        Self {
            handle,
            shared,
            name,
            acts,
            joined: None,
            drains: false,
        }
    }

    fn join(&mut self, version: Version, versions: RangeInclusive<u32>) {
        let Shared {
            net,
            placement,
            log,
        } = self.shared.clone();
        assert!(self.joined.is_none(), "{} has not left", self.name);
        let node = Node::join(&self.handle, net, "test", self.name).unwrap();
        let entities = Entities::start(&node, placement).unwrap();
        let journal = Journal::new(&self.handle, log).unwrap();
        let options = KindOptions::new().shards(SHARDS as u32).versions(versions);
        let options = match version {
            Version::Older => options.writes(1),
            Version::Newer => options,
        };
        let name = |key: &str| format!("account/{key}");
        let hosted = match version {
            Version::Older => entities.host(older::ACCOUNT, options, move |key: &str| {
                journal.entity(name(key), older::Account).unwrap().fenced()
            }),
            Version::Newer => entities.host(newer::ACCOUNT, options, move |key: &str| {
                journal.entity(name(key), newer::Account).unwrap().fenced()
            }),
        };
        hosted.unwrap();
        self.joined = Some((node, entities, version));
    }

    /// Records what the node sees, and ends the node when its shards were handed over.
    fn look(&mut self, cx: &Context<'_, ToLife>) {
        let Some((node, entities, version)) = &self.joined else {
            return;
        };
        let members = entities.members();
        cx.note(Seen {
            node: self.name,
            version: *version,
            owned: members.owned,
            failure: members.failure.map(|why| why.to_string()),
        });
        if self.drains && !members.is_member {
            node.leave();
            (self.joined, self.drains) = (None, false);
        }
    }
}

impl Actor for Life {
    type Msg = ToLife;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToLife>) {
        let me = cx.address();
        for (seconds, act) in self.acts {
            let _ = cx.send_after(Duration::from_secs(*seconds), &me, ToLife::Act(act.clone()));
        }
        let _ = cx.send_after(LOOK, &me, ToLife::Look);
    }

    fn receive(&mut self, message: ToLife, cx: &mut Context<'_, ToLife>) {
        match message {
            ToLife::Act(Act::Join(version, versions)) => self.join(version, versions),
            ToLife::Act(Act::Leave) => {
                if let Some((_, entities, _)) = &self.joined {
                    drop(entities.drain());
                    self.drains = true;
                }
            }
            ToLife::Act(Act::End) => {
                self.acts = &[];
                if let Some((node, entities, _)) = self.joined.take() {
                    entities.leave();
                    node.leave();
                }
            }
            ToLife::Look => {
                self.look(cx);
                let me = cx.address();
                let last = self
                    .acts
                    .last()
                    .map(|(seconds, _)| Duration::from_secs(seconds + 20));
                if last.is_some_and(|last| cx.now() < last.as_nanos() as u64) {
                    let _ = cx.send_after(LOOK, &me, ToLife::Look);
                }
            }
        }
    }
}
