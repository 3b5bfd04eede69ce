//! Rewrites DuckDB function calls to existing functions.
//!
//! | input | rewritten |
//! |---|---|
//! | `year(t)`, `if(c, a, b)`, and others (see `macros`) | an expression over the arguments |
//! | `quantile_cont(x, [0.25, 0.75])` | `[quantile_cont(x, 0.25), quantile_cont(x, 0.75)]` |
//! | `struct_pack(a := 1)` | `named_struct('a', 1)` |
//! | `{'a': 1}.a` | `{'a': 1}['a']` |

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use crate::macros::{self, Macro, rename, unnamed_value};
use crate::syntax::pieces::string_literal;

/// Rewrite of a call.
enum CallRewrite {
    /// Expression with the arguments in place of the parameters.
    Macro(&'static Macro),
    Quantiles,
    Struct,
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
    match (name.as_str(), list.args.as_slice()) {
        ("quantile" | "quantile_cont" | "quantile_disc", [_, shares]) => {
            list_argument(shares).map(|_| CallRewrite::Quantiles)
        }
        ("struct_pack", args) => {
            let are_named = args
                .iter()
                .all(|arg| matches!(arg, FunctionArg::Named { .. }));
            are_named.then_some(CallRewrite::Struct)
        }
        (name, _) => macros::find(name, call, list).map(CallRewrite::Macro),
    }
}

fn list_argument(argument: &FunctionArg) -> Option<&Array> {
    match unnamed_value(argument)? {
        Expr::Array(array) => Some(array),
        _ => None,
    }
}

/// Rewrites a call.
pub(super) fn rewrite_call(expr: &mut Expr) {
    let Expr::Function(call) = expr else {
        return;
    };
    match find_rewrite(call) {
        Some(CallRewrite::Macro(known)) => *expr = macros::expand(known, call),
        Some(CallRewrite::Quantiles) => *expr = map_over_list(call),
        Some(CallRewrite::Struct) => name_fields(call),
        None => {}
    }
}

/// Rewrites the fields of a computed struct: names become texts.
pub(super) fn rewrite_fields(expr: &mut Expr) {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else {
        return;
    };
    // `t.s['a']` is a column of a table.
    if matches!(root.as_ref(), Expr::Identifier(_)) {
        return;
    }
    for access in access_chain {
        if let AccessExpr::Dot(Expr::Identifier(name)) = access {
            *access = AccessExpr::Dot(string_literal(name.value.as_str()));
        }
    }
}

/// Rewrites names of arguments to texts before them.
fn name_fields(call: &mut Function) {
    let span = call.name.0.first().and_then(|part| part.as_ident());
    let span = span.map_or_else(Span::empty, |ident| ident.span);
    rename(call, Some("named_struct"), span);
    let FunctionArguments::List(list) = &mut call.args else {
        return;
    };
    let unnamed = |value| FunctionArg::Unnamed(value);
    let fields = std::mem::take(&mut list.args);
    list.args = fields
        .into_iter()
        .flat_map(|field| match field {
            FunctionArg::Named { name, arg, .. } => {
                let name = FunctionArgExpr::Expr(string_literal(name.value));
                vec![unnamed(name), unnamed(arg)]
            }
            other => vec![other],
        })
        .collect();
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
            *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(share.clone()));
        }
        Expr::Function(call)
    };
    Expr::Array(Array {
        elem: shares.iter().map(one).collect(),
        named: true,
    })
}
