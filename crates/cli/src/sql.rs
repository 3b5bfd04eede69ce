//! `tsql "SQL"`: runs a query.

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use tsql_dialect::placeholders::match_placeholders;
use tsql_dialect::statement::{parse_statements, plan_with_values};
use tsql_error::Error;

use super::assignment::assignment;
use super::command_suggestions::{is_word, no_command};
use super::empty_result;
use super::outcome::{DONE, Failure};
use super::output::{Output, print};
use super::progress::{self, Execute};
use super::result_content::{ContentObserver, PrintedResult};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Name of standard input on the command line.
const STDIN: &str = "-";

#[derive(Args, Debug)]
pub(super) struct Query {
    /// Query; `-` reads it from standard input
    #[arg(value_name = "SQL")]
    sql: Option<String>,
    /// Query, if it could be mistaken for a command
    #[arg(
        short = 'c',
        long,
        value_name = "SQL",
        conflicts_with = "sql",
        allow_hyphen_values = true
    )]
    command: Option<String>,
    /// File with a query, or several separated by `;`
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["sql", "command"])]
    file: Option<PathBuf>,
    /// Value of the parameter `$NAME` of the query
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Print the time of each query on standard error
    #[arg(long)]
    pub(super) timer: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

impl Query {
    /// Returns whether there is no query, and a user at a terminal who can type one.
    pub(super) fn is_to_come(&self) -> bool {
        let has_query = self.sql.is_some() || self.command.is_some() || self.file.is_some();
        let is_watched = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        !has_query && self.output.output.is_none() && is_watched
    }
}

pub(super) async fn run(place: &StoreOptions, query: Query) -> Result<u8, Failure> {
    let text = text(&query)?;
    match_placeholders(&text, &query.set)?;
    let store = place.open_for(&text).await?;
    let context = place.session(&store, Some(&text)).await?;
    let mut statements = parse_statements(&text)?;
    if statements.is_empty() {
        return Err(Failure::Usage("the query is empty".to_owned()));
    }
    if statements.len() > 1 && query.output.output.is_some() {
        let reason = "--output writes the result of one query, but there are several";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let shown = Shown {
        output: &query.output,
        timer: query.timer,
        execute: execute_stream,
    };
    let unused = statements.back().and_then(created_name);
    while let Some(statement) = statements.pop_front() {
        let named = empty_result::named_values(&statement);
        let frame = plan_with_values(&context, statement, &text, &query.set);
        if run_query(place, &context, frame, &shown).await?.is_blank {
            empty_result::hint(&context, &named).await;
        }
    }
    if let Some(name) = unused {
        print_message(&format!(
            "note: `{name}` exists only while this command runs\nhint: query it in the same text \
             (`CREATE VIEW v AS ...; SELECT ... FROM v`), or create it in the shell (`tsql`)"
        ));
    }
    Ok(DONE)
}

/// Returns the name of the view or table that a statement creates in the session.
fn created_name(statement: &Statement) -> Option<String> {
    let Statement::Statement(statement) = statement else {
        return None;
    };
    match statement.as_ref() {
        SqlStatement::CreateView(view) => Some(view.name.to_string()),
        SqlStatement::CreateTable(table) => Some(table.name.to_string()),
        _ => None,
    }
}

/// Output of the result of a query.
pub(super) struct Shown<'a> {
    pub(super) output: &'a Output,
    /// Print the time of the query.
    pub(super) timer: bool,
    /// Function that runs a plan.
    pub(super) execute: Execute,
}

/// Plans a query, runs it and prints the result; returns its content.
pub(super) async fn run_query(
    place: &StoreOptions,
    context: &SessionContext,
    frame: impl Future<Output = tsql_error::Result<DataFrame>>,
    shown: &Shown<'_>,
) -> Result<PrintedResult, Failure> {
    let begin = Instant::now();
    let frame = frame.await?;
    let plan = frame.logical_plan();
    let output = if matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_)) {
        shown.output.of_plan()
    } else {
        shown.output.clone()
    };
    let (watched, stream) = progress::run(frame, shown.execute).await?;
    let (stream, observer) = ContentObserver::observe(stream);
    let printed = print(stream, &output).await;
    place.print_decisions(context);
    let rows = printed?;
    if place.stats {
        watched.print_stats();
    }
    if shown.timer {
        let seconds = begin.elapsed().as_secs_f64();
        print_message(&format!("{} in {seconds:.6} s", count_noun(rows, "row")));
    }
    Ok(observer.content(rows))
}

fn text(query: &Query) -> Result<String, Failure> {
    if let Some(path) = &query.file {
        return Ok(std::fs::read_to_string(path).map_err(Error::io(path))?);
    }
    if let Some(sql) = &query.command {
        return Ok(sql.clone());
    }
    match query.sql.as_deref() {
        Some(STDIN) => Ok(read_stdin()?),
        Some(word) if is_word(word) => Err(Failure::Usage(no_command(word))),
        Some(sql) => Ok(sql.to_owned()),
        None if std::io::stdin().is_terminal() => Err(Failure::Usage(
            "no query\nhint: tsql \"SELECT * FROM records LIMIT 5\", or `tsql --help`".to_owned(),
        )),
        None => Ok(read_stdin()?),
    }
}

fn read_stdin() -> Result<String, Error> {
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .read_to_string(&mut text)
        .map_err(Error::io("standard input"))?;
    Ok(text)
}
