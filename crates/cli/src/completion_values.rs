//! Values for shell completion: names that tsql knows, and names in a local store.
//!
//! The user waits after pressing Tab, so no server is queried, and a local store only for a limited time.

use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use tsql_dataset::demo::create_demo;
use tsql_dataset::platforms::FACTS;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_session as query;
use tsql_session::{built_in_queries, built_in_query};
use tsql_store::Store;

/// Maximum time of a query to the store.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Variable that names a store.
const VARIABLE: &str = "TSQL_STORE";

/// A name and its description.
type Named = (String, String);

/// Completes tables and views.
pub(super) fn tables() -> ArgValueCompleter {
    completer(|_| {
        let all = schema::relations().into_iter().flatten();
        let all = all.map(|relation| (relation.name.to_owned(), relation.doc.to_owned()));
        all.collect()
    })
}

/// Completes built-in queries.
pub(super) fn query_names() -> ArgValueCompleter {
    completer(|_| {
        let queries = built_in_queries().into_iter();
        let named = queries.map(|query| (query.name, query.title));
        named.collect()
    })
}

/// Completes parameters of the built-in query on the command line, and platforms after `=`.
pub(super) fn parameters() -> ArgValueCompleter {
    completer(|current| {
        let query = words().iter().find_map(|word| built_in_query(word).ok());
        let Some(query) = query else {
            return Vec::new();
        };
        let is_platform = |name: &str| {
            let mut parameters = query.parameters.iter();
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
        let parameters = query.parameters.iter();
        let parameters = parameters.map(|set| (format!("{}=", set.name), set.doc.clone()));
        let files = query.files.iter();
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

/// Completes facts of platforms.
pub(super) fn platform_facts() -> ArgValueCompleter {
    completer(|_| {
        let view = schema::relation("platforms");
        let columns = view.into_iter().flat_map(|view| view.columns);
        let named = columns.map(|column| (column.name.clone(), column.doc.clone()));
        let is_fact = |(name, _): &Named| FACTS.iter().any(|fact| fact.name == name);
        named.filter(is_fact).collect()
    })
}

/// Completes tags of the store.
pub(super) fn tags() -> ArgValueCompleter {
    completer(|_| {
        query_store(async |store| {
            let tags = store.tags().await?.into_iter();
            let named = tags.map(|tag| (tag.name, tag.note.unwrap_or_default()));
            Ok(named.collect())
        })
    })
}

fn platforms_of_store() -> Vec<Named> {
    query_store(async |store| {
        let platforms = query::platforms(&store).await?.into_iter();
        let named = platforms.map(|platform| (platform, String::new()));
        Ok(named.collect())
    })
}

/// Returns a completer that suggests the names with the typed prefix.
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

/// Returns the words of the command line to complete.
fn words() -> Vec<String> {
    let words = std::env::args_os().skip_while(|word| word != "--");
    let words = words.skip(1).filter_map(|word| word.into_string().ok());
    words.collect()
}

/// Returns the location of the store that a command line selects; `None` for the sample.
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

/// Queries the store that the command line selects. Returns nothing if the store is remote, fails or takes too long.
fn query_store(query: impl AsyncFnOnce(Store) -> Result<Vec<Named>>) -> Vec<Named> {
    let names = async {
        let store = match location(&words())? {
            None => create_demo().await?,
            Some(location) if location.contains("://") => return Err(Error::NoStore),
            Some(location) => Store::open(&location).await?,
        };
        query(store).await
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return Vec::new();
    };
    let found = runtime.block_on(async { tokio::time::timeout(TIMEOUT, names).await });
    runtime.shutdown_background();
    found.ok().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_a_command_line_is_found_among_its_words() {
        let location_of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            location(&words).unwrap()
        };
        assert_eq!(location_of("tsql --sample queries x --set"), None);
        assert_eq!(location_of("tsql queries --store a/b x").unwrap(), "a/b");
        assert_eq!(location_of("tsql --store=s3://b --at v").unwrap(), "s3://b");
    }
}
