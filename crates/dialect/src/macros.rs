//! Functions of DuckDB that are expressions over existing functions.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, visit_expressions_mut,
};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Span;

use crate::syntax::TsqlDialect;

/// Functions that extract a part of a time, and the corresponding names for `date_part`.
const DATE_PARTS: [(&str, &str); 17] = [
    ("century", "century"),
    ("day", "day"),
    ("dayofmonth", "day"),
    ("dayofweek", "dow"),
    ("dayofyear", "doy"),
    ("decade", "decade"),
    ("epoch", "epoch"),
    ("hour", "hour"),
    ("isodow", "isodow"),
    ("minute", "minute"),
    ("month", "month"),
    ("quarter", "quarter"),
    ("second", "second"),
    ("week", "week"),
    ("weekday", "dow"),
    ("weekofyear", "week"),
    ("year", "year"),
];

/// Functions that are an expression over their arguments: call and expression. If the expression is a call, it has the
/// modifiers of the original: DISTINCT, ORDER BY, FILTER, OVER. Functions
/// with other names only are `aliases` of `tensorsql-functions`.
const MACROS: [(&str, &str); 20] = [
    ("count_if(c)", "count(CASE WHEN c THEN 1 END)"),
    ("countif(c)", "count(CASE WHEN c THEN 1 END)"),
    ("dayname(t)", "to_char(t, '%A')"),
    ("fdiv(a, b)", "floor(a / CAST(b AS DOUBLE))"),
    ("fmod(a, b)", "a - b * floor(a / CAST(b AS DOUBLE))"),
    ("group_concat(x)", "string_agg(x, ',')"),
    ("if(c, a, b)", "CASE WHEN c THEN a ELSE b END"),
    (
        "isfinite(x)",
        "abs(CAST(x AS DOUBLE)) < CAST('Infinity' AS DOUBLE)",
    ),
    (
        "isinf(x)",
        "abs(CAST(x AS DOUBLE)) = CAST('Infinity' AS DOUBLE)",
    ),
    (
        "last_day(t)",
        "CAST(date_trunc('month', t) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)",
    ),
    (
        "list_reverse_sort(l)",
        "array_sort(l, 'DESC', 'NULLS LAST')",
    ),
    ("listagg(x)", "string_agg(x, ',')"),
    // The column of the only table in scope that has one.
    ("metric(n)", "metric(metrics, n)"),
    ("mod(a, b)", "a % b"),
    ("monthname(t)", "to_char(t, '%B')"),
    // No match gives an empty text, as in DuckDB. A group of its own makes the list begin with the whole match.
    (
        "regexp_extract(x, p)",
        "CASE WHEN x IS NOT NULL THEN coalesce(regexp_match(x, concat('(', p, ')'))[1], '') END",
    ),
    (
        "regexp_extract(x, p, g)",
        "CASE WHEN x IS NOT NULL THEN coalesce(regexp_match(x, concat('(', p, ')'))[g + 1], '') END",
    ),
    (
        "regexp_full_match(x, p)",
        "regexp_like(x, concat('^(?:', p, ')$'))",
    ),
    ("string_agg(x)", "string_agg(x, ',')"),
    (
        "time_bucket(w, t)",
        "date_bin(w, t, TIMESTAMP '2000-01-03')",
    ),
];

/// A parsed element of [`MACROS`].
pub(crate) struct Macro {
    /// As users write it: `if(c, a, b)`.
    pub(crate) call: String,
    pub(crate) name: String,
    parameters: Vec<String>,
    expression: Expr,
}

/// All macros, with those of [`DATE_PARTS`].
static PARSED: LazyLock<Vec<Macro>> = LazyLock::new(|| {
    let parts = DATE_PARTS.iter();
    let parts = parts.map(|(name, part)| (format!("{name}(t)"), format!("date_part('{part}', t)")));
    let others = MACROS.iter();
    let others = others.map(|(call, text)| ((*call).to_owned(), (*text).to_owned()));
    let parsed = parts.chain(others);
    parsed
        .filter_map(|(call, text)| parse_macro(&call, &text))
        .collect()
});

fn parse_macro(call: &str, text: &str) -> Option<Macro> {
    let (name, parameters) = call.strip_suffix(')')?.split_once('(')?;
    let parser = Parser::new(&TsqlDialect).try_with_sql(text);
    Some(Macro {
        call: call.to_owned(),
        name: name.to_owned(),
        parameters: parameters.split(", ").map(str::to_owned).collect(),
        expression: parser.ok()?.parse_expr().ok()?,
    })
}

/// Returns all macros of a name, whatever their number of arguments.
pub(crate) fn with_name(name: &str) -> impl Iterator<Item = &'static Macro> {
    PARSED.iter().filter(move |known| known.name == name)
}

/// Returns the names of all macros.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PARSED.iter().map(|known| known.name.as_str())
}

/// Returns the macro that a call stands for.
pub(crate) fn find(
    name: &str,
    call: &Function,
    list: &FunctionArgumentList,
) -> Option<&'static Macro> {
    let known = with_name(name).find(|known| known.parameters.len() == list.args.len())?;
    let are_values = list.args.iter().all(|arg| unnamed_value(arg).is_some());
    let has_no_modifiers = call.filter.is_none()
        && call.over.is_none()
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty();
    let keeps_modifiers = matches!(known.expression, Expr::Function(_));
    (are_values && (has_no_modifiers || keeps_modifiers)).then_some(known)
}

/// Returns an argument that is an expression without a name.
pub(crate) fn unnamed_value(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    }
}

/// Returns the expression of a macro with the arguments of a call.
pub(crate) fn expand(known: &Macro, call: &Function) -> Expr {
    let FunctionArguments::List(list) = &call.args else {
        return Expr::Function(call.clone());
    };
    let span = call.name.0.first().and_then(|part| part.as_ident());
    let span = span.map_or_else(Span::empty, |ident| ident.span);
    let argument = |name: &Ident| {
        let position = known
            .parameters
            .iter()
            .position(|parameter| *parameter == name.value)?;
        list.args.get(position).and_then(unnamed_value)
    };
    let mut expression = known.expression.clone();
    let has_operators = matches!(expression, Expr::BinaryOp { .. });
    let done: ControlFlow<()> = visit_expressions_mut(&mut expression, |expr| {
        match expr {
            Expr::Identifier(name) => {
                if let Some(value) = argument(name) {
                    *expr = match value {
                        // Text that is printed and parsed again keeps its meaning.
                        Expr::BinaryOp { .. } | Expr::UnaryOp { .. } if has_operators => {
                            Expr::Nested(Box::new(value.clone()))
                        }
                        value => value.clone(),
                    };
                }
            }
            Expr::Function(called) => rename(called, None, span),
            Expr::Value(value) => value.span = span,
            _ => {}
        }
        ControlFlow::Continue(())
    });
    debug_assert!(done.is_continue(), "the visitor never stops");
    if let Expr::Function(called) = &mut expression
        && let FunctionArguments::List(arguments) = &mut called.args
    {
        arguments.duplicate_treatment = list.duplicate_treatment;
        arguments.clauses.clone_from(&list.clauses);
        called.filter.clone_from(&call.filter);
        called.over.clone_from(&call.over);
        called.null_treatment = call.null_treatment;
        called.within_group.clone_from(&call.within_group);
    }
    expression
}

/// Sets the name of a call, if there is another, and its position in the text of the user.
pub(crate) fn rename(call: &mut Function, name: Option<&str>, span: Span) {
    let known = call.name.0.first().and_then(|part| part.as_ident());
    let name = name.or(known.map(|ident| ident.value.as_str()));
    let mut ident = Ident::new(name.unwrap_or_default());
    ident.span = span;
    call.name = ObjectName::from(vec![ident]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_macros_are_valid() {
        assert_eq!(PARSED.len(), DATE_PARTS.len() + MACROS.len());
    }
}
