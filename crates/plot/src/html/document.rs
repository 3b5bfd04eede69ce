//! HTML document with sections of plots and tables.

use std::fmt::Write as _;

use crate::scene::{Role, Theme, attribute};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Script for plots with tooltips, hidden series and zoom: `tsqlChart(svg)`. The page needs an element `tooltip`.
pub const PLOT_SCRIPT: &str = include_str!("chart.js");

/// An HTML page.
#[derive(Clone, Debug, Default)]
pub struct HtmlDocument {
    /// Title.
    pub title: String,
    /// Text below the title.
    pub lead: String,
    /// Names that can be hidden in all plots and tables, such as platforms.
    pub names: Vec<String>,
    /// Sections.
    pub sections: Vec<Section>,
    /// Provenance of the page.
    pub made: String,
}

/// A section of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Heading.
    pub heading: String,
    /// Text below the heading.
    pub text: String,
    /// Numbers with their meaning: `("5 170 000", "records")`.
    pub facts: Vec<(String, String)>,
    /// Plots.
    pub figures: Vec<Figure>,
    /// Tables.
    pub grids: Vec<HtmlTable>,
}

/// A plot on a page.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// Caption.
    pub caption: String,
    /// SVG of [`crate::Chart::figure`].
    pub svg: String,
    /// Query of the data.
    pub sql: String,
    /// Command that draws the plot.
    pub command: String,
    /// Whether it takes the whole width.
    pub is_wide: bool,
}

/// A table on a page.
#[derive(Clone, Debug, Default)]
pub struct HtmlTable {
    /// Caption.
    pub caption: String,
    /// Names of the columns, and whether they are numeric.
    pub columns: Vec<(String, bool)>,
    /// Cells: text, and the number for sorting.
    pub rows: Vec<Vec<(String, Option<f64>)>>,
    /// Query of the data.
    pub sql: String,
}

impl HtmlDocument {
    /// Renders the page.
    #[must_use]
    pub fn html(&self) -> String {
        let title = attribute(&self.title);
        let mut out =
            String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        // Forbids all requests, whatever the data contain.
        out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n");
        let _ = writeln!(
            out,
            "<title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}{STYLE}</style>\n</head>\n<body>",
            theme_css()
        );
        let _ = writeln!(
            out,
            "<header>\n<h1>{title}</h1>\n<button id=\"theme\" type=\"button\" title=\"Light or dark\">◐</button>"
        );
        if !self.lead.is_empty() {
            let _ = writeln!(out, "<p>{}</p>", attribute(&self.lead));
        }
        if self.sections.len() > 1 {
            out.push_str("<nav>");
            for (index, section) in self.sections.iter().enumerate() {
                let _ = write!(
                    out,
                    "<a href=\"#s{index}\">{}</a> ",
                    attribute(&section.heading)
                );
            }
            out.push_str("</nav>\n");
        }
        if self.names.len() > 1 {
            out.push_str("<div id=\"names\" role=\"group\" aria-label=\"Shown\">");
            for name in &self.names {
                let name = attribute(name);
                let _ = write!(
                    out,
                    "<button type=\"button\" aria-pressed=\"true\" data-name=\"{name}\">{name}</button> "
                );
            }
            out.push_str("</div>\n");
        }
        out.push_str("</header>\n<main>\n");
        for (index, section) in self.sections.iter().enumerate() {
            section.write(&mut out, index);
        }
        out.push_str("</main>\n");
        if !self.made.is_empty() {
            let _ = writeln!(out, "<footer><p>{}</p></footer>", attribute(&self.made));
        }
        let _ = writeln!(
            out,
            "<div id=\"tooltip\" role=\"status\" hidden></div>\n<script>\n{PLOT_SCRIPT}{SCRIPT}</script>\n</body>\n</html>"
        );
        out
    }
}

/// CSS variables of the colours in both themes: `--ink`, `--background`, `--s0`. The attribute `data-theme` of the root
/// overrides the browser's preference.
#[must_use]
pub fn theme_css() -> String {
    let variables = |theme: Theme| {
        let base = [
            ("ink", Role::Ink),
            ("grey", Role::Grey),
            ("rule", Role::Rule),
            ("background", Role::Background),
        ];
        let base = base.map(|(name, role)| (name.to_owned(), role)).into_iter();
        let series = (0..12).map(|index| (format!("s{index}"), Role::Series(index)));
        let all = base.chain(series).map(|(name, role)| {
            let (red, green, blue) = theme.colour(role);
            format!("--{name}:#{red:02x}{green:02x}{blue:02x};")
        });
        all.collect::<String>()
    };
    let (light, dark) = (variables(Theme::Light), variables(Theme::Dark));
    format!(
        ":root{{color-scheme:light;{light}}}\n@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
}

impl Section {
    fn write(&self, out: &mut String, index: usize) {
        let _ = writeln!(out, "<section id=\"s{index}\">");
        if !self.heading.is_empty() {
            let _ = writeln!(out, "<h2>{}</h2>", attribute(&self.heading));
        }
        if !self.text.is_empty() {
            let _ = writeln!(out, "<p>{}</p>", attribute(&self.text));
        }
        if !self.facts.is_empty() {
            out.push_str("<dl>");
            for (number, what) in &self.facts {
                let _ = write!(
                    out,
                    "<div><dt>{}</dt><dd>{}</dd></div>",
                    attribute(what),
                    attribute(number)
                );
            }
            out.push_str("</dl>\n");
        }
        out.push_str("<div class=\"figures\">\n");
        for figure in &self.figures {
            figure.write(out);
        }
        out.push_str("</div>\n");
        for grid in &self.grids {
            grid.write(out);
        }
        out.push_str("</section>\n");
    }
}

/// Writes the command and the query, to be copied.
fn write_provenance(out: &mut String, command: &str, sql: &str) {
    if sql.is_empty() {
        return;
    }
    out.push_str("<details><summary>Command and query</summary>");
    for text in [command, sql].into_iter().filter(|text| !text.is_empty()) {
        let _ = write!(
            out,
            "<div class=\"code\"><button type=\"button\" class=\"copy\">copy</button><pre>{}</pre></div>",
            escape_code(text)
        );
    }
    out.push_str("</details>\n");
}

/// Escapes text and preserves its lines.
fn escape_code(text: &str) -> String {
    let lines: Vec<String> = text.trim().lines().map(attribute).collect();
    lines.join("\n")
}

impl Figure {
    fn write(&self, out: &mut String) {
        let wide = if self.is_wide { " class=\"wide\"" } else { "" };
        let _ = write!(
            out,
            "<figure{wide}>\n<figcaption>{}</figcaption>\n<div class=\"chart\">{}</div>\n",
            attribute(&self.caption),
            self.svg
        );
        write_provenance(out, &self.command, &self.sql);
        out.push_str("</figure>\n");
    }
}

impl HtmlTable {
    fn write(&self, out: &mut String) {
        let caption = attribute(&self.caption);
        let _ = writeln!(
            out,
            "<div class=\"grid\">\n<div class=\"head\"><h3>{caption}</h3><input type=\"search\" placeholder=\"search {}\" aria-label=\"Search {caption}\"></div>",
            crate::chart::row_count(self.rows.len() as u64)
        );
        out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
        for (name, is_number) in &self.columns {
            let class = if *is_number { " class=\"n\"" } else { "" };
            let _ = write!(
                out,
                "<th{class} scope=\"col\"><button type=\"button\">{}</button></th>",
                attribute(name)
            );
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (cell, (_, is_number)) in row.iter().zip(&self.columns) {
                let (text, number) = cell;
                let class = if *is_number { " class=\"n\"" } else { "" };
                let sorted = match number.filter(|number| number.is_finite()) {
                    Some(number) => format!(" data-v=\"{number:e}\""),
                    None => String::new(),
                };
                let _ = write!(out, "<td{class}{sorted}>{}</td>", attribute(text));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table></div>\n");
        write_provenance(out, "", &self.sql);
        out.push_str("</div>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_complete_and_fetches_nothing() {
        let page = HtmlDocument {
            title: "a <store>".to_owned(),
            names: vec!["k80".to_owned(), "t\"4".to_owned()],
            sections: vec![Section {
                heading: "One".to_owned(),
                figures: vec![Figure {
                    caption: "c".to_owned(),
                    svg: "<svg></svg>".to_owned(),
                    sql: "SELECT 1\nWHERE a < 2".to_owned(),
                    ..Figure::default()
                }],
                grids: vec![HtmlTable {
                    caption: "t".to_owned(),
                    columns: vec![("n".to_owned(), true)],
                    rows: vec![vec![("1 000".to_owned(), Some(1000.0))]],
                    sql: String::new(),
                }],
                ..Section::default()
            }],
            ..HtmlDocument::default()
        };
        let html = page.html();
        assert!(
            html.contains("<h1>a &lt;store&gt;</h1>") && html.contains("data-name=\"t&quot;4\"")
        );
        assert!(html.contains("<pre>SELECT 1\nWHERE a &lt; 2</pre>"));
        assert!(html.contains("<td class=\"n\" data-v=\"1e3\">1 000</td>"));
        assert!(html.contains("--s0:#0072b2;") && html.contains("--s0:#4aa3df;"));
        assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("url("));
    }
}
