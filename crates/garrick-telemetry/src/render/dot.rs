//! Renders a snapshot as a graph in the language of Graphviz.
//!
//! The color of an edge shows how full its channel was. The width of an edge grows with the number
//! of digits of its rate. A node with an alert has a frame in the alert's color. An edge with an
//! alert is drawn in the alert's color. A feedback channel is dashed.

use std::fmt::Write as _;

use crate::snapshot::{Edge, Level, Node, Snapshot, State};

/// Renders `snapshot` as a graph for Graphviz.
pub(crate) fn render(snapshot: &Snapshot) -> String {
    let mut text = String::from("digraph G {\n  rankdir=LR;\n");
    text.push_str(
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];\n",
    );
    text.push_str("  edge [fontname=\"sans-serif\", fontsize=10];\n");
    for node in &snapshot.nodes {
        add_node(&mut text, node);
    }
    for edge in &snapshot.edges {
        add_edge(&mut text, snapshot.window, edge);
    }
    text.push_str("}\n");
    text
}

fn add_node(text: &mut String, node: &Node) {
    let mut lines = vec![node.name.clone()];
    if node.place != node.name && !node.place.is_empty() {
        lines.push(format!("on {}", node.place));
    }
    if let Some(busy) = node.busy {
        lines.push(format!("busy {:.0} %", busy * 100.0));
    }
    if let Some(alive) = node.alive {
        lines.push(format!("actors {}", grouped(alive)));
    }
    if let Some(note) = &node.note {
        lines.push(note.clone());
    }
    let (color, fill) = match (node.state, node.level) {
        (State::Failed, _) | (_, Level::Critical) => ("red", "mistyrose"),
        (_, Level::Warning) => ("orange", "white"),
        (State::Ended, _) => ("grey", "whitesmoke"),
        (State::Running, Level::Ok) => ("black", "white"),
    };
    let (id, label) = (quoted(&node.id), label(&lines));
    let _ = writeln!(
        text,
        "  {id} [label={label}, color={color}, fillcolor={fill}];"
    );
}

fn add_edge(text: &mut String, window: f64, edge: &Edge) {
    let mut lines = Vec::new();
    lines.extend(edge.name.clone());
    lines.push(format!("Window {window:.1} secs"));
    lines.push(format!("Avg rate: {} per/sec", short(edge.rate)));
    lines.push(format!("filled 80%ile {:.0} %", edge.fill_p80 * 100.0));
    let (capacity, total) = (edge.capacity, grouped(edge.total));
    lines.push(format!("Capacity: {capacity} Total: {total}"));
    let (from, to) = (end(text, edge, "from"), end(text, edge, "to"));
    let _ = writeln!(
        text,
        "  {from} -> {to} [label={}, color={}, penwidth={:.1}{}];",
        label(&lines),
        color(edge),
        width(edge.rate),
        // Feedback channels do not influence the ranks of the nodes.
        if edge.feedback {
            ", style=dashed, constraint=false"
        } else {
            ""
        }
    );
}

/// Returns the identifier of the node at one end of `edge`. If this node is not known yet, adds a
/// placeholder (a dot) to the graph, and returns the identifier of the placeholder.
fn end(text: &mut String, edge: &Edge, which: &str) -> String {
    let known = if which == "from" {
        &edge.from
    } else {
        &edge.to
    };
    if let Some(id) = known {
        return quoted(id);
    }
    let id = quoted(&format!("{} {which}", edge.id));
    let _ = writeln!(text, "  {id} [shape=point];");
    id
}

/// Returns the color of an edge. The color depends on the edge's alert and on [`Edge::fill_p80`].
fn color(edge: &Edge) -> &'static str {
    match edge.fill_p80 {
        _ if edge.level == Level::Critical => "red",
        fill if fill >= 0.9 => "red",
        _ if edge.level == Level::Warning => "orange",
        fill if fill >= 0.7 => "orange",
        fill if fill >= 0.4 => "gold",
        fill if fill >= 0.1 => "green",
        _ => "grey",
    }
}

/// Returns the pen width of an edge: 1 if there are no messages, and 1 more for each power of ten
/// above one message per second.
fn width(rate: f64) -> f64 {
    1.0 + rate.max(1.0).log10()
}

/// Formats a rate with at most three digits, for example `64M`.
fn short(rate: f64) -> String {
    for (unit, name) in [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")] {
        // A rate halfway to 1 of the next unit would be rounded up to 1000 of the current unit.
        if rate >= unit * 0.9995 {
            let value = rate / unit;
            let digits = if value < 9.95 { 1 } else { 0 };
            return format!("{value:.digits$}{name}");
        }
    }
    format!("{rate:.0}")
}

/// Formats a count with thousands separators, for example `941,231,872`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats an identifier as a quoted string. Quotes are escaped, backslashes are doubled, and NUL
/// characters are replaced.
fn quoted(id: &str) -> String {
    // A backslash before the closing quote would escape it, so every backslash is doubled.
    let id = id.replace('\0', "\u{fffd}").replace('\\', "\\\\");
    format!("\"{}\"", id.replace('"', "\\\""))
}

/// Formats lines as a quoted label. Quotes and backslashes are escaped.
fn label(lines: &[String]) -> String {
    let mut text = String::from("\"");
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            text.push_str("\\n");
        }
        for c in line.chars() {
            match c {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                // Graphviz decodes entities in labels: it would show `&amp;` as `&`.
                '&' => text.push_str("&amp;"),
                '\t' => text.push(' '),
                c if c.is_control() => text.push('\u{fffd}'),
                c => text.push(c),
            }
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (rate, text) in [
            (0.0, "0"),
            (999.4, "999"),
            (999.6, "1.0K"),
            (1500.0, "1.5K"),
            (64e6, "64M"),
            (999_600_000.0, "1.0B"),
        ] {
            assert_eq!(short(rate), text);
        }
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(941_231_872), "941,231,872");
        assert_eq!(grouped(1_000), "1,000");
    }

    #[test]
    fn a_label_is_that_of_the_seed() {
        let snapshot = Snapshot {
            window: 10.2,
            edges: vec![Edge {
                id: "c".to_owned(),
                from: Some("a".to_owned()),
                to: Some("b".to_owned()),
                capacity: 1_048_576,
                fill_p80: 1.0,
                rate: 64e6,
                total: 941_231_872,
                ..Edge::default()
            }],
            ..Snapshot::default()
        };
        let text = render(&snapshot);
        let label = "Window 10.2 secs\\nAvg rate: 64M per/sec\\nfilled 80%ile 100 %\\n\
                     Capacity: 1048576 Total: 941,231,872";
        let edge = format!("\"a\" -> \"b\" [label=\"{label}\", color=red, penwidth=8.8];");
        assert!(text.contains(&edge), "{text}");
    }

    #[test]
    fn a_channel_that_leads_back_is_dashed() {
        let edge = |feedback| Edge {
            feedback,
            ..Edge::default()
        };
        let text = |feedback| {
            render(&Snapshot {
                edges: vec![edge(feedback)],
                ..Snapshot::default()
            })
        };
        assert!(text(true).contains("penwidth=1.0, style=dashed, constraint=false];"));
        assert!(!text(false).contains("dashed"));
    }

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(quoted("a\"b\\"), "\"a\\\"b\\\\\"");
        assert_eq!(
            label(&["a\"\\N\n&\0".to_owned()]),
            "\"a\\\"\\\\N\\n&amp;\u{fffd}\""
        );
    }
}
