//! `tsql queries`: lists and runs the built-in queries and the user's own.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use clap::Args;
use datafusion::physical_plan::execute_stream;
use tsql_error::Error;
use tsql_session::{NamedQuery, find_query};
use tsql_store::Store;

use super::assignment::assignment;
use super::built_in_queries::{all, choose_values, print_empty_reason};
use super::note::print_notes;
use super::outcome::{DONE, Failure};
use super::output::{Output, show};
use super::sql::{self, Shown};
use super::store_options::StoreOptions;

/// List the built-in queries, or run one
///
/// Own queries are files NAME.sql in the folder `queries` beside the store, or in the folders of TSQL_QUERIES. The
/// comments of `tsql queries NAME --sql` show how a file declares its title and parameters.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tsql queries\n  tsql queries best-program-per-graph platform=a100\n  tsql queries tpugraphs-score --set predictions=predictions.csv\n  tsql plot @failures-by-kind -o failures.svg"
)]
pub(super) struct Queries {
    /// Query to run
    #[arg(value_name = "NAME", add = super::completion_values::query_names())]
    name: Option<String>,
    /// Values of parameters
    #[arg(value_name = "NAME=VALUE", value_parser = assignment, add = super::completion_values::parameters())]
    values: Vec<(String, String)>,
    /// Value of a parameter
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment, requires = "name", add = super::completion_values::parameters())]
    set: Vec<(String, String)>,
    /// Print the SQL instead of running it
    #[arg(long, requires = "name")]
    sql: bool,
    #[cfg(feature = "plot")]
    #[arg(
        long,
        hide = true,
        value_name = "FILE",
        requires = "name",
        conflicts_with = "sql"
    )]
    plot: Option<std::path::PathBuf>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &StoreOptions, mut command: Queries) -> Result<u8, Failure> {
    command.set.append(&mut command.values);
    let queries = all(place)?;
    let Some(name) = &command.name else {
        return list(&queries, &command.output).await;
    };
    let query = find_query(queries, name)?;
    if command.sql {
        use std::io::Write as _;
        let printed = std::io::stdout().lock().write_all(query.sql.as_bytes());
        printed.map_err(Error::io("standard output"))?;
        return Ok(DONE);
    }
    let store = place.open().await?;
    #[cfg(feature = "plot")]
    if let Some(path) = command.plot {
        use super::plot::{Drawn, plot_query};
        let (drawn, own) = (Drawn::of_file(path), tsql_server::plot::PlotSpec::default());
        return plot_query(place, &store, (&query, &command.set), own, &drawn).await;
    }
    run_named(place, &store, &query, &command.set, &command.output).await
}

/// Runs a query. Prints the default platforms, and the reason of an empty result.
async fn run_named(
    place: &StoreOptions,
    store: &Store,
    query: &NamedQuery,
    set: &[(String, String)],
    output: &Output,
) -> Result<u8, Failure> {
    let context = place.session(store, Some(&query.referenced_sql())).await?;
    let values = choose_values(query, &context, set).await?;
    let frame = query.run(&context, &values);
    let shown = Shown {
        output,
        timer: false,
        execute: execute_stream,
    };
    if sql::run_query(place, &context, frame, &shown).await?.rows == 0 {
        print_empty_reason(query, &context, &values).await?;
    }
    print_notes(store, &platforms(query, &values), output).await;
    Ok(DONE)
}

/// Returns the platforms that the parameters of a query select.
fn platforms(query: &NamedQuery, values: &[(String, String)]) -> Vec<String> {
    let is_platform = |name: &str| {
        let mut parameters = query.parameters.iter();
        parameters.any(|parameter| parameter.name == name && parameter.is_platform())
    };
    let selected = values.iter().filter(|(name, _)| is_platform(name));
    selected.map(|(_, value)| value.clone()).collect()
}

pub(super) async fn list(queries: &[NamedQuery], output: &Output) -> Result<u8, Failure> {
    let parameters = |query: &NamedQuery| {
        let values = query.parameters.iter().map(|set| match &set.default {
            Some(default) => format!("{}={default}", set.name),
            None => set.name.clone(),
        });
        let files = query.files.iter().map(|(name, _)| format!("{name}=FILE"));
        values.chain(files).collect::<Vec<_>>().join(" ")
    };
    let text = |get: &dyn Fn(&NamedQuery) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(queries.iter().map(get)))
    };
    let mut columns = vec![
        ("name", text(&|one| one.name.clone())),
        ("title", text(&|one| one.title.clone())),
        ("parameters", text(&parameters)),
    ];
    if queries.iter().any(|one| one.path.is_some()) {
        let from = |one: &NamedQuery| {
            let path = one.path.as_ref();
            path.map_or_else(String::new, |path| path.display().to_string())
        };
        columns.push(("file", text(&from)));
    }
    show(columns, output).await
}
