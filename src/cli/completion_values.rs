//! Values that a shell can complete: what this program knows, and what the store on this machine has.
//!
//! Whoever presses Tab waits, so no server is asked, and no store for longer than a moment.

use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::error::{Error, Result};
use crate::query::{self, built_in_queries, built_in_query};
use crate::schema;
use crate::store::Store;

/// How long a store may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Variable that names a store.
const VARIABLE: &str = "TSQL_STORE";

/// A name and what it is.
type Named = (String, String);

/// Completes tables and views.
pub(super) fn tables() -> ArgValueCompleter {
    completer(|_| {
        let all = schema::relations().into_iter().flatten();
        let all = all.map(|relation| (relation.name.to_owned(), relation.doc.to_owned()));
        all.collect()
    })
}

/// Completes ready-made questions.
pub(super) fn question_names() -> ArgValueCompleter {
    completer(|_| {
        let questions = built_in_queries().into_iter();
        let named = questions.map(|question| (question.name, question.title));
        named.collect()
    })
}

/// Completes parameters of the question that the command line names, and platforms after `=`.
pub(super) fn parameters() -> ArgValueCompleter {
    completer(|current| {
        let asked = words().iter().find_map(|word| built_in_query(word).ok());
        let Some(asked) = asked else {
            return Vec::new();
        };
        let is_platform = |name: &str| {
            let mut parameters = asked.parameters.iter();
            parameters.any(|parameter| parameter.name == name && parameter.default.is_none())
        };
        if let Some((name, _)) = current.split_once('=') {
            let platforms = if is_platform(name) {
                platforms_of_store()
            } else {
                Vec::new()
            };
            let set = |platform: Named| (format!("{name}={}", platform.0), platform.1);
            return platforms.into_iter().map(set).collect();
        }
        let parameters = asked.parameters.iter();
        let parameters = parameters.map(|set| (format!("{}=", set.name), set.doc.clone()));
        let files = asked.files.iter();
        let files = files.map(|(name, doc)| (format!("{name}="), doc.clone()));
        parameters.chain(files).collect()
    })
}

/// Completes SQL functions of tsql.
pub(super) fn functions() -> ArgValueCompleter {
    completer(|_| {
        let functions = query::functions().into_iter();
        let named = functions.map(|function| (function.name, function.call));
        named.collect()
    })
}

/// Completes platforms of the store.
pub(super) fn platforms() -> ArgValueCompleter {
    completer(|_| platforms_of_store())
}

/// Completes tags of the store.
pub(super) fn tags() -> ArgValueCompleter {
    completer(|_| {
        of_store(async |store| {
            let tags = store.tags().await?.into_iter();
            let named = tags.map(|tag| (tag.name, tag.note.unwrap_or_default()));
            Ok(named.collect())
        })
    })
}

fn platforms_of_store() -> Vec<Named> {
    of_store(async |store| {
        let platforms = query::platforms(&store).await?.into_iter();
        let named = platforms.map(|platform| (platform, String::new()));
        Ok(named.collect())
    })
}

/// Suggests what begins with what was typed.
fn completer(all: impl Fn(&str) -> Vec<Named> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let Some(current) = current.to_str() else {
            return Vec::new();
        };
        let mut found = all(current);
        found.retain(|(name, _)| name.starts_with(current));
        let candidates = found.into_iter().map(|(name, doc)| {
            let doc = doc.lines().next().map(str::to_owned);
            let doc = doc.filter(|doc| !doc.is_empty());
            CompletionCandidate::new(name).help(doc.map(Into::into))
        });
        candidates.collect::<Vec<_>>()
    })
}

/// The words of the command line that is completed.
fn words() -> Vec<String> {
    let words = std::env::args_os().skip_while(|word| word != "--");
    let words = words.skip(1).filter_map(|word| word.into_string().ok());
    words.collect()
}

/// The store that the words of a command line mean; `None` for the sample.
fn location(words: &[String]) -> Result<Option<String>> {
    let mut words = words.iter().skip(1);
    let mut named = std::env::var(VARIABLE).ok();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some(("--store", store)) => named = Some(store.to_owned()),
            _ if word == "--store" => named = words.next().cloned(),
            _ if word == "--sample" => return Ok(None),
            _ => {}
        }
    }
    let near = || Store::discover()?.ok_or(Error::NoStore);
    named.map_or_else(near, Ok).map(Some)
}

/// Asks the store that the command line means; nothing where it is not on this machine, or does not answer.
fn of_store(ask: impl AsyncFnOnce(Store) -> Result<Vec<Named>>) -> Vec<Named> {
    let asked = async {
        let store = match location(&words())? {
            None => Store::demo().await?,
            Some(location) if location.contains("://") => return Err(Error::NoStore),
            Some(location) => Store::open(&location).await?,
        };
        ask(store).await
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return Vec::new();
    };
    let found = runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
    runtime.shutdown_background();
    found.ok().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_a_command_line_is_told_from_its_other_words() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            location(&words).unwrap()
        };
        assert_eq!(of("tsql --sample queries x --set"), None);
        assert_eq!(of("tsql queries --store a/b x").unwrap(), "a/b");
        assert_eq!(of("tsql --store=s3://b --at v").unwrap(), "s3://b");
    }
}
