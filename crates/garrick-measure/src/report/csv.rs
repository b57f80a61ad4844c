//! Rows as CSV (RFC 4180), with a column for each parameter and all times in nanoseconds.

use serde_json::Value;

use crate::row::Row;
use crate::statistics::Summary;

use super::Report;

impl Report {
    /// Returns the report as the text of a CSV file. Each line also contains the machine, the
    /// compiler and the commit, because lines of several runs are often combined in one file.
    pub fn csv(&self) -> String {
        let parameters = self.parameters();
        let mut lines = vec![head(&parameters)];
        lines.extend(self.rows.iter().map(|row| self.line(row, &parameters)));
        let joined = |fields: Vec<String>| {
            let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
            fields.join(",") + "\r\n"
        };
        lines.into_iter().map(joined).collect()
    }

    /// Returns the names of all parameters, in the order of their first appearance.
    fn parameters(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.rows.iter().flat_map(|row| row.params.keys()) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    fn line(&self, row: &Row, parameters: &[&str]) -> Vec<String> {
        let mut line = vec![row.scenario.clone(), row.contender.clone()];
        line.extend(parameters.iter().map(|name| match row.params.get(*name) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        }));
        let ratio = row.to_reference.as_ref().map(|relative| &relative.ratio);
        for summary in [Some(&row.cpu), Some(&row.wall), row.to_rmw.as_ref(), ratio] {
            line.extend(figures(summary));
        }
        line.push(row.ops_per_s.to_string());
        line.push(
            row.bytes_per_actor
                .map_or(String::new(), |bytes| bytes.to_string()),
        );
        line.push(row.rounds.to_string());
        line.push(row.outliers.to_string());
        line.push(row.doubts.join("; "));
        line.extend([self.machine.to_string(), self.commit.clone()]);
        line
    }
}

fn head(parameters: &[&str]) -> Vec<String> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut head: Vec<String> = names(&["scenario", "contender"]);
    head.extend(names(parameters) as Vec<String>);
    for of in ["cpu_ns", "wall_ns", "to_rmw", "to_reference"] {
        head.extend(["median", "low", "high", "min", "max"].map(|what| format!("{of}_{what}")));
    }
    head.extend(names(&[
        "ops_per_s",
        "bytes_per_actor",
        "rounds",
        "outliers",
        "doubts",
        "machine",
        "commit",
    ]) as Vec<String>);
    head
}

/// Returns the fields for median, interval, minimum and maximum. Fields of unknown figures are
/// empty.
fn figures(summary: Option<&Summary>) -> [String; 5] {
    let Some(Summary {
        median,
        min,
        max,
        interval,
    }) = summary
    else {
        return Default::default();
    };
    let ends = interval.map_or(Default::default(), |of| {
        [of.low, of.high].map(|end| end.to_string())
    });
    let [low, high] = ends;
    [
        median.to_string(),
        low,
        high,
        min.to_string(),
        max.to_string(),
    ]
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
