//! Systems to watch.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick::flow::{Cx, Graph, Running, Slots, Wait, map_batch, stages};
use garrick_telemetry::{
    ActorsReading, Builder, ChannelReading, HeldReading, Reading, SponsorReading, StageReading,
    State, Telemetry,
};

/// Returns a builder for any free port, with frequent snapshots.
pub(crate) fn anywhere() -> Builder {
    at(([127, 0, 0, 1], 0).into())
}

/// Returns a builder for this address, with frequent snapshots.
pub(crate) fn at(address: SocketAddr) -> Builder {
    Telemetry::builder()
        .address(address)
        .interval(Duration::from_millis(50))
        .name("garrick")
}

/// Starts telemetry that watches `source`.
pub(crate) fn watching(
    builder: Builder,
    source: impl FnMut(&mut Reading) + Send + 'static,
) -> Telemetry {
    let telemetry = builder.start().expect("the port is free");
    telemetry.watch(source);
    telemetry.look();
    telemetry
}

/// Real pipeline of three stages that runs until it is stopped.
pub(crate) struct Pipeline {
    pub(crate) running: Running,
    stop: Arc<AtomicBool>,
}

impl Pipeline {
    pub(crate) fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut graph = Graph::new();
        let (numbers_out, mut numbers) = graph
            .channel::<u64>(Slots::of(4096).named("numbers"))
            .expect("a channel");
        let (mut squares_out, squares) = graph
            .channel::<u64>(Slots::of(4096).named("squares"))
            .expect("a channel");
        let numbers_all = (0_u64..).take_while(move |_| !stopped.load(Relaxed));
        graph.source("generator", stages::produce(numbers_out, numbers_all));
        graph.stage("worker", move |_: &mut Cx<'_>| {
            map_batch(&mut numbers, &mut squares_out, usize::MAX, |n| {
                n.wrapping_mul(*n)
            });
            if numbers.is_finished() || squares_out.is_closed() {
                return Wait::done();
            }
            Wait::readable(&numbers, 1024).and(Wait::free(&squares_out, 1024))
        });
        graph.stage("logger", stages::consume(squares, |_: &[u64]| ()));
        let running = graph.start().expect("it starts");
        Self { running, stop }
    }

    /// Stops the generator, and waits until the pipeline has drained.
    pub(crate) fn stop(self) {
        self.stop.store(true, Relaxed);
        self.running.join();
    }
}

fn stage(id: usize, name: &str, place: &str, messages: u64) -> StageReading {
    StageReading {
        id: format!("s{id}"),
        name: name.to_owned(),
        place: place.to_owned(),
        messages,
        turns: messages / 100,
        busy_nanos: Some(messages * 10),
        ..StageReading::default()
    }
}

fn channel(id: usize, from: usize, to: usize, fill: u64, taken: u64) -> ChannelReading {
    ChannelReading {
        id: format!("c{id}"),
        from: Some(format!("s{from}")),
        to: Some(format!("s{to}")),
        message: "Request".to_owned(),
        capacity: 1000,
        fill,
        taken,
        batches: vec![1, 4, 20, 90, 210, 130],
        sender_stalls: fill,
        receiver_stalls: 1000 - fill,
        ..ChannelReading::default()
    }
}

fn sponsor(name: &str, workers: u64, turns: u64) -> SponsorReading {
    SponsorReading {
        id: format!("p-{name}"),
        name: name.to_owned(),
        workers,
        idle_nanos: Some(turns),
        turns,
        ..SponsorReading::default()
    }
}

/// Stages of a service, and their teams.
const STAGES: [(&str, &str); 10] = [
    ("listener", "edge"),
    ("parse", "ingest"),
    ("decode", "ingest"),
    ("worker 0", "compute"),
    ("worker 1", "compute"),
    ("worker 2", "compute"),
    ("merge", "sink"),
    ("log", "sink"),
    ("index", "sink"),
    ("archive", "sink"),
];

/// Returns a service of a dozen stages and some actors, with every kind of trouble.
pub(crate) fn service() -> impl FnMut(&mut Reading) + Send {
    let mut beat = 0;
    move |reading| {
        beat += 1;
        for (id, (name, place)) in STAGES.iter().enumerate() {
            let speed = 120_000 - 9_000 * id as u64;
            reading.stages.push(stage(id, name, place, beat * speed));
        }
        reading.stages[4].restarts = 2;
        reading.stages[9].state = State::Failed;
        reading.stages[9].note = Some("No space left on device".to_owned());
        let edges = [
            (0, 1),
            (1, 2),
            (2, 3),
            (2, 4),
            (2, 5),
            (3, 6),
            (4, 6),
            (5, 6),
            (6, 7),
            (6, 8),
            (6, 9),
            (8, 2),
        ];
        for (id, (from, to)) in edges.into_iter().enumerate() {
            let fill = (id as u64 * 173 + 60) % 990;
            reading.channels.push(channel(
                id,
                from,
                to,
                fill,
                beat * (100_000 - 7_000 * id as u64),
            ));
        }
        reading.channels[10].closed = true;
        reading.actors.push(ActorsReading {
            id: "a".to_owned(),
            name: "Session".to_owned(),
            place: "actors".to_owned(),
            alive: Some(128_400),
            messages: beat * 41_000,
            turns: beat * 40_000,
            waiting: Some(3_400),
            ..ActorsReading::default()
        });
        for (name, workers) in [
            ("edge", 1),
            ("ingest", 2),
            ("compute", 3),
            ("sink", 2),
            ("actors", 2),
        ] {
            reading
                .sponsors
                .push(sponsor(name, workers, beat * 3_000_000));
        }
    }
}

/// Adds a sponsor with a worker that one type of actor has held for long. Two more turns of that
/// type are away.
pub(crate) fn held(reading: &mut Reading) {
    reading.actors.push(ActorsReading {
        id: "a".to_owned(),
        name: "Session".to_owned(),
        place: "pool".to_owned(),
        held_nanos: Some(2_300_000_000),
        away: Some(2),
        away_nanos: Some(250_000_000),
        ..ActorsReading::default()
    });
    let turn = |worker, nanos| HeldReading {
        worker,
        actors: "a".to_owned(),
        name: "Session".to_owned(),
        nanos,
    };
    reading.sponsors.push(SponsorReading {
        held: vec![turn(0, 1_000_000), turn(1, 2_300_000_000)],
        ..sponsor("pool", 2, 7)
    });
}

/// Adds 25 layers of 20 stages, and 1000 channels between them.
pub(crate) fn crowd(reading: &mut Reading, beat: u64) {
    for id in 0..500 {
        let (name, team) = (format!("stage {id}"), format!("team {}", id % 4));
        reading
            .stages
            .push(stage(id, &name, &team, beat * (id as u64 + 1) * 100));
    }
    for id in 0..1000 {
        let from = id * 7 % 480;
        let to = (from / 20 + 1) * 20 + (from + id % 3) % 20;
        let fill = (id as u64 * 37 + beat * 13) % 1000;
        reading
            .channels
            .push(channel(id, from, to, fill, beat * (id as u64 + 1) * 100));
    }
}

/// Names of the layers of a plant, and their teams.
const LAYERS: [(&str, &str); 9] = [
    ("listen", "edge"),
    ("read", "edge"),
    ("decode", "ingest"),
    ("check", "ingest"),
    ("enrich", "compute"),
    ("score", "compute"),
    ("merge", "compute"),
    ("pack", "sink"),
    ("store", "sink"),
];

/// Adds 9 layers of 5 stages, each connected to its neighbors, and some actors. One stage limits
/// all others, and one has failed. `time` is the time since the start.
pub(crate) fn plant(reading: &mut Reading, time: Duration) {
    let nanos = u64::try_from(time.as_nanos()).expect("a short time");
    let beat = nanos / 50_000_000;
    for (layer, (name, team)) in LAYERS.iter().enumerate() {
        for row in 0..5 {
            let id = layer * 5 + row;
            let mut stage = stage(id, &format!("{name} {row}"), team, beat * 6_000);
            let [busy, starved, full] = match (layer, row) {
                (2, 2) => [98, 2, 0],
                (0 | 1, _) => [18, 2, 80],
                _ => [28, 70, 0],
            };
            let share = |percent: u64| Some(nanos / 100 * percent);
            stage.busy_nanos = share(busy);
            stage.starved_nanos = share(starved);
            stage.back_pressured_nanos = share(full);
            reading.stages.push(stage);
            if layer > 0 {
                let is_dammed = layer == 2 && row == 2 || layer == 1;
                let fill = if is_dammed { 990 } else { 40 };
                for (number, from) in [row, (row + 1) % 5].into_iter().enumerate() {
                    if number == 0 || layer % 3 == 0 {
                        let id = id * 2 + number;
                        let from = (layer - 1) * 5 + from;
                        reading.channels.push(channel(
                            id,
                            from,
                            layer * 5 + row,
                            fill,
                            beat * 6_000,
                        ));
                    }
                }
            }
        }
    }
    reading.stages[7 * 5 + 3].state = State::Failed;
    reading.stages[7 * 5 + 3].note = Some("No space left on device".to_owned());
    reading.stages[11].restarts = 12;
    reading.actors.push(ActorsReading {
        id: "a".to_owned(),
        name: "Session".to_owned(),
        place: "actors".to_owned(),
        alive: Some(128_400),
        messages: beat * 41_000,
        turns: beat * 40_000,
        waiting: Some(3_400),
        failures: 3,
        held_nanos: Some(2_300_000_000),
        ..ActorsReading::default()
    });
    for name in ["edge", "ingest", "compute", "sink", "actors"] {
        reading.sponsors.push(sponsor(name, 2, beat * 3_000_000));
    }
}

/// Names that have broken pages before.
pub(crate) const HOSTILE: &[&str] = &[
    "<img src=x onerror=\"window.broken=1\">",
    "\"'><script>window.broken=1</script>",
    "</title><svg onload=window.broken=1>",
    "\u{202e}gpj.exe",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{5e2}\u{5d5}\u{5dc}\u{5dd}",
    "__proto__",
    "a\nb\tc\u{0}d",
    "&lt;b&gt;&amp;",
    "",
];

/// Adds a pipeline with all hostile names, everywhere, and one very long name.
pub(crate) fn hostile(reading: &mut Reading) {
    let long = "long".repeat(500);
    let mut names = HOSTILE.to_vec();
    names.push(&long);
    for (id, name) in names.iter().enumerate() {
        let mut stage = stage(id, name, name, 7);
        stage.note = Some((*name).to_owned());
        reading.stages.push(stage);
        if id > 0 {
            let mut channel = channel(id, id - 1, id, 999, 7);
            channel.name = Some((*name).to_owned());
            channel.message = (*name).to_owned();
            reading.channels.push(channel);
        }
        reading.sponsors.push(SponsorReading {
            id: format!("p{id}"),
            name: (*name).to_owned(),
            ..SponsorReading::default()
        });
    }
}
