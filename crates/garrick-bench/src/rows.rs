//! Rows of invented measurements. Tests of the suites' findings use these rows.

use garrick_measure::Row;
use serde_json::json;

/// Creates a row whose operation takes `ns` nanoseconds.
pub(crate) fn row(scenario: &str, contender: &str, ns: f64) -> Row {
    let time = json!({"median": ns, "min": ns, "max": ns});
    let row = json!({
        "scenario": scenario, "contender": contender, "params": {}, "unit": "ns", "cpu": time, "wall": time,
        "ops_per_s": 1e9 / ns, "bytes_per_actor": null, "ratio_to_rmw": 0.1 * ns,
    });
    serde_json::from_value(row).expect("it is a row")
}

/// Adds the parameter `key` with the value `value` to the row.
pub(crate) fn at(mut row: Row, key: &str, value: u64) -> Row {
    row.params.insert(key.to_owned(), value.into());
    row
}
