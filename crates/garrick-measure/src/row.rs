//! Rows of a report. A row contains the measurements of one contender.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::statistics::Summary;
use crate::units;

/// Measurements of one contender, with one set of parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the contender.
    pub contender: String,
    /// Parameters that distinguish the contender from others with the same name.
    pub params: Map<String, Value>,
    /// Unit of `cpu` and `wall`: always `ns`.
    pub unit: String,
    /// CPU time of one operation.
    pub cpu: Summary,
    /// Wall time of one operation.
    pub wall: Summary,
    /// Operations per second of wall time.
    pub ops_per_s: f64,
    /// Resident memory for each actor in bytes. `None` if memory was not measured.
    pub bytes_per_actor: Option<f64>,
    /// CPU time of one operation, divided by the CPU time of one atomic addition (the
    /// [`yardstick`](crate::yardstick)). This is the median of `to_rmw`.
    pub ratio_to_rmw: f64,
    /// CPU time of one operation, divided by the CPU time of one atomic addition (the
    /// [`yardstick`](crate::yardstick)). The addition is measured just before and just after the
    /// operation. `None` if the row comes from an old file.
    #[serde(default)]
    pub to_rmw: Option<Summary>,
    /// CPU time of one operation, divided by the CPU time of the reference in the same round.
    /// `None` if there is no reference.
    #[serde(default)]
    pub to_reference: Option<Relative>,
    /// Number of measurements of the contender, one for each round.
    #[serde(default)]
    pub rounds: usize,
    /// Number of outliers among the measurements.
    #[serde(default)]
    pub outliers: usize,
    /// Reasons to doubt these figures. Empty if there are none.
    #[serde(default)]
    pub doubts: Vec<String>,
}

/// The ratio of a contender's CPU time to the CPU time of another contender, the reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// Name of the contender that is the reference.
    pub contender: String,
    /// CPU time of the contender, divided by the CPU time of the reference.
    pub ratio: Summary,
}

impl Row {
    /// Returns the contender's name, followed by the parameters that distinguish it from others
    /// with the same name.
    pub fn label(&self) -> String {
        labelled(&self.contender, &self.params, "")
    }

    /// Returns the contender's name, followed by its distinguishing parameters except the parameter
    /// `but`.
    pub(crate) fn label_without(&self, but: &str) -> String {
        labelled(&self.contender, &self.params, but)
    }

    /// Returns true if `other` measures the same contender of the same scenario with the same
    /// parameters.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.scenario == other.scenario
            && self.contender == other.contender
            && self.params == other.params
    }
}

/// Formats a parameter's value. The digits of whole numbers are grouped by three.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_u64().map_or(number.to_string(), units::whole),
        other => other.to_string(),
    }
}

fn labelled(name: &str, params: &Map<String, Value>, but: &str) -> String {
    let mut text = name.to_owned();
    for (key, of) in params.iter().filter(|(key, _)| *key != but) {
        // Writing to a string cannot fail.
        let _ = write!(text, " {key}={}", value(of));
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Creates a row with one round for each time in `cpu`, in nanoseconds. In each round, an
    /// atomic addition takes a tenth of the round's time.
    pub(crate) fn row(scenario: &str, contender: &str, cpu: &[f64]) -> Row {
        let of = |factor: f64| Summary::of(cpu.iter().map(|ns| factor * ns));
        Row {
            scenario: scenario.to_owned(),
            contender: contender.to_owned(),
            params: Map::new(),
            unit: "ns".to_owned(),
            cpu: of(1.0),
            wall: of(1.0),
            ops_per_s: (1e9 / of(1.0).median).round(),
            bytes_per_actor: None,
            ratio_to_rmw: of(0.1).median,
            to_rmw: Some(of(0.1)),
            to_reference: None,
            rounds: cpu.len(),
            outliers: 0,
            doubts: Vec::new(),
        }
    }

    /// Adds the parameter `key` with the value `value` to the row.
    pub(crate) fn at(mut row: Row, key: &str, value: u64) -> Row {
        row.params.insert(key.to_owned(), value.into());
        row
    }

    #[test]
    fn a_label_tells_rows_apart() {
        let row = at(at(row("s", "a", &[1.0]), "n", 10_000), "m", 2);
        assert_eq!(row.label_without("m"), "a n=10,000");
        assert!(row.label().contains("m=2"));
    }

    #[test]
    fn rows_of_before_can_still_be_read() {
        let old = r#"{"scenario": "s", "contender": "c", "params": {}, "unit": "ns", "ops_per_s": 1.0,
            "cpu": {"median": 2.0, "min": 1.0, "max": 3.0}, "wall": {"median": 2.0, "min": 1.0, "max": 3.0},
            "bytes_per_actor": null, "ratio_to_rmw": 0.5}"#;
        let row: Row = serde_json::from_str(old).unwrap();
        assert_eq!((row.rounds, row.to_rmw, row.cpu.interval), (0, None, None));
        assert_eq!(row.cpu.bounds().high, 3.0);
    }
}
