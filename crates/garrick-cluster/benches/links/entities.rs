//! Messages to entities on the same node and on another node.

use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Entities, Kind, KindOptions, LocalNet};

use crate::{Address, Msg, Pair, Receiver, median, median_time, print_row, tells_of};

const RECEIVER: Kind<Msg> = Kind::new("receiver");

/// Two nodes. One of them runs entities.
struct Hosted {
    pair: Pair,
    entities: [Entities; 2],
    to: Address<Msg>,
}

impl Hosted {
    /// Creates the nodes. If `is_far` is true, the other node runs the entities.
    fn new(is_far: bool) -> Self {
        let net = LocalNet::new();
        let pair = Pair::new(|| net.clone());
        let placement = LocalPlacement::new(&pair.systems[1].handle()).unwrap();
        let entities = [0, 1]
            .map(|number: usize| Entities::start(&pair.nodes[number], placement.clone()).unwrap());
        let host = &entities[usize::from(is_far)];
        host.host(RECEIVER, KindOptions::new(), |_| Receiver(0))
            .unwrap();
        let to = entities[0].get(RECEIVER, "one").unwrap();
        while to.ask(Msg::Done).wait().is_err() {}
        Self { pair, entities, to }
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        for entities in &self.entities {
            entities.leave();
        }
    }
}

pub(crate) fn rows(divisor: u64, rounds: usize) {
    for (name, is_far) in [("entity here", false), ("entity far", true)] {
        let tells = |_| {
            let hosted = Hosted::new(is_far);
            tells_of(&hosted.pair.systems[0], &hosted.to, 16, 2_000_000 / divisor)
        };
        print_row(name, median((0..rounds).map(tells).collect()));
        let hosted = Hosted::new(is_far);
        let asked = median_time(20_000 / divisor as u32, || {
            hosted.to.ask(Msg::Done).wait().unwrap();
        });
        println!("{:<20}{asked:>14.1?}", format!("ask, {name}"));
    }
}
