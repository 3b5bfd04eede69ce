//! Assignments `NAME=VALUE` on the command line.

/// Parses `NAME=VALUE`; the value stays unchanged.
pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
