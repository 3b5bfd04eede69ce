//! Values for the `$NAME` placeholders of a query, converted to the types that they are compared with.

use std::collections::{BTreeSet, HashMap};

use arrow::datatypes::DataType;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::syntax::TsqlDialect;
use tsql_error::{Error, Result};

/// Binds the `given` values to the placeholders of a plan. If a name is given twice, the last value wins.
///
/// # Errors
/// [`Error::Argument`] if a text is not a value of the required type; [`Error::Query`].
pub fn bind_placeholders(plan: LogicalPlan, given: &[(String, String)]) -> Result<LogicalPlan> {
    let types = plan.get_parameter_types().map_err(Error::Query)?;
    if types.is_empty() {
        return Ok(plan);
    }
    let values = given.iter().map(|(name, text)| {
        let wanted = types.get(&format!("${name}")).and_then(Option::as_ref);
        typed_value(name, text, wanted).map(|value| (name.clone(), value))
    });
    let values: HashMap<String, ScalarValue> = values.collect::<Result<_>>()?;
    let values = ParamValues::from(values.into_iter().collect::<Vec<_>>());
    plan.with_param_values(values).map_err(Error::Query)
}

/// Checks that the `$NAME` placeholders of a text are exactly the given ones.
///
/// # Errors
/// [`Error::Unknown`] for a name that is not in the text, [`Error::Argument`] for one without a value.
pub fn match_placeholders(sql: &str, given: &[(String, String)]) -> Result<()> {
    let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    check_names(sql, &names, "set", |name| format!("--set {name}=VALUE"))
}

/// Like [`match_placeholders`], for typed values.
///
/// # Errors
/// As [`match_placeholders`].
pub fn match_values(sql: &str, given: &[(String, ScalarValue)]) -> Result<()> {
    let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    check_names(sql, &names, "params", |name| {
        format!("params={{\"{name}\": VALUE}}")
    })
}

/// Checks that these are the names in the text. `set` returns how to give a value for a name.
fn check_names(
    sql: &str,
    given: &[&str],
    argument: &'static str,
    set: impl Fn(&str) -> String,
) -> Result<()> {
    let wanted = placeholders(sql);
    for name in given {
        if wanted.is_empty() {
            let hint = format!("hint: WHERE {name} = ${name}, {}", set(name));
            return Err(Error::Argument {
                name: argument,
                reason: format!("the query has no `${name}`\n{hint}"),
            });
        }
        if !wanted.contains(*name) {
            return Err(Error::Unknown {
                kind: "parameter",
                name: (*name).to_owned(),
                known: wanted.into_iter().collect::<Vec<_>>().join(", "),
            });
        }
    }
    let mut named = wanted.iter().filter(|name| !is_number(name));
    match named.find(|name| !given.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::Argument {
            name: argument,
            reason: format!("`${name}` has no value\nhint: {}", set(name)),
        }),
    }
}

/// Replaces each `?` by `$1`, `$2`, ..., for `count` positional values. A text that already has `$1` is unchanged.
///
/// ```
/// let sql = tsql_dialect::placeholders::number_placeholders("SELECT '?', ? + ?", 2)?;
/// assert_eq!(sql, "SELECT '?', $1 + $2");
/// # Ok::<(), tsql_error::Error>(())
/// ```
///
/// # Errors
/// [`Error::Argument`] if the text has another number of placeholders.
pub fn number_placeholders(sql: &str, count: usize) -> Result<String> {
    let marks = positional_placeholders(sql);
    let wanted = count_with_marks(sql, &marks);
    if wanted != count {
        let mark = if marks.is_empty() {
            "`$1`, `$2`, ..."
        } else {
            "`?`"
        };
        return Err(Error::Argument {
            name: "params",
            reason: format!("the query has {wanted} {mark}, but {count} values were given"),
        });
    }
    let (mut text, mut at, mut number) = (String::with_capacity(sql.len()), (1, 1), 0);
    for one in sql.chars() {
        if marks.contains(&at) {
            number += 1;
            text.push_str(&format!("${number}"));
        } else {
            text.push(one);
        }
        at = match one {
            '\n' => (at.0 + 1, 1),
            _ => (at.0, at.1 + 1),
        };
    }
    Ok(text)
}

/// Returns the number of values that a text needs by position: of its `?`, or else the largest number of `$1`, `$2`, ...
///
/// ```
/// use tsql_dialect::placeholders::count_placeholders;
/// assert_eq!(count_placeholders("SELECT '?', ? + ?"), 2);
/// assert_eq!(count_placeholders("SELECT $2, $1, $1"), 2);
/// ```
pub fn count_placeholders(sql: &str) -> usize {
    count_with_marks(sql, &positional_placeholders(sql))
}

fn count_with_marks(sql: &str, marks: &BTreeSet<(u64, u64)>) -> usize {
    let numbers = placeholders(sql).into_iter();
    let numbers = numbers.filter_map(|name| name.parse::<usize>().ok());
    match marks.len() {
        0 => numbers.max().unwrap_or_default(),
        marks => marks,
    }
}

/// Returns line and column of each `?`.
fn positional_placeholders(sql: &str) -> BTreeSet<(u64, u64)> {
    let tokens = Tokenizer::new(&TsqlDialect, sql).tokenize_with_location();
    let marks = tokens.unwrap_or_default().into_iter();
    let marks = marks.filter(|token| is_positional_placeholder(&token.token));
    marks
        .map(|token| (token.span.start.line, token.span.start.column))
        .collect()
}

/// Matches `?`, also where the tokenizer reads it as the start of a Postgres operator (`?-1`, `?||'x'`).
fn is_positional_placeholder(token: &Token) -> bool {
    match token {
        Token::Placeholder(mark) => mark == "?",
        Token::Question
        | Token::QuestionAnd
        | Token::QuestionMarkDash
        | Token::QuestionMarkDashVerticalBar
        | Token::QuestionMarkDoubleVerticalBar
        | Token::QuestionMarkSharp
        | Token::QuestionPipe => true,
        _ => false,
    }
}

/// `$1` and similar placeholders belong to `PREPARE` and `EXECUTE`.
fn is_number(name: &str) -> bool {
    name.chars().all(|one| one.is_ascii_digit())
}

/// Names of the placeholders in a text.
fn placeholders(sql: &str) -> BTreeSet<String> {
    let tokens = Tokenizer::new(&TsqlDialect, sql)
        .tokenize()
        .unwrap_or_default();
    let names = tokens.into_iter().filter_map(|token| match token {
        Token::Placeholder(name) => name.strip_prefix('$').map(str::to_owned),
        _ => None,
    });
    names.collect()
}

/// Parses a text as a value of the required type. Without a required type, it is a number if possible.
fn typed_value(name: &str, text: &str, wanted: Option<&DataType>) -> Result<ScalarValue> {
    let Some(wanted) = wanted else {
        return Ok(infer_value(text));
    };
    let value = ScalarValue::try_from_string(text.to_owned(), wanted);
    value.map_err(|_| Error::Argument {
        name: "set",
        reason: format!("`{text}` is not a value of {name}, expected {wanted}"),
    })
}

fn infer_value(text: &str) -> ScalarValue {
    if let Ok(integer) = text.parse::<i64>() {
        return ScalarValue::Int64(Some(integer));
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => ScalarValue::Float64(Some(number)),
        _ => ScalarValue::Utf8(Some(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_names(sql: &str, given: &[&str]) -> std::result::Result<(), String> {
        let given = given
            .iter()
            .map(|name| ((*name).to_owned(), "1".to_owned()));
        let given: Vec<_> = given.collect();
        match_placeholders(sql, &given).map_err(|error| error.to_string())
    }

    #[test]
    fn positional_placeholders_are_numbered() {
        let sql = "SELECT 'é?', \"?\", ? -- ?\n, ? /* ? */ FROM t WHERE a = ?";
        let expected = "SELECT 'é?', \"?\", $1 -- ?\n, $2 /* ? */ FROM t WHERE a = $3";
        assert_eq!(number_placeholders(sql, 3).unwrap(), expected);
        assert_eq!(
            number_placeholders("SELECT $2, $1, $1", 2).unwrap(),
            "SELECT $2, $1, $1"
        );
        assert_eq!(
            number_placeholders("SELECT ?-1, ?||'x'", 2).unwrap(),
            "SELECT $1-1, $2||'x'"
        );
        for (sql, count) in [
            ("SELECT ?", 2),
            ("SELECT ?, ?", 1),
            ("SELECT $2", 1),
            ("SELECT 1", 1),
        ] {
            let told = number_placeholders(sql, count).unwrap_err().to_string();
            assert!(told.contains("values were given"), "{told}");
        }
    }

    #[test]
    fn placeholders_are_those_that_are_given() {
        assert_eq!(check_names("SELECT 1", &[]), Ok(()));
        assert_eq!(check_names("SELECT $a, $b, $a", &["b", "a"]), Ok(()));
        assert_eq!(check_names("SELECT '$a' -- $b", &[]), Ok(()));
        assert_eq!(
            check_names("PREPARE p AS SELECT $1; EXECUTE p(2)", &[]),
            Ok(())
        );
        let missing = check_names("SELECT $a", &[]).unwrap_err();
        assert!(missing.contains("--set a=VALUE"), "{missing}");
        let unknown = check_names("SELECT $platform", &["platfrom"]).unwrap_err();
        assert!(unknown.contains("did you mean `platform`?"), "{unknown}");
        let none = check_names("SELECT 1", &["a"]).unwrap_err();
        assert!(none.contains("has no `$a`"), "{none}");
    }
}
