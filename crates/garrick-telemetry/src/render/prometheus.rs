//! A snapshot in the text format 0.0.4 of Prometheus, or in OpenMetrics 1.0.0.
//!
//! The formats differ in three points: the position of `_total`, the content type, and the marker
//! at the end.

use std::fmt::Write as _;

use crate::metrics::{FAMILIES, Family, Kind, Labels, edge_labels};
use crate::snapshot::{Edge, Snapshot};

/// Name of the histogram of batch sizes, which is exported only in these formats.
const BATCHES: &str = "garrick_channel_batch_messages";

/// Text format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// Returns the format that the `Accept` header prefers, or the text format if there is no
    /// preference.
    pub(crate) fn of(accept: &str) -> Self {
        let (mut text, mut open) = (0.0f32, 0.0f32);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let quality = parts.find_map(|part| part.strip_prefix("q="));
            let quality = quality.map_or(1.0, |q| q.trim().parse().unwrap_or(0.0));
            match kind.as_str() {
                "application/openmetrics-text" => open = open.max(quality),
                "text/plain" | "text/*" | "*/*" => text = text.max(quality),
                _ => {}
            }
        }
        if open > text || (open == text && open > 0.0) {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    /// Returns the content type of a response in this format.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Renders `snapshot` in `format`.
pub(crate) fn render(snapshot: &Snapshot, format: Format) -> String {
    let mut text = String::with_capacity(16 * 1024);
    for family in FAMILIES {
        add_family(&mut text, family, snapshot, format);
    }
    add_batches(&mut text, snapshot);
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn add_family(text: &mut String, family: &Family, snapshot: &Snapshot, format: Format) {
    let total = match family.kind {
        Kind::Counter => "_total",
        Kind::Gauge => "",
    };
    let kind = match family.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
    };
    // OpenMetrics appends `_total` to the samples of a counter, but not to the family's name.
    let head = match format {
        Format::Text => total,
        Format::OpenMetrics => "",
    };
    let (name, help) = (family.name, family.help);
    let _ = writeln!(
        text,
        "# HELP {name}{head} {help}\n# TYPE {name}{head} {kind}"
    );
    family.each(snapshot, |labels, value| {
        text.push_str(name);
        text.push_str(total);
        add_labels(text, labels, None);
        let _ = writeln!(text, " {}", number(value));
    });
}

fn add_batches(text: &mut String, snapshot: &Snapshot) {
    let help = "Number of messages per sent batch.";
    let _ = writeln!(text, "# HELP {BATCHES} {help}\n# TYPE {BATCHES} histogram");
    for edge in &snapshot.edges {
        add_histogram(text, edge, &edge_labels(snapshot, edge));
    }
}

fn add_histogram(text: &mut String, edge: &Edge, labels: &Labels<'_>) {
    let mut batches = 0;
    for (power, count) in edge.batches.counts.iter().enumerate() {
        batches += count;
        // Computes `2^(k+1) - 1` without shifting too far.
        let most = u64::MAX.unbounded_shr(63u32.saturating_sub(power as u32));
        add_bucket(text, labels, &format!("{most}.0"), batches);
    }
    add_bucket(text, labels, "+Inf", batches);
    let _ = write!(text, "{BATCHES}_count");
    add_labels(text, labels, None);
    let _ = writeln!(text, " {batches}");
    let _ = write!(text, "{BATCHES}_sum");
    add_labels(text, labels, None);
    // Every sent message has been taken, or is still in the channel.
    let _ = writeln!(text, " {}", edge.total + edge.fill);
}

fn add_bucket(text: &mut String, labels: &Labels<'_>, most: &str, count: u64) {
    let _ = write!(text, "{BATCHES}_bucket");
    add_labels(text, labels, Some(most));
    let _ = writeln!(text, " {count}");
}

/// Writes `{a="x",b="y"}`, with `le` as the last label if it is given. Writes nothing if there are
/// no labels.
fn add_labels(text: &mut String, labels: &Labels<'_>, le: Option<&str>) {
    let labels = labels.iter().copied().chain(le.map(|most| ("le", most)));
    let mut before = '{';
    for (name, value) in labels {
        let _ = write!(text, "{before}{name}=\"");
        add_escaped(text, value);
        text.push('"');
        before = ',';
    }
    if before == ',' {
        text.push('}');
    }
}

fn add_escaped(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
}

fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        (if value > 0.0 { "+Inf" } else { "-Inf" }).to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_chooses() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,\
                          text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert_eq!(Format::of(prometheus), Format::OpenMetrics);
        assert_eq!(
            Format::of("application/openmetrics-text"),
            Format::OpenMetrics
        );
        for accept in [
            "",
            "*/*",
            "text/plain",
            "text/html, */*;q=0.8",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=0.2, text/plain;q=0.7",
            ";;;,,q=",
        ] {
            assert_eq!(Format::of(accept), Format::Text, "{accept}");
        }
    }

    #[test]
    fn labels_are_escaped_and_numbers_written_as_asked() {
        let mut text = String::new();
        add_labels(&mut text, &vec![("name", "a\"b\\c\nd")], Some("+Inf"));
        assert_eq!(text, "{name=\"a\\\"b\\\\c\\nd\",le=\"+Inf\"}");
        assert_eq!(number(f64::INFINITY), "+Inf");
        assert_eq!(number(9_007_199_254_740_992.0), "9007199254740992");
        assert_eq!(number(0.25), "0.25");
    }

    #[test]
    fn buckets_are_powers_of_two_less_one() {
        let mut text = String::new();
        let edge = Edge {
            total: 9,
            batches: crate::Batches {
                counts: vec![1, 0, 2],
            },
            ..Edge::default()
        };
        add_histogram(&mut text, &edge, &Vec::new());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "garrick_channel_batch_messages_bucket{le=\"1.0\"} 1"
        );
        assert_eq!(
            lines[2],
            "garrick_channel_batch_messages_bucket{le=\"7.0\"} 3"
        );
        assert_eq!(lines[4], "garrick_channel_batch_messages_count 3");
        assert_eq!(lines[5], "garrick_channel_batch_messages_sum 9");
    }
}
