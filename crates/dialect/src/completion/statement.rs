//! Completion of SQL.

use super::candidate::Candidate;
use super::tokens::{Token, TokenKind, tokenize};
use super::vocabulary::{KEYWORDS, Vocabulary, is_keyword};

/// Keywords that are followed by a table name.
const TABLE_KEYWORDS: [&str; 6] = ["from", "join", "into", "table", "describe", "update"];

/// Returns the candidates at the end of `before`, and the unfinished word that they replace.
///
/// After a table name and a dot these are the columns of the table. Inside quotes they are the `files` with the typed
/// prefix. Elsewhere they are names and keywords.
pub fn complete_sql<'a>(
    words: &Vocabulary,
    line: &str,
    before: &'a str,
    files: impl FnOnce(&str) -> Vec<Candidate>,
) -> (&'a str, Vec<Candidate>) {
    let typed = tokenize(before);
    let last = typed.last().copied();
    if let Some(open) = last.filter(|last| last.is_open) {
        let path = open.text.strip_prefix('\'').unwrap_or_default();
        return match open.kind {
            TokenKind::Text => (path, files(path)),
            _ => ("", Vec::new()),
        };
    }
    if last.is_some_and(|last| last.kind == TokenKind::Comment) {
        return ("", Vec::new());
    }
    let begun = last.filter(|last| last.kind == TokenKind::Word);
    let begun = begun.map_or("", |begun| begun.text);
    let start = before.len() - begun.len();
    let mut said = typed.iter().rev();
    let mut said = said
        .by_ref()
        .filter(|token| token.is_significant() && token.end() <= start);
    let previous = said.next();
    if previous.is_some_and(|previous| previous.text == "." && previous.end() == start) {
        let name = said.next().and_then(Token::identifier).unwrap_or_default();
        return (
            unfinished_name(before, start),
            column_candidates(words, line, &name),
        );
    }
    let before_table = |previous: &Token<'_>| {
        let word = previous.text.to_ascii_lowercase();
        TABLE_KEYWORDS.contains(&word.as_str())
    };
    if previous.is_some_and(before_table) {
        let mut found = table_candidates(words);
        found.extend(function_candidates(words).filter(|found| found.value == "generate_series("));
        return (unfinished_name(before, start), found);
    }
    (
        unfinished_name(before, start),
        name_candidates(words, line, begun),
    )
}

fn unfinished_name(before: &str, start: usize) -> &str {
    before.get(start..).unwrap_or_default()
}

/// Returns all tables and views.
pub fn table_candidates(words: &Vocabulary) -> Vec<Candidate> {
    let tables = words.tables.iter();
    let tables = tables.map(|(name, known)| Candidate::new(name, &known.doc));
    tables.collect()
}

fn function_candidates(words: &Vocabulary) -> impl Iterator<Item = Candidate> {
    let functions = words.functions.iter();
    functions.map(|(name, said)| Candidate::new(format!("{name}("), said))
}

/// Returns the columns of the referenced tables, then keywords, functions, tables, and last the columns of all other
/// tables.
fn name_candidates(words: &Vocabulary, line: &str, begun: &str) -> Vec<Candidate> {
    let named = &referenced_tables(words, line);
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
    found.extend(keywords.map(|keyword| Candidate::new(*keyword, "").with_keyword()));
    found.extend(function_candidates(words));
    found.extend(table_candidates(words));
    for column in columns(false) {
        if found.iter().all(|known| known.value != column.value) {
            found.push(column);
        }
    }
    found
}

/// Columns of a table, given by its name or by its alias in the statement.
fn column_candidates(words: &Vocabulary, line: &str, name: &str) -> Vec<Candidate> {
    let named = referenced_tables(words, line);
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

/// Tables that a statement references, each with its alias.
fn referenced_tables(words: &Vocabulary, line: &str) -> Vec<(String, Option<String>)> {
    let tokens = tokenize(line);
    let said: Vec<&Token<'_>> = tokens
        .iter()
        .filter(|token| token.is_significant())
        .collect();
    let mut named = Vec::new();
    for (place, token) in said.iter().enumerate() {
        let Some(table) = token
            .identifier()
            .filter(|name| words.tables.contains_key(name))
        else {
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
        named.push((table, alias.and_then(|alias| alias.identifier())));
    }
    named
}
