//! Which column is what in a picture.

use super::spec::{Kind, Spec};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Numbers.
    Number,
    /// Moments.
    Time,
    /// Anything else, as text.
    Word,
}

/// Columns by their places in the answer, as a picture uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// The kind of picture.
    pub kind: Kind,
    pub(crate) x: Option<usize>,
    pub(crate) y: Option<usize>,
    pub(crate) by: Option<usize>,
    pub(crate) facet: Option<usize>,
    pub(crate) low: Option<usize>,
    pub(crate) high: Option<usize>,
    pub(crate) value: Option<usize>,
    pub(crate) limit: Option<usize>,
    pub(crate) note: Option<usize>,
}

impl Roles {
    /// Finds the columns that a picture says, and chooses those that it does not.
    ///
    /// # Errors
    /// For a column that the answer does not have, one that is missing for the kind, or text where a number is needed.
    pub fn find(spec: &Spec, columns: &[(&str, What)]) -> Result<Self, String> {
        let named = |name: &Option<String>| -> Result<Option<usize>, String> {
            let Some(name) = name else { return Ok(None) };
            let found = columns.iter().position(|(column, _)| column == name);
            found.map(Some).ok_or_else(|| {
                let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
                format!(
                    "the answer has no column `{name}`\nhint: it has {}",
                    names.join(", ")
                )
            })
        };
        let mut roles = Self {
            kind: Kind::Scatter,
            x: named(&spec.x)?,
            y: named(&spec.y)?,
            by: named(&spec.by)?,
            facet: named(&spec.facet)?,
            low: named(&spec.low)?,
            high: named(&spec.high)?,
            value: named(&spec.value)?,
            limit: named(&spec.limit)?,
            note: named(&spec.note)?,
        };
        roles.kind = spec.kind.unwrap_or_else(|| roles.guessed(columns));
        roles.complete(columns);
        roles.checked(columns)
    }

    /// The columns that are needed, each once.
    #[must_use]
    pub fn columns(&self) -> Vec<usize> {
        let all = [
            self.x, self.y, self.by, self.facet, self.low, self.high, self.value, self.limit,
            self.note,
        ];
        let mut all: Vec<usize> = all.into_iter().flatten().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Those of a table that has only the columns that are needed.
    pub(crate) fn among(self, columns: &[usize]) -> Self {
        let place = |of: Option<usize>| of.and_then(|of| columns.iter().position(|one| *one == of));
        Self {
            kind: self.kind,
            x: place(self.x),
            y: place(self.y),
            by: place(self.by),
            facet: place(self.facet),
            low: place(self.low),
            high: place(self.high),
            value: place(self.value),
            limit: place(self.limit),
            note: place(self.note),
        }
    }

    /// The kind that shows such columns.
    fn guessed(&self, columns: &[(&str, What)]) -> Kind {
        let what =
            |place: Option<usize>| place.and_then(|at| columns.get(at)).map(|(_, what)| *what);
        let first = |wanted| self.free(columns, |what| what == wanted);
        let x = what(self.x).or_else(|| match self.y {
            None => first(What::Time)
                .or_else(|| first(What::Word))
                .and_then(|at| what(Some(at))),
            Some(_) => self.free(columns, |_| true).and_then(|at| what(Some(at))),
        });
        let numbers = columns.iter().filter(|(_, what)| *what == What::Number);
        match x {
            Some(What::Time) => Kind::Line,
            Some(What::Word) => Kind::Bar,
            _ if numbers.count() < 2 => Kind::Histogram,
            _ => Kind::Scatter,
        }
    }

    /// The first column without a role that is as wanted.
    fn free(&self, columns: &[(&str, What)], wanted: impl Fn(What) -> bool) -> Option<usize> {
        let used = self.columns();
        let mut all = columns.iter().enumerate();
        let found = all.find(|(place, (_, what))| wanted(*what) && !used.contains(place));
        found.map(|(place, _)| place)
    }

    fn complete(&mut self, columns: &[(&str, What)]) {
        let is_number = |what| what == What::Number;
        let is_word = |what| what == What::Word;
        let is_alone = self.x.is_none() && self.y.is_none();
        match self.kind {
            Kind::Line | Kind::Step | Kind::Scatter => {
                if self.x.is_none() {
                    let free = |wanted| self.free(columns, move |what| what == wanted);
                    self.x = free(What::Time)
                        .or_else(|| free(What::Number))
                        .or_else(|| free(What::Word));
                }
                self.y = self.y.or_else(|| self.free(columns, is_number));
            }
            Kind::Histogram | Kind::Ecdf => {
                self.x = self.x.or(self.y).or_else(|| self.free(columns, is_number));
                self.y = None;
            }
            Kind::Bar => {
                let x = self.x.or_else(|| self.free(columns, is_word));
                self.x = x.or_else(|| self.free(columns, |_| true));
                if is_alone {
                    self.y = self.free(columns, is_number);
                }
            }
            Kind::Box | Kind::Violin => {
                self.y = self.y.or_else(|| self.free(columns, is_number));
                if is_alone && self.by.is_none() {
                    self.x = self.free(columns, is_word);
                }
                // A group each, in colours of their own.
                self.x = self.x.or(self.by);
            }
            Kind::Heat => {
                self.x = self.x.or_else(|| self.free(columns, |_| true));
                self.y = self.y.or_else(|| self.free(columns, |_| true));
                self.value = self.value.or_else(|| self.free(columns, is_number));
            }
        }
        let has_series = matches!(
            self.kind,
            Kind::Line | Kind::Step | Kind::Scatter | Kind::Histogram | Kind::Ecdf
        );
        if is_alone && has_series && self.by.is_none() {
            self.by = self.free(columns, is_word);
        }
    }

    fn checked(self, columns: &[(&str, What)]) -> Result<Self, String> {
        let kind = self.kind;
        let needs = |role: Option<usize>, option: &str, what: &str| match role {
            Some(_) => Ok(()),
            None => Err(format!(
                "a picture of the kind {kind} needs {what}, and the answer has no column for it\nhint: {option} COLUMN"
            )),
        };
        let number = |role: Option<usize>, may_be_time: bool| {
            let column = role.and_then(|place| columns.get(place));
            let Some((name, what)) = column else {
                return Ok(());
            };
            match what {
                What::Number => Ok(()),
                What::Time if may_be_time => Ok(()),
                What::Time => Err(format!(
                    "column `{name}` is a time, and a picture of the kind {kind} needs a number there"
                )),
                What::Word => Err(format!(
                    "column `{name}` is text, and a picture of the kind {kind} needs a number there\nhint: CAST({name} AS DOUBLE), or --kind bar, which counts names"
                )),
            }
        };
        match kind {
            Kind::Line | Kind::Step | Kind::Scatter => {
                needs(self.x, "-x", "what runs along it")?;
                needs(self.y, "-y", "numbers")?;
                number(self.y, false)?;
            }
            Kind::Histogram | Kind::Ecdf => {
                needs(self.x, "-x", "numbers")?;
                number(self.x, true)?;
            }
            Kind::Bar => {
                needs(self.x, "-x", "names")?;
                number(self.y, false)?;
            }
            Kind::Box | Kind::Violin => {
                needs(self.y, "-y", "numbers")?;
                number(self.y, false)?;
            }
            Kind::Heat => {
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

    const COLUMNS: [(&str, What); 4] = [
        ("op", What::Word),
        ("trial", What::Number),
        ("best_ns", What::Number),
        ("at", What::Time),
    ];

    fn found(spec: &str, columns: &[(&str, What)]) -> Result<Roles, String> {
        Roles::find(&spec.parse().unwrap(), columns)
    }

    #[test]
    fn what_is_not_said_is_chosen() {
        let line = found("kind=line x=trial y=best_ns by=op", &COLUMNS).unwrap();
        assert_eq!((line.x, line.y, line.by), (Some(1), Some(2), Some(0)));
        assert_eq!(line.columns(), [0, 1, 2]);
        let guess = |columns: &[(&str, What)]| found("", columns).unwrap();
        let time = guess(&COLUMNS);
        assert_eq!(
            (time.kind, time.x, time.y, time.by),
            (Kind::Line, Some(3), Some(1), Some(0))
        );
        let bars = guess(&COLUMNS[..3]);
        assert_eq!((bars.kind, bars.x, bars.y), (Kind::Bar, Some(0), Some(1)));
        assert_eq!(guess(&COLUMNS[1..3]).kind, Kind::Scatter);
        assert_eq!(guess(&COLUMNS[2..3]).kind, Kind::Histogram);
        assert_eq!(guess(&COLUMNS[..1]).kind, Kind::Bar);
        let violin = found("kind=violin y=best_ns by=op", &COLUMNS).unwrap();
        assert_eq!((violin.x, violin.by), (Some(0), Some(0)));
        assert_eq!(
            found("kind=histogram y=best_ns", &COLUMNS).unwrap().x,
            Some(2)
        );
    }

    #[test]
    fn what_cannot_be_drawn_is_told() {
        let told = |spec: &str| found(spec, &COLUMNS).unwrap_err();
        assert!(told("x=nothing").contains("no column `nothing`\nhint: it has op, trial"));
        assert!(told("kind=histogram x=op").contains("column `op` is text"));
        assert!(told("kind=line x=trial y=at").contains("column `at` is a time"));
        assert!(
            found("kind=line", &COLUMNS[..1])
                .unwrap_err()
                .contains("needs numbers")
        );
        assert!(
            found("kind=heat", &COLUMNS[..1])
                .unwrap_err()
                .contains("second kind")
        );
        assert!(found("", &[]).is_err());
    }
}
