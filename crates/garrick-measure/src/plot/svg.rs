//! Shapes and texts in SVG.

use std::fmt::{Display, Write};

/// Colors of the series in light mode: those colors of Okabe and Ito that are clearly visible on a
/// light background.
const SERIES_LIGHT: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
/// Colors of the series in dark mode: those colors of Okabe and Ito that are clearly visible on a
/// dark background.
const SERIES_DARK: [&str; 7] = [
    "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#ffffff",
];

/// Number of series with different colors.
pub(super) const COLORS: usize = SERIES_LIGHT.len();

/// Half of the width of a marker, the symbol of a measured value.
const MARKER: f64 = 4.0;

/// Maximum width of a letter in most texts, relative to its height.
const LETTER: f64 = 0.58;

/// Alignment of a text relative to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture that is being drawn.
#[derive(Debug)]
pub(super) struct Canvas(String);

impl Canvas {
    /// Creates an empty picture with a title. `source`, the origin of the figures, is written at
    /// the bottom.
    pub(super) fn new(width: f64, height: f64, title: &str, source: &str) -> Self {
        let (width, height) = (width.round(), height.round());
        let mut canvas = Self(String::new());
        let name = escape(title);
        canvas.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{name}\">\n"
        ));
        canvas.put("<rect class=\"p-ground\" width=\"100%\" height=\"100%\"/>\n");
        canvas.text(16.0, 26.0, Anchor::Start, "p-title", title);
        canvas.text(16.0, height - 10.0, Anchor::Start, "p-source", source);
        canvas
    }

    /// Ends the picture, and returns its SVG text, which contains no `<style>` element.
    pub(super) fn finish(mut self) -> String {
        self.put("</svg>\n");
        self.0
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n"
        ));
    }

    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let points = points.join(" ");
        self.put(format_args!(
            "<polyline class=\"{class}\" points=\"{points}\"/>\n"
        ));
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n"
        ));
    }

    /// Draws the marker of a series. The text `said` appears when the pointer is on the marker.
    pub(super) fn marker(&mut self, series: usize, (x, y): (f64, f64), said: &str) {
        let class = format!("p-fill{}", series % COLORS);
        let said = escape(said);
        let (left, right, top, bottom) = (x - MARKER, x + MARKER, y - MARKER, y + MARKER);
        let shape = match series % 4 {
            0 => format!("circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{MARKER}\""),
            1 => format!(
                "rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"8\" height=\"8\""
            ),
            2 => format!(
                "polygon class=\"{class}\" points=\"{x:.1},{top:.1} {right:.1},{bottom:.1} {left:.1},{bottom:.1}\""
            ),
            _ => format!(
                "polygon class=\"{class}\" points=\"{x:.1},{top:.1} {right:.1},{y:.1} {x:.1},{bottom:.1} {left:.1},{y:.1}\""
            ),
        };
        let (name, _) = shape.split_once(' ').unwrap_or((&shape, ""));
        self.put(format_args!("<{shape}><title>{said}</title></{name}>\n"));
    }

    fn put(&mut self, text: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{text}");
    }
}

/// Returns the approximate width of a text with this `height`.
pub(super) fn width(text: &str, height: f64) -> f64 {
    text.chars().count() as f64 * height * LETTER
}

/// Returns the SVG text `body` with the CSS text `style` in a `<style>` element after the first
/// line. If `style` is empty, returns `body` unchanged.
pub(super) fn document(body: &str, style: &str) -> String {
    match body.split_once('\n') {
        Some((head, rest)) if !style.is_empty() => {
            format!("{head}\n<style>{style}</style>\n{rest}")
        }
        _ => body.to_owned(),
    }
}

/// Returns the CSS of the pictures: the CSS of light mode, and the colors of dark mode for readers
/// who prefer dark mode.
pub(crate) fn style() -> String {
    let dark = colors("#0e1217", "#e6edf3", "#9da7b3", "#30363d", SERIES_DARK);
    format!(
        "{}@media (prefers-color-scheme: dark) {{\n{dark}}}\n",
        light()
    )
}

/// Returns the CSS with the colors of light mode, the font, and the sizes of texts and lines.
pub(super) fn light() -> String {
    let colors = colors("#ffffff", "#1b1f24", "#57606a", "#d8dee4", SERIES_LIGHT);
    format!(
        "text {{ font-family: system-ui, sans-serif; font-size: 12px; }}\n\
         .p-title {{ font-size: 15px; font-weight: 600; }}\n\
         .p-source {{ font-size: 9px; }}\n\
         polyline {{ fill: none; stroke-width: 2; }}\n\
         .p-bar {{ stroke-width: 1.5; }}\n{colors}"
    )
}

fn colors(ground: &str, ink: &str, dim: &str, grid: &str, series: [&str; COLORS]) -> String {
    let mut style = format!(
        ".p-ground {{ fill: {ground}; }}\n.p-ink, .p-title {{ fill: {ink}; }}\n\
         .p-dim, .p-source {{ fill: {dim}; }}\n.p-grid {{ stroke: {grid}; }}\n.p-axis {{ stroke: {dim}; }}\n"
    );
    for (number, color) in series.into_iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            style,
            ".p-fill{number} {{ fill: {color}; }} .p-line{number} {{ stroke: {color}; }}"
        );
    }
    style
}

/// Escapes a text for elements and attributes. Drops characters that XML does not allow.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter if letter.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&letter) => {}
            letter => safe.push(letter),
        }
    }
    safe
}
