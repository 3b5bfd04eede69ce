//! `SIMILAR TO` with the patterns of SQL: `%` and `_` as in `LIKE`, `|`, repetitions, groups and
//! brackets as in regular expressions, and the whole text must match.
//!
//! DataFusion takes the pattern for a regular expression that may match any part.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/22263>

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{Result, ScalarValue, plan_datafusion_err, plan_err};
use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// The rule that translates them.
#[derive(Debug)]
pub(super) struct SqlPatterns;

impl AnalyzerRule for SqlPatterns {
    fn name(&self) -> &'static str {
        "sql_patterns"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let translated = expr.transform_up(|part| match part {
                    Expr::SimilarTo(like) => translated(like).map(Transformed::yes),
                    part => Ok(Transformed::no(part)),
                })?;
                Ok(translated.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

/// What matches the same, by a regular expression.
fn translated(like: Like) -> Result<Expr> {
    let pattern = replaced(*like.pattern, like.escape_char)?;
    let operator = if like.negated {
        Operator::RegexNotMatch
    } else {
        Operator::RegexMatch
    };
    let matched = BinaryExpr::new(like.expr, operator, Box::new(pattern));
    Ok(Expr::BinaryExpr(matched))
}

/// The literal `pattern` as a regular expression of the same type.
fn replaced(pattern: Expr, escape: Option<char>) -> Result<Expr> {
    let regex = |text: &Option<String>| text.as_deref().map(|text| regex(text, escape)).transpose();
    match pattern {
        Expr::Literal(value, metadata) => {
            let value = match &value {
                ScalarValue::Utf8(text) => ScalarValue::Utf8(regex(text)?),
                ScalarValue::Utf8View(text) => ScalarValue::Utf8View(regex(text)?),
                ScalarValue::LargeUtf8(text) => ScalarValue::LargeUtf8(regex(text)?),
                _ => value,
            };
            Ok(Expr::Literal(value, metadata))
        }
        Expr::Cast(mut cast) => {
            *cast.expr = replaced(*cast.expr, escape)?;
            Ok(Expr::Cast(cast))
        }
        _ => plan_err!(
            "SIMILAR TO takes a pattern that is written out\nhint: `text ~ pattern` takes any regular expression"
        ),
    }
}

/// The regular expression of a pattern, which `\` or `escape` makes literal what follows.
fn regex(pattern: &str, escape: Option<char>) -> Result<String> {
    let escape = escape.unwrap_or('\\');
    let mut regex = "(?s)^(?:".to_owned();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter == escape => {
                let literal = letters.next().ok_or_else(|| {
                    plan_datafusion_err!("the pattern `{pattern}` ends in its escape character")
                })?;
                push_literal(&mut regex, literal);
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '|' | '*' | '+' | '?' | '{' | '}' | '(' | ')' => regex.push(letter),
            '[' => {
                regex.push('[');
                push_bracket(&mut regex, &mut letters, escape).ok_or_else(|| {
                    plan_datafusion_err!("the pattern `{pattern}` has a `[` without its `]`")
                })?;
            }
            literal => push_literal(&mut regex, literal),
        }
    }
    regex.push_str(")$");
    Ok(regex)
}

/// The rest of `[...]`; `None` where it has no end.
fn push_bracket(
    regex: &mut String,
    letters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    escape: char,
) -> Option<()> {
    if letters.next_if_eq(&'^').is_some() {
        regex.push('^');
    }
    if letters.next_if_eq(&']').is_some() {
        regex.push_str("\\]");
    }
    loop {
        match letters.next()? {
            ']' => {
                regex.push(']');
                return Some(());
            }
            '[' if letters.next_if_eq(&':').is_some() => {
                // A class of characters: `[:digit:]`.
                regex.push_str("[:");
                while let Some(letter) = letters.next_if(|&letter| letter != ']') {
                    regex.push(letter);
                }
                letters.next()?;
                regex.push(']');
            }
            '-' => regex.push('-'),
            letter if letter == escape => push_literal(regex, letters.next()?),
            literal => push_literal(regex, literal),
        }
    }
}

fn push_literal(regex: &mut String, literal: char) {
    if literal.is_ascii_punctuation() {
        regex.push('\\');
    }
    regex.push(literal);
}
