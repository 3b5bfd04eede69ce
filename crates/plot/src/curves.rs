//! Line plot of scores by tolerance.

use super::canvas::{self, Drawable, GREY, RULE, series_colour};
use super::plot_frame::{
    AXIS, AxisTicks, FrameRect, LABEL, LinearScale, MARGIN, MIDDLE, PlotOptions, REMARK,
};
use super::plot_frame::{draw_empty, draw_heading, draw_vertical_axis, left_indent, pixel_centre};
use super::rendered_plot::{RenderedPlot, render_plot};
use super::text;
use crate::number::float;
use crate::scene::{Scene, Text, dot_shape};

/// Maximum width of names in the legend, their maximum number of lines, and the line height.
const NAMES: f64 = 380.0;
const NAME_LINES: usize = 3;
const LEADING: f64 = 1.3 * LABEL;

/// Width of a line sample in the legend, and the gap around it.
const SAMPLE: f64 = 44.0;
const GAP: f64 = 14.0;

/// Dash patterns of a curve that covers one or two others, and of the marker.
const COVERED_DASHES: [(f64, f64); 2] = [(9.0, 9.0), (4.0, 14.0)];
const MARKER_DASHES: (f64, f64) = (6.0, 5.0);

/// A line with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Tolerances in ascending order with their scores. NaN leaves a gap.
    pub points: Vec<(i32, f64)>,
}

/// Draws scores by tolerance: a line with dots for each curve, from 0 up, and a legend.
///
/// The label is the name of the scores; `mark` is a highlighted tolerance with its description.
///
/// # Errors
/// If rendering fails. Without curves or points the plot shows that it is empty.
pub fn curves(
    options: PlotOptions<'_>,
    mark: Option<(i32, &str)>,
    curves: &[Curve],
) -> Result<RenderedPlot, String> {
    let covered_counts = (0..curves.len())
        .map(|index| count_covered(curves, index))
        .collect();
    let drawing = Curves {
        title: options.title,
        label: options.label,
        mark,
        curves,
        covered_counts,
    };
    render_plot(&drawing, options.title, options.png_width)
}

struct Curves<'a> {
    title: &'a str,
    label: &'a str,
    mark: Option<(i32, &'a str)>,
    curves: &'a [Curve],
    /// Number of earlier curves that each curve covers.
    covered_counts: Vec<usize>,
}

/// Counts the earlier curves that have at least a third of their points in common with this one.
fn count_covered(curves: &[Curve], index: usize) -> usize {
    let scores = curves.iter().flat_map(|curve| &curve.points);
    let scores = scores
        .map(|(_, score)| score.abs())
        .filter(|score| score.is_finite());
    let tolerance = 0.004 * scores.fold(0.0, f64::max);
    let Some(curve) = curves.get(index) else {
        return 0;
    };
    let covers = |other: &&Curve| {
        let is_common = |(t, score): &&(i32, f64)| {
            let is_same =
                |(u, other_score): &(i32, f64)| u == t && (other_score - score).abs() <= tolerance;
            other.points.iter().any(is_same)
        };
        let count = curve.points.iter().filter(is_common).count();
        count > 0 && count * 3 >= curve.points.len()
    };
    curves.iter().take(index).filter(covers).count()
}

/// Legend entry: lines of the name, for the curve at an index.
struct CurveEntry {
    index: usize,
    lines: Vec<String>,
}

impl Curves<'_> {
    fn points(&self) -> impl Iterator<Item = (i32, f64)> + Clone {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        points.copied().filter(|(_, score)| score.is_finite())
    }

    /// Names in lines, and their maximum width.
    fn entries(&self) -> (Vec<CurveEntry>, f64) {
        let name = |curve: &Curve| {
            let empty = !curve.points.iter().any(|(_, score)| score.is_finite());
            format!("{}{}", curve.name, if empty { " (no data)" } else { "" })
        };
        let names: Vec<String> = self.curves.iter().map(name).collect();
        let lines = text::wrap_names(&names, LABEL, NAMES, NAME_LINES);
        let entries = lines.into_iter().enumerate();
        let entries: Vec<CurveEntry> = entries
            .map(|(index, lines)| CurveEntry { index, lines })
            .collect();
        let mark = self
            .mark
            .map(|(t, what)| text::width(&marker_text(t, what), REMARK));
        let lines = entries.iter().flat_map(|entry| &entry.lines);
        let widths = lines.map(|line| text::width(line, LABEL));
        let max_width = widths.chain(mark).fold(0.0, f64::max);
        (entries, max_width.clamp(80.0, NAMES))
    }

    /// Draws the line of a curve, dashed where it covers another one.
    fn stroke(&self, canvas: &mut Scene, index: usize, points: &[(f64, f64)]) {
        let covered = self.covered_counts.get(index).copied().unwrap_or(0);
        match covered
            .checked_sub(1)
            .and_then(|covered| COVERED_DASHES.get(covered % COVERED_DASHES.len()))
        {
            Some(dash) => canvas.dashes(points, series_colour(index), 3.0, *dash),
            None => canvas.line(points, series_colour(index), 3.0),
        }
    }

    fn curve(&self, canvas: &mut Scene, index: usize, points: &[(f64, f64)]) {
        let covered = self.covered_counts.get(index).copied().unwrap_or(0);
        self.stroke(canvas, index, points);
        // Dots of earlier curves are larger, so that they are visible below later ones.
        let size = [6.5, 4.5, 3.0].get(covered).copied().unwrap_or(3.0);
        for position in points {
            dot(canvas, *position, size, index);
        }
    }

    fn legend(&self, canvas: &mut Scene, entries: &[CurveEntry], (left, top): (f64, f64)) {
        let mut y = top;
        if let Some((t, description)) = self.mark {
            let middle = y + 2.0 + MIDDLE * REMARK;
            let sample = [(left, middle), (left + SAMPLE, middle)];
            canvas.dashes(&sample, GREY, 1.5, MARKER_DASHES);
            for line in text::wrap(&marker_text(t, description), REMARK, NAMES, NAME_LINES) {
                let placement = Text::new(REMARK, left + SAMPLE + GAP, y + 2.0).with_paint(GREY);
                canvas.text(&line, placement);
                y += LEADING;
            }
            y += 12.0;
        }
        let end = canvas::HEIGHT - MARGIN - LEADING;
        for (drawn_count, CurveEntry { index, lines }) in entries.iter().enumerate() {
            let height = float(lines.len().max(1)) * LEADING;
            let remaining = entries.len() - drawn_count;
            if y + height > end && (remaining > 1 || y + height > end + LEADING) {
                let more = format!("… and {remaining} more");
                return canvas.text(&more, Text::new(LABEL, left, y));
            }
            let middle = y + MIDDLE * LABEL;
            let sample = [(left, middle), (left + SAMPLE, middle)];
            self.stroke(canvas, *index, &sample);
            dot(canvas, (left + SAMPLE / 2.0, middle), 6.5, *index);
            for line in lines {
                canvas.text(line, Text::new(LABEL, left + SAMPLE + GAP, y));
                y += LEADING;
            }
            y += if entries.len() > 14 { 2.0 } else { 10.0 };
        }
    }
}

fn marker_text(t: i32, description: &str) -> String {
    format!("t = {t}: {description}")
}

/// Draws the dot of a point, in the shape of its curve.
fn dot(canvas: &mut Scene, (x, y): (f64, f64), size: f64, index: usize) {
    let fill = series_colour(index);
    let corners: &[(f64, f64)] = match dot_shape(index) % 4 {
        0 => return canvas.circle((x, y), size, fill),
        1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2 => &[(0.0, -1.25), (1.15, 0.8), (-1.15, 0.8)],
        _ => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    };
    let corner = |(right, down): &(f64, f64)| (x + size * right, y + size * down);
    let corners: Vec<(f64, f64)> = corners.iter().map(corner).collect();
    canvas.area(&corners, fill)
}

impl Drawable for Curves<'_> {
    fn draw(&self, canvas: &mut Scene) {
        let levels = self.points().map(|(t, _)| t);
        let (Some(first), Some(last)) = (levels.clone().min(), levels.max()) else {
            return draw_empty(canvas, self.title);
        };
        let top = draw_heading(canvas, self.title);
        let scores = self.points().map(|(_, score)| score);
        let (low, high) = scores.fold((0.0, 0.0), |(low, high): (f64, f64), score| {
            (low.min(score), high.max(score))
        });
        let room = if high > low { 0.06 * (high - low) } else { 1.0 };
        let (low, high) = (if low < 0.0 { low - room } else { 0.0 }, high + room);
        let ticks = AxisTicks::new(low, high, 9.0, 0.0);
        let (entries, names) = self.entries();
        let beside = canvas::WIDTH - MARGIN - names - GAP - SAMPLE;
        let field = FrameRect {
            left: left_indent(&ticks),
            right: beside - 2.0 * GAP,
            top,
            bottom: canvas::HEIGHT - MARGIN - 2.2 * AXIS - LABEL,
        };
        let y = LinearScale {
            values: (low, high),
            positions: (field.bottom, field.top),
        };
        let x = LinearScale {
            values: (f64::from(first) - 0.4, f64::from(last) + 0.4),
            positions: (field.left, field.right),
        };
        let levels = AxisTicks::new(
            x.values.0,
            x.values.1,
            (field.right - field.left) / 44.0,
            1.0,
        );
        for level in &levels.values {
            let x_position = pixel_centre(x.position(*level));
            canvas.line(
                &[(x_position, field.top), (x_position, field.bottom)],
                RULE,
                1.0,
            );
            let placement = Text::new(LABEL, x_position, field.bottom + 9.0).align_centre();
            canvas.text(&levels.text(*level), placement);
        }
        draw_vertical_axis(canvas, field, (self.label, y, &ticks));
        let middle = f64::midpoint(field.left, field.right);
        let placement =
            Text::new(AXIS, middle, canvas::HEIGHT - MARGIN - 1.1 * AXIS).align_centre();
        canvas.text("tolerance t", placement);
        if let Some((t, _)) = self.mark.filter(|(t, _)| (first..=last).contains(t)) {
            let x_position = pixel_centre(x.position(f64::from(t)));
            let line = [(x_position, field.top), (x_position, field.bottom)];
            canvas.dashes(&line, GREY, 1.5, MARKER_DASHES);
        }
        for (index, curve) in self.curves.iter().enumerate() {
            for points in curve.points.split(|(_, score)| !score.is_finite()) {
                let to_point =
                    |(t, score): &(i32, f64)| (x.position(f64::from(*t)), y.position(*score));
                let points: Vec<(f64, f64)> = points.iter().map(to_point).collect();
                self.curve(canvas, index, &points);
            }
        }
        self.legend(canvas, &entries, (beside, field.top))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, scale: f64) -> Curve {
        let points = (-10..=4).map(|t| (t, scale * f64::from(t + 11) / 15.0));
        Curve {
            name: name.to_owned(),
            points: points.collect(),
        }
    }

    #[test]
    fn charts_are_deterministic() {
        let all = [curve("a <b> & \"c\"\n", 1.0), curve("c", 0.5)];
        let draw = || {
            curves(
                PlotOptions::new("ES(t)", "score"),
                Some((1, "errors")),
                &all,
            )
            .unwrap()
        };
        let RenderedPlot { svg, png } = draw();
        assert!(
            draw()
                == RenderedPlot {
                    svg: svg.clone(),
                    png: png.clone()
                }
        );
        assert!(svg.contains(" width=\"1600\" height=\"900\" viewBox=\"0 0 1600 900\""));
        assert!(svg.contains("a &lt;b&gt; &amp; &quot;c&quot;") && svg.contains("t = 1: errors"));
        assert!(svg.contains("tolerance t") && svg.contains("ES(t)") && svg.ends_with("</svg>\n"));
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xae\x42\x60\x82"));
        assert_eq!(png.get(16..24), Some(&[0, 0, 6, 64, 0, 0, 3, 132][..]));
    }

    #[test]
    fn invalid_points_are_left_out() {
        let empty = curves(PlotOptions::new("S", "y"), None, &[]).unwrap();
        assert!(empty.svg.contains("nothing to draw"));
        let bad = Curve {
            name: "bad".to_owned(),
            points: vec![(0, f64::NAN), (1, f64::INFINITY)],
        };
        assert!(
            curves(PlotOptions::new("S", "y"), None, std::slice::from_ref(&bad)).unwrap() == empty
        );
        let svg = curves(PlotOptions::new("S", "y"), None, &[bad, curve("good", 1.0)])
            .unwrap()
            .svg;
        assert!(svg.contains("bad (no data)"));
        let far = Curve {
            name: "far".to_owned(),
            points: vec![(i32::MIN, 0.0), (i32::MAX, 1e300)],
        };
        assert!(
            !curves(PlotOptions::new("S", "y"), None, &[far])
                .unwrap()
                .svg
                .contains("NaN")
        );
    }

    #[test]
    fn overlapping_curves_are_distinguishable() {
        let all = [
            curve("a", 1.0),
            curve("b", 1.0),
            curve("c", 2.0),
            curve("d", 1.0),
        ];
        let covered: Vec<usize> = (0..4).map(|index| count_covered(&all, index)).collect();
        assert_eq!(covered, [0, 1, 0, 2]);
    }

    #[test]
    fn long_legends_end() {
        let all: Vec<Curve> = (0..60)
            .map(|n| curve(&format!("curve {n}"), f64::from(n)))
            .collect();
        let svg = curves(PlotOptions::new("S", "y"), None, &all).unwrap().svg;
        assert!(svg.contains("curve 20") && svg.contains(" more</text>"));
    }
}
