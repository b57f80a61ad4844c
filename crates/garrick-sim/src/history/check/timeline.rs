//! A drawing of operations that overlap, as plain text.

use std::fmt::Write;

/// Number of text columns between two events in the drawing.
const COLUMNS: usize = 2;

/// An operation in the drawing.
pub(super) struct Row {
    pub(super) client: u64,
    pub(super) invoked: usize,
    /// The time of the return, or `None` if the operation is pending.
    pub(super) ended: Option<usize>,
    /// The operation and its result.
    pub(super) label: String,
    /// A remark that follows the label, or an empty string.
    pub(super) note: String,
}

/// Draws one line for each operation. Only times at which an operation begins or ends take space.
pub(super) fn draw(rows: &[Row]) -> String {
    let times = times(rows);
    let bars: Vec<_> = rows.iter().map(|row| bar(row, &times)).collect();
    let width = bars.iter().map(String::len).max().unwrap_or(0);
    let clients = rows.iter().map(|row| row.client.to_string().len());
    let digits = clients.max().unwrap_or(0);
    let mut text = String::new();
    for (row, bar) in rows.iter().zip(bars) {
        let (client, label, note) = (row.client, &row.label, &row.note);
        let line = format!("client {client:digits$}  {bar:width$}  {label}{note}");
        // Writing to a string never fails.
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// Returns the times at which operations begin or end, in ascending order.
fn times(rows: &[Row]) -> Vec<usize> {
    let events = rows.iter().flat_map(|row| [Some(row.invoked), row.ended]);
    let mut times: Vec<_> = events.flatten().collect();
    times.sort_unstable();
    times
}

/// Draws an operation from its invocation to its return. If it is pending, the end is open.
fn bar(row: &Row, times: &[usize]) -> String {
    let column = |time: usize| times.partition_point(|other| *other < time) * COLUMNS;
    let start = column(row.invoked);
    let end = row.ended.map_or(times.len() * COLUMNS, column);
    let close = if row.ended.is_some() { ']' } else { '>' };
    let dashes = "-".repeat(end - start - 1);
    format!("{:start$}[{dashes}{close}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(client: u64, invoked: usize, ended: Option<usize>) -> Row {
        Row {
            client,
            invoked,
            ended,
            label: format!("op {client}"),
            note: String::new(),
        }
    }

    #[test]
    fn bars_show_what_overlaps() {
        let rows = [
            row(1, 10, Some(40)),
            row(12, 20, Some(30)),
            row(3, 50, Some(51)),
        ];
        let expected = "
    client  1  [-----]      op 1
    client 12    [-]        op 12
    client  3          [-]  op 3
";
        assert_eq!(draw(&rows), expected[1..]);
    }

    #[test]
    fn the_bar_of_a_pending_operation_is_open() {
        let rows = [row(1, 0, None), row(2, 1, Some(2))];
        let expected = "
    client 1  [----->  op 1
    client 2    [-]    op 2
";
        assert_eq!(draw(&rows), expected[1..]);
    }
}
