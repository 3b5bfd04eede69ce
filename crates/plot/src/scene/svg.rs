//! SVG writer.

use std::fmt::Write as _;

use super::shapes::{Paint, Scene, SceneItem, Shape, Text, TextAnchor};
use super::theme::{Role, Theme};

/// The embedded font is the first one; the fallbacks are about as wide.
const FONT: &str = "DejaVu Sans, Verdana, sans-serif";

/// Distance from the top of a line to the baseline, in ems: slightly more than the height of capitals.
pub(crate) const BASELINE: f64 = 0.76;

/// Notation of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColourMode {
    /// Colours of a theme, with its background.
    Theme(Theme),
    /// CSS variables of the surrounding page (`--ink`, `--s0`), without a background.
    Page,
}

/// Renders an SVG document.
pub(crate) fn svg(scene: &Scene, mode: ColourMode) -> String {
    let (width, height) = (number(scene.size.0), number(scene.size.1));
    let title = attribute(&scene.title);
    let size = match mode {
        ColourMode::Theme(_) => format!(" width=\"{width}\" height=\"{height}\""),
        ColourMode::Page => String::new(),
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{size} viewBox=\"0 0 {width} {height}\" \
         font-family=\"{FONT}\" role=\"img\" aria-label=\"{title}\">\n"
    );
    if let ColourMode::Theme(_) = mode {
        let background = fill(Paint::BACKGROUND, mode);
        let _ = writeln!(
            out,
            "<rect width=\"{width}\" height=\"{height}\"{background}/>"
        );
    }
    for item in &scene.items {
        match item {
            SceneItem::Open(attributes) => {
                out.push_str("<g");
                for (name, value) in attributes {
                    let _ = write!(out, " {name}=\"{}\"", attribute(value));
                }
                out.push_str(">\n");
            }
            SceneItem::Close => out.push_str("</g>\n"),
            SceneItem::Shape { shape, tooltip } => {
                let (name, attributes, text) = element(shape, mode);
                let tooltip = tooltip
                    .as_ref()
                    .map(|tooltip| format!("<title>{}</title>", attribute(tooltip)))
                    .unwrap_or_default();
                let _ = match text.is_empty() && tooltip.is_empty() {
                    true => writeln!(out, "<{name}{attributes}/>"),
                    false => writeln!(out, "<{name}{attributes}>{text}{tooltip}</{name}>"),
                };
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Name, attributes and text of the element of a shape.
fn element(shape: &Shape, mode: ColourMode) -> (&'static str, String, String) {
    match shape {
        Shape::Line {
            points,
            width,
            paint,
            dash,
        } => {
            let dash = dash.map_or_else(String::new, |(on, off)| {
                format!(" stroke-dasharray=\"{} {}\"", number(on), number(off))
            });
            let attributes = format!(
                " points=\"{}\" fill=\"none\"{} stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}",
                format_points(points),
                paint_attribute("stroke", *paint, mode),
                number(*width)
            );
            ("polyline", attributes, String::new())
        }
        Shape::Area { corners, paint } => {
            let attributes = format!(
                " points=\"{}\"{}",
                format_points(corners),
                fill(*paint, mode)
            );
            ("polygon", attributes, String::new())
        }
        Shape::Box { from, to, paint } => {
            let attributes = format!(
                " x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}",
                number(from.0),
                number(from.1),
                number(to.0 - from.0),
                number(to.1 - from.1),
                fill(*paint, mode)
            );
            ("rect", attributes, String::new())
        }
        Shape::Circle {
            centre,
            radius,
            paint,
        } => {
            let attributes = format!(
                " cx=\"{}\" cy=\"{}\" r=\"{}\"{}",
                number(centre.0),
                number(centre.1),
                number(*radius),
                fill(*paint, mode)
            );
            ("circle", attributes, String::new())
        }
        Shape::Text { text, placement } => {
            ("text", text_attributes(placement, mode), attribute(text))
        }
    }
}

fn text_attributes(placement: &Text, mode: ColourMode) -> String {
    let anchor = match placement.anchor {
        TextAnchor::Left => "",
        TextAnchor::Middle => " text-anchor=\"middle\"",
        TextAnchor::Right => " text-anchor=\"end\"",
    };
    let down = BASELINE * placement.size;
    let (x, y) = placement.position;
    let position = match placement.is_upwards {
        false => format!(" x=\"{}\" y=\"{}\"", number(x), number(y + down)),
        true => {
            let (x, y) = (number(x + down), number(y));
            format!(" x=\"{x}\" y=\"{y}\" transform=\"rotate(-90 {x} {y})\"")
        }
    };
    let size = number(placement.size);
    format!(
        "{position} font-size=\"{size}\"{anchor}{}",
        fill(placement.paint, mode)
    )
}

fn fill(paint: Paint, mode: ColourMode) -> String {
    paint_attribute("fill", paint, mode)
}

fn paint_attribute(property: &str, paint: Paint, mode: ColourMode) -> String {
    let variable = match (mode, paint.role) {
        (ColourMode::Page, Role::Ink) => Some("var(--ink)".to_owned()),
        (ColourMode::Page, Role::Grey) => Some("var(--grey)".to_owned()),
        (ColourMode::Page, Role::Rule) => Some("var(--rule)".to_owned()),
        (ColourMode::Page, Role::Background) => Some("var(--background)".to_owned()),
        (ColourMode::Page, Role::Series(index)) => Some(format!("var(--s{})", index % 12)),
        _ => None,
    };
    let theme = match mode {
        ColourMode::Theme(theme) => theme,
        ColourMode::Page => Theme::Light,
    };
    let colour = variable.unwrap_or_else(|| {
        let (red, green, blue) = theme.colour(paint.role);
        format!("#{red:02x}{green:02x}{blue:02x}")
    });
    let alpha = match paint.alpha < 1.0 {
        true => format!(" {property}-opacity=\"{}\"", number(paint.alpha)),
        false => String::new(),
    };
    format!(" {property}=\"{colour}\"{alpha}")
}

fn format_points(points: &[(f64, f64)]) -> String {
    let mut out = String::with_capacity(points.len() * 12);
    for (index, (x, y)) in points.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let _ = write!(out, "{},{}", number(*x), number(*y));
    }
    out
}

/// Formats a length with at most two decimals.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" | "" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// Escapes text for XML.
pub(crate) fn attribute(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => out.push(' '),
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_become_elements() {
        let mut scene = Scene::new(40.0, 20.5, "a <b>");
        scene.open(vec![("data-series", "x & y".to_owned())]);
        scene.set_tooltip("one\ntwo".to_owned());
        scene.circle((1.0, 2.004), 3.0, Paint::series(0).with_alpha(0.5));
        scene.close();
        scene.text("T\u{1}", Text::new(10.0, 4.0, 0.0).align_right());
        let text = svg(&scene, ColourMode::Theme(Theme::Light));
        assert!(
            text.starts_with(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20.5\""
            )
        );
        assert!(text.contains(
            "<g data-series=\"x &amp; y\">\n<circle cx=\"1\" cy=\"2\" r=\"3\" fill=\"#0072b2\" fill-opacity=\"0.5\"><title>one&#10;two</title></circle>\n</g>"
        ), "{text}");
        assert!(text.contains(
            "<text x=\"4\" y=\"7.6\" font-size=\"10\" text-anchor=\"end\" fill=\"#1e1e1e\">T</text>"
        ));
        let page = svg(&scene, ColourMode::Page);
        assert!(page.contains("fill=\"var(--s0)\"") && !page.contains("<rect"));
        assert!(page.contains("aria-label=\"a &lt;b&gt;\""));
    }

    #[test]
    fn lengths_are_short() {
        let texts = [1.0, 0.004, -0.001, 2.5, f64::NAN].map(number);
        assert_eq!(texts, ["1", "0", "0", "2.5", "0"]);
    }
}
