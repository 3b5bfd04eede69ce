//! Completion of the commands of the shell.

use clap::ValueEnum as _;
use tsql_dialect::completion::{Candidate, Vocabulary, complete_sql, table_candidates};
use tsql_session::built_in_queries;

use super::super::commands::{self, COMMANDS, Takes};
use super::files;
use crate::printer::Format;

/// Returns the last word of a text; empty after a space.
fn partial_command(before: &str) -> &str {
    before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default()
}

/// Completes the name of a command, then its arguments. Returns the typed beginning, and the candidates.
pub(super) fn of_command<'a>(words: &Vocabulary, before: &'a str) -> (&'a str, Vec<Candidate>) {
    let text = before.trim_start();
    let Some((name, rest)) = text.split_once(char::is_whitespace) else {
        let all = COMMANDS.iter().map(|command| {
            let candidate = Candidate::new(command.name, command.doc);
            match command.takes {
                Takes::Nothing => candidate,
                _ => candidate.with_space(),
            }
        });
        return (text, all.collect());
    };
    let listed = |values: &[&str]| {
        values
            .iter()
            .map(|value| Candidate::new(*value, ""))
            .collect()
    };
    let takes = commands::find_command(name).map_or(Takes::Nothing, |command| command.takes);
    match takes {
        Takes::Nothing => ("", Vec::new()),
        Takes::Rows => (partial_command(rest), listed(&["all"])),
        Takes::Switch => (partial_command(rest), listed(&["on", "off"])),
        Takes::Table => (partial_command(rest), table_candidates(words)),
        Takes::Sql => complete_sql(words, rest, rest, files::quote),
        Takes::Question => complete_named_query(rest),
        Takes::File => {
            let path = rest.trim_start_matches(['\'', '"']);
            (path, files::beginning_with(path))
        }
        Takes::Command => {
            let commands = COMMANDS.iter();
            let named = commands.map(|command| Candidate::new(command.name, command.doc));
            (partial_command(rest), named.collect())
        }
        Takes::Mode => (partial_command(rest), modes()),
    }
}

fn modes() -> Vec<Candidate> {
    let formats = Format::value_variants().iter();
    let formats = formats.filter_map(|format| format.to_possible_value());
    let named = formats.map(|format| {
        let help = format.get_help().map(ToString::to_string);
        Candidate::new(format.get_name(), &help.unwrap_or_default())
    });
    named.collect()
}

/// Completes the name of a built-in query, then its parameters and files.
fn complete_named_query(rest: &str) -> (&str, Vec<Candidate>) {
    let queries = built_in_queries();
    let Some((name, _)) = rest.trim_start().split_once(char::is_whitespace) else {
        let named = queries
            .iter()
            .map(|query| Candidate::new(&query.name, &query.title).with_space());
        return (rest.trim_start(), named.collect());
    };
    let query = queries.into_iter().find(|query| query.name == name);
    let prefix = partial_command(rest);
    if let Some((_, path)) = prefix.split_once('=') {
        return (path, files::beginning_with(path));
    }
    let parameters = query.iter().flat_map(|query| {
        let parameters = query.parameters.iter();
        let parameters = parameters.map(|set| Candidate::new(format!("{}=", set.name), &set.doc));
        let files = query.files.iter();
        let files = files.map(|(name, doc)| Candidate::new(format!("{name}="), doc));
        parameters.chain(files)
    });
    (prefix, parameters.collect())
}
