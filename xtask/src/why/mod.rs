//! `cargo xtask why`: measures Garrick and other libraries, and puts the table and the chart into
//! the README.

mod figures;

mod chart;

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::process::Job;
use crate::workspace::Workspace;
use chart::Shade;
use figures::Figures;

/// Line of the README that precedes the generated part.
const BEGIN: &str = "<!-- why: begin; `cargo xtask why` writes this -->";
/// Folder of the measurement, in cargo's target folder.
const FOLDER: &str = "why";
/// File in this folder with the rows of the scenarios.
const ROWS: &str = "rows.json";
/// File in this folder with the table of latencies.
const TAIL: &str = "tail.txt";
/// Line of the README that follows the generated part.
const END: &str = "<!-- why: end -->";

/// Measures, and writes the table and the charts.
pub(crate) fn why(workspace: &Workspace) -> Result<String> {
    let folder = workspace.target.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let rows = folder.join(ROWS);
    let measure = Job::cargo(&["rivals", "tell", "ask", "spawn", "idle-memory"])
        .arguments(&["--seconds-per", "1", "--json"])
        .arguments(&[&rows]);
    measure.run()?;
    Job::cargo(&["rivals", "latency", "--only", "tail"]).run_logged(&folder.join(TAIL))?;
    redraw(workspace)
}

/// Writes the table and the charts of the last measurement.
pub(crate) fn redraw(workspace: &Workspace) -> Result<String> {
    let folder = workspace.target.join(FOLDER);
    let read = |name| fs::read_to_string(folder.join(name)).context("nothing was measured yet");
    let figures = Figures::of(&read(ROWS)?, &read(TAIL)?)?;
    for (shade, name) in [
        (Shade::LIGHT, "why-light.svg"),
        (Shade::DARK, "why-dark.svg"),
    ] {
        fs::write(
            workspace.root.join("docs/images").join(name),
            chart::svg(&figures, shade),
        )?;
    }
    let readme = workspace.root.join("README.md");
    let text = fs::read_to_string(&readme)?;
    fs::write(&readme, with(&text, &figures.table())?)?;
    Ok(format!("{} figures", figures.count()))
}

/// Returns `text` with its generated part replaced by `part`.
fn with(text: &str, part: &str) -> Result<String> {
    let begin = text
        .find(BEGIN)
        .context("README.md has no line that begins the generated part")?;
    let end = text
        .find(END)
        .context("README.md has no line that ends the generated part")?;
    ensure!(
        begin < end,
        "in README.md, the generated part ends before it begins"
    );
    Ok(format!(
        "{}{BEGIN}\n\n{part}\n{}",
        &text[..begin],
        &text[end..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_between_the_marks_is_replaced() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let new = with(&text, "new\n").unwrap();
        assert_eq!(new, format!("a\n{BEGIN}\n\nnew\n\n{END}\nb\n"));
        assert!(with("no marks", "new").is_err());
    }
}
