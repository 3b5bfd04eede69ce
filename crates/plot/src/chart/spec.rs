//! Specification of a chart.

use std::fmt;
use std::str::FromStr;

/// Kind of chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// A line from point to point.
    Line,
    /// A line that is constant until the next point.
    Step,
    /// A dot for each row, or densities for more than 5,000 rows.
    Scatter,
    /// A bar for each name: the value, the mean of several values, or the number of rows.
    Bar,
    /// The number of rows in each range of values.
    Histogram,
    /// The fraction of rows with at most a value.
    Ecdf,
    /// Quartiles, whiskers and outliers.
    Box,
    /// The density of the values, with quartiles.
    Violin,
    /// A colour for each pair of names.
    Heat,
}

impl ChartKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Line,
        Self::Step,
        Self::Scatter,
        Self::Bar,
        Self::Histogram,
        Self::Ecdf,
        Self::Box,
        Self::Violin,
        Self::Heat,
    ];

    /// Name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Step => "step",
            Self::Scatter => "scatter",
            Self::Bar => "bar",
            Self::Histogram => "histogram",
            Self::Ecdf => "ecdf",
            Self::Box => "box",
            Self::Violin => "violin",
            Self::Heat => "heat",
        }
    }
}

impl fmt::Display for ChartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ChartKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("no plot kind `{text}`\nhint: there are {names}")
        })
    }
}

/// Axes with a logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogAxes {
    /// None.
    None,
    /// The horizontal axis.
    X,
    /// The vertical axis.
    Y,
    /// Both.
    Xy,
}

impl FromStr for LogAxes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "x" => Ok(Self::X),
            "y" => Ok(Self::Y),
            "xy" => Ok(Self::Xy),
            _ => Err(format!(
                "no axes `{text}`\nhint: there are none, x, y and xy"
            )),
        }
    }
}

/// Specification of a chart of a query result: columns by name. Missing options are chosen automatically.
///
/// ```
/// use tsql_plot::{ChartKind, PlotSpec};
/// let spec: PlotSpec = "kind=line x=trial y=best_ns by=platform".parse()?;
/// assert_eq!((spec.kind, spec.by.as_deref()), (Some(ChartKind::Line), Some("platform")));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotSpec {
    /// Kind of chart.
    pub kind: Option<ChartKind>,
    /// Column of the horizontal axis; the names for bars, boxes and violins.
    pub x: Option<String>,
    /// Column of the vertical axis.
    pub y: Option<String>,
    /// Column with the names of the series, which have a colour each.
    pub by: Option<String>,
    /// Column with the names of the panels.
    pub facet: Option<String>,
    /// Lower bound of the band of a line.
    pub low: Option<String>,
    /// Upper bound of the band of a line.
    pub high: Option<String>,
    /// Column of the colours of a heat map.
    pub value: Option<String>,
    /// Column of a limit: a line across, such as a peak, or a curve if it depends on x, such as a roofline.
    pub limit: Option<String>,
    /// Column whose first value annotates each panel, such as a correlation.
    pub annotate: Option<String>,
    /// Axes with a logarithmic scale. By default those of times that span more than two decades.
    pub log: Option<LogAxes>,
    /// Title above the chart.
    pub title: Option<String>,
    /// Title of the horizontal axis, without the unit, instead of the column name.
    pub x_title: Option<String>,
    /// Title of the vertical axis, without the unit, instead of the column name.
    pub y_title: Option<String>,
}

impl FromStr for PlotSpec {
    type Err = String;

    /// Parses `name=value` pairs separated by spaces. A value with spaces must be quoted.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut spec = Self::default();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let Some((name, after)) = rest.split_once('=') else {
                return Err(format!(
                    "`{rest}` is not an option of a plot\nhint: kind=line x=COLUMN y=COLUMN"
                ));
            };
            let (value, remaining) = match after.strip_prefix('"') {
                Some(quoted) => quoted
                    .split_once('"')
                    .ok_or_else(|| format!("`{name}=\"...` has no second quote"))?,
                None => after.split_once(' ').unwrap_or((after, "")),
            };
            spec.set(name.trim(), value)?;
            rest = remaining.trim_start();
        }
        Ok(spec)
    }
}

impl PlotSpec {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let column = match name {
            "kind" => {
                self.kind = Some(value.parse()?);
                return Ok(());
            }
            "log" => {
                self.log = Some(value.parse()?);
                return Ok(());
            }
            "x" => &mut self.x,
            "y" => &mut self.y,
            "by" => &mut self.by,
            "facet" => &mut self.facet,
            "low" => &mut self.low,
            "high" => &mut self.high,
            "value" => &mut self.value,
            "limit" => &mut self.limit,
            // `note` is an alias.
            "annotate" | "note" => &mut self.annotate,
            "title" => &mut self.title,
            "x_title" => &mut self.x_title,
            "y_title" => &mut self.y_title,
            _ => {
                return Err(format!(
                    "no option `{name}` of a plot\nhint: there are kind, x, y, by, facet, low, high, value, limit, annotate, log, title, x_title, y_title"
                ));
            }
        };
        *column = Some(value.to_owned());
        Ok(())
    }

    /// Fills missing options from `other`.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let or = |first: Option<String>, other: &Option<String>| first.or_else(|| other.clone());
        Self {
            kind: self.kind.or(other.kind),
            x: or(self.x, &other.x),
            y: or(self.y, &other.y),
            by: or(self.by, &other.by),
            facet: or(self.facet, &other.facet),
            low: or(self.low, &other.low),
            high: or(self.high, &other.high),
            value: or(self.value, &other.value),
            limit: or(self.limit, &other.limit),
            annotate: or(self.annotate, &other.annotate),
            log: self.log.or(other.log),
            title: or(self.title, &other.title),
            x_title: or(self.x_title, &other.x_title),
            y_title: or(self.y_title, &other.y_title),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_line_defines_the_chart() {
        let spec: PlotSpec = "kind=heat x=a y=b value=tau log=none title=\"two words\""
            .parse()
            .unwrap();
        assert_eq!(spec.kind, Some(ChartKind::Heat));
        assert_eq!(spec.value.as_deref(), Some("tau"));
        assert_eq!(spec.title.as_deref(), Some("two words"));
        assert_eq!(spec.log, Some(LogAxes::None));
        let over: PlotSpec = "x=c".parse().unwrap();
        let both = over.or(&spec);
        assert_eq!(
            (both.x.as_deref(), both.y.as_deref()),
            (Some("c"), Some("b"))
        );
    }

    #[test]
    fn an_annotation_has_its_earlier_name_as_well() {
        let annotated = |text: &str| text.parse::<PlotSpec>().unwrap().annotate;
        assert_eq!(annotated("annotate=tau"), annotated("note=tau"));
        assert_eq!(annotated("annotate=tau").as_deref(), Some("tau"));
    }

    #[test]
    fn invalid_plot_lines_are_reported() {
        let error = |text: &str| text.parse::<PlotSpec>().unwrap_err();
        assert!(error("kind=pie").contains("no plot kind `pie`\nhint: there are line, step"));
        assert!(error("colour=red").contains("no option `colour` of a plot"));
        assert!(error("line").contains("`line` is not an option of a plot"));
        assert!(error("title=\"open").contains("no second quote"));
        assert!(error("log=z").contains("no axes `z`"));
    }
}
