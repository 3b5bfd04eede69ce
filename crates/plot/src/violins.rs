//! Violin plots of speedups.

use tsql_metrics::stats::quantile;

use super::canvas::{self, Drawable, GREY, INK, series_colour};
use super::plot_frame::{
    AxisTicks, FrameRect, LABEL, LinearScale, MARGIN, MIDDLE, PlotOptions, REMARK,
};
use super::plot_frame::{
    draw_empty, draw_frame, draw_heading, draw_vertical_axis, format_factor, left_indent,
};
use super::rendered_plot::{RenderedPlot, render_plot};
use super::text;
use crate::density::density;
use crate::number::float;
use crate::scene::{Scene, Text};

/// Maximum number of violins.
const MAX_VIOLINS: usize = 64;

/// Minimum width of a violin for horizontal names below it, and their maximum number of lines. Narrower violins have
/// rotated names of this length.
const MIN_UPRIGHT_WIDTH: f64 = 86.0;
const NAME_LINES: usize = 5;
const ROTATED_NAME_LENGTH: f64 = 250.0;
const LEADING: f64 = 1.25 * LABEL;

/// A non-breaking space.
const FIXED: &str = "\u{a0}";

/// Minimum number of values for a density; fewer values are drawn as dots.
const MIN_DENSITY_VALUES: usize = 20;

/// Radius of a dot.
const DOT: f64 = 5.0;

/// Descriptions of the parts of a violin, of groups of few values, and of all.
const PART_NOTES: [&str; 3] = [
    "box: quartiles · white line: median",
    "dots: single values (of fewer than 20) · short line: median",
    "dashed line: no speedup",
];

/// Values with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct ViolinGroup {
    /// Label below the violin.
    pub name: String,
    /// Speedups; values of 0 or less are ignored.
    pub values: Vec<f64>,
}

/// Draws a violin for each group: the distribution of the binary logarithm of its values, with quartiles, median and
/// the number of values. Few values are drawn one by one. The label is the name of the logarithms.
///
/// # Errors
/// If rendering fails. Without values the plot shows that it is empty.
pub fn violins(options: PlotOptions<'_>, groups: &[ViolinGroup]) -> Result<RenderedPlot, String> {
    let violins = groups.iter().map(Violin::new).collect();
    let drawing = Violins {
        title: options.title,
        label: options.label,
        violins,
    };
    render_plot(&drawing, options.title, options.png_width)
}

struct Violin<'a> {
    name: &'a str,
    /// Logarithms in ascending order.
    values: Vec<f64>,
    /// Values and densities; empty for few or equal values.
    outline: Vec<(f64, f64)>,
}

impl<'a> Violin<'a> {
    fn new(group: &'a ViolinGroup) -> Self {
        let is_valid = |value: &f64| value.is_finite() && *value > 0.0;
        let values = group.values.iter().copied().filter(is_valid);
        let mut values: Vec<f64> = values.map(f64::log2).collect();
        values.sort_by(f64::total_cmp);
        let outline = if values.len() < MIN_DENSITY_VALUES {
            Vec::new()
        } else {
            density(&values)
        };
        Self {
            name: &group.name,
            values,
            outline,
        }
    }

    fn quantile(&self, probability: f64) -> f64 {
        quantile(&self.values, probability)
    }
}

struct Violins<'a> {
    title: &'a str,
    label: &'a str,
    violins: Vec<Violin<'a>>,
}

/// Labels below the violins: lines, rotation and height.
struct ViolinLabels {
    lines: Vec<Vec<String>>,
    is_rotated: bool,
    height: f64,
}

impl ViolinLabels {
    fn new(violins: &[Violin<'_>], slot: f64) -> Self {
        let is_rotated = slot < MIN_UPRIGHT_WIDTH;
        let count = |violin: &Violin<'_>| format!("n = {}", violin.values.len());
        let lines: Vec<Vec<String>> = if is_rotated {
            // The maximum number of lines that fit side by side below a violin; numbers are not broken.
            let max_lines = [3, 2]
                .into_iter()
                .find(|max_lines| float(*max_lines) * LEADING <= slot);
            let names = violins.iter().map(|violin| {
                let count = count(violin);
                let name = format!(
                    "{} ({count})",
                    text::single_line(violin.name).replace(FIXED, " ")
                );
                name.replace(&count, &count.replace(' ', FIXED))
            });
            let names: Vec<String> = names.collect();
            let lines =
                text::wrap_names(&names, LABEL, ROTATED_NAME_LENGTH, max_lines.unwrap_or(1));
            let plain = |line: String| line.replace(FIXED, " ");
            let lines = lines.into_iter();
            lines
                .map(|lines| lines.into_iter().map(plain).collect())
                .collect()
        } else {
            let names = violins.iter().map(|violin| violin.name.to_owned());
            let names: Vec<String> = names.collect();
            let lines = text::wrap_names(&names, LABEL, slot - 8.0, NAME_LINES);
            let lines = lines.into_iter().zip(violins);
            lines
                .map(|(lines, violin)| lines.into_iter().chain([count(violin)]).collect())
                .collect()
        };
        let widths = lines.iter().flatten().map(|line| text::width(line, LABEL));
        let rows = lines.iter().map(|lines| float(lines.len()) * LEADING);
        let height = if is_rotated {
            widths.fold(0.0, f64::max)
        } else {
            rows.fold(0.0, f64::max)
        };
        Self {
            lines,
            is_rotated,
            height,
        }
    }

    fn draw(&self, canvas: &mut Scene, top: f64, x_scale: &LinearScale) {
        for (number, lines) in (0_u32..).zip(&self.lines) {
            let middle = x_scale.position(f64::from(number) + 0.5);
            let start = middle - float(lines.len()) * LEADING / 2.0;
            for (row, line) in (0_u32..).zip(lines) {
                let along = f64::from(row) * LEADING;
                let placement = if self.is_rotated {
                    Text::new(LABEL, start + along, top)
                        .align_right()
                        .rotate_up()
                } else {
                    Text::new(LABEL, middle, top + along).align_centre()
                };
                canvas.text(line, placement);
            }
        }
    }
}

impl Drawable for Violins<'_> {
    fn draw(&self, canvas: &mut Scene) {
        let all = self.violins.len();
        let violins = self.violins.get(..MAX_VIOLINS).unwrap_or(&self.violins);
        let values = violins.iter().flat_map(|violin| &violin.values).copied();
        let (low, high) = values
            .clone()
            .fold((0.0, 0.0), |(low, high): (f64, f64), value| {
                (low.min(value), high.max(value))
            });
        if values.clone().next().is_none() {
            return draw_empty(canvas, self.title);
        }
        let room = if high > low { 0.05 * (high - low) } else { 1.0 };
        let (low, high) = (low - room, high + room);
        let ticks = AxisTicks::new(low, high, 9.0, 0.0);
        let factors: Vec<String> = ticks
            .values
            .iter()
            .map(|value| format_factor(*value))
            .collect();
        let widths = factors.iter().map(|factor| text::width(factor, LABEL));
        let beside = widths.fold(0.0, f64::max);
        let mut top = draw_heading(canvas, self.title);
        let omitted = match all - violins.len() {
            0 => String::new(),
            more => format!(" · {more} more groups are not drawn"),
        };
        let placement = Text::new(REMARK, canvas::WIDTH / 2.0, top - 8.0)
            .align_centre()
            .with_paint(GREY);
        canvas.text(&format!("{}{omitted}", describe_parts(violins)), placement);
        top += 1.5 * REMARK;
        let (left, right) = (left_indent(&ticks), canvas::WIDTH - MARGIN - beside - 10.0);
        let slot = (right - left) / float(violins.len());
        let names = ViolinLabels::new(violins, slot);
        let bottom = canvas::HEIGHT - MARGIN - names.height - 10.0;
        let field = FrameRect {
            left,
            right,
            top,
            bottom,
        };
        let y = LinearScale {
            values: (low, high),
            positions: (bottom, top),
        };
        let x = LinearScale {
            values: (0.0, float(violins.len())),
            positions: (left, right),
        };
        draw_vertical_axis(canvas, field, (self.label, y, &ticks));
        for (value, factor) in ticks.values.iter().zip(&factors) {
            let placement = Text::new(
                LABEL,
                canvas::WIDTH - MARGIN,
                y.position(*value) - MIDDLE * LABEL,
            );
            canvas.text(factor, placement.align_right().with_paint(GREY));
        }
        let half = (0.42 * slot).min(120.0);
        for (index, violin) in violins.iter().enumerate() {
            let middle = x.position(float(index) + 0.5);
            draw_outline(canvas, violin, index, (middle, half, y));
        }
        let zero = y.position(0.0);
        canvas.dashes(&[(left, zero), (right, zero)], INK, 1.5, (8.0, 6.0));
        for (index, violin) in violins.iter().enumerate() {
            draw_quartiles(canvas, violin, (x.position(float(index) + 0.5), half, y));
        }
        draw_frame(canvas, field);
        names.draw(canvas, bottom + 10.0, &x)
    }
}

/// Describes the parts of these violins.
fn describe_parts(violins: &[Violin<'_>]) -> String {
    let [outline, dots, all] = PART_NOTES;
    let has_kind = |outlined: bool| {
        let mut violins_with_values = violins.iter().filter(|violin| !violin.values.is_empty());
        violins_with_values.any(|violin| violin.outline.is_empty() != outlined)
    };
    let outline = has_kind(true).then_some(outline);
    let dots = has_kind(false).then_some(dots);
    let notes: Vec<&str> = outline.into_iter().chain(dots).chain([all]).collect();
    notes.join(" · ")
}

/// Positions of the dots of values; they do not overlap while there is space beside the centre line.
fn dot_positions(values: &[f64], (middle, half, y): (f64, f64, LinearScale)) -> Vec<(f64, f64)> {
    let across = 2.0 * DOT + 1.0;
    let mut dots: Vec<(f64, f64)> = Vec::with_capacity(values.len());
    for &value in values {
        let level = y.position(value);
        let steps = (0..).take_while(|step| f64::from(*step) * across <= half);
        let sides = steps.flat_map(|step: u32| {
            let offset = f64::from(step) * across;
            [middle + offset, middle - offset]
        });
        let is_free = |x: &f64| {
            let mut near = dots.iter();
            near.all(|(other, height)| (other - x).hypot(height - level) >= 2.0 * DOT)
        };
        let found = sides.clone().find(is_free);
        dots.push((found.unwrap_or(middle), level));
    }
    dots
}

/// Draws the outline, or dots for few values; a tick for many equal values.
fn draw_outline(
    canvas: &mut Scene,
    violin: &Violin<'_>,
    index: usize,
    (middle, half, y): (f64, f64, LinearScale),
) {
    let edge = series_colour(index);
    if violin.outline.is_empty() {
        if violin.values.is_empty() {
            return;
        }
        let few = violin.values.len() < MIN_DENSITY_VALUES;
        let level = y.position(violin.quantile(0.5));
        let tick = [(middle - 0.6 * half, level), (middle + 0.6 * half, level)];
        canvas.line(
            &tick,
            if few { INK } else { edge },
            if few { 2.0 } else { 4.0 },
        );
        for position in dot_positions(&violin.values, (middle, half, y))
            .into_iter()
            .filter(|_| few)
        {
            canvas.circle(position, DOT, edge);
        }
        return;
    }
    let max_width = violin
        .outline
        .iter()
        .map(|(_, width)| *width)
        .fold(0.0, f64::max);
    let side = |sign: f64| {
        let points = violin.outline.iter();
        points.map(move |(value, width)| {
            (middle + sign * half * width / max_width, y.position(*value))
        })
    };
    let mut around: Vec<(f64, f64)> = side(-1.0).chain(side(1.0).rev()).collect();
    canvas.area(&around, edge.with_alpha(0.35));
    around.extend(around.first().copied());
    canvas.line(&around, edge, 2.0)
}

/// Draws quartiles and median.
fn draw_quartiles(
    canvas: &mut Scene,
    violin: &Violin<'_>,
    (middle, half, y): (f64, f64, LinearScale),
) {
    if violin.outline.is_empty() {
        return;
    }
    let side = (0.14 * half).clamp(1.5, 9.0);
    let (low, high) = (
        y.position(violin.quantile(0.25)),
        y.position(violin.quantile(0.75)),
    );
    let (low, high) = (low.max(high + 1.0), high);
    let (left, right) = (middle - side, middle + side);
    canvas.area(
        &[(left, low), (right, low), (right, high), (left, high)],
        INK,
    );
    let level = y.position(violin.quantile(0.5));
    // Visible in the box and, if the box is low, beside it.
    canvas.line(&[(left - 3.0, level), (right + 3.0, level)], INK, 6.0);
    canvas.line(
        &[(left - 2.0, level), (right + 2.0, level)],
        canvas::BACKGROUND,
        3.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, values: &[f64]) -> ViolinGroup {
        ViolinGroup {
            name: name.to_owned(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn groups_of_one_value_or_none_are_drawn() {
        let all = [
            group("one <1>", &[2.0]),
            group("same", &[1.0, 1.0]),
            group("none", &[0.0, -1.0, f64::NAN, f64::INFINITY]),
            group("some", &[0.5, 1.0, 3.0]),
        ];
        let RenderedPlot { svg, png } = violins(PlotOptions::new("v", "y"), &all).unwrap();
        for text in [
            "one &lt;1&gt;",
            ">n = 0</text>",
            ">n = 1</text>",
            ">n = 2</text>",
            ">n = 3</text>",
            ">2×</text>",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        assert_eq!(png.get(16..24), Some(&[0, 0, 6, 64, 0, 0, 3, 132][..]));
        assert!(violins(PlotOptions::new("v", "y"), &all).unwrap() == RenderedPlot { svg, png });
        let empty = violins(PlotOptions::new("v", "y"), &[]).unwrap();
        assert!(empty.svg.contains("nothing to draw"));
        assert!(violins(PlotOptions::new("v", "y"), &[group("none", &[])]).unwrap() == empty);
    }

    #[test]
    fn few_values_are_dots_and_many_an_outline() {
        let values: Vec<f64> = (0..20).map(|n| 1.0 + f64::from(n) / 10.0).collect();
        let drawn = |values: &[f64]| {
            violins(PlotOptions::new("v", "y"), &[group("g", values)])
                .unwrap()
                .svg
        };
        let few = drawn(&values[..11]);
        assert_eq!(few.matches("<circle").count(), 11);
        assert!(few.contains("dots") && !few.contains("box"));
        let many = drawn(&values);
        assert_eq!(many.matches("<circle").count(), 0);
        assert!(many.contains("box") && !many.contains("dots"));
        // Equal values are drawn side by side.
        let scale = LinearScale {
            values: (0.0, 1.0),
            positions: (0.0, 100.0),
        };
        let positions = dot_positions(&[0.5, 0.5, 0.5], (200.0, 50.0, scale));
        assert_eq!(positions, [(200.0, 50.0), (211.0, 50.0), (189.0, 50.0)]);
    }

    #[test]
    fn many_groups_are_counted() {
        let all: Vec<ViolinGroup> = (0..70)
            .map(|n| group(&format!("g{n}"), &[1.0, 2.0]))
            .collect();
        let svg = violins(PlotOptions::new("v", "y"), &all).unwrap().svg;
        assert!(
            svg.contains("6 more groups") && svg.contains("g63 (n = 2)") && !svg.contains("g64")
        );
    }
}
