//! `tsql describe TABLE`: columns with type, unit and meaning.

use std::sync::Arc;

use arrow::array::StringArray;
use clap::Args;

use super::place::Place;
use super::tables::show;
use super::{Failure, Output};
use crate::schema;

/// List the columns of a table with type, unit and meaning
///
/// `computed` columns are worked out when a query asks for them, `hidden` ones can be had from
/// `stored.TABLE`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql describe records")]
pub(super) struct Describe {
    /// The table
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(_: &Place, command: Describe) -> Result<u8, Failure> {
    let views = schema::views()?;
    let view = views.iter().find(|view| view.name == command.table);
    let columns = match view {
        Some(view) => view.columns.iter(),
        None => schema::table(&command.table)?.columns.iter(),
    };
    let kind = |column: &schema::Column| match (&column.sql, column.hidden) {
        _ if view.is_some() => "view",
        (Some(_), _) => "computed",
        (None, false) if column.shown_as.is_some() => "computed",
        (None, true) => "hidden",
        (None, false) => "stored",
    };
    let text = |of: &dyn Fn(&schema::Column) -> String| -> arrow::array::ArrayRef {
        Arc::new(StringArray::from_iter_values(columns.clone().map(of)))
    };
    let output = Output {
        format: command.output.format,
        output: command.output.output.clone(),
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
            ("doc", text(&|column| column.doc.clone())),
        ],
        &output,
    )
    .await
}
