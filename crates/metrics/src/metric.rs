//! What a metric is: a function of the rows of a group, with all that is said of it.

/// A measure of the rows of a group. SQL has an aggregate of its name, which is made from this alone.
#[derive(Debug)]
pub struct Metric {
    /// Its name in SQL.
    pub name: &'static str,
    /// What it gives.
    pub description: &'static str,
    /// What each row has, in order; those that may be left out come last.
    pub arguments: &'static [Argument],
    /// A query that any store answers.
    pub example: &'static str,
    /// Where it is defined: paper and section, or the code that is followed.
    pub source: &'static str,
    /// The function.
    pub gives: Gives,
}

/// Numbers, of which some may be none.
pub type Several = Vec<Option<f64>>;

/// What a metric makes of a group; the text of an error says what is wrong with an argument.
#[derive(Clone, Copy, Debug)]
pub enum Gives {
    /// One number, or none where the rows have none.
    Number(fn(&Group) -> Result<Option<f64>, String>),
    /// A number, or none, for each of these names, or none at all.
    Numbers(
        &'static [(&'static str, Kind)],
        fn(&Group) -> Result<Option<Several>, String>,
    ),
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number (SQL: Float64).
    Number,
    /// A whole number (Int64).
    Whole,
    /// A mask of bits (Int32).
    Bits,
    /// A text.
    Text,
}

/// An argument of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// What it means.
    pub meaning: &'static str,
    /// May it be left out?
    pub optional: bool,
    /// Is it a setting of the whole group? Its first value counts then.
    pub setting: bool,
}

impl Argument {
    /// One that each row has.
    pub const fn of_row(name: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Self {
            name,
            kind,
            meaning,
            optional: false,
            setting: false,
        }
    }

    /// One that holds for the group.
    pub const fn of_group(name: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Self {
            setting: true,
            ..Self::of_row(name, kind, meaning)
        }
    }

    /// The same, to be left out where nothing is to be said.
    pub const fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }
}

/// Values of an argument, row by row.
#[derive(Clone, Debug, PartialEq)]
enum Column {
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

/// The rows of a group: a column for each argument that is given.
#[derive(Clone, Debug)]
pub struct Group {
    columns: Vec<(Argument, Column)>,
}

impl Group {
    /// No rows yet, of which these arguments will be given.
    pub fn new(given: &[Argument]) -> Self {
        let column = |argument: &Argument| match argument.kind {
            Kind::Text => Column::Texts(Vec::new()),
            Kind::Number | Kind::Whole | Kind::Bits => Column::Numbers(Vec::new()),
        };
        let columns = given.iter().map(|argument| (*argument, column(argument)));
        Self {
            columns: columns.collect(),
        }
    }

    /// Adds numbers of further rows to the argument at `place`; of a setting the first is kept.
    pub fn add_numbers(&mut self, place: usize, values: impl IntoIterator<Item = Option<f64>>) {
        if let Some((argument, Column::Numbers(column))) = self.columns.get_mut(place) {
            add(column, values, argument.setting);
        }
    }

    /// The same for texts.
    pub fn add_texts(&mut self, place: usize, values: impl IntoIterator<Item = Option<String>>) {
        if let Some((argument, Column::Texts(column))) = self.columns.get_mut(place) {
            add(column, values, argument.setting);
        }
    }

    /// The arguments that are given, in order.
    pub fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.columns.iter().map(|(argument, _)| argument)
    }

    /// Numbers of an argument; none where it is not given.
    pub fn numbers(&self, name: &str) -> &[Option<f64>] {
        match self.column(name) {
            Some(Column::Numbers(values)) => values,
            _ => &[],
        }
    }

    /// Texts of an argument; none where it is not given.
    pub fn texts(&self, name: &str) -> &[Option<String>] {
        match self.column(name) {
            Some(Column::Texts(values)) => values,
            _ => &[],
        }
    }

    /// A setting that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers(name).first().copied().flatten()
    }

    /// A setting that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts(name).first()?.as_deref()
    }

    /// Bytes that it takes.
    pub fn size_bytes(&self) -> usize {
        let sizes = self.columns.iter().map(|(_, column)| match column {
            Column::Numbers(values) => values.capacity() * size_of::<Option<f64>>(),
            Column::Texts(values) => {
                let texts = values.iter().flatten().map(String::capacity).sum::<usize>();
                values.capacity() * size_of::<Option<String>>() + texts
            }
        });
        self.columns.capacity() * size_of::<(Argument, Column)>() + sizes.sum::<usize>()
    }

    fn column(&self, name: &str) -> Option<&Column> {
        let mut columns = self.columns.iter();
        let (_, column) = columns.find(|(argument, _)| argument.name == name)?;
        Some(column)
    }
}

fn add<T>(
    column: &mut Vec<Option<T>>,
    values: impl IntoIterator<Item = Option<T>>,
    is_setting: bool,
) {
    let mut values = values.into_iter();
    if !is_setting {
        column.extend(values);
    } else if column.is_empty() {
        column.extend(values.find(Option::is_some));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_all_values_and_settings_the_first() {
        let given = [
            Argument::of_row("x", Kind::Number, ""),
            Argument::of_group("k", Kind::Whole, ""),
            Argument::of_group("how", Kind::Text, "").optional(),
        ];
        let mut group = Group::new(&given);
        group.add_numbers(0, [Some(1.0), None]);
        group.add_numbers(1, [None, Some(3.0)]);
        group.add_texts(2, [None]);
        group.add_numbers(0, [Some(2.0)]);
        group.add_numbers(1, [Some(5.0)]);
        group.add_texts(2, [Some("default".to_owned())]);
        assert_eq!(group.numbers("x"), [Some(1.0), None, Some(2.0)]);
        assert_eq!(
            (group.number("k"), group.text("how")),
            (Some(3.0), Some("default"))
        );
        assert_eq!(group.numbers("y"), []);
        assert!(group.size_bytes() > 3 * size_of::<Option<f64>>());
    }
}
