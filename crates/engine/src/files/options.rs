//! Options of files: `read_csv('x.log', delim => ';', header => false)`.
//!
//! The planner sees such a call as a table whose name is the text of the call. The file catalog parses that name again.

use datafusion::error::DataFusionError;
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, SetExpr,
    Statement as SqlStatement, TableFactor, Value,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;

use super::file_listing::invalid_path;
use super::kind::FileKind;

/// Functions that read files, and the file types that they read.
const FUNCTIONS: [(&str, FileKind); 5] = [
    ("read_csv", FileKind::Csv),
    ("read_json", FileKind::Json),
    ("read_arrow", FileKind::Arrow),
    ("read_parquet", FileKind::Parquet),
    ("read_npz", FileKind::Npz),
];

/// Option names of a file type, for messages.
fn option_names(kind: Option<FileKind>) -> &'static str {
    match kind {
        Some(FileKind::Csv) => {
            "delim => ';', header => false, quote => '\"', escape => '\\', comment => '#', sample => 100000"
        }
        Some(FileKind::Json) => "sample => 100000",
        Some(FileKind::Npz) => "arrays => 'a, b'",
        _ => "none, the file describes itself",
    }
}

/// Returns whether a file type has this option.
fn is_option(kind: Option<FileKind>, name: &str) -> bool {
    match kind {
        Some(FileKind::Csv) => name != "arrays",
        Some(FileKind::Json) => ["sample", "sample_size"].contains(&name),
        Some(FileKind::Npz) => name == "arrays",
        _ => false,
    }
}

/// Files, and how to read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadRequest {
    pub(super) path: String,
    /// File type, regardless of the extension.
    pub(super) kind: Option<FileKind>,
    pub(super) delimiter: Option<u8>,
    pub(super) has_header: Option<bool>,
    pub(super) quote: Option<u8>,
    pub(super) escape: Option<u8>,
    pub(super) comment: Option<u8>,
    /// Number of rows for type inference.
    pub(super) sample_rows: Option<usize>,
    /// Arrays of an npz file that become columns.
    pub(super) arrays: Option<Vec<String>>,
}

/// Replaces a call of a `read_...` function by a table whose name is the text of the call. Leaves other table factors
/// unchanged.
pub fn rewrite_read_call(factor: &mut TableFactor) {
    let text = factor.to_string();
    let TableFactor::Table {
        name, args, alias, ..
    } = factor
    else {
        return;
    };
    if args.is_none() || reader_function(name).is_none() {
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

fn reader_function(name: &ObjectName) -> Option<FileKind> {
    let name = name.to_string().to_ascii_lowercase();
    let known = FUNCTIONS.iter().find(|(function, _)| *function == name);
    known.map(|(_, kind)| *kind)
}

/// Parses the name of a table: a path, or a call.
pub(super) fn parse_request(name: &str) -> Result<ReadRequest, DataFusionError> {
    let path = || ReadRequest {
        path: name.to_owned(),
        ..ReadRequest::default()
    };
    let is_call = FUNCTIONS.iter().any(|(function, _)| {
        let rest = name.get(function.len()..).unwrap_or_default();
        name.to_ascii_lowercase().starts_with(function) && rest.starts_with('(')
    });
    if !is_call {
        return Ok(path());
    }
    match parse_call(name) {
        Some((kind, args)) => request_from_call(name, kind, &args),
        None => Ok(path()),
    }
}

fn parse_call(call: &str) -> Option<(FileKind, Vec<FunctionArg>)> {
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
        } => Some((reader_function(&name)?, args.args)),
        _ => None,
    }
}

fn request_from_call(
    call: &str,
    kind: FileKind,
    args: &[FunctionArg],
) -> Result<ReadRequest, DataFusionError> {
    let mut wanted = ReadRequest {
        kind: Some(kind),
        ..ReadRequest::default()
    };
    let mut args = args.iter();
    match args.next() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(path))) => {
            wanted.path = text_option(call, "path", path)?;
        }
        _ => {
            return Err(invalid_path(
                call,
                "the first argument must be a path\nhint: read_csv('logs/*.csv')",
            ));
        }
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
                let options = option_names(Some(kind));
                let reason = format!("`{other}` has no name\nhint: the options are {options}");
                return Err(invalid_path(call, reason));
            }
        };
        wanted.set_option(call, &name, value)?;
    }
    Ok(wanted)
}

impl ReadRequest {
    fn set_option(&mut self, call: &str, name: &str, value: &Expr) -> Result<(), DataFusionError> {
        if !is_option(self.kind, name) {
            let options = option_names(self.kind);
            let reason = format!("no option named `{name}`\nhint: the options are {options}");
            return Err(invalid_path(call, reason));
        }
        match name {
            "delim" | "delimiter" | "sep" => self.delimiter = Some(byte_option(call, name, value)?),
            "quote" => self.quote = Some(byte_option(call, name, value)?),
            "escape" => self.escape = Some(byte_option(call, name, value)?),
            "comment" => self.comment = Some(byte_option(call, name, value)?),
            "arrays" => {
                let names = text_option(call, name, value)?;
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
                other => return Err(invalid_option(call, name, "true or false", other)),
            },
            "sample" | "sample_size" => {
                let rows = value.to_string().parse().ok().filter(|rows| *rows > 0);
                let rows =
                    rows.ok_or_else(|| invalid_option(call, name, "a number of rows", value))?;
                self.sample_rows = Some(rows);
            }
            _ => {
                let options = option_names(self.kind);
                let reason = format!("no option named `{name}`\nhint: the options are {options}");
                return Err(invalid_path(call, reason));
            }
        }
        Ok(())
    }
}

fn invalid_option(call: &str, name: &str, expected: &str, value: &Expr) -> DataFusionError {
    invalid_path(
        call,
        format!("{name}: expected {expected}, found `{value}`"),
    )
}

fn text_option(call: &str, name: &str, value: &Expr) -> Result<String, DataFusionError> {
    match value {
        Expr::Value(literal) => match &literal.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Ok(text.clone()),
            _ => Err(invalid_option(call, name, "a text", value)),
        },
        _ => Err(invalid_option(call, name, "a text", value)),
    }
}

/// Parses one byte, `\t` for a tab.
fn byte_option(call: &str, name: &str, value: &Expr) -> Result<u8, DataFusionError> {
    match text_option(call, name, value)?.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(invalid_option(call, name, "one character", value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_with_its_options() {
        let read = parse_request("read_csv('a b.log', delim => ';', header => false, sample => 5)");
        let expected = ReadRequest {
            path: "a b.log".to_owned(),
            kind: Some(FileKind::Csv),
            delimiter: Some(b';'),
            has_header: Some(false),
            sample_rows: Some(5),
            ..ReadRequest::default()
        };
        assert_eq!(read.unwrap(), expected);
        let npz = parse_request("read_npz('x.npz', arrays => 'a, b')").unwrap();
        assert_eq!(npz.arrays, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(
            parse_request("read_json('x', sample => 7)")
                .unwrap()
                .sample_rows,
            Some(7)
        );
        assert_eq!(parse_request("x(1).csv").unwrap().path, "x(1).csv");
        for (call, told) in [
            (
                "read_csv(delim => ';')",
                "the first argument must be a path",
            ),
            ("read_csv('x', delim => ';;')", "one character"),
            ("read_csv('x', header => 1)", "true or false"),
            ("read_csv('x', delimeter => ';')", "the options are delim"),
            (
                "read_parquet('x', delim => ';')",
                "none, the file describes itself",
            ),
            ("read_json('x', delim => ';')", "the options are sample"),
            ("read_npz('x', sample => 5)", "the options are arrays"),
            ("read_npz('x', arrays => 5)", "expected a text"),
            ("read_csv('x', ';')", "has no name"),
        ] {
            let error = parse_request(call).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
