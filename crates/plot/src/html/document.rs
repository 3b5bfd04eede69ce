//! The page, section by section.

use std::fmt::Write as _;

use crate::scene::{Role, Theme, attribute};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// What makes pictures say what is below a pointer, hide series and zoom: `tsqlPicture(svg)`. A page has an element `told`.
pub const PICTURE_SCRIPT: &str = include_str!("picture.js");

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What is said below it.
    pub lead: String,
    /// Names that can be hidden in all pictures and tables: of platforms, say.
    pub names: Vec<String>,
    /// Its sections.
    pub sections: Vec<Section>,
    /// How it was made.
    pub made: String,
}

/// A section of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// What is said below it.
    pub text: String,
    /// Numbers with what they are: `("5 170 000", "records")`.
    pub facts: Vec<(String, String)>,
    /// Its pictures.
    pub figures: Vec<Figure>,
    /// Its tables.
    pub grids: Vec<Grid>,
}

/// A picture on a page.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// What it shows.
    pub caption: String,
    /// The picture, as [`crate::Chart::figure`] gives it.
    pub svg: String,
    /// The query that it is the answer to.
    pub sql: String,
    /// The command that draws it.
    pub command: String,
    /// Does it take the whole width?
    pub is_wide: bool,
}

/// A table on a page.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// What it shows.
    pub caption: String,
    /// Names of the columns, and whether they are numbers.
    pub columns: Vec<(String, bool)>,
    /// Cells: what is shown, and the number by which it is sorted.
    pub rows: Vec<Vec<(String, Option<f64>)>>,
    /// The query that it is the answer to.
    pub sql: String,
}

impl Document {
    /// The page as HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let title = attribute(&self.title);
        let mut out =
            String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        // Nothing is fetched, whatever stands in the data.
        out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n");
        let _ = writeln!(
            out,
            "<title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}{STYLE}</style>\n</head>\n<body>",
            colours()
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
            for (place, section) in self.sections.iter().enumerate() {
                let _ = write!(
                    out,
                    "<a href=\"#s{place}\">{}</a> ",
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
        for (place, section) in self.sections.iter().enumerate() {
            section.write(&mut out, place);
        }
        out.push_str("</main>\n");
        if !self.made.is_empty() {
            let _ = writeln!(out, "<footer><p>{}</p></footer>", attribute(&self.made));
        }
        let _ = writeln!(
            out,
            "<div id=\"told\" role=\"status\" hidden></div>\n<script>\n{PICTURE_SCRIPT}{SCRIPT}</script>\n</body>\n</html>"
        );
        out
    }
}

/// The colours of both papers by their names, as a style: `--ink`, `--paper`, `--s0`. What `data-theme` of the root says goes before
/// what the browser wants.
#[must_use]
pub fn colours() -> String {
    let of = |theme: Theme| {
        let named = [
            ("ink", Role::Ink),
            ("grey", Role::Grey),
            ("rule", Role::Rule),
            ("paper", Role::Paper),
        ];
        let named = named
            .map(|(name, role)| (name.to_owned(), role))
            .into_iter();
        let series = (0..12).map(|place| (format!("s{place}"), Role::Series(place)));
        let all = named.chain(series).map(|(name, role)| {
            let (red, green, blue) = theme.colour(role);
            format!("--{name}:#{red:02x}{green:02x}{blue:02x};")
        });
        all.collect::<String>()
    };
    let (light, dark) = (of(Theme::Light), of(Theme::Dark));
    format!(
        ":root{{color-scheme:light;{light}}}\n@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
}

impl Section {
    fn write(&self, out: &mut String, place: usize) {
        let _ = writeln!(out, "<section id=\"s{place}\">");
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

/// How it was made: a query that can be copied.
fn made(out: &mut String, command: &str, sql: &str) {
    if sql.is_empty() {
        return;
    }
    out.push_str("<details><summary>How it was made</summary>");
    for text in [command, sql].into_iter().filter(|text| !text.is_empty()) {
        let _ = write!(
            out,
            "<div class=\"code\"><button type=\"button\" class=\"copy\">copy</button><pre>{}</pre></div>",
            code(text)
        );
    }
    out.push_str("</details>\n");
}

/// Text with its lines.
fn code(text: &str) -> String {
    let lines: Vec<String> = text.trim().lines().map(attribute).collect();
    lines.join("\n")
}

impl Figure {
    fn write(&self, out: &mut String) {
        let wide = if self.is_wide { " class=\"wide\"" } else { "" };
        let _ = write!(
            out,
            "<figure{wide}>\n<figcaption>{}</figcaption>\n<div class=\"picture\">{}</div>\n",
            attribute(&self.caption),
            self.svg
        );
        made(out, &self.command, &self.sql);
        out.push_str("</figure>\n");
    }
}

impl Grid {
    fn write(&self, out: &mut String) {
        let caption = attribute(&self.caption);
        let _ = writeln!(
            out,
            "<div class=\"grid\">\n<div class=\"head\"><h3>{caption}</h3><input type=\"search\" placeholder=\"search {}\" aria-label=\"Search {caption}\"></div>",
            crate::chart::rows(self.rows.len() as u64)
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
        made(out, "", &self.sql);
        out.push_str("</div>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_fetches_nothing() {
        let page = Document {
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
                grids: vec![Grid {
                    caption: "t".to_owned(),
                    columns: vec![("n".to_owned(), true)],
                    rows: vec![vec![("1 000".to_owned(), Some(1000.0))]],
                    sql: String::new(),
                }],
                ..Section::default()
            }],
            ..Document::default()
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
