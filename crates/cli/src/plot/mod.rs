//! `tsql plot`: plots the result of a query.

mod graph;
mod plot_options;
mod plot_output;

use std::io::Read as _;

use clap::{Args, Subcommand};
use datafusion::dataframe::DataFrame;
use datafusion::physical_plan::execute_stream;
use tsql_dialect::placeholders::match_placeholders;
use tsql_dialect::statement::{parse_statements, plan_with_values};
use tsql_error::Error;
use tsql_server::plot::{Chart, PlotSpec, draw_stream, project_columns};
use tsql_session::{NamedQuery, find_query};
use tsql_store::Store;

use plot_options::Specified;

use super::assignment::assignment;
use super::built_in_queries::{all, choose_values, print_empty_reason};
use super::outcome::{DONE, Failure};
use super::progress;
use super::stderr::print_message;
use super::store_options::StoreOptions;

pub(super) use plot_output::{Drawn, write};

/// Name of standard input on the command line.
const STDIN: &str = "-";

/// Plot the result of a query, or of a built-in query
///
/// Without options, the columns of the result decide: names become bars, times a line, two numbers a scatter plot, one
/// number a histogram. Axes of times over more than two decades are logarithmic. A result of more than 131,072 rows
/// is plotted as a random sample, with a note in the plot; bars and heat maps aggregate all rows.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    tsql plot \"SELECT platform, runtime_ns FROM records\" \\\n      \
    --kind ecdf --x runtime_ns --by platform\n  \
    tsql plot \"SELECT op, platform, gflops FROM ...\" \\\n      \
    --kind bar --x op --y gflops --by platform -o gflops.svg\n  \
    tsql plot @best-so-far --set trials=10 -o best.html\n  \
    tsql plot @failures-by-kind --theme dark -o failures.png\n  \
    tsql plot graph resnet18 -o resnet18.svg"
)]
pub(super) struct Plot {
    /// Query; `@NAME` for a built-in query, `-` for standard input
    #[arg(value_name = "SQL")]
    sql: Option<String>,
    #[arg(long, hide = true, value_name = "NAME", conflicts_with = "sql", add = super::completion_values::query_names())]
    question: Option<String>,
    /// Value of the parameter `$NAME` of the query
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    specified: Specified,
    #[command(flatten)]
    drawn: Drawn,
    #[command(subcommand)]
    picture: Option<PlotCommand>,
}

#[derive(Subcommand, Debug)]
enum PlotCommand {
    Graph(graph::Drawing),
}

pub(super) async fn run(place: &StoreOptions, command: Plot) -> Result<u8, Failure> {
    if let Some(PlotCommand::Graph(drawing)) = command.picture {
        return graph::run(place, drawing).await;
    }
    command.drawn.form()?;
    let name = command.question.as_deref();
    let name = name.or_else(|| command.sql.as_deref()?.strip_prefix('@'));
    if let Some(name) = name {
        let query = find_query(all(place)?, name)?;
        let store = place.open().await?;
        let own = command.specified.spec();
        return plot_query(place, &store, (&query, &command.set), own, &command.drawn).await;
    }
    let sql = match command.sql.as_deref() {
        Some(STDIN) => {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut text);
            read.map_err(Error::io("standard input"))?;
            text
        }
        Some(sql) => sql.to_owned(),
        None => {
            let reason =
                "a plot needs a query\nhint: tsql plot \"SELECT ...\", or `tsql plot --help`";
            return Err(Failure::Usage(reason.to_owned()));
        }
    };
    match_placeholders(&sql, &command.set)?;
    let store = place.open_for(&sql).await?;
    let context = place.session(&store, Some(&sql)).await?;
    let mut statements = parse_statements(&sql)?;
    let (Some(statement), true) = (statements.pop_front(), statements.is_empty()) else {
        let reason = "a plot shows the result of one query, but there are several";
        return Err(Failure::Usage(reason.to_owned()));
    };
    let frame = plan_with_values(&context, statement, &sql, &command.set).await?;
    let chart = plot_frame(frame, &command.specified.spec()).await?;
    place.print_decisions(&context);
    if chart.rows() == 0 {
        return Err(no_rows());
    }
    command.drawn.show(&chart, &sql)?;
    Ok(DONE)
}

/// Runs a named query and plots the result as the query declares. The options `own` take precedence.
pub(super) async fn plot_query(
    place: &StoreOptions,
    store: &Store,
    (query, set): (&NamedQuery, &[(String, String)]),
    own: PlotSpec,
    drawn: &Drawn,
) -> Result<u8, Failure> {
    drawn.form()?;
    let spec = tsql_server::plot::spec_for_query(query, own)?;
    let context = place.session(store, Some(&query.referenced_sql())).await?;
    let values = choose_values(query, &context, set).await?;
    let frame = query.run(&context, &values).await?;
    let chart = plot_frame(frame, &spec).await?;
    if chart.rows() == 0 {
        print_empty_reason(query, &context, &values).await?;
        return Err(no_rows());
    }
    drawn.show(&chart, &query.sql)?;
    Ok(DONE)
}

fn no_rows() -> Failure {
    Error::Empty("the result has no rows, so there is nothing to plot".to_owned()).into()
}

async fn plot_frame(frame: DataFrame, spec: &PlotSpec) -> Result<Chart, Failure> {
    let (frame, units) = project_columns(frame, spec)?;
    let (_, rows) = progress::run(frame, execute_stream).await?;
    let chart = draw_stream(rows, spec, &units).await?;
    if spec.kind.is_none() {
        print_message(&format!(
            "note: plotted as {} (--kind selects another)",
            chart.kind()
        ));
    }
    Ok(chart)
}
