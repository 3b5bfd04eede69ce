//! `t UNPIVOT (v FOR n IN (a, b))` as `SELECT *, unnest(['a', 'b']) AS n, unnest([a, b]) AS v`, without the columns.

use datafusion::sql::sqlparser::ast::{
    Array, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, NullInclusion, SelectItem,
    TableFactor,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::super::super::dialect::leading::columns;
use super::super::super::dialect::pieces::{derived, put_table, query, select, text};
use super::made::{aliased, all_but, refused};

/// What an unpivot stands for.
pub(super) fn unpivot(table: &mut TableFactor) -> Result<TableFactor, ParserError> {
    let TableFactor::Unpivot {
        table,
        value: Expr::Identifier(value),
        name,
        columns: of,
        null_inclusion,
        alias,
    } = table
    else {
        return Err(refused(
            "UNPIVOT takes a name for the values: (value FOR name IN (a, b))",
        ));
    };
    let exprs = of.iter().map(|column| column.expr.clone());
    let exprs: Vec<Expr> = exprs.collect();
    let names = of.iter().map(|column| match (&column.alias, &column.expr) {
        (Some(alias), _) => text(alias.value.clone()),
        (None, Expr::Identifier(name)) => text(name.value.clone()),
        (None, other) => text(other.to_string()),
    });
    let mut items = vec![all_but(columns(&exprs))];
    items.push(unnested(names.collect(), name.clone())?);
    items.push(unnested(exprs, value.clone())?);
    let mut made = query("SELECT * FROM x")?;
    put_table(&mut made, table.as_ref().clone());
    if let Some(select) = select(&mut made) {
        select.projection = items;
    }
    if !matches!(null_inclusion, Some(NullInclusion::IncludeNulls)) {
        let mut kept = query("SELECT * FROM x")?;
        put_table(&mut kept, derived(made));
        if let Some(select) = select(&mut kept) {
            let value = Box::new(Expr::Identifier(value.clone()));
            select.selection = Some(Expr::IsNotNull(value));
        }
        made = kept;
    }
    Ok(aliased(derived(made), alias.take()))
}

/// `unnest([...]) AS name`.
fn unnested(elem: Vec<Expr>, alias: Ident) -> Result<SelectItem, ParserError> {
    let mut call = query("SELECT unnest(x)")?;
    let item = select(&mut call).and_then(|select| select.projection.pop());
    let Some(SelectItem::UnnamedExpr(Expr::Function(mut function))) = item else {
        return Err(refused("no unnest"));
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
