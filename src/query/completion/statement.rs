//! What can stand in SQL.

use super::candidate::Candidate;
use super::tokens::{Kind, Token, tokens};
use super::vocabulary::{KEYWORDS, Vocabulary, is_keyword};

/// Keywords that a table follows.
const BEFORE_TABLES: [&str; 6] = ["from", "join", "into", "table", "describe", "update"];

/// What can stand in SQL: after a table's name and a point its columns, in quotes `files` that begin so, else names. With it the
/// word that was begun, at the end of `before`.
pub(crate) fn of_sql<'a>(
    words: &Vocabulary,
    line: &str,
    before: &'a str,
    files: impl FnOnce(&str) -> Vec<Candidate>,
) -> (&'a str, Vec<Candidate>) {
    let typed = tokens(before);
    let last = typed.last().copied();
    if let Some(open) = last.filter(|last| last.is_open) {
        let path = open.text.strip_prefix('\'').unwrap_or_default();
        return match open.kind {
            Kind::Text => (path, files(path)),
            _ => ("", Vec::new()),
        };
    }
    if last.is_some_and(|last| last.kind == Kind::Comment) {
        return ("", Vec::new());
    }
    let begun = last.filter(|last| last.kind == Kind::Word);
    let begun = begun.map_or("", |begun| begun.text);
    let start = before.len() - begun.len();
    let mut said = typed.iter().rev();
    let mut said = said
        .by_ref()
        .filter(|token| token.is_said() && token.end() <= start);
    let previous = said.next();
    if previous.is_some_and(|previous| previous.text == "." && previous.end() == start) {
        let name = said.next().and_then(Token::name).unwrap_or_default();
        return (begun_of(before, start), columns_of(words, line, &name));
    }
    let before_table = |previous: &Token<'_>| {
        let word = previous.text.to_ascii_lowercase();
        BEFORE_TABLES.contains(&word.as_str())
    };
    if previous.is_some_and(before_table) {
        let mut found = tables(words);
        found.extend(functions(words).filter(|found| found.value == "generate_series("));
        return (begun_of(before, start), found);
    }
    (begun_of(before, start), names(words, line, begun))
}

fn begun_of(before: &str, start: usize) -> &str {
    before.get(start..).unwrap_or_default()
}

pub(crate) fn tables(words: &Vocabulary) -> Vec<Candidate> {
    let tables = words.tables.iter();
    let tables = tables.map(|(name, known)| Candidate::new(name, &known.doc));
    tables.collect()
}

fn functions(words: &Vocabulary) -> impl Iterator<Item = Candidate> {
    let functions = words.functions.iter();
    functions.map(|(name, said)| Candidate::new(format!("{name}("), said))
}

/// Columns of the tables that the statement names, then keywords, functions, tables, and at last all other columns.
fn names(words: &Vocabulary, line: &str, begun: &str) -> Vec<Candidate> {
    let named = &named(words, line);
    let columns = |is_named: bool| {
        let tables = words.tables.iter();
        let tables = tables
            .filter(move |(name, _)| named.iter().any(|(table, _)| table == *name) == is_named);
        let columns = tables.flat_map(|(_, known)| known.columns.iter());
        let mut found: Vec<Candidate> = Vec::new();
        for column in columns {
            if found.iter().all(|known| known.value != column.name) {
                found.push(Candidate::new(&column.name, &column.doc));
            }
        }
        found
    };
    let mut found = columns(true);
    if begun.is_empty() {
        return found;
    }
    let keywords = KEYWORDS.iter();
    found.extend(keywords.map(|keyword| Candidate::new(*keyword, "").keyword()));
    found.extend(functions(words));
    found.extend(tables(words));
    for column in columns(false) {
        if found.iter().all(|known| known.value != column.value) {
            found.push(column);
        }
    }
    found
}

/// Columns of the table, or of the one that is called so in the statement.
fn columns_of(words: &Vocabulary, line: &str, name: &str) -> Vec<Candidate> {
    let named = named(words, line);
    let alias = named
        .iter()
        .find(|(_, alias)| alias.as_deref() == Some(name));
    let table = alias.map_or(name, |(table, _)| table);
    let known = words.tables.get(table);
    let columns = known.iter().flat_map(|known| known.columns.iter());
    columns
        .map(|column| Candidate::new(&column.name, &column.doc))
        .collect()
}

/// Tables that a statement names, and what it calls them.
fn named(words: &Vocabulary, line: &str) -> Vec<(String, Option<String>)> {
    let tokens = tokens(line);
    let said: Vec<&Token<'_>> = tokens.iter().filter(|token| token.is_said()).collect();
    let mut named = Vec::new();
    for (place, token) in said.iter().enumerate() {
        let Some(table) = token.name().filter(|name| words.tables.contains_key(name)) else {
            continue;
        };
        // `t.x` is a column.
        let mut after = said.iter().skip(place + 1);
        let next = after.next();
        if next.is_some_and(|next| next.text == ".") {
            continue;
        }
        let next = match next {
            Some(next) if next.text.eq_ignore_ascii_case("as") => after.next(),
            next => next,
        };
        let alias = next.filter(|next| !is_keyword(next.text));
        named.push((table, alias.and_then(|alias| alias.name())));
    }
    named
}
