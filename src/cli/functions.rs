//! `tsql functions`: the functions that SQL has here and nowhere else.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use clap::Args;

use super::outcome::Failure;
use super::output::{Output, show};
use crate::query::{Function, function, functions};

/// List the SQL functions of tsql, or explain one
///
/// Those of DataFusion, which there are too, are listed by `tsql "SHOW FUNCTIONS"`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql functions\n  tsql functions top_k_error")]
pub(super) struct Functions {
    /// The function to explain
    #[arg(value_name = "NAME", add = super::known::functions())]
    name: Option<String>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(command: Functions) -> Result<u8, Failure> {
    match &command.name {
        Some(name) => explain(&function(name)?, &command.output).await,
        None => list(&command.output).await,
    }
}

async fn list(output: &Output) -> Result<u8, Failure> {
    let functions = functions();
    let kind = |function: &Function| {
        if function.is_aggregate {
            "aggregate"
        } else {
            "scalar"
        }
    };
    let calls = functions.iter().map(|function| function.call.as_str());
    let docs = functions.iter().map(|function| function.doc.as_str());
    let kinds = functions.iter().map(kind);
    show(
        [
            (
                "function",
                Arc::new(StringArray::from_iter_values(calls)) as ArrayRef,
            ),
            ("kind", Arc::new(StringArray::from_iter_values(kinds))),
            ("doc", Arc::new(StringArray::from_iter_values(docs))),
        ],
        output,
    )
    .await
}

async fn explain(function: &Function, output: &Output) -> Result<u8, Failure> {
    let mut parts = vec![("function", &function.call), ("doc", &function.doc)];
    let arguments = function.arguments.iter();
    parts.extend(arguments.map(|(name, meaning)| (name.as_str(), meaning)));
    parts.push(("example", &function.example));
    let (names, texts): (Vec<&str>, Vec<&str>) = parts
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .unzip();
    show(
        [
            ("part", Arc::new(StringArray::from(names)) as ArrayRef),
            ("text", Arc::new(StringArray::from(texts))),
        ],
        output,
    )
    .await
}
