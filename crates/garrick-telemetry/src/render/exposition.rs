//! A writer for two formats of metrics: the text format 0.0.4 of Prometheus, and OpenMetrics 1.0.0.
//!
//! The formats differ in four points: the position of `_total`, the escapes in help texts, the
//! content type, and the marker at the end.

use std::fmt::Write as _;

/// Text format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// Returns the format that the `Accept` header prefers, or the Prometheus text format if there
    /// is no preference.
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

/// Type of a metric, as its `# TYPE` line states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Counter,
    Gauge,
    Histogram,
}

/// The buckets, counts and sum of a histogram to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts<'a> {
    /// Upper limits of the buckets, in ascending order. A value that is equal to a limit belongs to
    /// the bucket below this limit.
    pub(crate) limits: &'a [f64],
    /// Number of values in each bucket, followed by the number of values above the last limit.
    /// Missing entries count as 0.
    pub(crate) counts: &'a [u64],
    /// Sum of all values in the histogram.
    pub(crate) sum: f64,
}

/// The text that is being written. The head of a metric must be written before the samples of the
/// metric.
#[derive(Debug)]
pub(crate) struct Exposition {
    text: String,
    format: Format,
}

impl Exposition {
    /// Begins a text in the given format.
    pub(crate) fn new(format: Format) -> Self {
        Self {
            text: String::with_capacity(16 * 1024),
            format,
        }
    }

    /// Writes the head of a metric: its `# HELP` and `# TYPE` lines. `name` has no `_total`, even
    /// if the metric is a counter.
    pub(crate) fn head(&mut self, name: &str, kind: Type, help: &str) {
        // OpenMetrics appends `_total` to the samples of a counter, but not to the family's name.
        let total = match (kind, self.format) {
            (Type::Counter, Format::Text) => "_total",
            _ => "",
        };
        let _ = write!(self.text, "# HELP {name}{total} ");
        let quotes = self.format == Format::OpenMetrics;
        add_escaped(&mut self.text, help, quotes);
        let kind = match kind {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        };
        let _ = writeln!(self.text, "\n# TYPE {name}{total} {kind}");
    }

    /// Writes the sample of a counter.
    pub(crate) fn counter(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.sample(name, "_total", labels, None, value);
    }

    /// Writes the sample of a gauge.
    pub(crate) fn gauge(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.sample(name, "", labels, None, value);
    }

    /// Writes the samples of a histogram: `_bucket` for each limit and for infinity, `_sum` and
    /// `_count`.
    pub(crate) fn histogram(&mut self, name: &str, labels: &[(&str, &str)], values: Counts<'_>) {
        let mut below = 0;
        let mut counts = values.counts.iter().copied();
        for limit in values.limits {
            below += counts.next().unwrap_or_default();
            self.sample(name, "_bucket", labels, Some(*limit), below as f64);
        }
        let all = below + counts.sum::<u64>();
        self.sample(name, "_bucket", labels, Some(f64::INFINITY), all as f64);
        self.sample(name, "_sum", labels, None, values.sum);
        self.sample(name, "_count", labels, None, all as f64);
    }

    fn sample(
        &mut self,
        name: &str,
        suffix: &str,
        labels: &[(&str, &str)],
        limit: Option<f64>,
        value: f64,
    ) {
        let text = &mut self.text;
        text.push_str(name);
        text.push_str(suffix);
        let mut before = '{';
        for (name, value) in labels {
            let _ = write!(text, "{before}{name}=\"");
            add_escaped(text, value, true);
            text.push('"');
            before = ',';
        }
        if let Some(limit) = limit {
            let _ = write!(text, "{before}le=\"");
            add_limit(text, limit);
            text.push('"');
            before = ',';
        }
        if before == ',' {
            text.push('}');
        }
        text.push(' ');
        add_number(text, value);
        text.push('\n');
    }

    /// Finishes and returns the text.
    pub(crate) fn end(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

fn add_escaped(text: &mut String, value: &str, quotes: bool) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' if quotes => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            // Prometheus would refuse the whole answer.
            '\0' => text.push('\u{fffd}'),
            c => text.push(c),
        }
    }
}

fn add_number(text: &mut String, value: f64) {
    let _ = match value {
        f64::INFINITY => write!(text, "+Inf"),
        f64::NEG_INFINITY => write!(text, "-Inf"),
        value => write!(text, "{value}"),
    };
}

/// Writes the limit of a bucket, with a decimal point or an exponent as OpenMetrics requires.
fn add_limit(text: &mut String, limit: f64) {
    if limit.is_finite() {
        let _ = write!(text, "{limit:?}");
    } else {
        add_number(text, limit);
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
    fn a_text_may_contain_all_characters() {
        let mut text = String::new();
        add_escaped(&mut text, "a\0\\\"\nb", true);
        assert_eq!(text, "a\u{fffd}\\\\\\\"\\nb");
    }

    fn written(format: Format, write: impl FnOnce(&mut Exposition)) -> String {
        let mut exposition = Exposition::new(format);
        write(&mut exposition);
        exposition.end()
    }

    #[test]
    fn names_and_texts_are_escaped_as_each_format_asks() {
        let write = |to: &mut Exposition| {
            to.head("a", Type::Counter, "say \"hi\"\\\nbye");
            to.counter("a", &[("name", "a\"b\\c\nd")], 9_007_199_254_740_992.0);
        };
        assert_eq!(
            written(Format::Text, write),
            "# HELP a_total say \"hi\"\\\\\\nbye\n# TYPE a_total counter\n\
             a_total{name=\"a\\\"b\\\\c\\nd\"} 9007199254740992\n"
        );
        assert_eq!(
            written(Format::OpenMetrics, write),
            "# HELP a say \\\"hi\\\"\\\\\\nbye\n# TYPE a counter\n\
             a_total{name=\"a\\\"b\\\\c\\nd\"} 9007199254740992\n# EOF\n"
        );
    }

    #[test]
    fn numbers_have_the_words_of_the_formats() {
        let values = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.25, -3.0];
        let text = written(Format::Text, |to| {
            values.iter().for_each(|value| to.gauge("a", &[], *value));
        });
        assert_eq!(text, "a +Inf\na -Inf\na NaN\na 0.25\na -3\n");
    }

    #[test]
    fn buckets_of_a_histogram_add_up() {
        let values = Counts {
            limits: &[0.5, 1.0, 1e20],
            counts: &[2, 0, 3, 4],
            sum: 17.5,
        };
        let text = written(Format::Text, |to| to.histogram("h", &[("a", "b")], values));
        let expected = "h_bucket{a=\"b\",le=\"0.5\"} 2\nh_bucket{a=\"b\",le=\"1.0\"} 2\n\
                        h_bucket{a=\"b\",le=\"1e20\"} 5\nh_bucket{a=\"b\",le=\"+Inf\"} 9\n\
                        h_sum{a=\"b\"} 17.5\nh_count{a=\"b\"} 9\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn counts_that_are_missing_are_none() {
        let values = Counts {
            limits: &[1.0, 2.0],
            counts: &[5],
            sum: 5.0,
        };
        let text = written(Format::Text, |to| to.histogram("h", &[], values));
        assert!(text.contains("h_bucket{le=\"2.0\"} 5\nh_bucket{le=\"+Inf\"} 5\n"));
    }
}
