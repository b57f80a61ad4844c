//! Agendas. An agenda lists what a node must do with each shard of a kind that the node runs, for
//! example claim it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::plan::{Candidate, hash, ideal};
use super::record::Versions;
use super::view::{Changes, View};
use crate::name::NodeName;

/// A kind whose entities the node runs.
#[derive(Clone, Copy)]
pub(crate) struct Hosted {
    /// Number of shards that the kind gets if no node has set the number yet.
    pub(crate) shards: u32,
    /// Versions that the node can read. The field `writes` is the version that the node writes.
    pub(crate) versions: Versions,
    pub(crate) writes: u32,
    /// True if the journals of the kind refuse events of earlier owners.
    pub(crate) is_fenced: bool,
}

/// The duty of a node for a shard: the next action that the node must take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Duty {
    /// Nothing to do, because another node owns the shard or should claim it.
    #[default]
    Nothing,
    /// Keep the shard, which this node owns and should own.
    Keep,
    /// Claim the shard, because no node owns it.
    Claim,
    /// Hand the shard over, because another node should own it.
    Move,
    /// Give the shard away when its entities have ended.
    Give,
}

/// Duties of a node for the shards of a kind that the node runs. After a change of a shard's
/// record, only this shard is examined. All shards are examined if a change of the members, or of
/// the kind's version, can affect the duties.
pub(super) struct Agenda {
    kind: Arc<str>,
    hash: u64,
    hosted: Hosted,
    hosts: Vec<Candidate>,
    /// Value that identifies the list of members from which the duties were computed.
    mark: Option<u64>,
    duties: Vec<Duty>,
    owned: usize,
    claims: BTreeSet<u32>,
    moves: BTreeSet<u32>,
    gives: BTreeSet<u32>,
    /// True if all shards were examined since [`Agenda::claims`] was last called.
    is_new: bool,
    #[cfg(test)]
    looks: usize,
}

impl Agenda {
    pub(super) fn new(kind: Arc<str>, hosted: Hosted) -> Self {
        Self {
            hash: hash(&kind),
            kind,
            hosted,
            hosts: Vec::new(),
            mark: None,
            duties: Vec::new(),
            owned: 0,
            claims: BTreeSet::new(),
            moves: BTreeSet::new(),
            gives: BTreeSet::new(),
            is_new: false,
            #[cfg(test)]
            looks: 0,
        }
    }

    pub(super) fn kind(&self) -> &Arc<str> {
        &self.kind
    }

    pub(super) fn hosted(&self) -> Hosted {
        self.hosted
    }

    /// Returns the number of shards that the node owns.
    pub(super) fn owned(&self) -> usize {
        self.owned
    }

    /// Returns two sets of shards: those that the node is handing over, and those that it should
    /// hand over.
    pub(super) fn moves(&self) -> (&BTreeSet<u32>, &BTreeSet<u32>) {
        (&self.gives, &self.moves)
    }

    /// Returns the numbers of the shards that the node should claim. If `changed` is given, returns
    /// only shards in `changed`, unless all shards were examined since the last call.
    pub(super) fn claims(&mut self, changed: Option<&Changes>) -> Vec<u32> {
        match changed {
            Some(changed) if !self.is_new => {
                let changed = changed.shards(&self.kind).iter();
                changed
                    .filter(|number| self.claims.contains(*number))
                    .copied()
                    .collect()
            }
            _ => {
                self.is_new = false;
                self.claims.iter().copied().collect()
            }
        }
    }

    /// Returns the node that should own a shard.
    pub(super) fn best(&self, number: u32) -> Option<&NodeName> {
        ideal(self.hash, number, &self.hosts)
    }

    /// Updates the duties (the next actions for each shard) after changes of the records.
    pub(super) fn update(&mut self, view: &View, own: &NodeName, changed: &Changes) {
        let shards = view.shards(&self.kind).unwrap_or(0) as usize;
        let is_current = self.mark.is_some() && self.duties.len() == shards;
        let mark = match self.mark {
            Some(mark) if is_current && !changed.members && !changed.kinds => mark,
            _ => view.mark(&self.kind),
        };
        if is_current && self.mark == Some(mark) {
            for number in changed.shards(&self.kind) {
                self.look(*number, view, own);
            }
            return;
        }
        (self.mark, self.is_new) = (Some(mark), true);
        self.hosts = view.hosts(&self.kind).map(Candidate::new).collect();
        if self.duties.len() != shards {
            self.forget();
            self.duties.resize(shards, Duty::Nothing);
        }
        for number in 0..shards as u32 {
            self.look(number, view, own);
        }
    }

    fn forget(&mut self) {
        self.duties.clear();
        self.owned = 0;
        for set in [&mut self.claims, &mut self.moves, &mut self.gives] {
            set.clear();
        }
    }

    fn look(&mut self, number: u32, view: &View, own: &NodeName) {
        #[cfg(test)]
        {
            self.looks += 1;
        }
        let is_best = self.best(number) == Some(own);
        let duty = match view.owner(&self.kind, number) {
            None if is_best => Duty::Claim,
            None => Duty::Nothing,
            Some((name, _)) if name != own => Duty::Nothing,
            Some((_, seen)) if seen.value.is_draining => Duty::Give,
            Some(_) if is_best => Duty::Keep,
            Some(_) => Duty::Move,
        };
        // A record may be of a number that the kind does not have.
        let Some(known) = self.duties.get_mut(number as usize) else {
            return;
        };
        let before = std::mem::replace(known, duty);
        if before == duty {
            return;
        }
        if let Some(set) = self.set(before) {
            set.remove(&number);
        }
        if let Some(set) = self.set(duty) {
            set.insert(number);
        }
        let is_own = |duty| matches!(duty, Duty::Keep | Duty::Move | Duty::Give);
        self.owned = self.owned + usize::from(is_own(duty)) - usize::from(is_own(before));
    }

    fn set(&mut self, duty: Duty) -> Option<&mut BTreeSet<u32>> {
        match duty {
            Duty::Nothing | Duty::Keep => None,
            Duty::Claim => Some(&mut self.claims),
            Duty::Move => Some(&mut self.moves),
            Duty::Give => Some(&mut self.gives),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::record::{KINDS_MAX, Key, KindRecord, Member, SHARDS_MAX, Shard, encode};
    use super::{Agenda, Hosted, NodeName, Versions, View};
    use crate::placement::Record;

    /// A view of the records, and the agenda of the node `a` for one kind.
    struct Seen {
        view: View,
        agendas: Vec<Agenda>,
        own: NodeName,
        revision: u64,
    }

    impl Seen {
        /// Applies records, which get the next revisions.
        fn read(&mut self, records: Vec<(Key, bytes::Bytes)>) {
            let record = |(key, value): (Key, bytes::Bytes)| {
                self.revision += 1;
                Record {
                    key: key.text(),
                    revision: self.revision,
                    value: Some(value),
                }
            };
            let records: Vec<_> = records.into_iter().map(record).collect();
            let changes = self.view.apply(&records, self.revision, false, |_, _| {});
            for agenda in &mut self.agendas {
                agenda.update(&self.view, &self.own, &changes);
            }
        }

        fn member(&mut self, name: &str, epoch: u64) {
            let hosts = self.agendas.iter().map(|agenda| agenda.kind.to_string());
            let member = Member {
                epoch,
                hosts: hosts.collect(),
                ..Member::default()
            };
            let key = Key::Member(NodeName::new(name).unwrap());
            self.read(vec![(key, encode(member))]);
        }

        fn looks(&self) -> usize {
            self.agendas.iter().map(|agenda| agenda.looks).sum()
        }
    }

    fn shard(node: &str, epoch: u64) -> bytes::Bytes {
        encode(Shard {
            node: node.to_owned(),
            epoch,
            ..Shard::default()
        })
    }

    fn hosted(shards: u32) -> Hosted {
        Hosted {
            shards,
            versions: Versions::NONE,
            writes: 1,
            is_fenced: false,
        }
    }

    fn seen(kinds: usize, shards: u32) -> Seen {
        let names = (0..kinds).map(|number| format!("kind-{number}").into());
        let mut seen = Seen {
            view: View::default(),
            agendas: names
                .map(|name| Agenda::new(name, hosted(shards)))
                .collect(),
            own: NodeName::new("a").unwrap(),
            revision: 0,
        };
        let key = |agenda: &Agenda| Key::Kind(Arc::clone(&agenda.kind));
        let records = seen.agendas.iter().map(key);
        let records = records
            .map(|key| (key, encode(KindRecord { shards, version: 1 })))
            .collect();
        seen.read(records);
        seen
    }

    #[test]
    fn a_change_costs_a_look_at_what_has_changed() {
        let mut seen = seen(KINDS_MAX, SHARDS_MAX);
        let all = KINDS_MAX * SHARDS_MAX as usize;
        let mut last = seen.looks();
        let mut looks = |seen: &Seen| {
            let before = std::mem::replace(&mut last, seen.looks());
            seen.looks() - before
        };
        seen.member("a", 7);
        assert_eq!(looks(&seen), all, "a member came");
        let claims = |seen: &mut Seen| {
            let agendas = seen.agendas.iter_mut();
            agendas
                .map(|agenda| agenda.claims(None).len())
                .sum::<usize>()
        };
        assert_eq!(claims(&mut seen), all);
        for number in 0..3 {
            for kind in 0..KINDS_MAX {
                let kind = format!("kind-{kind}").into();
                seen.read(vec![(Key::Shard(kind, number), shard("a", 7))]);
            }
        }
        assert_eq!(looks(&seen), 3 * KINDS_MAX);
        assert_eq!(claims(&mut seen), all - 3 * KINDS_MAX);
        seen.member("a", 7);
        assert_eq!(looks(&seen), 0, "the member is the same");
        seen.member("b", 9);
        assert_eq!(looks(&seen), all, "another member came");
        assert!(claims(&mut seen) < all - 3 * KINDS_MAX);
    }

    #[test]
    fn the_agenda_follows_the_records() {
        let mut seen = seen(1, 2);
        let key = |number| Key::Shard("kind-0".into(), number);
        seen.member("a", 7);
        assert_eq!(seen.agendas[0].claims(None), [0, 1]);
        seen.read(vec![(key(0), shard("a", 7)), (key(1), shard("b", 9))]);
        assert_eq!(seen.agendas[0].owned(), 1);
        assert_eq!(seen.agendas[0].claims(None), [1], "b is no member");
        // Nobody is host any more.
        let record = Member {
            epoch: 7,
            ..Member::default()
        };
        let name = Key::Member(seen.own.clone());
        seen.read(vec![(name, encode(record))]);
        let agenda = &mut seen.agendas[0];
        assert_eq!(agenda.best(0), None);
        assert!(agenda.claims(None).is_empty());
        assert_eq!(agenda.moves().1.iter().copied().collect::<Vec<_>>(), [0]);
        let drains = encode(Shard {
            node: "a".to_owned(),
            epoch: 7,
            is_draining: true,
            ..Shard::default()
        });
        seen.read(vec![(key(0), drains)]);
        let (gives, moves) = seen.agendas[0].moves();
        assert_eq!((gives.len(), moves.len()), (1, 0));
        seen.read(vec![(key(0), shard("b", 9)), (key(700), shard("a", 7))]);
        let agenda = &seen.agendas[0];
        assert_eq!((agenda.owned(), agenda.moves().0.len()), (0, 0));
    }

    #[test]
    fn a_newer_version_of_the_kind_ends_the_duties_of_a_node_that_cannot_read_it() {
        let mut seen = seen(1, 2);
        seen.member("a", 7);
        assert_eq!(seen.agendas[0].claims(None), [0, 1]);
        let record = KindRecord {
            shards: 2,
            version: 2,
        };
        seen.read(vec![(Key::Kind("kind-0".into()), encode(record))]);
        assert!(seen.agendas[0].claims(None).is_empty());
        assert_eq!(seen.agendas[0].best(0), None);
    }
}
