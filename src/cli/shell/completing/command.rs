//! What can stand in a command of the shell.

use clap::ValueEnum as _;

use super::super::commands::{self, COMMANDS, Takes};
use super::files;
use crate::cli::printer::Format;
use crate::query::built_in_queries;
use crate::query::completion::{Candidate, Vocabulary, complete_sql, table_candidates};

/// The word that a text ends with.
fn partial_command(before: &str) -> &str {
    before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default()
}

/// Names of commands, then what each takes.
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
        Takes::Question => question(rest),
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

/// A ready-made question, then its parameters and files.
fn question(rest: &str) -> (&str, Vec<Candidate>) {
    let questions = built_in_queries();
    let Some((name, _)) = rest.trim_start().split_once(char::is_whitespace) else {
        let named = questions
            .iter()
            .map(|question| Candidate::new(&question.name, &question.title).with_space());
        return (rest.trim_start(), named.collect());
    };
    let asked = questions.into_iter().find(|question| question.name == name);
    let begun = partial_command(rest);
    if let Some((_, path)) = begun.split_once('=') {
        return (path, files::beginning_with(path));
    }
    let parameters = asked.iter().flat_map(|question| {
        let parameters = question.parameters.iter();
        let parameters = parameters.map(|set| Candidate::new(format!("{}=", set.name), &set.doc));
        let files = question.files.iter();
        let files = files.map(|(name, doc)| Candidate::new(format!("{name}="), doc));
        parameters.chain(files)
    });
    (begun, parameters.collect())
}
