//! Plot of the speedups of many pairs: their distribution, and the means of groups.

mod axis;
mod data;
mod histogram;
mod means;

pub use data::{SpeedupBin, SpeedupRow, Speedups};

use super::canvas::{Drawable, GREY};
use super::plot_frame::{AXIS, FrameRect, LABEL, MARGIN, PlotOptions, REMARK, TITLE};
use super::plot_frame::{draw_empty, draw_heading, factor_digits};
use super::rendered_plot::{RenderedPlot, render_plot};
use crate::scene::{Scene, Text};

/// Width of the plot: text is readable at the width of a page.
const WIDTH: f64 = 1100.0;

/// Fraction of the width for the histogram.
const HISTOGRAM_FRACTION: f64 = 0.5;

/// Minimum and maximum height of the data.
const MIN_DATA_HEIGHT: f64 = 300.0;
const MAX_DATA_HEIGHT: f64 = 660.0;

/// Height of titles and legend above the data, and of the axis below.
const ABOVE: f64 = MARGIN + 1.3 * TITLE + 6.0 + 1.5 * REMARK + 1.8 * LABEL;
const BELOW: f64 = MARGIN + 2.2 * AXIS + LABEL;

/// Draws a histogram of the speedups by verdict, and beside it their means with intervals. The label is the unit of the
/// counts.
///
/// # Errors
/// If rendering fails. Without bins the plot shows that it is empty.
pub fn speedups(options: PlotOptions<'_>, speedups: &Speedups) -> Result<RenderedPlot, String> {
    let drawing = SpeedupPlot { options, speedups };
    render_plot(&drawing, options.title, options.png_width)
}

struct SpeedupPlot<'a> {
    options: PlotOptions<'a>,
    speedups: &'a Speedups,
}

impl Drawable for SpeedupPlot<'_> {
    fn size(&self) -> (f64, f64) {
        let height = means::height(&self.speedups.rows).clamp(MIN_DATA_HEIGHT, MAX_DATA_HEIGHT);
        (WIDTH, (ABOVE + height + BELOW).round())
    }

    fn draw(&self, canvas: &mut Scene) {
        let Speedups { bins, noise, rows } = self.speedups;
        if bins.is_empty() {
            return draw_empty(canvas, self.options.title);
        }
        let mut top = draw_heading(canvas, self.options.title);
        if let Some(all) = rows.first() {
            let placement = Text::new(REMARK, WIDTH / 2.0, top - 8.0);
            canvas.text(
                &summary_text(all),
                placement.align_centre().with_paint(GREY),
            );
            top += 1.5 * REMARK;
        }
        histogram::draw_legend(canvas, bins, *noise, top);
        top += 1.8 * LABEL;
        let bottom = canvas.size.1 - BELOW;
        let middle = HISTOGRAM_FRACTION * WIDTH;
        histogram::draw(
            canvas,
            (self.options.label, bins, *noise),
            (middle - 20.0, top, bottom),
        );
        let beside = FrameRect {
            left: middle + 20.0,
            right: WIDTH - MARGIN,
            top,
            bottom,
        };
        means::draw(canvas, rows, *noise, beside)
    }
}

/// Text of the overall mean.
fn summary_text(all: &SpeedupRow) -> String {
    let mean = factor_digits(all.speedup.log2());
    let interval = all.interval.map_or_else(String::new, |(low, high)| {
        let [low, high] = [low, high].map(|end| factor_digits(end.log2()));
        format!(" (95 % interval {low}× to {high}×)")
    });
    format!(
        "geometric mean of the speedup of {} pairs: {mean}×{interval} · above 1: faster",
        all.pairs
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, group: usize, speedup: f64) -> SpeedupRow {
        SpeedupRow {
            name: name.to_owned(),
            group,
            pairs: 7,
            speedup,
            interval: Some((speedup / 1.1, speedup * 1.2)),
        }
    }

    fn bin(from: f64, counts: [u64; 4]) -> SpeedupBin {
        let to = from * 2.0_f64.powf(1.0 / 64.0);
        SpeedupBin { from, to, counts }
    }

    #[test]
    fn all_parts_are_drawn() {
        let all = Speedups {
            bins: vec![
                bin(0.5, [3, 0, 0, 0]),
                bin(1.0, [0, 1, 9, 0]),
                bin(2.0, [0, 0, 0, 4]),
            ],
            noise: 0.02,
            rows: vec![
                row("all", 0, 1.31),
                row("conv <2d>", 1, 1.5),
                row("net", 2, 0.9),
            ],
        };
        let RenderedPlot { svg, png } =
            speedups(PlotOptions::new("b against a", "pairs"), &all).unwrap();
        for text in [
            "b against a",
            "1.31×",
            "conv &lt;2d&gt;",
            "by operator",
            "by network",
            "slower",
            "unclear",
            "same",
            "faster",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(!svg.contains("NaN"));
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    }

    #[test]
    fn one_pair_and_none_are_drawn() {
        let empty = speedups(PlotOptions::new("t", "pairs"), &Speedups::default()).unwrap();
        assert!(empty.svg.contains("nothing to draw"));
        let one = Speedups {
            bins: vec![bin(1.0, [0, 1, 0, 0])],
            noise: 0.0,
            rows: vec![SpeedupRow {
                interval: None,
                ..row("all", 0, 1.0)
            }],
        };
        let svg = speedups(PlotOptions::new("t", "pairs"), &one).unwrap().svg;
        assert!(svg.contains("unclear") && !svg.contains("NaN") && !svg.contains("faster ("));
    }

    #[test]
    fn many_rows_end() {
        let rows = (0..90).map(|n| {
            row(
                &format!("operator {n}"),
                usize::from(n > 0),
                1.0 + f64::from(n),
            )
        });
        let all = Speedups {
            bins: vec![bin(1.0, [0, 1, 0, 0])],
            noise: 0.02,
            rows: rows.collect(),
        };
        let svg = speedups(PlotOptions::new("t", "pairs"), &all).unwrap().svg;
        assert!(
            svg.contains("operator 12")
                && svg.contains(" more</text>")
                && !svg.contains("operator 80")
        );
    }
}
