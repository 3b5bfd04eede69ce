//! Rewrites DuckDB function calls to existing functions.
//!
//! | input | rewritten |
//! |---|---|
//! | `year(t)`, `dayofweek(t)`, ... | `date_part('year', t)`, `date_part('dow', t)` |
//! | `count_if(a > 1)` | `count(CASE WHEN a > 1 THEN 1 END)` |
//! | `quantile_cont(x, [0.25, 0.75])` | `[quantile_cont(x, 0.25), quantile_cont(x, 0.75)]` |
//! | `string_agg(x)`, `group_concat(x)`, `listagg(x)` | `string_agg(x, ',')` |

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Array, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName,
};

use crate::syntax::pieces::{null_expr, number_literal, string_literal};

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

/// Rewrite of a call.
enum CallRewrite {
    /// `date_part` of this part.
    Part(&'static str),
    CountIf,
    Quantiles,
    Joined,
}

/// Returns whether a call is rewritten. The result column keeps the name of the original call.
pub(super) fn is_rewritten(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(call) if find_rewrite(call).is_some())
}

fn find_rewrite(call: &Function) -> Option<CallRewrite> {
    let [part] = call.name.0.as_slice() else {
        return None;
    };
    let name = part.as_ident()?.value.to_ascii_lowercase();
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    let given = list.args.len();
    let part = DATE_PARTS.iter().find(|(typed, _)| *typed == name);
    match (name.as_str(), given) {
        (_, 1) if part.is_some() => part.map(|(_, part)| CallRewrite::Part(part)),
        ("count_if" | "countif", 1) => Some(CallRewrite::CountIf),
        ("quantile" | "quantile_cont" | "quantile_disc", 2) => {
            let is_list =
                matches!(list.args.get(1), Some(argument) if list_argument(argument).is_some());
            is_list.then_some(CallRewrite::Quantiles)
        }
        ("string_agg" | "group_concat" | "listagg", 1) => Some(CallRewrite::Joined),
        _ => None,
    }
}

fn list_argument(argument: &FunctionArg) -> Option<&Array> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Array(array))) => Some(array),
        _ => None,
    }
}

/// Rewrites a call.
pub(super) fn rewrite_call(expr: &mut Expr) {
    let Expr::Function(call) = expr else {
        return;
    };
    let Some(becomes) = find_rewrite(call) else {
        return;
    };
    let FunctionArguments::List(list) = &mut call.args else {
        return;
    };
    match becomes {
        CallRewrite::Part(part) => {
            list.args.insert(0, unnamed_argument(string_literal(part)));
            rename_call(call, "date_part");
        }
        CallRewrite::CountIf => {
            if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(condition))) =
                list.args.first_mut()
            {
                *condition = count_if_true(std::mem::replace(condition, null_expr()));
            }
            rename_call(call, "count");
        }
        CallRewrite::Joined => {
            list.args.push(unnamed_argument(string_literal(",")));
            rename_call(call, "string_agg");
        }
        CallRewrite::Quantiles => *expr = map_over_list(call),
    }
}

fn unnamed_argument(expr: Expr) -> FunctionArg {
    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
}

/// The position in the text stays the same.
fn rename_call(call: &mut Function, name: &str) {
    let span = call.name.0.first().and_then(|part| part.as_ident());
    let span = span.map(|ident| ident.span);
    let mut ident = Ident::new(name);
    if let Some(span) = span {
        ident.span = span;
    }
    call.name = ObjectName::from(vec![ident]);
}

fn count_if_true(condition: Expr) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen {
            condition,
            result: number_literal(1),
        }],
        else_result: None,
    }
}

/// A list of calls, one per element of the list argument.
fn map_over_list(call: &Function) -> Expr {
    let shares = match &call.args {
        FunctionArguments::List(list) => list.args.get(1).and_then(list_argument),
        _ => None,
    };
    let shares = shares.map_or(&[] as &[Expr], |shares| shares.elem.as_slice());
    let one = |share: &Expr| {
        let mut call = call.clone();
        if let FunctionArguments::List(list) = &mut call.args
            && let Some(argument) = list.args.get_mut(1)
        {
            *argument = unnamed_argument(share.clone());
        }
        Expr::Function(call)
    };
    Expr::Array(Array {
        elem: shares.iter().map(one).collect(),
        named: true,
    })
}
