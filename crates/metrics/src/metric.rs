//! Definition of a metric: a function of the rows of a group, with its documentation.

/// A metric of the rows of a group. The SQL aggregate of this name is derived from this definition alone.
#[derive(Debug)]
pub struct Metric {
    /// Name in SQL.
    pub name: &'static str,
    /// Meaning of the result.
    pub description: &'static str,
    /// Arguments in order. Optional ones are last.
    pub arguments: &'static [Argument],
    /// A query that runs on any store.
    pub example: &'static str,
    /// Source of the definition: paper and section, or the reference implementation.
    pub source: &'static str,
    /// The function.
    pub gives: Evaluation,
}

/// Numbers, each of which may be missing.
pub type OptionalNumbers = Vec<Option<f64>>;

/// Function that evaluates a metric on a group. An error names the invalid argument.
#[derive(Clone, Copy, Debug)]
pub enum Evaluation {
    /// One number; `None` if it is undefined for the rows.
    Number(fn(&RowGroup) -> Result<Option<f64>, String>),
    /// An optional number for each of these names; `None` if all are undefined.
    Numbers(
        &'static [(&'static str, ValueKind)],
        fn(&RowGroup) -> Result<Option<OptionalNumbers>, String>,
    ),
}

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A number (SQL: Float64).
    Number,
    /// An integer (Int64).
    Whole,
    /// A bit mask (Int32).
    Bits,
    /// A text.
    Text,
}

/// An argument of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Name.
    pub name: &'static str,
    /// Type of the values.
    pub kind: ValueKind,
    /// Meaning.
    pub meaning: &'static str,
    /// Whether it is optional.
    pub optional: bool,
    /// Whether it is a setting of the whole group, whose first value is used.
    pub setting: bool,
}

impl Argument {
    /// Argument with a value for each row.
    pub const fn per_row(name: &'static str, kind: ValueKind, meaning: &'static str) -> Self {
        Self {
            name,
            kind,
            meaning,
            optional: false,
            setting: false,
        }
    }

    /// Argument with one value for the group.
    pub const fn per_group(name: &'static str, kind: ValueKind, meaning: &'static str) -> Self {
        Self {
            setting: true,
            ..Self::per_row(name, kind, meaning)
        }
    }

    /// Makes the argument optional.
    pub const fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }
}

/// Values of an argument, row by row.
#[derive(Clone, Debug, PartialEq)]
enum ArgumentColumn {
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

/// Rows of a group: a column for each argument that the call has.
#[derive(Clone, Debug)]
pub struct RowGroup {
    columns: Vec<(Argument, ArgumentColumn)>,
}

impl RowGroup {
    /// Creates an empty group with these arguments.
    pub fn new(arguments: &[Argument]) -> Self {
        let column = |argument: &Argument| match argument.kind {
            ValueKind::Text => ArgumentColumn::Texts(Vec::new()),
            ValueKind::Number | ValueKind::Whole | ValueKind::Bits => {
                ArgumentColumn::Numbers(Vec::new())
            }
        };
        let columns = arguments
            .iter()
            .map(|argument| (*argument, column(argument)));
        Self {
            columns: columns.collect(),
        }
    }

    /// Appends numbers of further rows to the argument at index `place`. Only the first value of a setting is used.
    pub fn add_numbers(&mut self, index: usize, values: impl IntoIterator<Item = Option<f64>>) {
        if let Some((argument, ArgumentColumn::Numbers(column))) = self.columns.get_mut(index) {
            append_values(column, values, argument.setting);
        }
    }

    /// Appends texts of further rows to the argument at index `place`. Only the first value of a setting is used.
    pub fn add_texts(&mut self, index: usize, values: impl IntoIterator<Item = Option<String>>) {
        if let Some((argument, ArgumentColumn::Texts(column))) = self.columns.get_mut(index) {
            append_values(column, values, argument.setting);
        }
    }

    /// Arguments of the call, in order.
    pub fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.columns.iter().map(|(argument, _)| argument)
    }

    /// Numbers of an argument; empty if the call does not have it.
    pub fn numbers(&self, name: &str) -> &[Option<f64>] {
        match self.column(name) {
            Some(ArgumentColumn::Numbers(values)) => values,
            _ => &[],
        }
    }

    /// Texts of an argument; empty if the call does not have it.
    pub fn texts(&self, name: &str) -> &[Option<String>] {
        match self.column(name) {
            Some(ArgumentColumn::Texts(values)) => values,
            _ => &[],
        }
    }

    /// Value of a numeric setting.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers(name).first().copied().flatten()
    }

    /// Value of a text setting.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts(name).first()?.as_deref()
    }

    /// Memory used, in bytes.
    pub fn size_bytes(&self) -> usize {
        let sizes = self.columns.iter().map(|(_, column)| match column {
            ArgumentColumn::Numbers(values) => values.capacity() * size_of::<Option<f64>>(),
            ArgumentColumn::Texts(values) => {
                let texts = values.iter().flatten().map(String::capacity).sum::<usize>();
                values.capacity() * size_of::<Option<String>>() + texts
            }
        });
        self.columns.capacity() * size_of::<(Argument, ArgumentColumn)>() + sizes.sum::<usize>()
    }

    fn column(&self, name: &str) -> Option<&ArgumentColumn> {
        let mut columns = self.columns.iter();
        let (_, column) = columns.find(|(argument, _)| argument.name == name)?;
        Some(column)
    }
}

fn append_values<T>(
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
    fn per_row_arguments_store_all_values_and_settings_the_first() {
        let arguments = [
            Argument::per_row("x", ValueKind::Number, ""),
            Argument::per_group("k", ValueKind::Whole, ""),
            Argument::per_group("how", ValueKind::Text, "").optional(),
        ];
        let mut group = RowGroup::new(&arguments);
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
