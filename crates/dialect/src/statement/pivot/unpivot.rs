//! Rewrites `t UNPIVOT (v FOR n IN (a, b))` to `SELECT *, unnest(['a', 'b']) AS n, unnest([a, b]) AS v`, without the
//! columns.

use datafusion::sql::sqlparser::ast::{
    Array, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, NullInclusion, SelectItem,
    TableFactor,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::query_builders::{pivot_error, star_except, with_alias};
use crate::syntax::leading::column_names;
use crate::syntax::pieces::{
    derived_table, first_select, parse_query, set_from_table, string_literal,
};

/// The derived table that replaces an unpivot.
pub(super) fn rewrite_unpivot(table: &mut TableFactor) -> Result<TableFactor, ParserError> {
    let TableFactor::Unpivot {
        table,
        value: Expr::Identifier(value),
        name,
        columns: of,
        null_inclusion,
        alias,
    } = table
    else {
        return Err(pivot_error(
            "UNPIVOT: expected a name for the values: (value FOR name IN (a, b))",
        ));
    };
    let exprs = of.iter().map(|column| column.expr.clone());
    let exprs: Vec<Expr> = exprs.collect();
    let names = of.iter().map(|column| match (&column.alias, &column.expr) {
        (Some(alias), _) => string_literal(alias.value.clone()),
        (None, Expr::Identifier(name)) => string_literal(name.value.clone()),
        (None, other) => string_literal(other.to_string()),
    });
    let mut items = vec![star_except(column_names(&exprs))];
    items.push(unnest_item(names.collect(), name.clone())?);
    items.push(unnest_item(exprs, value.clone())?);
    let mut made = parse_query("SELECT * FROM x")?;
    set_from_table(&mut made, table.as_ref().clone());
    if let Some(select) = first_select(&mut made) {
        select.projection = items;
    }
    if !matches!(null_inclusion, Some(NullInclusion::IncludeNulls)) {
        let mut kept = parse_query("SELECT * FROM x")?;
        set_from_table(&mut kept, derived_table(made));
        if let Some(select) = first_select(&mut kept) {
            let value = Box::new(Expr::Identifier(value.clone()));
            select.selection = Some(Expr::IsNotNull(value));
        }
        made = kept;
    }
    Ok(with_alias(derived_table(made), alias.take()))
}

/// `unnest([...]) AS name`.
fn unnest_item(elem: Vec<Expr>, alias: Ident) -> Result<SelectItem, ParserError> {
    let mut call = parse_query("SELECT unnest(x)")?;
    let item = first_select(&mut call).and_then(|select| select.projection.pop());
    let Some(SelectItem::UnnamedExpr(Expr::Function(mut function))) = item else {
        return Err(pivot_error("no unnest"));
    };
    if let FunctionArguments::List(list) = &mut function.args {
        let array = Expr::Array(Array { elem, named: true });
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(array))];
    }
    Ok(SelectItem::ExprWithAlias {
        expr: Expr::Function(function),
        alias,
    })
}
