//! Calls that DuckDB's users write, as those that there are.
//!
//! | typed | planned |
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

use super::super::dialect::pieces::{nothing, number, text};

/// Parts of a time that are functions, and what `date_part` calls them.
const PARTS: [(&str, &str); 17] = [
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

/// What becomes of a call.
enum Becomes {
    /// `date_part` of this.
    Part(&'static str),
    CountIf,
    Quantiles,
    Joined,
}

/// Is it written otherwise? Its column keeps the name that it has.
pub(super) fn is_other(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(call) if becomes(call).is_some())
}

fn becomes(call: &Function) -> Option<Becomes> {
    let [part] = call.name.0.as_slice() else {
        return None;
    };
    let name = part.as_ident()?.value.to_ascii_lowercase();
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    let given = list.args.len();
    let part = PARTS.iter().find(|(typed, _)| *typed == name);
    match (name.as_str(), given) {
        (_, 1) if part.is_some() => part.map(|(_, part)| Becomes::Part(part)),
        ("count_if" | "countif", 1) => Some(Becomes::CountIf),
        ("quantile" | "quantile_cont" | "quantile_disc", 2) => {
            let is_list = matches!(list.args.get(1), Some(argument) if listed(argument).is_some());
            is_list.then_some(Becomes::Quantiles)
        }
        ("string_agg" | "group_concat" | "listagg", 1) => Some(Becomes::Joined),
        _ => None,
    }
}

fn listed(argument: &FunctionArg) -> Option<&Array> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Array(array))) => Some(array),
        _ => None,
    }
}

/// Writes a call as one that there is.
pub(super) fn write(expr: &mut Expr) {
    let Expr::Function(call) = expr else {
        return;
    };
    let Some(becomes) = becomes(call) else {
        return;
    };
    let FunctionArguments::List(list) = &mut call.args else {
        return;
    };
    match becomes {
        Becomes::Part(part) => {
            list.args.insert(0, plain(text(part)));
            rename(call, "date_part");
        }
        Becomes::CountIf => {
            if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(condition))) =
                list.args.first_mut()
            {
                *condition = one_if(std::mem::replace(condition, nothing()));
            }
            rename(call, "count");
        }
        Becomes::Joined => {
            list.args.push(plain(text(",")));
            rename(call, "string_agg");
        }
        Becomes::Quantiles => *expr = each(call),
    }
}

fn plain(expr: Expr) -> FunctionArg {
    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
}

/// The same place of the text says another name.
fn rename(call: &mut Function, name: &str) {
    let span = call.name.0.first().and_then(|part| part.as_ident());
    let span = span.map(|ident| ident.span);
    let mut ident = Ident::new(name);
    if let Some(span) = span {
        ident.span = span;
    }
    call.name = ObjectName::from(vec![ident]);
}

fn one_if(condition: Expr) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen {
            condition,
            result: number(1),
        }],
        else_result: None,
    }
}

/// A list of calls, one for each of the list that is an argument.
fn each(call: &Function) -> Expr {
    let shares = match &call.args {
        FunctionArguments::List(list) => list.args.get(1).and_then(listed),
        _ => None,
    };
    let shares = shares.map_or(&[] as &[Expr], |shares| shares.elem.as_slice());
    let one = |share: &Expr| {
        let mut call = call.clone();
        if let FunctionArguments::List(list) = &mut call.args
            && let Some(argument) = list.args.get_mut(1)
        {
            *argument = plain(share.clone());
        }
        Expr::Function(call)
    };
    Expr::Array(Array {
        elem: shares.iter().map(one).collect(),
        named: true,
    })
}
