//! The entities of a node.

use std::time::Duration;

use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::{Address, Handle};
use garrick_journal::{DurableActor, Journal};

use crate::object::{Object, Request, name_of};

/// Number of restarts of an entity that its supervisor allows.
const RESTARTS_MAX: usize = 1_000;

/// Entities with their supervisor, until they are dropped or their node crashes.
pub(crate) struct Running<M: 'static> {
    _tree: Tree,
    pub(crate) entities: Vec<Address<M>>,
}

/// Starts entities. `make` returns the actor of each one.
pub(crate) fn start<A: DurableActor>(
    node: &Handle,
    journal: &Journal,
    names: impl IntoIterator<Item = String>,
    is_pipelined: bool,
    make: impl Fn() -> A + Clone + Send + 'static,
) -> Running<A::Msg> {
    let tree = Supervisor::new("entities", Strategy::OneForOne)
        .intensity(RESTARTS_MAX, Duration::from_secs(1))
        .spawn(node)
        .unwrap();
    let spawn = |name: String| {
        let (journal, make, key) = (journal.clone(), make.clone(), name.clone());
        let entity = move || {
            let entity = journal.entity(key.as_str(), make()).unwrap();
            if is_pipelined {
                entity.pipelined()
            } else {
                entity
            }
        };
        node.actor(entity)
            .named(name)
            .supervised_by(&tree)
            .spawn()
            .unwrap()
    };
    let entities = names.into_iter().map(spawn).collect();
    Running {
        _tree: tree,
        entities,
    }
}

/// Starts the first entities of a kind. If `panics` is true, they panic in some decisions.
pub(crate) fn start_first<O: Object>(
    node: &Handle,
    journal: &Journal,
    entities: usize,
    is_pipelined: bool,
    panics: bool,
) -> Running<Request<O>> {
    let names = (0..entities).map(name_of::<O>);
    start(node, journal, names, is_pipelined, move || {
        O::entity(panics)
    })
}
