//! Tests of the bottlenecks of pipelines, and of the sentences about them.

use super::*;

/// Creates a stage with its busy, starved and back-pressured shares in percent.
fn stage(name: &str, [busy, starved, back_pressured]: [u32; 3]) -> Node {
    let share = |percent: u32| Some(f64::from(percent) / 100.0);
    Node {
        id: name.to_owned(),
        name: name.to_owned(),
        busy: share(busy),
        starved: share(starved),
        back_pressured: share(back_pressured),
        rate: 10.0,
        ..Node::default()
    }
}

/// Creates a channel from one stage to another, with its fill in percent.
fn channel(from: &str, to: &str, fill: u32) -> Edge {
    Edge {
        id: format!("{from}-{to}"),
        from: Some(from.to_owned()),
        to: Some(to.to_owned()),
        fill_p80: f64::from(fill) / 100.0,
        ..Edge::default()
    }
}

/// Finds the pipelines of some stages and channels.
fn found(nodes: Vec<Node>, edges: Vec<Edge>) -> Vec<Pipeline> {
    let mut snapshot = Snapshot {
        nodes,
        edges,
        ..Snapshot::default()
    };
    find(&mut snapshot);
    snapshot.pipelines
}

/// Returns the bottleneck of one pipeline, and the sentence about it.
fn one(nodes: Vec<Node>, edges: Vec<Edge>) -> (Option<String>, String) {
    let mut found = found(nodes, edges);
    assert_eq!(found.len(), 1, "{found:?}");
    let pipeline = found.remove(0);
    (pipeline.bottleneck, pipeline.text)
}

/// Returns the bottleneck of a row of three stages, and the sentence about it. `shares` has the
/// busy, starved and back-pressured shares of each stage, and `fills` has the fill of each channel.
/// All values are percentages.
fn row(shares: [[u32; 3]; 3], fills: [u32; 2]) -> (Option<String>, String) {
    let [a, b, c] = shares;
    one(
        vec![
            stage("generator", a),
            stage("worker", b),
            stage("logger", c),
        ],
        vec![
            channel("generator", "worker", fills[0]),
            channel("worker", "logger", fills[1]),
        ],
    )
}

#[test]
fn a_row_of_stages_is_limited_where_messages_wait() {
    for (shares, fills, name, text) in [
        (
            [[30, 0, 70], [99, 1, 0], [40, 60, 0]],
            [100, 10],
            Some("worker"),
            "worker is the bottleneck: 99 % busy, its input is full, its output is not.",
        ),
        (
            [[99, 0, 1], [60, 40, 0], [20, 80, 0]],
            [5, 5],
            Some("generator"),
            "generator is the bottleneck: 99 % busy, its output is not full.",
        ),
        (
            [[20, 0, 80], [30, 0, 70], [97, 3, 0]],
            [100, 100],
            Some("logger"),
            "logger is the bottleneck: 97 % busy, its input is full.",
        ),
        (
            [[34, 0, 0], [12, 88, 0], [5, 95, 0]],
            [1, 1],
            None,
            "No stage is the bottleneck: the busiest stage, generator, is 34 % busy.",
        ),
        // Two busy stages: messages wait in front of the second.
        (
            [[99, 0, 1], [95, 0, 5], [96, 4, 0]],
            [100, 90],
            Some("logger"),
            "logger is the bottleneck: 96 % busy, its input is full.",
        ),
        // A busy stage whose channels are half full.
        (
            [[70, 0, 5], [98, 2, 0], [60, 40, 0]],
            [40, 30],
            Some("worker"),
            "worker is the bottleneck: 98 % busy, neither its input nor its output is full.",
        ),
        // A stage that waits for its futures while messages wait for it.
        (
            [[2, 0, 98], [10, 1, 0], [1, 99, 0]],
            [100, 0],
            Some("worker"),
            "worker is the bottleneck: 10 % busy and 89 % waiting for a time, a future or its \
             thread, its input is full, its output is not.",
        ),
    ] {
        let expected = (name.map(str::to_owned), text.to_owned());
        assert_eq!(row(shares, fills), expected, "{shares:?} {fills:?}");
    }
}

#[test]
fn a_source_that_has_a_pace_is_not_the_bottleneck() {
    let (name, text) = row([[1, 0, 0], [2, 98, 0], [1, 99, 0]], [0, 0]);
    assert_eq!(name, None);
    assert_eq!(
        text,
        "No stage is the bottleneck: the busiest stage, worker, is 2 % busy."
    );
}

#[test]
fn a_pipeline_without_messages_says_so() {
    let mut nodes = vec![stage("a", [0, 0, 0]), stage("b", [0, 100, 0])];
    nodes.iter_mut().for_each(|node| node.rate = 0.0);
    let edges = vec![channel("a", "b", 0)];
    let idle = one(nodes.clone(), edges.clone());
    assert_eq!(idle, (None, "No messages flow.".to_owned()));
    nodes[0].state = State::Ended;
    nodes[1].state = State::Failed;
    nodes[1].busy = Some(1.0);
    let ended = one(nodes, edges);
    assert_eq!(ended, (None, "All stages have ended.".to_owned()));
}

#[test]
fn several_inputs_and_outputs_are_counted() {
    let nodes = || {
        ["a", "b", "c", "d"]
            .map(|name| stage(name, [10, 0, 0]))
            .to_vec()
    };
    let text = |fills: [u32; 3]| {
        let mut nodes = nodes();
        nodes[2] = stage("c", [100, 0, 0]);
        nodes[3] = stage("d", [10, 90, 0]);
        let [a, b, d] = fills;
        one(
            nodes,
            vec![
                channel("a", "c", a),
                channel("b", "c", b),
                channel("c", "d", d),
            ],
        )
        .1
    };
    assert_eq!(
        text([100, 0, 0]),
        "c is the bottleneck: 100 % busy, 1 of its 2 inputs is full, its output is not."
    );
    assert_eq!(
        text([100, 90, 90]),
        "c is the bottleneck: 100 % busy, its inputs and its output are full."
    );
    assert_eq!(
        text([0, 0, 0]),
        "c is the bottleneck: 100 % busy, neither its inputs nor its output is full."
    );
}

#[test]
fn a_loop_has_a_bottleneck_or_is_stuck() {
    let mut edges = vec![channel("ping", "pong", 100), channel("pong", "ping", 10)];
    edges[1].feedback = true;
    let nodes = vec![stage("ping", [20, 0, 80]), stage("pong", [95, 5, 0])];
    let (name, text) = one(nodes, edges.clone());
    assert_eq!(name.as_deref(), Some("pong"));
    assert_eq!(
        text,
        "pong is the bottleneck: 95 % busy, its input is full, its output is not."
    );
    // Each waits for room in the channel that the other should empty.
    for edge in &mut edges {
        (edge.fill_p80, edge.stalled_seconds) = (1.0, 3.0);
    }
    let nodes = vec![stage("ping", [0, 0, 100]), stage("pong", [0, 0, 100])];
    let (name, text) = one(nodes, edges);
    assert_eq!(name, None);
    assert_eq!(
        text,
        "The pipeline is stuck: ping takes nothing from its full input."
    );
}

#[test]
fn each_pipeline_has_its_own_line() {
    let nodes = vec![
        stage("a", [10, 0, 90]),
        stage("x", [99, 0, 0]),
        stage("alone", [100, 0, 0]),
        stage("b", [99, 0, 0]),
        stage("y", [10, 90, 0]),
        Node {
            kind: NodeKind::Actors,
            ..stage("actors", [100, 0, 0])
        },
    ];
    let edges = vec![
        channel("x", "y", 0),
        channel("a", "b", 100),
        channel("actors", "b", 0),
    ];
    let found = found(nodes, edges);
    let lines: Vec<_> = found
        .iter()
        .map(|each| {
            (
                &*each.id,
                &*each.name,
                each.stages,
                each.bottleneck.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            ("a", "a \u{2192} b", 2, Some("b")),
            ("x", "x \u{2192} y", 2, Some("x"))
        ]
    );
}

#[test]
fn unknown_shares_do_not_hide_a_busy_stage() {
    let mut worker = stage("worker", [96, 0, 0]);
    (worker.starved, worker.back_pressured) = (None, None);
    let generator = Node {
        busy: None,
        ..worker.clone()
    };
    let generator = Node {
        id: "generator".to_owned(),
        ..generator
    };
    let (name, _) = one(
        vec![generator, worker],
        vec![channel("generator", "worker", 100)],
    );
    assert_eq!(name.as_deref(), Some("worker"));
}

#[test]
fn only_the_last_stall_of_a_chain_is_the_cause() {
    let stalled = |from: &str, to: &str| Edge {
        stalled_seconds: 7.0,
        ..channel(from, to, 100)
    };
    let mut snapshot = Snapshot {
        edges: vec![
            stalled("a", "b"),
            stalled("b", "c"),
            channel("c", "d", 0),
            // A loop somewhere else has no other cause.
            stalled("x", "y"),
            stalled("y", "x"),
            stalled("before", "x"),
            // The receiver is outside of the graph.
            Edge {
                to: None,
                ..stalled("p", "")
            },
            stalled("o", "p"),
        ],
        ..Snapshot::default()
    };
    find(&mut snapshot);
    let left: Vec<_> = snapshot
        .edges
        .iter()
        .filter(|edge| edge.stalled_seconds > 0.0)
        .collect();
    let left: Vec<_> = left.iter().map(|edge| &*edge.id).collect();
    assert_eq!(left, ["b-c", "x-y", "y-x", "before-x", "p-"]);
}
