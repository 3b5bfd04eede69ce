//! Execution of the commands of the shell.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use clap::ValueEnum as _;
use tsql_error::Error;
use tsql_schema as schema;

use super::super::describe::{self, Describe};
use super::super::outcome::Failure;
use super::super::output::show;
use super::super::printer::Format;
use super::super::stderr::print_message;
use super::super::stdout::stdout;
use super::super::{built_in_queries, queries};
use super::commands::{Action, COMMANDS, Command, bare, find_command, mode, parse, words};
use super::input_lines::{entries, is_command};
use super::run_query::{QueryRunner, list};
use super::settings::Settings;

/// Maximum depth of files that read other files.
const NESTED: usize = 16;

/// Continuation of the shell after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Leave,
}

/// Runs an entry: a command or SQL.
pub(super) async fn act(
    runner: &mut QueryRunner<'_>,
    settings: &mut Settings,
    entry: &str,
) -> Result<Then, Failure> {
    act_within(runner, settings, entry, 0).await
}

async fn act_within(
    runner: &mut QueryRunner<'_>,
    settings: &mut Settings,
    entry: &str,
    depth: usize,
) -> Result<Then, Failure> {
    if !is_command(entry) {
        runner.run(entry, settings).await?;
        return Ok(Then::GoOn);
    }
    let (command, arguments) = parse(bare(entry).unwrap_or(entry))?;
    match command.action {
        Action::Quit => return Ok(Then::Leave),
        Action::Read => return read(runner, settings, &path(command, arguments)?, depth).await,
        Action::Help => help(arguments)?,
        Action::Explain => explain(runner, settings, arguments).await?,
        Action::Queries => run_named_query(runner, settings, arguments).await?,
        Action::Tables => tables(runner, settings, arguments).await?,
        Action::Describe if arguments.is_empty() => tables(runner, settings, "").await?,
        Action::Describe => describe(runner, settings, arguments).await?,
        Action::Schema => columns(runner, settings, arguments).await?,
        Action::Once => settings.write_once(path(command, arguments)?),
        Action::Output if arguments.is_empty() => settings.write_to(None),
        Action::Output => settings.write_to(Some(path(command, arguments)?)),
        Action::Mode | Action::Timer | Action::MaxRows | Action::Vertical => {
            set(command, settings, arguments)?;
        }
    }
    Ok(Then::GoOn)
}

/// Returns the file in the arguments of a command.
fn path(command: &Command, arguments: &str) -> Result<PathBuf, Failure> {
    match words(arguments).as_slice() {
        [path] if !path.is_empty() => Ok(PathBuf::from(path)),
        _ => Err(usage(command)),
    }
}

fn usage(command: &Command) -> Failure {
    let (name, arguments) = (command.name, command.arguments);
    Failure::Usage(format!("expected `{name} {arguments}`"))
}

/// Runs a file; the first entry that fails ends it.
async fn read(
    runner: &mut QueryRunner<'_>,
    settings: &mut Settings,
    path: &Path,
    depth: usize,
) -> Result<Then, Failure> {
    if depth == NESTED {
        let path = path.display();
        let reason = format!("`{path}`: `.read` is nested more than {NESTED} files deep");
        return Err(Failure::Usage(reason));
    }
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    for entry in entries(&text) {
        let then = Box::pin(act_within(runner, settings, &entry, depth + 1)).await?;
        if then == Then::Leave {
            return Ok(Then::Leave);
        }
    }
    Ok(Then::GoOn)
}

fn help(arguments: &str) -> Result<(), Failure> {
    let found = find_command(arguments).or_else(|| find_command(&format!(".{arguments}")));
    let listed = match found {
        Some(command) => std::slice::from_ref(command),
        None if arguments.is_empty() => COMMANDS,
        None => {
            parse(arguments)?;
            COMMANDS
        }
    };
    let lines = listed.iter().map(|command| {
        let call = format!("{} {}", command.name, command.arguments);
        // A long call has its own line, so that it does not push all descriptions to the right.
        match call.len() {
            ..22 => format!("{call:<22} {}\n", command.doc),
            _ => format!("{call}\n{:22} {}\n", "", command.doc),
        }
    });
    let mut text: String = lines.collect();
    if found.is_none() {
        text += "SQL ends with `;` and may have many lines. Tab completes, Ctrl-R searches\n\
            the history, Ctrl-C ends a query or clears the line.\n";
    }
    let written = stdout().write_all(text.as_bytes());
    Ok(written.map_err(Error::io("standard output"))?)
}

async fn explain(
    runner: &mut QueryRunner<'_>,
    settings: &mut Settings,
    arguments: &str,
) -> Result<(), Failure> {
    let last = runner.last.clone();
    let sql = match (arguments, &last) {
        ("", Some(last)) => last.as_str(),
        ("", None) => {
            let reason = "there is no last query\nhint: .explain SELECT ...";
            return Err(Failure::Usage(reason.to_owned()));
        }
        (sql, _) => sql,
    };
    let explained = runner.run(&format!("EXPLAIN {sql}"), settings).await;
    runner.last = Some(sql.to_owned());
    explained
}

/// Lists the built-in queries, or runs one.
async fn run_named_query(
    runner: &mut QueryRunner<'_>,
    settings: &mut Settings,
    arguments: &str,
) -> Result<(), Failure> {
    let words = words(arguments);
    let Some((name, rest)) = words.split_first() else {
        let all = built_in_queries::all(runner.place)?;
        return list(settings, async |output| queries::list(&all, output).await).await;
    };
    let mut values = Vec::new();
    for word in rest {
        let set = word
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("expected PARAMETER=VALUE, found `{word}`")))?;
        values.push((set.0.to_owned(), set.1.to_owned()));
    }
    runner.run_named(name, &values, settings).await
}

/// Lists all tables and views that match, with their descriptions, whatever `.maxrows` is.
async fn tables(
    runner: &QueryRunner<'_>,
    settings: &mut Settings,
    pattern: &str,
) -> Result<(), Failure> {
    let wanted = glob::Pattern::new(&pattern.replace('%', "*"));
    let wanted = wanted
        .map_err(|error| Failure::Usage(format!("`{pattern}` is not a valid pattern: {error}")))?;
    let mut found: Vec<(String, String)> = runner.words.read(|words| {
        let tables = words.tables.iter();
        let tables = tables.filter(|(name, _)| pattern.is_empty() || wanted.matches(name));
        let tables = tables.map(|(name, known)| (name.clone(), known.doc.clone()));
        tables.collect()
    });
    found.sort_by(|(a, _), (b, _)| schema::list_order(a).cmp(&schema::list_order(b)));
    let names = found.iter().map(|(name, _)| name.as_str());
    let docs = found.iter().map(|(_, doc)| doc.as_str());
    let columns: [(&str, ArrayRef); 2] = [
        ("table", Arc::new(StringArray::from_iter_values(names))),
        ("doc", Arc::new(StringArray::from_iter_values(docs))),
    ];
    let max_rows = settings.max_rows.take();
    let listed = list(settings, async |output| show(columns, output).await).await;
    settings.max_rows = max_rows;
    listed
}

/// Describes the columns of a table of the store, or lists the columns of another table.
async fn describe(
    runner: &QueryRunner<'_>,
    settings: &mut Settings,
    table: &str,
) -> Result<(), Failure> {
    let table = table.trim_matches('"');
    if schema::relation(table).is_none() {
        return columns(runner, settings, table).await;
    }
    let place = runner.place;
    let table = table.to_owned();
    list(settings, async move |output| {
        let output = output.clone();
        let table = Some(table);
        let described = Describe {
            table,
            function: None,
            all: false,
            output,
        };
        describe::run(place, described).await
    })
    .await
}

/// Lists the columns of all tables, or of one.
async fn columns(
    runner: &QueryRunner<'_>,
    settings: &mut Settings,
    table: &str,
) -> Result<(), Failure> {
    let table = table.trim_matches('"');
    let (mut tables, mut names, mut types) = (Vec::new(), Vec::new(), Vec::new());
    let known: Vec<String> = runner
        .words
        .read(|words| words.tables.keys().cloned().collect());
    for own in known.iter().filter(|own| table.is_empty() || *own == table) {
        let provider = runner.session.context().table_provider(own.as_str()).await;
        let schema = provider.map_err(Error::Query)?.schema();
        for field in schema.fields() {
            tables.push(own.clone());
            names.push(field.name().clone());
            types.push(field.data_type().to_string());
        }
    }
    if tables.is_empty() && !table.is_empty() {
        return Err(Failure::Library(Error::Unknown {
            kind: "table",
            name: table.to_owned(),
            known: known.join(", "),
        }));
    }
    let text = |texts: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
    let columns = [
        ("table", text(tables)),
        ("column", text(names)),
        ("type", text(types)),
    ];
    list(settings, async |output| show(columns, output).await).await
}

/// Changes a setting of results, or prints it.
fn set(command: &Command, settings: &mut Settings, word: &str) -> Result<(), Failure> {
    match command.action {
        Action::Mode if word.is_empty() => {
            let shown = settings.show().to_possible_value();
            print_message(shown.as_ref().map_or("", |shown| shown.get_name()));
        }
        Action::Mode => {
            let format = Format::from_str(mode(word), true);
            settings.mode = Some(format.map_err(|_| no_mode(word))?);
        }
        // As in psql, `\timing` without an argument toggles the setting.
        Action::Timer if command.name.starts_with('\\') && word.is_empty() => {
            settings.timer = !settings.timer;
            print_message(if settings.timer { "on" } else { "off" });
        }
        Action::Timer => match word {
            "" => print_message(if settings.timer { "on" } else { "off" }),
            "on" => settings.timer = true,
            "off" => settings.timer = false,
            _ => return Err(usage(command)),
        },
        Action::Vertical => {
            let is_vertical = settings.show() == Format::Vertical;
            settings.mode = match word {
                "" if is_vertical => None,
                "on" | "" => Some(Format::Vertical),
                "off" => None,
                _ => return Err(usage(command)),
            };
        }
        _ => match (word, word.parse::<usize>()) {
            ("", _) => print_message(
                &settings
                    .max_rows
                    .map_or("all".to_owned(), |rows| rows.to_string()),
            ),
            ("all", _) | (_, Ok(0)) => settings.max_rows = None,
            (_, Ok(rows)) => settings.max_rows = Some(rows),
            _ => return Err(usage(command)),
        },
    }
    Ok(())
}

fn no_mode(word: &str) -> Failure {
    let formats = Format::value_variants().iter();
    let formats = formats.filter_map(|format| format.to_possible_value());
    let names: Vec<String> = formats.map(|format| format.get_name().to_owned()).collect();
    let names = names.join(", ");
    Failure::Usage(format!("no format `{word}`, expected one of {names}"))
}
