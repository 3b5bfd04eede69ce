//! What is to be drawn of an answer.

use std::fmt;
use std::str::FromStr;

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line from point to point.
    Line,
    /// A line that stays until the next point.
    Step,
    /// A dot for each row; counts of them where there are more than 5,000.
    Scatter,
    /// A bar for each name: the value, or the mean of several, or how many rows there are.
    Bar,
    /// How many rows have a value in each range.
    Histogram,
    /// Which share of the rows has at most a value.
    Ecdf,
    /// Quartiles, and how far values are from them.
    Box,
    /// The density of the values, with quartiles.
    Violin,
    /// A colour for each pair of names.
    Heat,
}

impl Kind {
    /// All of them.
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

    /// Its name.
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

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("no kind of picture `{text}`\nhint: there are {names}")
        })
    }
}

/// Which axes are logarithmic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// None.
    None,
    /// The horizontal one.
    X,
    /// The vertical one.
    Y,
    /// Both.
    Xy,
}

impl FromStr for Log {
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

/// What is drawn of an answer: columns by their names. What is not said is chosen by what there is.
///
/// ```
/// use tsql_plot::{Kind, Spec};
/// let spec: Spec = "kind=line x=trial y=best_ns by=platform".parse()?;
/// assert_eq!((spec.kind, spec.by.as_deref()), (Some(Kind::Line), Some("platform")));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// The kind of picture.
    pub kind: Option<Kind>,
    /// The horizontal axis; of bars, boxes and violins the names.
    pub x: Option<String>,
    /// The vertical axis.
    pub y: Option<String>,
    /// The names of the series, a colour each.
    pub by: Option<String>,
    /// The names of the pictures side by side.
    pub facet: Option<String>,
    /// Of a line: where its band begins.
    pub low: Option<String>,
    /// Of a line: where its band ends.
    pub high: Option<String>,
    /// Of a heat map: what the colours are.
    pub value: Option<String>,
    /// A value that is drawn as a line across: a peak, say.
    pub limit: Option<String>,
    /// A column whose first value is said in each picture: a correlation, say.
    pub note: Option<String>,
    /// Which axes are logarithmic; chosen where nothing is said: those of times that span more than two decades.
    pub log: Option<Log>,
    /// What stands above the picture.
    pub title: Option<String>,
}

impl FromStr for Spec {
    type Err = String;

    /// Reads `name=value` pairs with spaces between them; a value with spaces stands in quotes.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut spec = Self::default();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let Some((name, after)) = rest.split_once('=') else {
                return Err(format!(
                    "`{rest}` says nothing of a picture\nhint: kind=line x=COLUMN y=COLUMN"
                ));
            };
            let (value, left) = match after.strip_prefix('"') {
                Some(quoted) => quoted
                    .split_once('"')
                    .ok_or_else(|| format!("`{name}=\"...` has no second quote"))?,
                None => after.split_once(' ').unwrap_or((after, "")),
            };
            spec.put(name.trim(), value)?;
            rest = left.trim_start();
        }
        Ok(spec)
    }
}

impl Spec {
    fn put(&mut self, name: &str, value: &str) -> Result<(), String> {
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
            "note" => &mut self.note,
            "title" => &mut self.title,
            _ => {
                return Err(format!(
                    "no `{name}` of a picture\nhint: there are kind, x, y, by, facet, low, high, value, limit, note, log, title"
                ));
            }
        };
        *column = Some(value.to_owned());
        Ok(())
    }

    /// This one, with what it does not say as the other says it.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let or = |own: Option<String>, other: &Option<String>| own.or_else(|| other.clone());
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
            note: or(self.note, &other.note),
            log: self.log.or(other.log),
            title: or(self.title, &other.title),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_drawn() {
        let spec: Spec = "kind=heat x=a y=b value=tau log=none title=\"two words\""
            .parse()
            .unwrap();
        assert_eq!(spec.kind, Some(Kind::Heat));
        assert_eq!(spec.value.as_deref(), Some("tau"));
        assert_eq!(spec.title.as_deref(), Some("two words"));
        assert_eq!(spec.log, Some(Log::None));
        let over: Spec = "x=c".parse().unwrap();
        let both = over.or(&spec);
        assert_eq!(
            (both.x.as_deref(), both.y.as_deref()),
            (Some("c"), Some("b"))
        );
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let told = |text: &str| text.parse::<Spec>().unwrap_err();
        assert!(told("kind=pie").contains("no kind of picture `pie`\nhint: there are line, step"));
        assert!(told("colour=red").contains("no `colour` of a picture"));
        assert!(told("line").contains("`line` says nothing"));
        assert!(told("title=\"open").contains("no second quote"));
        assert!(told("log=z").contains("no axes `z`"));
    }
}
