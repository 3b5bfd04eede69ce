//! `tsql functions`: lists and describes the SQL functions.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use clap::Args;
use tsql_error::Error;
use tsql_session::{Function, functions};

use super::outcome::Failure;
use super::output::{Output, show};

/// List the SQL functions, or search them
///
/// Functions of tsql come first, then DataFusion's. With the name of a function, describes it; with another word, lists
/// the functions with that word in their name or description.
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
    let text = |get: fn(&Function) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(functions.iter().map(get)))
    };
    show(
        [
            ("function", text(|function| &function.call)),
            ("kind", text(|function| function.kind.word())),
            ("origin", text(origin)),
            ("doc", text(|function| &function.doc)),
        ],
        output,
    )
    .await
}

fn origin(function: &Function) -> &str {
    if function.is_tsql {
        "tsql"
    } else {
        "DataFusion"
    }
}

/// Prints the description of a function.
pub(super) async fn explain(function: &Function, output: &Output) -> Result<u8, Failure> {
    let aliases = function.aliases.join(", ");
    let mut fields = vec![
        ("function", function.call.as_str()),
        ("kind", function.kind.word()),
        ("origin", origin(function)),
        ("doc", &function.doc),
    ];
    let arguments = function.arguments.iter();
    fields.extend(arguments.map(|(name, meaning)| (name.as_str(), meaning.as_str())));
    fields.extend([
        ("also called", aliases.as_str()),
        ("example", &function.example),
    ]);
    let elements = function.elements.iter().flat_map(|elements| {
        let names = elements.names.iter().enumerate();
        names.map(|(index, name)| (format!("{}[{index}]", elements.argument_value), name))
    });
    let elements: Vec<(String, &String)> = elements.collect();
    fields.extend(
        elements
            .iter()
            .map(|(element, name)| (element.as_str(), name.as_str())),
    );
    fields.retain(|(_, text)| !text.is_empty());
    let (names, texts): (Vec<&str>, Vec<&str>) = fields.into_iter().unzip();
    show(
        [
            ("field", Arc::new(StringArray::from(names)) as ArrayRef),
            ("text", Arc::new(StringArray::from(texts))),
        ],
        output,
    )
    .await
}
