//! A table of the traffic of each channel.

use comfy_table::{Cell, CellAlignment, Table, presets};
use garrick_bench::pipeline::Traffic;
use garrick_measure::units;

/// Titles of the columns. The flag is true if the column contains figures.
const COLUMNS: [(&str, bool); 6] = [
    ("channel", false),
    ("message", false),
    ("capacity", true),
    ("rate", true),
    ("total", true),
    ("fill", true),
];

/// Returns a table with a row for each channel. The column `fill` is the average share of the
/// channel's slots that held messages.
pub(crate) fn table(channels: &[Traffic]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(aligned(COLUMNS.map(|(name, _)| name.to_owned())));
    for channel in channels {
        table.add_row(aligned([
            channel.name.clone(),
            channel.message.to_owned(),
            units::whole(channel.capacity),
            format!("{}/s", units::rate(channel.rate)),
            units::whole(channel.total),
            channel
                .fill
                .map_or("-".to_owned(), |fill| format!("{:.0}%", fill * 100.0)),
        ]));
    }
    // The rows begin at the margin, like the lines below the table.
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

fn aligned(texts: [String; COLUMNS.len()]) -> Vec<Cell> {
    let cells = texts
        .into_iter()
        .zip(COLUMNS)
        .map(|(text, (_, is_figure))| {
            let alignment = if is_figure {
                CellAlignment::Right
            } else {
                CellAlignment::Left
            };
            Cell::new(text).set_alignment(alignment)
        });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_has_a_row() {
        let channel = Traffic {
            name: "numbers".to_owned(),
            message: "u64",
            capacity: 65_536,
            total: 9_650_000_000,
            rate: 160.8e6,
            fill: Some(0.517),
        };
        let short = Traffic {
            name: "beats".to_owned(),
            fill: None,
            ..channel.clone()
        };
        let words: Vec<Vec<String>> = table(&[channel, short])
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        assert_eq!(
            words[0],
            ["channel", "message", "capacity", "rate", "total", "fill"]
        );
        assert_eq!(
            words[1],
            [
                "numbers",
                "u64",
                "65,536",
                "161",
                "M/s",
                "9,650,000,000",
                "52%"
            ]
        );
        assert_eq!(words[2].last().unwrap(), "-");
    }
}
