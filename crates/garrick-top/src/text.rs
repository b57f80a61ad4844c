//! Makes text from other processes safe to print, and measures its width as terminals do.
//!
//! Names come from another process. Some characters must not reach a terminal: control characters
//! and escape sequences control the terminal, and some invisible characters change the direction or
//! the layout of the text. Such characters are shown as escapes, for example `\u{1b}`. The width of
//! a text is that of the Unicode standard: two columns for most East Asian characters and emoji,
//! and none for combining marks.

use std::sync::Arc;

use garrick_telemetry::{Metric, Snapshot};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Maximum number of characters that are shown per text. No screen has room for a longer name.
const CHARS_MAX: usize = 300;

/// Maximum number of combining marks on one character. Text needs two or three. Hundreds of them
/// are an attempt to break the layout.
const MARKS_MAX: usize = 3;

/// Placeholder for an unknown figure.
pub(crate) const UNKNOWN: &str = "?";

/// Sign at the place where text was cut off.
const ELLIPSIS: char = '\u{2026}';

/// Returns `text` in one line, without characters that could control a terminal.
pub(crate) fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len().min(CHARS_MAX));
    // A mark at the beginning would combine with the character printed before.
    let mut marks = MARKS_MAX;
    for (index, char) in text.chars().enumerate() {
        if index == CHARS_MAX {
            safe.push(ELLIPSIS);
            break;
        }
        if acts(char) {
            safe.extend(char.escape_unicode());
            marks = 0;
        } else if char.width() == Some(0) {
            if marks < MARKS_MAX {
                safe.push(char);
                marks += 1;
            }
        } else {
            safe.push(char);
            marks = 0;
        }
    }
    safe
}

/// Returns true if a character has an effect other than being shown.
pub(crate) fn acts(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            // Joiners, marks of direction, separators of lines, embeddings and overrides, isolates.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Annotations and tags.
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Makes all texts that the screen shows safe to print. Does not change the ids, because they are
/// compared but not shown.
pub(crate) fn clean(snapshot: &mut Snapshot) {
    let clean = |text: &mut String| *text = safe(text);
    clean(&mut snapshot.process.name);
    for node in &mut snapshot.nodes {
        clean(&mut node.name);
        clean(&mut node.place);
        node.note.iter_mut().for_each(clean);
    }
    for edge in &mut snapshot.edges {
        edge.name.iter_mut().for_each(clean);
        clean(&mut edge.message);
    }
    for sponsor in &mut snapshot.sponsors {
        clean(&mut sponsor.name);
        sponsor
            .held
            .iter_mut()
            .for_each(|held| clean(&mut held.name));
    }
    for journal in &mut snapshot.journals {
        clean(&mut journal.name);
        journal.failure.iter_mut().for_each(clean);
        journal.notice.iter_mut().for_each(clean);
    }
    clean_clusters(snapshot);
    for pipeline in &mut snapshot.pipelines {
        clean(&mut pipeline.name);
        clean(&mut pipeline.text);
    }
    for alert in &mut snapshot.alerts {
        clean(&mut alert.probe);
        clean(&mut alert.text);
    }
    for actor in &mut snapshot.actors {
        clean(&mut actor.name);
    }
    for failure in &mut snapshot.recent_failures {
        clean(&mut failure.name);
        clean(&mut failure.place);
        clean(&mut failure.reason);
        failure.path.iter_mut().for_each(clean);
    }
    snapshot.metrics.iter_mut().for_each(clean_metric);
}

fn clean_clusters(snapshot: &mut Snapshot) {
    let clean = |text: &mut String| *text = safe(text);
    for member in &mut snapshot.members {
        clean(&mut member.name);
        clean(&mut member.local);
        clean(&mut member.incarnation);
        let shards = std::mem::take(&mut member.shards).into_iter();
        let cleaned = shards.map(|(kind, count)| (safe(&kind), count));
        member.shards = cleaned.collect();
        let own = member.own.iter_mut();
        own.for_each(|own| own.failure.iter_mut().for_each(clean));
    }
    for link in &mut snapshot.links {
        clean(&mut link.name);
        clean(&mut link.local);
        clean(&mut link.incarnation);
    }
    for kind in &mut snapshot.kinds {
        clean(&mut kind.name);
        clean(&mut kind.local);
    }
}

fn clean_metric(metric: &mut Metric) {
    metric.name = safe(&metric.name).into();
    metric.help = safe(&metric.help).into();
    for series in &mut metric.series {
        let labels = series.labels.iter();
        let labels = labels.map(|(name, value)| (safe(name), safe(value)));
        series.labels = Arc::new(labels.collect());
    }
}

/// Escapes every character of `json` that could control a terminal. In JSON, such characters are
/// only allowed in strings.
pub(crate) fn safe_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    let mut units = [0; 2];
    for char in json.chars() {
        if acts(char) {
            for unit in char.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(char);
        }
    }
    safe
}

/// Returns the number of columns that `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Returns the part of `text` that fits into `columns`. Adds an ellipsis if something is cut off.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else {
        return String::new();
    };
    // Characters can be wider or narrower together than alone, so measure whole prefixes.
    let end = text
        .char_indices()
        .map(|(start, char)| start + char.len_utf8())
        .take_while(|end| width(&text[..*end]) <= room)
        .last()
        .unwrap_or(0);
    format!("{}{ELLIPSIS}", &text[..end])
}

/// Pads `text` to a width of exactly `columns`, aligned to the right or to the left.
pub(crate) fn pad(text: &str, columns: usize, right: bool) -> String {
    let text = fit(text, columns);
    let blanks = " ".repeat(columns - width(&text));
    if right {
        blanks + &text
    } else {
        text + &blanks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use garrick_telemetry::{
        ActorStatus, Held, JournalStatus, KindStatus, LinkStatus, MemberStatus, MetricSeries, Node,
        OwnMember, RecentFailure, SponsorStatus,
    };

    #[test]
    fn what_acts_is_shown_as_an_escape() {
        assert_eq!(safe("a\x1b[31mred\x07"), "a\\u{1b}[31mred\\u{7}");
        assert_eq!(
            safe("two\r\nlines\tand\u{9b}2J"),
            "two\\u{d}\\u{a}lines\\u{9}and\\u{9b}2J"
        );
        assert_eq!(safe("right\u{202e}tfel"), "right\\u{202e}tfel");
        assert_eq!(safe("none\u{200b}\u{feff}"), "none\\u{200b}\\u{feff}");
        assert_eq!(safe("Grüße, 世界, שלום"), "Grüße, 世界, שלום");
    }

    #[test]
    fn marks_and_length_have_bounds() {
        let tower = format!("o{}x", "\u{301}".repeat(100));
        assert_eq!(safe(&tower), "o\u{301}\u{301}\u{301}x");
        assert_eq!(safe("\u{301}x"), "x", "a mark needs something to stand on");
        let long = safe(&"n".repeat(CHARS_MAX + 1));
        assert_eq!(long.chars().count(), CHARS_MAX + 1);
        assert!(long.ends_with(ELLIPSIS));
    }

    #[test]
    fn widths_are_those_of_a_terminal() {
        assert_eq!(
            ["abc", "世界", "e\u{301}", "שלום", ""].map(width),
            [3, 4, 1, 4, 0]
        );
        assert_eq!(fit("generator", 9), "generator");
        assert_eq!(fit("generator", 5), "gene…");
        assert_eq!(fit("世界世界", 6), "世界…", "half a character is none");
        assert_eq!(
            (fit("ab", 1), fit("ab", 0)),
            ("…".to_owned(), String::new())
        );
        for text in ["世界", "ab", "שלום", "e\u{301}e\u{301}e\u{301}"] {
            for columns in 0..8 {
                assert_eq!(
                    width(&pad(text, columns, true)),
                    columns,
                    "{text} {columns}"
                );
                assert_eq!(
                    width(&pad(text, columns, false)),
                    columns,
                    "{text} {columns}"
                );
            }
        }
        assert_eq!(
            (pad("7", 3, true), pad("7", 3, false)),
            ("  7".to_owned(), "7  ".to_owned())
        );
    }

    #[test]
    fn a_snapshot_is_cleaned_throughout_and_its_json_stays_json() {
        let evil = "\u{1b}]0;owned\u{7}\u{9b}\u{202e}\u{e0001}".to_owned();
        let mut snapshot = Snapshot {
            nodes: vec![Node {
                id: evil.clone(),
                name: evil.clone(),
                note: Some(evil.clone()),
                ..Node::default()
            }],
            sponsors: vec![SponsorStatus {
                held: vec![Held {
                    name: evil.clone(),
                    ..Held::default()
                }],
                ..SponsorStatus::default()
            }],
            actors: vec![ActorStatus {
                name: evil.clone(),
                ..ActorStatus::default()
            }],
            recent_failures: vec![RecentFailure {
                name: evil.clone(),
                place: evil.clone(),
                path: Some(evil.clone()),
                reason: evil.clone(),
                ..RecentFailure::default()
            }],
            metrics: vec![Metric {
                name: evil.as_str().into(),
                help: evil.as_str().into(),
                series: vec![MetricSeries {
                    labels: Arc::new([(evil.clone(), evil.clone())].into()),
                    ..MetricSeries::default()
                }],
                ..Metric::default()
            }],
            ..Snapshot::default()
        };
        let json = safe_json(&serde_json::to_string(&snapshot).unwrap());
        assert!(!json.chars().any(acts), "{json}");
        assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);
        clean(&mut snapshot);
        let node = &snapshot.nodes[0];
        assert_eq!(node.id, evil);
        assert!(!snapshot.sponsors[0].held[0].name.chars().any(acts));
        let metric = &snapshot.metrics[0];
        let failure = &snapshot.recent_failures[0];
        let texts = format!(
            "{}{}{:?}{}{}{}{}{:?}",
            metric.name,
            metric.help,
            metric.series[0].labels,
            snapshot.actors[0].name,
            failure.name,
            failure.place,
            failure.reason,
            failure.path
        );
        assert!(
            texts.contains("owned") && !texts.chars().any(acts),
            "{texts}"
        );
        assert!(
            !node
                .name
                .chars()
                .chain(node.note.clone().unwrap().chars())
                .any(acts)
        );
    }

    #[test]
    fn a_cluster_is_cleaned() {
        let evil = || "\u{1b}]0;owned\u{7}".to_owned();
        let mut snapshot = Snapshot {
            members: vec![MemberStatus {
                name: evil(),
                local: evil(),
                incarnation: evil(),
                shards: [(evil(), 1)].into(),
                own: Some(OwnMember {
                    failure: Some(evil()),
                    ..OwnMember::default()
                }),
                ..MemberStatus::default()
            }],
            links: vec![LinkStatus {
                name: evil(),
                local: evil(),
                incarnation: evil(),
                ..LinkStatus::default()
            }],
            kinds: vec![KindStatus {
                name: evil(),
                local: evil(),
                ..KindStatus::default()
            }],
            ..Snapshot::default()
        };
        clean(&mut snapshot);
        let told = format!("{:?} {:?}", snapshot.members, snapshot.links);
        let told = format!("{told} {:?}", snapshot.kinds);
        assert_eq!(told.matches(";owned").count(), 10, "{told}");
        // Each escape is shown as text.
        assert_eq!(told.matches(r"\\u{1b}").count(), 10, "{told}");
    }

    #[test]
    fn a_journal_is_cleaned() {
        let evil = "\u{1b}]0;owned\u{7}".to_owned();
        let mut snapshot = Snapshot {
            journals: vec![JournalStatus {
                name: evil.clone(),
                failure: Some(evil.clone()),
                notice: Some(evil),
                ..JournalStatus::default()
            }],
            ..Snapshot::default()
        };
        clean(&mut snapshot);
        let journal = snapshot.journals.remove(0);
        for text in [Some(journal.name), journal.failure, journal.notice] {
            let text = text.unwrap();
            assert!(text.contains("owned") && !text.chars().any(acts), "{text}");
        }
    }
}
