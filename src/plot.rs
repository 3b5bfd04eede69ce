//! Curves and violins as SVG and PNG, with a font of their own: the same picture on every machine.

use std::fmt::Display;
use std::io::Write as _;

use flate2::{Compression, Crc, write::ZlibEncoder};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use crate::stats::quantile;

/// Width and height in pixels.
const SIZE: (u32, u32) = (1600, 900);

/// The name that the font is registered under.
const FONT: &str = "sans-serif";

/// Colours that people tell apart who see few (Okabe and Ito), then darker ones.
const COLOURS: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(150, 140, 20),
    RGBColor(110, 50, 130),
    RGBColor(140, 70, 20),
    RGBColor(90, 90, 90),
    RGBColor(0, 90, 90),
];

/// Points of the outline of a violin.
const OUTLINE: u32 = 128;

/// Letters of a name in a legend or on an axis.
const NAME_LETTERS: usize = 40;

/// A line with a name.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) points: Vec<(i32, f64)>,
}

/// Values with a name.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) values: Vec<f64>,
}

/// A picture in both forms.
pub(crate) struct Picture {
    pub(crate) svg: String,
    pub(crate) png: Vec<u8>,
}

/// What is drawn on either kind of canvas.
trait Drawing {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String>;
}

fn failed(error: impl Display) -> String {
    error.to_string()
}

/// Draws on both kinds of canvas.
fn picture(drawing: &impl Drawing) -> Result<Picture, String> {
    for style in [FontStyle::Normal, FontStyle::Bold] {
        let registered = register_font(FONT, style, dejavu::sans::regular());
        registered.map_err(|_| "the font is not understood".to_owned())?;
    }
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        drawing.draw(&area)?;
        area.present().map_err(failed)?;
    }
    let mut pixels = vec![255; SIZE.0 as usize * SIZE.1 as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area();
        drawing.draw(&area)?;
        area.present().map_err(failed)?;
    }
    let png = png(&pixels).map_err(failed)?;
    Ok(Picture { svg, png })
}

/// Pixels of three bytes as PNG (RFC 2083). The `png` crate would put a second deflate next to the
/// one that is linked already.
fn png(pixels: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut header = Vec::new();
    header.extend_from_slice(&SIZE.0.to_be_bytes());
    header.extend_from_slice(&SIZE.1.to_be_bytes());
    // Eight bits, RGB, deflate, the only filter method, not interlaced.
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.chunks(SIZE.0 as usize * 3) {
        rows.write_all(&[0])?;
        rows.write_all(row)?;
    }
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [
        (b"IHDR", header),
        (b"IDAT", rows.finish()?),
        (b"IEND", Vec::new()),
    ] {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        png.extend_from_slice(&length.to_be_bytes());
        let start = png.len();
        png.extend_from_slice(kind);
        png.extend_from_slice(&data);
        let mut crc = Crc::new();
        crc.update(png.get(start..).unwrap_or(&[]));
        png.extend_from_slice(&crc.sum().to_be_bytes());
    }
    Ok(png)
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME_LETTERS {
        return name.to_owned();
    }
    let end: Vec<char> = name.chars().rev().take(NAME_LETTERS - 1).collect();
    format!("…{}", end.into_iter().rev().collect::<String>())
}

fn colour(place: usize) -> RGBColor {
    COLOURS
        .get(place % COLOURS.len())
        .copied()
        .unwrap_or(RGBColor(0, 0, 0))
}

fn nothing<B: DrawingBackend>(area: &DrawingArea<B, Shift>, title: &str) -> Result<(), String> {
    area.fill(&WHITE).map_err(failed)?;
    let text = format!("{title}: there is nothing to draw");
    let style = (FONT, 32).into_font().color(&BLACK);
    area.draw_text(&text, &style, (60, 60)).map_err(failed)
}

/// Scores by tolerance: a line for each curve, from 0 up; `mark` is a tolerance to be pointed out.
pub(crate) fn curves(
    title: &str,
    label: &str,
    mark: Option<f64>,
    curves: &[Curve],
) -> Result<Picture, String> {
    picture(&Curves {
        title,
        label,
        mark,
        curves,
    })
}

struct Curves<'a> {
    title: &'a str,
    label: &'a str,
    mark: Option<f64>,
    curves: &'a [Curve],
}

impl Drawing for Curves<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let levels = points().map(|(t, _)| *t);
        let (Some(first), Some(last)) = (levels.clone().min(), levels.max()) else {
            return nothing(area, self.title);
        };
        area.fill(&WHITE).map_err(failed)?;
        let top = points().map(|(_, score)| *score).fold(0.0, f64::max);
        let top = if top > 0.0 { top * 1.08 } else { 1.0 };
        let (plot, legend) = area.split_horizontally(1140);
        let mut chart = ChartBuilder::on(&plot)
            .caption(self.title, (FONT, 34))
            .margin(24)
            .x_label_area_size(70)
            .y_label_area_size(90)
            .build_cartesian_2d(f64::from(first)..f64::from(last), 0.0..top)
            .map_err(failed)?;
        let ticks = usize::try_from(last - first + 1).unwrap_or(1);
        chart
            .configure_mesh()
            .x_desc("tolerance t")
            .y_desc(self.label)
            .x_labels(ticks)
            .x_label_formatter(&|t| format!("{t:.0}"))
            .y_label_formatter(&|score| format!("{score:.2}"))
            .label_style((FONT, 20))
            .axis_desc_style((FONT, 24))
            .bold_line_style(BLACK.mix(0.12))
            .light_line_style(TRANSPARENT)
            .draw()
            .map_err(failed)?;
        if let Some(mark) = self.mark {
            let line = [(mark, 0.0), (mark, top)];
            let dashed = DashedLineSeries::new(line, 8, 6, BLACK.mix(0.5).stroke_width(2));
            chart.draw_series(dashed).map_err(failed)?;
        }
        let place = |(t, score): &(i32, f64)| (f64::from(*t), *score);
        for (number, curve) in self.curves.iter().enumerate() {
            let style = colour(number);
            let line = LineSeries::new(curve.points.iter().map(place), style.stroke_width(3));
            chart.draw_series(line).map_err(failed)?;
            let dots = curve.points.iter().map(place);
            let dots = dots.map(|dot| Circle::new(dot, 5, style.filled()));
            chart.draw_series(dots).map_err(failed)?;
        }
        let text = (FONT, 17).into_font().color(&BLACK);
        for (row, curve) in (0_i32..).zip(self.curves) {
            let y = 90 + 34 * row;
            let style = colour(usize::try_from(row).unwrap_or(0));
            let line = PathElement::new(vec![(0, y), (34, y)], style.stroke_width(3));
            legend.draw(&line).map_err(failed)?;
            let dot = Circle::new((17, y), 5, style.filled());
            legend.draw(&dot).map_err(failed)?;
            let name = short(&curve.name);
            legend
                .draw_text(&name, &text, (44, y - 5))
                .map_err(failed)?;
        }
        Ok(())
    }
}

/// Distributions of the binary logarithm of values above 0: outline, quartiles and median.
pub(crate) fn violins(title: &str, label: &str, groups: &[Group]) -> Result<Picture, String> {
    let logarithm = |group: &Group| {
        let values = group.values.iter().copied();
        let mut values: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::log2).collect();
        values.sort_by(f64::total_cmp);
        let name = group.name.clone();
        Group { name, values }
    };
    let groups: Vec<Group> = groups.iter().map(logarithm).collect();
    let groups: Vec<Group> = groups
        .into_iter()
        .filter(|group| !group.values.is_empty())
        .collect();
    picture(&Violins {
        title,
        label,
        groups: &groups,
    })
}

struct Violins<'a> {
    title: &'a str,
    label: &'a str,
    /// Values in rising order.
    groups: &'a [Group],
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Bandwidth of a Gaussian kernel by Silverman's rule; 0 where all values are the same.
fn bandwidth(sorted: &[f64]) -> f64 {
    let count = float(sorted.len());
    let mean = sorted.iter().sum::<f64>() / count;
    let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    let spread = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34;
    let least = if spread > 0.0 {
        deviation.min(spread)
    } else {
        deviation
    };
    0.9 * least * count.powf(-0.2)
}

/// Values and densities from two bandwidths below the least to two above the greatest.
fn density(sorted: &[f64]) -> Vec<(f64, f64)> {
    let width = bandwidth(sorted);
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    if width <= 0.0 {
        return Vec::new();
    }
    let (low, high) = (first - 2.0 * width, last + 2.0 * width);
    let step = (high - low) / f64::from(OUTLINE);
    let at = |place: u32| {
        let value = low + step * f64::from(place);
        let kernel = |one: &f64| (-0.5 * ((value - one) / width).powi(2)).exp();
        (value, sorted.iter().map(kernel).sum::<f64>())
    };
    (0..=OUTLINE).map(at).collect()
}

impl Drawing for Violins<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        if self.groups.is_empty() {
            return nothing(area, self.title);
        }
        area.fill(&WHITE).map_err(failed)?;
        let outlines: Vec<Vec<(f64, f64)>> = self
            .groups
            .iter()
            .map(|group| density(&group.values))
            .collect();
        let ends = outlines.iter().flatten().map(|(value, _)| *value);
        let values = self.groups.iter().flat_map(|group| &group.values).copied();
        let reach = ends
            .chain(values)
            .fold(0.0, |far: f64, one| far.max(one.abs()));
        let reach = if reach > 0.0 { reach * 1.05 } else { 1.0 };
        let count = float(self.groups.len());
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, (FONT, 34))
            .margin(24)
            .x_label_area_size(150)
            .y_label_area_size(90)
            .build_cartesian_2d(0.0..count, -reach..reach)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .y_desc(self.label)
            .label_style((FONT, 20))
            .axis_desc_style((FONT, 24))
            .bold_line_style(BLACK.mix(0.12))
            .light_line_style(TRANSPARENT)
            .draw()
            .map_err(failed)?;
        let zero = LineSeries::new([(0.0, 0.0), (count, 0.0)], BLACK.mix(0.6).stroke_width(2));
        chart.draw_series(zero).map_err(failed)?;
        for (number, (group, outline)) in self.groups.iter().zip(&outlines).enumerate() {
            let (middle, style) = (float(number) + 0.5, colour(number));
            let most = outline.iter().map(|(_, width)| *width).fold(0.0, f64::max);
            let side = |sign: f64| {
                let points = outline.iter();
                points.map(move |(value, width)| (middle + sign * 0.4 * width / most, *value))
            };
            let shape: Vec<(f64, f64)> = side(-1.0).chain(side(1.0).rev()).collect();
            if !shape.is_empty() {
                let fill = Polygon::new(shape.clone(), style.mix(0.35).filled());
                chart.draw_series([fill]).map_err(failed)?;
                let closed = shape.iter().chain(shape.first()).copied();
                let edge = LineSeries::new(closed, style.stroke_width(2));
                chart.draw_series(edge).map_err(failed)?;
            }
            let at = |share: f64| quantile(&group.values, share);
            let quartiles = [(middle - 0.03, at(0.25)), (middle + 0.03, at(0.75))];
            let quartiles = Rectangle::new(quartiles, style.mix(0.8).filled());
            chart.draw_series([quartiles]).map_err(failed)?;
            let median = [(middle - 0.1, at(0.5)), (middle + 0.1, at(0.5))];
            let median = LineSeries::new(median, BLACK.stroke_width(3));
            chart.draw_series(median).map_err(failed)?;
        }
        self.names(area, chart.plotting_area().get_pixel_range())
    }
}

impl Violins<'_> {
    /// Name and number of values below each violin, slanted where there are many.
    fn names<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        (across, down): (std::ops::Range<i32>, std::ops::Range<i32>),
    ) -> Result<(), String> {
        let count = i32::try_from(self.groups.len()).unwrap_or(i32::MAX);
        let (left, width) = (across.start, across.end - across.start);
        // A letter of this size is about ten pixels wide.
        let room = usize::try_from(width / count.max(1) / 10)
            .unwrap_or(1)
            .max(6);
        for (place, group) in (0_i32..).zip(self.groups) {
            let x = left + width * (2 * place + 1) / (2 * count);
            let style = (FONT, 17).into_font().color(&BLACK);
            let style = style.pos(plotters::style::text_anchor::Pos::new(
                plotters::style::text_anchor::HPos::Center,
                plotters::style::text_anchor::VPos::Top,
            ));
            let letters: Vec<char> = short(&group.name).chars().collect();
            let lines = letters
                .chunks(room)
                .map(|line| line.iter().collect::<String>());
            let lines = lines.chain([format!("n = {}", group.values.len())]);
            for (row, line) in (0_i32..).zip(lines) {
                let at = (x, down.end + 14 + 24 * row);
                area.draw_text(&line, &style, at).map_err(failed)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, scale: f64) -> Curve {
        let points = (-10..=4)
            .map(|t| (t, scale * f64::from(t + 11) / 15.0))
            .collect();
        let name = name.to_owned();
        Curve { name, points }
    }

    #[test]
    fn pictures_are_the_same_every_time() {
        let all = [curve("a <b>", 1.0), curve("c", 0.5)];
        let one = curves("S(t)", "S", Some(1.0), &all).unwrap();
        let two = curves("S(t)", "S", Some(1.0), &all).unwrap();
        assert_eq!((&one.svg, &one.png), (&two.svg, &two.png));
        assert!(one.svg.contains("a &lt;b&gt;"), "names are escaped");
        assert!(one.png.starts_with(b"\x89PNG\r\n\x1a\n"));
        assert_eq!(one.png.get(16..24), Some(&[0, 0, 6, 64, 0, 0, 3, 132][..]));
    }

    #[test]
    fn groups_of_one_value_or_none_are_drawn() {
        let group = |name: &str, values: &[f64]| Group {
            name: name.to_owned(),
            values: values.to_vec(),
        };
        let drawn = violins(
            "v",
            "y",
            &[
                group("one", &[2.0]),
                group("same", &[1.0, 1.0]),
                group("none", &[0.0]),
            ],
        );
        let svg = drawn.unwrap().svg;
        assert!(svg.contains("n = 1") && svg.contains("n = 2") && !svg.contains("none"));
        assert!(
            violins("v", "y", &[])
                .unwrap()
                .svg
                .contains("nothing to draw")
        );
        assert!(
            curves("S", "y", None, &[])
                .unwrap()
                .svg
                .contains("nothing to draw")
        );
    }
}
