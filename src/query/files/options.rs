//! What is said of files beside their names: `read_csv('x.log', delim => ';', header => false)`.
//!
//! Planners take such a call for a table with its text as a name, which is how it reaches whoever opens files.

use datafusion::error::DataFusionError;
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, SetExpr,
    Statement as SqlStatement, TableFactor, Value,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;

use super::found::wrong;
use super::kind::Kind;

/// Functions that read files, and what they take them for.
const FUNCTIONS: [(&str, Kind); 5] = [
    ("read_csv", Kind::Csv),
    ("read_json", Kind::Json),
    ("read_arrow", Kind::Arrow),
    ("read_parquet", Kind::Parquet),
    ("read_npz", Kind::Npz),
];

/// Options of files of a kind, for messages.
fn options(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(Kind::Csv) => {
            "delim => ';', header => false, quote => '\"', escape => '\\', comment => '#', sample => 100000"
        }
        Some(Kind::Json) => "sample => 100000",
        Some(Kind::Npz) => "arrays => 'a, b'",
        _ => "none: the file says all",
    }
}

/// May files of a kind be read with this option?
fn is_option(kind: Option<Kind>, name: &str) -> bool {
    match kind {
        Some(Kind::Csv) => name != "arrays",
        Some(Kind::Json) => ["sample", "sample_size"].contains(&name),
        Some(Kind::Npz) => name == "arrays",
        _ => false,
    }
}

/// Files, and how to read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) path: String,
    /// What they are, whatever their names say.
    pub(super) kind: Option<Kind>,
    pub(super) delimiter: Option<u8>,
    pub(super) has_header: Option<bool>,
    pub(super) quote: Option<u8>,
    pub(super) escape: Option<u8>,
    pub(super) comment: Option<u8>,
    /// Rows that types are told by.
    pub(super) sample_rows: Option<usize>,
    /// Arrays of an npz file that are columns.
    pub(super) arrays: Option<Vec<String>>,
}

/// Makes a table of a call that reads files, named by its text; leaves all else alone.
pub(crate) fn as_table(factor: &mut TableFactor) {
    let text = factor.to_string();
    let TableFactor::Table {
        name, args, alias, ..
    } = factor
    else {
        return;
    };
    if args.is_none() || function(name).is_none() {
        return;
    }
    let call = match alias {
        Some(alias) => text
            .strip_suffix(&format!("{alias}"))
            .unwrap_or(&text)
            .trim_end(),
        None => &text,
    };
    let call = call.trim_end_matches(" AS").trim_end();
    *name = ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote(
        '"', call,
    ))]);
    *args = None;
}

fn function(name: &ObjectName) -> Option<Kind> {
    let name = name.to_string().to_ascii_lowercase();
    let known = FUNCTIONS.iter().find(|(function, _)| *function == name);
    known.map(|(_, kind)| *kind)
}

/// What the name of a table means: a path, or a call.
pub(super) fn wanted(name: &str) -> Result<Wanted, DataFusionError> {
    let path = || Wanted {
        path: name.to_owned(),
        ..Wanted::default()
    };
    let is_call = FUNCTIONS.iter().any(|(function, _)| {
        let rest = name.get(function.len()..).unwrap_or_default();
        name.to_ascii_lowercase().starts_with(function) && rest.starts_with('(')
    });
    if !is_call {
        return Ok(path());
    }
    match parsed(name) {
        Some((kind, args)) => of_call(name, kind, &args),
        None => Ok(path()),
    }
}

fn parsed(call: &str) -> Option<(Kind, Vec<FunctionArg>)> {
    let sql = format!("SELECT * FROM {call}");
    let mut statements = DFParser::parse_sql_with_dialect(&sql, &PostgreSqlDialect {}).ok()?;
    let Some(Statement::Statement(statement)) = statements.pop_front() else {
        return None;
    };
    let SqlStatement::Query(query) = *statement else {
        return None;
    };
    let SetExpr::Select(mut select) = *query.body else {
        return None;
    };
    match select.from.pop()?.relation {
        TableFactor::Table {
            name,
            args: Some(args),
            ..
        } => Some((function(&name)?, args.args)),
        _ => None,
    }
}

fn of_call(call: &str, kind: Kind, args: &[FunctionArg]) -> Result<Wanted, DataFusionError> {
    let mut wanted = Wanted {
        kind: Some(kind),
        ..Wanted::default()
    };
    let mut args = args.iter();
    match args.next() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(path))) => {
            wanted.path = text(call, "path", path)?;
        }
        _ => return Err(wrong(call, "a path comes first: read_csv('logs/*.csv')")),
    }
    for arg in args {
        let (name, value) = match arg {
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(value),
                ..
            } => (name.value.to_ascii_lowercase(), value),
            FunctionArg::ExprNamed {
                name: Expr::Identifier(name),
                arg: FunctionArgExpr::Expr(value),
                ..
            } => (name.value.to_ascii_lowercase(), value),
            other => {
                let options = options(Some(kind));
                let reason = format!("`{other}` has no name\nhint: the options are {options}");
                return Err(wrong(call, reason));
            }
        };
        wanted.set(call, &name, value)?;
    }
    Ok(wanted)
}

impl Wanted {
    fn set(&mut self, call: &str, name: &str, value: &Expr) -> Result<(), DataFusionError> {
        if !is_option(self.kind, name) {
            let options = options(self.kind);
            let reason = format!("no option named `{name}`\nhint: the options are {options}");
            return Err(wrong(call, reason));
        }
        match name {
            "delim" | "delimiter" | "sep" => self.delimiter = Some(byte(call, name, value)?),
            "quote" => self.quote = Some(byte(call, name, value)?),
            "escape" => self.escape = Some(byte(call, name, value)?),
            "comment" => self.comment = Some(byte(call, name, value)?),
            "arrays" => {
                let names = text(call, name, value)?;
                let names = names
                    .split(',')
                    .map(str::trim)
                    .filter(|name| !name.is_empty());
                self.arrays = Some(names.map(str::to_owned).collect());
            }
            "header" => match value {
                Expr::Value(value) if matches!(value.value, Value::Boolean(_)) => {
                    self.has_header = Some(value.value == Value::Boolean(true));
                }
                other => return Err(odd(call, name, "true or false", other)),
            },
            "sample" | "sample_size" => {
                let rows = value.to_string().parse().ok().filter(|rows| *rows > 0);
                let rows = rows.ok_or_else(|| odd(call, name, "a number of rows", value))?;
                self.sample_rows = Some(rows);
            }
            _ => {
                let options = options(self.kind);
                let reason = format!("no option named `{name}`\nhint: the options are {options}");
                return Err(wrong(call, reason));
            }
        }
        Ok(())
    }
}

fn odd(call: &str, name: &str, expected: &str, value: &Expr) -> DataFusionError {
    wrong(
        call,
        format!("{name}: {expected} is expected, not `{value}`"),
    )
}

fn text(call: &str, name: &str, value: &Expr) -> Result<String, DataFusionError> {
    match value {
        Expr::Value(literal) => match &literal.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Ok(text.clone()),
            _ => Err(odd(call, name, "a text", value)),
        },
        _ => Err(odd(call, name, "a text", value)),
    }
}

/// One byte, `\t` for a tab.
fn byte(call: &str, name: &str, value: &Expr) -> Result<u8, DataFusionError> {
    match text(call, name, value)?.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(odd(call, name, "one character", value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_with_its_options() {
        let read = wanted("read_csv('a b.log', delim => ';', header => false, sample => 5)");
        let expected = Wanted {
            path: "a b.log".to_owned(),
            kind: Some(Kind::Csv),
            delimiter: Some(b';'),
            has_header: Some(false),
            sample_rows: Some(5),
            ..Wanted::default()
        };
        assert_eq!(read.unwrap(), expected);
        let npz = wanted("read_npz('x.npz', arrays => 'a, b')").unwrap();
        assert_eq!(npz.arrays, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(
            wanted("read_json('x', sample => 7)").unwrap().sample_rows,
            Some(7)
        );
        assert_eq!(wanted("x(1).csv").unwrap().path, "x(1).csv");
        for (call, told) in [
            ("read_csv(delim => ';')", "a path comes first"),
            ("read_csv('x', delim => ';;')", "one character"),
            ("read_csv('x', header => 1)", "true or false"),
            ("read_csv('x', delimeter => ';')", "the options are delim"),
            ("read_parquet('x', delim => ';')", "none: the file says all"),
            ("read_json('x', delim => ';')", "the options are sample"),
            ("read_npz('x', sample => 5)", "the options are arrays"),
            ("read_npz('x', arrays => 5)", "a text is expected"),
            ("read_csv('x', ';')", "has no name"),
        ] {
            let error = wanted(call).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
