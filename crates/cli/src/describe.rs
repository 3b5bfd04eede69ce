//! `tsql describe NAME`: columns of a table with type, unit and references, or a function.

use std::sync::Arc;

use arrow::array::StringArray;
use clap::Args;
use tsql_schema as schema;
use tsql_schema::Reference;
use tsql_session::function;

use super::functions::explain;
use super::outcome::Failure;
use super::output::{Output, show};
use super::store_options::StoreOptions;

/// Describe a table (columns, types, units, references) or a function
///
/// A column refers to the column of the same name in another table. Columns of the kind `computed` are computed when a
/// query names them. Columns of the kind `hidden` (with --all) exist in `stored.TABLE` only.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tsql describe records\n  tsql describe records --all\n  tsql describe median_ci"
)]
pub(super) struct Describe {
    /// Table, view or function
    #[arg(value_name = "NAME", required_unless_present = "function", add = super::completion_values::tables())]
    pub(super) table: Option<String>,
    #[arg(long, value_name = "NAME", conflicts_with = "table", hide = true)]
    pub(super) function: Option<String>,
    /// List hidden columns too
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

pub(super) async fn run(_: &StoreOptions, command: Describe) -> Result<u8, Failure> {
    if let Some(name) = &command.function {
        return explain(&function(name)?, &command.output).await;
    }
    let wanted = command.table.as_deref().unwrap_or_default();
    let view = schema::views()?.iter().find(|view| view.name == wanted);
    let (columns, references): (Vec<&schema::Column>, Vec<Reference>) = match view {
        Some(view) => (view.columns.iter().collect(), view.references().collect()),
        None => {
            let table = match schema::table(wanted) {
                Ok(table) => table,
                Err(unknown) => {
                    let found = function(wanted).map_err(|_| unknown)?;
                    return explain(&found, &command.output).await;
                }
            };
            let all = table.columns.iter();
            let shown = all.filter(|column| command.all || !column.hidden);
            (shown.collect(), table.references().collect())
        }
    };
    let refers = |column: &schema::Column| {
        let own = references.iter();
        let own = own.filter(|reference| reference.columns.contains(&column.name));
        let tables: Vec<&str> = own.map(|reference| reference.to.as_str()).collect();
        tables.join(", ")
    };
    let kind = |column: &schema::Column| match (&column.sql, &column.shown_as) {
        _ if view.is_some() => "view",
        _ if column.hidden => "hidden",
        (Some(_), _) | (None, Some(_)) => "computed",
        (None, None) => "stored",
    };
    let text = |get: &dyn Fn(&schema::Column) -> String| -> arrow::array::ArrayRef {
        Arc::new(StringArray::from_iter_values(
            columns.iter().copied().map(get),
        ))
    };
    show(
        [
            ("column", text(&|column| column.name.clone())),
            ("type", text(&|column| column.type_name.clone())),
            (
                "null",
                text(&|column| if column.null { "yes" } else { "no" }.to_owned()),
            ),
            (
                "unit",
                text(&|column| column.unit.clone().unwrap_or_default()),
            ),
            ("kind", text(&|column| kind(column).to_owned())),
            ("references", text(&refers)),
            ("doc", text(&|column| column.doc.clone())),
        ],
        &command.output,
    )
    .await
}
