//! `tsql plot`: the result of a query as a plot.

mod drawn;
mod graph;
mod specified;

use std::io::Read as _;

use clap::{Args, Subcommand};
use datafusion::dataframe::DataFrame;
use datafusion::physical_plan::execute_stream;

use super::assignment::assignment;
use super::outcome::{DONE, Failure};
use super::place::Place;
use super::progress;
use super::questions::{all, chosen, tell_empty};
use super::stderr::print_message;
use crate::error::Error;
use crate::plot::{Chart, Spec, gathered, narrowed};
use crate::query::statement::{planned_with, statements};
use crate::query::{Question, match_placeholders, question_among};
use crate::store::Store;
pub(super) use drawn::{Drawn, write};
use specified::Specified;

/// Standard input, as it is named on the command line.
const STDIN: &str = "-";

/// Plot the result of a query, or of a built-in query
///
/// Without options, the columns of the result decide: names become bars, times a line, two numbers a scatter plot, one
/// number a histogram. Axes of times over more than two decades are logarithmic. Of more than 131,072 rows, a random sample
/// is plotted, and the plot says so; bars and heat maps aggregate all rows.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    tsql plot \"SELECT platform, runtime_ns FROM records\" \\\n      \
    --kind ecdf --x runtime_ns --by platform\n  \
    tsql plot \"SELECT op, platform, gflops FROM ...\" \\\n      \
    --kind bar --x op --y gflops --by platform -o gflops.svg\n  \
    tsql plot @best-so-far --set platform=k80 -o best.html\n  \
    tsql plot @failures-by-kind --theme dark -o failures.png\n  \
    tsql plot graph resnet18 -o resnet18.svg"
)]
pub(super) struct Plot {
    /// Query; `@NAME` for a built-in query, `-` for standard input
    #[arg(value_name = "SQL")]
    sql: Option<String>,
    #[arg(long, hide = true, value_name = "NAME", conflicts_with = "sql", add = super::completion_values::question_names())]
    question: Option<String>,
    /// Value of the parameter `$NAME` of the query
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    specified: Specified,
    #[command(flatten)]
    drawn: Drawn,
    #[command(subcommand)]
    picture: Option<Picture>,
}

#[derive(Subcommand, Debug)]
enum Picture {
    Graph(graph::Drawing),
}

pub(super) async fn run(place: &Place, command: Plot) -> Result<u8, Failure> {
    if let Some(Picture::Graph(drawing)) = command.picture {
        return graph::run(place, drawing).await;
    }
    command.drawn.form()?;
    let name = command.question.as_deref();
    let name = name.or_else(|| command.sql.as_deref()?.strip_prefix('@'));
    if let Some(name) = name {
        let question = question_among(all(place)?, name)?;
        let store = place.open().await?;
        let own = command.specified.spec();
        return asked(
            place,
            &store,
            (&question, &command.set),
            own,
            &command.drawn,
        )
        .await;
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
                "no query was given\nhint: tsql plot \"SELECT ...\", or `tsql plot --help`";
            return Err(Failure::Usage(reason.to_owned()));
        }
    };
    match_placeholders(&sql, &command.set)?;
    let store = place.open_for(&sql).await?;
    let context = place.session(&store, Some(&sql)).await?;
    let mut statements = statements(&sql)?;
    let (Some(statement), true) = (statements.pop_front(), statements.is_empty()) else {
        let reason = "a plot shows the result of one query, and several were given";
        return Err(Failure::Usage(reason.to_owned()));
    };
    let frame = planned_with(&context, statement, &sql, &command.set).await?;
    let chart = drawn_of(frame, &command.specified.spec()).await?;
    place.tell_decisions(&context);
    command.drawn.show(&chart, &sql)?;
    Ok(DONE)
}

/// Asks a question and draws what its file says, or what was said instead.
pub(super) async fn asked(
    place: &Place,
    store: &Store,
    (question, set): (&Question, &[(String, String)]),
    own: Spec,
    drawn: &Drawn,
) -> Result<u8, Failure> {
    drawn.form()?;
    let spec = crate::plot::of_question(question, own)?;
    let context = place.session(store, Some(&question.names())).await?;
    let values = chosen(question, &context, set).await?;
    let frame = question.ask(&context, &values).await?;
    let chart = drawn_of(frame, &spec).await?;
    if chart.rows() == 0 {
        tell_empty(question, &context, &values).await?;
    }
    drawn.show(&chart, &question.sql)?;
    Ok(DONE)
}

async fn drawn_of(frame: DataFrame, spec: &Spec) -> Result<Chart, Failure> {
    let (frame, units) = narrowed(frame, spec)?;
    let (_, rows) = progress::run(frame, execute_stream).await?;
    let chart = gathered(rows, spec, &units).await?;
    if spec.kind.is_none() {
        print_message(&format!(
            "note: plotted as {} (--kind selects another)",
            chart.kind()
        ));
    }
    Ok(chart)
}
