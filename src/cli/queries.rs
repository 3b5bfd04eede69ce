//! `tsql queries`: the ready-made questions.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use clap::Args;

use super::note::tell_notes;
use super::outcome::{DONE, Failure};
use super::output::{Output, print, show};
use super::place::Place;
use crate::error::Error;
use crate::query::{Parameter, Question, question, questions};

/// List the ready-made questions, or answer one
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tsql queries\n  tsql queries best-program-per-graph --set platform=a100\n  tsql queries tpugraphs-score --set predictions=predictions.csv"
)]
pub(super) struct Queries {
    /// The question to answer
    #[arg(value_name = "NAME", add = super::known::question_names())]
    name: Option<String>,
    /// Value of a parameter
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment, requires = "name", add = super::known::parameters())]
    set: Vec<(String, String)>,
    /// Print the SQL instead of answering
    #[arg(long, requires = "name")]
    sql: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &Place, command: Queries) -> Result<u8, Failure> {
    let Some(name) = &command.name else {
        return list(&command.output).await;
    };
    let question = question(name)?;
    if command.sql {
        use std::io::Write as _;
        let printed = std::io::stdout().lock().write_all(question.sql.as_bytes());
        printed.map_err(Error::io("standard output"))?;
        return Ok(DONE);
    }
    let store = place.open().await?;
    let context = place.session(&store, Some(question.sql)).await?;
    let frame = question.ask(&context, &command.set).await?;
    let stream = frame.execute_stream().await.map_err(Error::Query)?;
    let printed = print(stream, &command.output).await;
    place.tell_decisions(&context);
    printed?;
    tell_notes(&store, &platforms(&question, &command.set), &command.output).await;
    Ok(DONE)
}

/// The platforms that a question is about, where it says so.
fn platforms(question: &Question, given: &[(String, String)]) -> Vec<String> {
    let is_platform = |name: &str| {
        let mut parameters = question.parameters.iter();
        parameters.any(|parameter| parameter.name == name && parameter.default.is_none())
    };
    let given = given.iter().filter(|(name, _)| is_platform(name));
    given.map(|(_, value)| value.clone()).collect()
}

pub(super) async fn list(output: &Output) -> Result<u8, Failure> {
    let questions = questions();
    let parameters = |parameters: &[Parameter]| {
        let each = parameters.iter().map(|set| match &set.default {
            Some(default) => format!("{}={default}", set.name),
            None => set.name.clone(),
        });
        each.collect::<Vec<_>>().join(" ")
    };
    let parameters = questions
        .iter()
        .map(|question| parameters(&question.parameters));
    let names = questions.iter().map(|question| question.name);
    let titles = questions.iter().map(|question| question.title.as_str());
    show(
        [
            (
                "name",
                Arc::new(StringArray::from_iter_values(names)) as ArrayRef,
            ),
            ("question", Arc::new(StringArray::from_iter_values(titles))),
            (
                "parameters",
                Arc::new(StringArray::from_iter_values(parameters)),
            ),
        ],
        output,
    )
    .await
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
