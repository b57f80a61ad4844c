//! A report as one self-contained HTML page, which loads nothing from elsewhere.

use std::fmt::Write;

use crate::plot::{Plot, escape, style};
use crate::suite::{Beside, Line};

use super::table::{Column, cells, columns, doubts};
use super::{Comparison, Report, Verdict};

/// CSS style of the page, for light mode and dark mode.
const STYLE: &str = include_str!("page.css");

impl Report {
    /// Returns the report as the text of an HTML page with pictures and tables. If `comparison` is
    /// not `None`, the page also shows the comparison.
    ///
    /// The page is light or dark, depending on the reader's system. The page contains no scripts,
    /// and its content security policy forbids all requests.
    pub fn html(&self, title: &str, comparison: Option<&Comparison>) -> String {
        let columns = columns(&self.rows);
        let plots = self.plots();
        let mut page = head(title);
        page.push_str(&format!(
            "<p class=\"source\">{}</p>\n",
            escape(&self.provenance())
        ));
        page.push_str(&self.doubtful());
        if let Some(comparison) = comparison {
            page.push_str(&compared(comparison));
        }
        let mut scenarios: Vec<&str> = self.rows.iter().map(|row| row.scenario.as_str()).collect();
        scenarios.dedup();
        for scenario in scenarios {
            self.section(&mut page, scenario, &columns, &plots);
        }
        for suite in &self.suites {
            published(&mut page, suite);
        }
        page.push_str("</main>\n</body>\n</html>\n");
        page
    }

    /// Returns the HTML text that contains the reasons to doubt the figures.
    fn doubtful(&self) -> String {
        let doubts = doubts(&self.rows);
        if doubts.is_empty() {
            return "<p>The machine was quiet: there is no reason to doubt these figures.</p>\n"
                .to_owned();
        }
        let line = |(of, doubt): &(String, String)| {
            format!("<li><b>{}</b>: {}</li>\n", escape(of), escape(doubt))
        };
        let lines: String = doubts.iter().map(line).collect();
        format!(
            "<details class=\"doubts\" open><summary>{} reasons to doubt some figures (marked ~)</summary>\n\
             <ul>\n{lines}</ul></details>\n",
            doubts.len()
        )
    }

    fn section(&self, page: &mut String, scenario: &str, columns: &[Column], plots: &[Plot]) {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "<section>\n<h2>{}</h2>", escape(scenario));
        for plot in plots.iter().filter(|plot| plot.scenario() == scenario) {
            let _ = writeln!(page, "<div class=\"wide\">{}</div>", plot.inline());
        }
        let rows = self.rows.iter().filter(|row| row.scenario == scenario);
        let rows: Vec<Vec<String>> = rows.map(|row| cells(row, columns)).collect();
        page.push_str(&table(columns, &rows));
        page.push_str("</section>\n");
    }
}

/// Writes a suite's published figures together with our figures.
fn published(page: &mut String, beside: &Beside) {
    let lines: Vec<Vec<String>> = beside.lines.iter().map(Line::cells).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(page, "<section>\n<h2>{}</h2>", escape(&beside.title()));
    page.push_str(&table(&Line::columns(), &lines));
    for remark in beside.remarks() {
        let _ = writeln!(page, "<p>{}</p>", escape(&remark));
    }
    page.push_str("</section>\n");
}

fn head(title: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n",
        style()
    )
}

fn compared(comparison: &Comparison) -> String {
    let columns: Vec<Column> = [
        ("verdict", false),
        ("row", false),
        ("before", true),
        ("now", true),
    ]
    .map(|(name, figures)| (name.to_owned(), figures))
    .into();
    let figure = |cost: Option<f64>| cost.map_or(String::new(), |cost| format!("{cost:.2}"));
    let rows = comparison.changes.iter().map(|change| {
        vec![
            change.verdict.to_string(),
            change.name.clone(),
            figure(change.before),
            figure(change.now),
        ]
    });
    let count = |verdict| {
        let all = comparison.changes.iter();
        all.filter(|change| change.verdict == verdict).count()
    };
    format!(
        "<section>\n<h2>Compared</h2>\n<p>{} slower, {} faster, {} doubtful, in units of one \
         atomic addition or in bytes, compared with {}.</p>\n{}</section>\n",
        count(Verdict::Slower),
        count(Verdict::Faster),
        count(Verdict::Doubtful),
        escape(&comparison.source),
        table(&columns, &rows.collect::<Vec<_>>())
    )
}

fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    let line = |tag: &str, cells: &[String]| -> String {
        let cells = cells.iter().zip(columns).map(|(text, (_, figures))| {
            let class = if *figures { " class=\"figure\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escape(text))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let body: String = rows.iter().map(|cells| line("td", cells)).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table>\n<thead>{}</thead>\n<tbody>\n{body}</tbody>\n</table></div>\n",
        line("th", &names)
    )
}
