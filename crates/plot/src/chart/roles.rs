//! Assignment of columns to roles in a chart.

use super::spec::{ChartKind, PlotSpec};

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers.
    Number,
    /// Times.
    Time,
    /// Anything else, as text.
    Word,
}

/// Columns of a chart, by their indices in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Kind of chart.
    pub kind: ChartKind,
    pub(crate) x: Option<usize>,
    pub(crate) y: Option<usize>,
    pub(crate) by: Option<usize>,
    pub(crate) facet: Option<usize>,
    pub(crate) low: Option<usize>,
    pub(crate) high: Option<usize>,
    pub(crate) value: Option<usize>,
    pub(crate) limit: Option<usize>,
    pub(crate) annotate: Option<usize>,
}

impl Roles {
    /// Finds the columns that a specification names, and chooses the others.
    ///
    /// # Errors
    /// For an unknown column, a required column that is missing, or text where a number is required.
    pub fn find(spec: &PlotSpec, columns: &[(&str, ColumnKind)]) -> Result<Self, String> {
        let column_of = |name: &Option<String>| -> Result<Option<usize>, String> {
            let Some(name) = name else { return Ok(None) };
            let index = columns.iter().position(|(column, _)| column == name);
            index.map(Some).ok_or_else(|| {
                let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
                format!(
                    "the result has no column `{name}`\nhint: it has {}",
                    names.join(", ")
                )
            })
        };
        let mut roles = Self {
            kind: ChartKind::Scatter,
            x: column_of(&spec.x)?,
            y: column_of(&spec.y)?,
            by: column_of(&spec.by)?,
            facet: column_of(&spec.facet)?,
            low: column_of(&spec.low)?,
            high: column_of(&spec.high)?,
            value: column_of(&spec.value)?,
            limit: column_of(&spec.limit)?,
            annotate: column_of(&spec.annotate)?,
        };
        roles.kind = spec.kind.unwrap_or_else(|| roles.guess_kind(columns));
        roles.complete(columns);
        roles.check(columns)
    }

    /// Required columns, each once.
    #[must_use]
    pub fn columns(&self) -> Vec<usize> {
        let all = [
            self.x,
            self.y,
            self.by,
            self.facet,
            self.low,
            self.high,
            self.value,
            self.limit,
            self.annotate,
        ];
        let mut all: Vec<usize> = all.into_iter().flatten().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Maps the indices to those of a table that has only the required columns.
    pub(crate) fn remap(self, columns: &[usize]) -> Self {
        let new_index = |index: Option<usize>| {
            index.and_then(|index| columns.iter().position(|old| *old == index))
        };
        Self {
            kind: self.kind,
            x: new_index(self.x),
            y: new_index(self.y),
            by: new_index(self.by),
            facet: new_index(self.facet),
            low: new_index(self.low),
            high: new_index(self.high),
            value: new_index(self.value),
            limit: new_index(self.limit),
            annotate: new_index(self.annotate),
        }
    }

    /// Chooses the kind for these columns.
    fn guess_kind(&self, columns: &[(&str, ColumnKind)]) -> ChartKind {
        let kind_of = |index: Option<usize>| {
            index
                .and_then(|index| columns.get(index))
                .map(|(_, kind)| *kind)
        };
        let first = |kind| self.first_free(columns, |candidate| candidate == kind);
        let x = kind_of(self.x).or_else(|| match self.y {
            None => first(ColumnKind::Time)
                .or_else(|| first(ColumnKind::Word))
                .and_then(|index| kind_of(Some(index))),
            Some(_) => self
                .first_free(columns, |_| true)
                .and_then(|index| kind_of(Some(index))),
        });
        let numbers = columns
            .iter()
            .filter(|(_, kind)| *kind == ColumnKind::Number);
        match x {
            Some(ColumnKind::Time) => ChartKind::Line,
            Some(ColumnKind::Word) => ChartKind::Bar,
            _ if numbers.count() < 2 => ChartKind::Histogram,
            _ => ChartKind::Scatter,
        }
    }

    /// First column without a role for which `is_match` is true.
    fn first_free(
        &self,
        columns: &[(&str, ColumnKind)],
        is_match: impl Fn(ColumnKind) -> bool,
    ) -> Option<usize> {
        let used = self.columns();
        let mut all = columns.iter().enumerate();
        let free = all.find(|(index, (_, kind))| is_match(*kind) && !used.contains(index));
        free.map(|(index, _)| index)
    }

    fn complete(&mut self, columns: &[(&str, ColumnKind)]) {
        let is_number = |kind| kind == ColumnKind::Number;
        let is_word = |kind| kind == ColumnKind::Word;
        let is_unspecified = self.x.is_none() && self.y.is_none();
        match self.kind {
            ChartKind::Line | ChartKind::Step | ChartKind::Scatter => {
                if self.x.is_none() {
                    let first_free_of =
                        |required| self.first_free(columns, move |kind| kind == required);
                    self.x = first_free_of(ColumnKind::Time)
                        .or_else(|| first_free_of(ColumnKind::Number))
                        .or_else(|| first_free_of(ColumnKind::Word));
                }
                self.y = self.y.or_else(|| self.first_free(columns, is_number));
            }
            ChartKind::Histogram | ChartKind::Ecdf => {
                self.x = self
                    .x
                    .or(self.y)
                    .or_else(|| self.first_free(columns, is_number));
                self.y = None;
            }
            ChartKind::Bar => {
                let x = self.x.or_else(|| self.first_free(columns, is_word));
                self.x = x.or_else(|| self.first_free(columns, |_| true));
                if is_unspecified {
                    self.y = self.first_free(columns, is_number);
                }
            }
            ChartKind::Box | ChartKind::Violin => {
                self.y = self.y.or_else(|| self.first_free(columns, is_number));
                if is_unspecified && self.by.is_none() {
                    self.x = self.first_free(columns, is_word);
                }
                // One group for each name, in its own colour.
                self.x = self.x.or(self.by);
            }
            ChartKind::Heat => {
                self.x = self.x.or_else(|| self.first_free(columns, |_| true));
                self.y = self.y.or_else(|| self.first_free(columns, |_| true));
                self.value = self.value.or_else(|| self.first_free(columns, is_number));
            }
        }
        let has_series = matches!(
            self.kind,
            ChartKind::Line
                | ChartKind::Step
                | ChartKind::Scatter
                | ChartKind::Histogram
                | ChartKind::Ecdf
        );
        if is_unspecified && has_series && self.by.is_none() {
            self.by = self.first_free(columns, is_word);
        }
    }

    fn check(self, columns: &[(&str, ColumnKind)]) -> Result<Self, String> {
        let kind = self.kind;
        let needs = |role: Option<usize>, option: &str, requirement: &str| match role {
            Some(_) => Ok(()),
            None => Err(format!(
                "a plot of kind {kind} needs {requirement}, and the result has no column for it\nhint: {option} COLUMN"
            )),
        };
        let number = |role: Option<usize>, may_be_time: bool| {
            let column = role.and_then(|index| columns.get(index));
            let Some((name, column_kind)) = column else {
                return Ok(());
            };
            match column_kind {
                ColumnKind::Number => Ok(()),
                ColumnKind::Time if may_be_time => Ok(()),
                ColumnKind::Time => Err(format!(
                    "column `{name}` is a time, expected a number for a plot of kind {kind}"
                )),
                ColumnKind::Word => Err(format!(
                    "column `{name}` is text, expected a number for a plot of kind {kind}\nhint: CAST({name} AS DOUBLE), or --kind bar, which counts names"
                )),
            }
        };
        match kind {
            ChartKind::Line | ChartKind::Step | ChartKind::Scatter => {
                needs(self.x, "-x", "values of the x axis")?;
                needs(self.y, "-y", "numbers")?;
                number(self.y, false)?;
            }
            ChartKind::Histogram | ChartKind::Ecdf => {
                needs(self.x, "-x", "numbers")?;
                number(self.x, true)?;
            }
            ChartKind::Bar => {
                needs(self.x, "-x", "names")?;
                number(self.y, false)?;
            }
            ChartKind::Box | ChartKind::Violin => {
                needs(self.y, "-y", "numbers")?;
                number(self.y, false)?;
            }
            ChartKind::Heat => {
                needs(self.x, "-x", "names")?;
                needs(self.y, "-y", "names of a second kind")?;
            }
        }
        for role in [self.low, self.high, self.value, self.limit] {
            number(role, false)?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [(&str, ColumnKind); 4] = [
        ("op", ColumnKind::Word),
        ("trial", ColumnKind::Number),
        ("best_ns", ColumnKind::Number),
        ("at", ColumnKind::Time),
    ];

    fn find_roles(spec: &str, columns: &[(&str, ColumnKind)]) -> Result<Roles, String> {
        Roles::find(&spec.parse().unwrap(), columns)
    }

    #[test]
    fn missing_options_have_defaults() {
        let line = find_roles("kind=line x=trial y=best_ns by=op", &COLUMNS).unwrap();
        assert_eq!((line.x, line.y, line.by), (Some(1), Some(2), Some(0)));
        assert_eq!(line.columns(), [0, 1, 2]);
        let guess = |columns: &[(&str, ColumnKind)]| find_roles("", columns).unwrap();
        let time = guess(&COLUMNS);
        assert_eq!(
            (time.kind, time.x, time.y, time.by),
            (ChartKind::Line, Some(3), Some(1), Some(0))
        );
        let bars = guess(&COLUMNS[..3]);
        assert_eq!(
            (bars.kind, bars.x, bars.y),
            (ChartKind::Bar, Some(0), Some(1))
        );
        assert_eq!(guess(&COLUMNS[1..3]).kind, ChartKind::Scatter);
        assert_eq!(guess(&COLUMNS[2..3]).kind, ChartKind::Histogram);
        assert_eq!(guess(&COLUMNS[..1]).kind, ChartKind::Bar);
        let violin = find_roles("kind=violin y=best_ns by=op", &COLUMNS).unwrap();
        assert_eq!((violin.x, violin.by), (Some(0), Some(0)));
        assert_eq!(
            find_roles("kind=histogram y=best_ns", &COLUMNS).unwrap().x,
            Some(2)
        );
    }

    #[test]
    fn impossible_charts_are_reported() {
        let error = |spec: &str| find_roles(spec, &COLUMNS).unwrap_err();
        assert!(error("x=nothing").contains("no column `nothing`\nhint: it has op, trial"));
        assert!(error("kind=histogram x=op").contains("column `op` is text"));
        assert!(error("kind=line x=trial y=at").contains("column `at` is a time"));
        assert!(
            find_roles("kind=line", &COLUMNS[..1])
                .unwrap_err()
                .contains("needs numbers")
        );
        assert!(
            find_roles("kind=heat", &COLUMNS[..1])
                .unwrap_err()
                .contains("second kind")
        );
        assert!(find_roles("", &[]).is_err());
    }
}
