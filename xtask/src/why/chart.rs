//! Draws the figures as bars on logarithmic axes.

use std::fmt::Write;

use super::figures::{CONTENDERS, Figures, Row, shown};

/// The colors of a picture.
#[derive(Clone, Copy)]
pub(super) struct Shade {
    text: &'static str,
    line: &'static str,
    ours: &'static str,
    theirs: &'static str,
}

impl Shade {
    /// Colors on a light page.
    pub(super) const LIGHT: Self = Self {
        text: "#1f2328",
        line: "#d1d9e0",
        ours: "#0072b2",
        theirs: "#9aa4ae",
    };
    /// Colors on a dark page.
    pub(super) const DARK: Self = Self {
        text: "#e6edf3",
        line: "#3d444d",
        ours: "#56b4e9",
        theirs: "#6e7681",
    };
}

/// Width of the picture.
const WIDTH: f64 = 760.0;
/// Space for the names of contenders, to the left of the bars.
const LEFT: f64 = 110.0;
/// Space for the figure to the right of the longest bar.
const RIGHT: f64 = 90.0;
/// Height of a bar.
const BAR: f64 = 14.0;
/// Height of the gap below a bar.
const GAP: f64 = 4.0;
/// Height of a row's title.
const TITLE: f64 = 26.0;

/// Draws the figures as SVG.
pub(super) fn svg(figures: &Figures, shade: Shade) -> String {
    let mut body = String::new();
    let mut y = 4.0;
    for row in &figures.rows {
        draw(&mut body, row, shade, &mut y);
    }
    let _ = writeln!(
        body,
        r#"<text x="{LEFT}" y="{:.0}" fill="{}" font-size="11">Shorter is better. The bars are logarithmic.</text>"#,
        y + 16.0,
        shade.text
    );
    let height = y + 24.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n{body}</svg>\n"
    )
}

fn draw(body: &mut String, row: &Row, shade: Shade, y: &mut f64) {
    let known = || row.figures.iter().flatten().copied();
    let (least, most) = (
        known().fold(f64::MAX, f64::min),
        known().fold(0.0, f64::max),
    );
    // The shortest bar is a tenth of a decade long.
    let length = |figure: f64| {
        let span = (most / least).log10() + 0.1;
        (WIDTH - LEFT - RIGHT) * ((figure / least).log10() + 0.1) / span
    };
    let Shade { text, line, .. } = shade;
    let _ = writeln!(
        body,
        r#"<text x="{LEFT}" y="{:.0}" fill="{text}" font-weight="600">{}</text>"#,
        *y + 17.0,
        row.title
    );
    *y += TITLE;
    let top = *y;
    for ((name, title), figure) in CONTENDERS.iter().zip(&row.figures) {
        let Some(figure) = *figure else {
            continue;
        };
        let color = if *name == "garrick" {
            shade.ours
        } else {
            shade.theirs
        };
        let (base, width) = (*y + BAR - 3.0, length(figure));
        let _ = writeln!(
            body,
            r#"<text x="{:.0}" y="{base:.0}" text-anchor="end" fill="{text}">{title}</text><rect x="{LEFT}" y="{:.0}" width="{width:.1}" height="{BAR}" fill="{color}"/><text x="{:.1}" y="{base:.0}" fill="{text}">{}</text>"#,
            LEFT - 8.0,
            *y,
            LEFT + width + 6.0,
            shown(figure, row.unit)
        );
        *y += BAR + GAP;
    }
    let _ = writeln!(
        body,
        r#"<line x1="{LEFT}" y1="{:.0}" x2="{LEFT}" y2="{:.0}" stroke="{line}"/>"#,
        top - 2.0,
        *y - GAP + 2.0
    );
    *y += 6.0;
}
