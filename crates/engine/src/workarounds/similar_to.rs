//! Plans `SIMILAR TO` with SQL patterns: `%` and `_` as in `LIKE`, and `|`, repetitions, groups and brackets as in
//! regular expressions. The pattern must match the whole string.
//!
//! DataFusion takes the pattern as a regular expression that may match anywhere.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/22263>

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{Result, ScalarValue, plan_datafusion_err, plan_err};
use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// Translates patterns of `SIMILAR TO` to regular expressions.
#[derive(Debug)]
pub(super) struct SimilarToRewrite;

impl AnalyzerRule for SimilarToRewrite {
    fn name(&self) -> &'static str {
        "similar_to"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let translated = expr.transform_up(|part| match part {
                    Expr::SimilarTo(like) => translate(like).map(Transformed::yes),
                    part => Ok(Transformed::no(part)),
                })?;
                Ok(translated.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

/// Translates `SIMILAR TO` to a regular expression match.
fn translate(like: Like) -> Result<Expr> {
    let pattern = translate_pattern(*like.pattern, like.escape_char)?;
    let operator = if like.negated {
        Operator::RegexNotMatch
    } else {
        Operator::RegexMatch
    };
    let matched = BinaryExpr::new(like.expr, operator, Box::new(pattern));
    Ok(Expr::BinaryExpr(matched))
}

/// Translates a literal pattern to a regular expression of the same type.
fn translate_pattern(pattern: Expr, escape: Option<char>) -> Result<Expr> {
    let regex = |text: &Option<String>| {
        text.as_deref()
            .map(|text| pattern_to_regex(text, escape))
            .transpose()
    };
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
            *cast.expr = translate_pattern(*cast.expr, escape)?;
            Ok(Expr::Cast(cast))
        }
        _ => plan_err!(
            "SIMILAR TO needs a constant pattern\nhint: `text ~ pattern` supports any regular expression"
        ),
    }
}

/// Returns the regular expression of a pattern. `escape`, by default `\`, makes the next character literal.
fn pattern_to_regex(pattern: &str, escape: Option<char>) -> Result<String> {
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
                    plan_datafusion_err!("the pattern `{pattern}` has a `[` without a `]`")
                })?;
            }
            literal => push_literal(&mut regex, literal),
        }
    }
    regex.push_str(")$");
    Ok(regex)
}

/// Appends the rest of a bracket expression `[...]`; returns `None` if it is not closed.
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
                // A character class: `[:digit:]`.
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
