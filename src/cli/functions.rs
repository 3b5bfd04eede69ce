//! `tsql functions`: the functions that SQL has here, and what each of them is.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use clap::Args;

use super::outcome::Failure;
use super::output::{Output, show};
use crate::error::Error;
use crate::query::{Function, functions};

/// List the SQL functions, or search them
///
/// Functions of tsql come first, then DataFusion's. With the name of a function, describes it; with another word, lists the
/// functions with that word in their name or description.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tsql functions\n  tsql functions median\n  tsql functions top_k_error"
)]
pub(super) struct Functions {
    /// Function, or word to search for
    #[arg(value_name = "WORD", add = super::completion_values::functions())]
    word: Option<String>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(command: Functions) -> Result<u8, Failure> {
    let functions = functions();
    let Some(word) = &command.word else {
        return list(&functions, &command.output).await;
    };
    let named = |function: &&Function| {
        function.name == *word || function.aliases.iter().any(|alias| alias == word)
    };
    if let Some(function) = functions.iter().find(named) {
        return explain(function, &command.output).await;
    }
    let found: Vec<Function> = functions
        .into_iter()
        .filter(|one| one.mentions(word))
        .collect();
    if found.is_empty() {
        let reason = format!(
            "no function has `{word}` in its name or description\nhint: `tsql functions` lists all"
        );
        return Err(Error::Empty(reason).into());
    }
    list(&found, &command.output).await
}

async fn list(functions: &[Function], output: &Output) -> Result<u8, Failure> {
    let text = |of: fn(&Function) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(functions.iter().map(of)))
    };
    show(
        [
            ("function", text(|function| &function.call)),
            ("kind", text(|function| function.kind.word())),
            ("of", text(whose)),
            ("doc", text(|function| &function.doc)),
        ],
        output,
    )
    .await
}

fn whose(function: &Function) -> &str {
    if function.is_ours {
        "tsql"
    } else {
        "DataFusion"
    }
}

/// Prints what is said of a function.
pub(super) async fn explain(function: &Function, output: &Output) -> Result<u8, Failure> {
    let aliases = function.aliases.join(", ");
    let mut parts = vec![
        ("function", function.call.as_str()),
        ("kind", function.kind.word()),
        ("of", whose(function)),
        ("doc", &function.doc),
    ];
    let arguments = function.arguments.iter();
    parts.extend(arguments.map(|(name, meaning)| (name.as_str(), meaning.as_str())));
    parts.extend([
        ("also called", aliases.as_str()),
        ("example", &function.example),
    ]);
    let elements = function.elements.iter().flat_map(|elements| {
        let places = elements.names.iter().enumerate();
        places.map(|(place, name)| (format!("{}[{place}]", elements.of), name))
    });
    let elements: Vec<(String, &String)> = elements.collect();
    parts.extend(
        elements
            .iter()
            .map(|(place, name)| (place.as_str(), name.as_str())),
    );
    parts.retain(|(_, text)| !text.is_empty());
    let (names, texts): (Vec<&str>, Vec<&str>) = parts.into_iter().unzip();
    show(
        [
            ("part", Arc::new(StringArray::from(names)) as ArrayRef),
            ("text", Arc::new(StringArray::from(texts))),
        ],
        output,
    )
    .await
}
