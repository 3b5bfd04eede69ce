//! Safe output of external text: without terminal control characters, and without secrets.
//!
//! Names of files, platforms and tags may contain anything. All output for people passes through
//! [`escape_control_characters`]. All locations, such as those in errors, pass through [`redact_urls`].

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes control characters and bidirectional overrides as `\u{1b}`. Keeps line feeds and tabs.
pub fn escape_control_characters(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe_character) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_unsafe_character(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

fn is_unsafe_character(character: char) -> bool {
    let turns = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (character.is_control() && !matches!(character, '\n' | '\t'))
}

/// Replacement of a secret.
const HIDDEN: &str = "***";

/// Keys of URL queries whose values are shown: parameters of S3 requests.
const HARMLESS: [&str; 8] = [
    "delimiter",
    "list-type",
    "max-keys",
    "partNumber",
    "prefix",
    "start-after",
    "uploads",
    "versionId",
];

/// Replaces the user, password and query values of each URL by `***` (`?sig=...`, `?X-Amz-Signature=...`). Values of
/// known harmless keys stay.
pub fn redact_urls(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find(|c: char| c.is_whitespace() || c.is_control() || "\"'`<>".contains(c));
        let (url, behind) = after.split_at(end.unwrap_or(after.len()));
        let (place, query) = url
            .split_once('?')
            .map_or((url, None), |(place, query)| (place, Some(query)));
        let (server, path) = place.split_at(place.find('/').unwrap_or(place.len()));
        match server.rsplit_once('@') {
            Some((_, server)) => {
                let _ = write!(shown, "{HIDDEN}@{server}");
            }
            None => shown.push_str(server),
        }
        shown.push_str(path);
        if let Some(query) = query {
            shown.push('?');
            shown.push_str(&redact_query_values(query));
        }
        rest = behind;
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

fn redact_query_values(query: &str) -> String {
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((key, value)) if !HARMLESS.contains(&key) && !value.is_empty() => {
            format!("{key}={HIDDEN}")
        }
        _ => pair.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_steers_a_terminal_is_escaped() {
        for plain in ["", "größe/日本.json: é", "a\tb\nc", "🦀"] {
            assert!(
                matches!(escape_control_characters(plain), Cow::Borrowed(same) if same == plain)
            );
        }
        assert_eq!(
            escape_control_characters("a\u{1b}]0;x\u{7}b"),
            "a\\u{1b}]0;x\\u{7}b"
        );
        assert_eq!(
            escape_control_characters("\u{9b}2J\r\0\u{7f}"),
            "\\u{9b}2J\\u{d}\\u{0}\\u{7f}"
        );
        assert_eq!(
            escape_control_characters("gpj.\u{202e}exe"),
            "gpj.\\u{202e}exe"
        );
    }

    #[test]
    fn no_secret_of_a_url_is_shown() {
        for (text, shown) in [
            ("https://h/a/b.json: gone", "https://h/a/b.json: gone"),
            (
                "`https://h/f?sig=SECRET&se=2026`: no",
                "`https://h/f?sig=***&se=***`: no",
            ),
            (
                "GET https://b.s3/k?X-Amz-Signature=SECRET)",
                "GET https://b.s3/k?X-Amz-Signature=***",
            ),
            ("s3://KEY:SECRET@bucket/x", "s3://***@bucket/x"),
            (
                "https://user@h?a=S b http://x:S@y/z",
                "https://***@h?a=*** b http://***@y/z",
            ),
            ("https://u:p@ss/w@h/x", "https://***@ss/w@h/x"),
            (
                "http://h/b?list-type=2&prefix=x%2F",
                "http://h/b?list-type=2&prefix=x%2F",
            ),
            ("s3://bucket/log?.json", "s3://bucket/log?.json"),
            ("no URL: a=b?c=d", "no URL: a=b?c=d"),
        ] {
            assert_eq!(redact_urls(text), shown);
        }
    }
}
