//! Words that were typed for a command, and are none.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::error::ErrorKind;

use super::Cli;
use crate::error::nearest;

/// A single word is a mistyped command, not SQL.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

/// What is said of a word that is no command.
pub(super) fn no_command(word: &str) -> String {
    let commands = Cli::command();
    let names = commands.get_subcommands().map(clap::Command::get_name);
    let meant = nearest(word, names);
    let hint = meant.map_or_else(
        || "`tsql --help` lists the commands; a query goes in quotes".to_owned(),
        |meant| format!("did you mean `tsql {meant}`?"),
    );
    format!("no command `{word}`\nhint: {hint}")
}

/// Was a command mistyped (`tsql ingst logs`), so that what follows it could not be read?
pub(super) fn command(error: &clap::Error, args: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let commands = Cli::command();
    let first = first_word(&commands, args)?;
    let is_known = commands.find_subcommand(first).is_some();
    (!is_known && is_word(first)).then(|| no_command(first))
}

/// The first word that is neither an option nor the value of one.
fn first_word<'a>(commands: &clap::Command, args: &'a [OsString]) -> Option<&'a str> {
    let mut words = args.iter().skip(1).map_while(|word| word.to_str());
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            return Some(word);
        }
        let is_meant = |option: &&clap::Arg| {
            let long = option.get_long().map(|name| format!("--{name}"));
            let short = option.get_short().map(|name| format!("-{name}"));
            long.as_deref() == Some(word) || short.as_deref() == Some(word)
        };
        let option = commands.get_arguments().find(is_meant);
        if option.is_some_and(|option| option.get_action().takes_values()) {
            words.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn meant(words: &[&str]) -> Option<String> {
        let args: Vec<OsString> = words.iter().map(OsString::from).collect();
        let error = Cli::try_parse_from(&args).err()?;
        command(&error, &args)
    }

    #[test]
    fn a_mistyped_command_is_told_from_a_mistyped_option() {
        let told = meant(&["tsql", "ingst", "logs"]).unwrap();
        assert!(
            told.contains("`ingst`") && told.contains("`tsql ingest`"),
            "{told}"
        );
        let told = meant(&["tsql", "--store", "x", "ingst", "logs"]).unwrap();
        assert!(told.contains("`ingst`"), "{told}");
        assert_eq!(meant(&["tsql", "ingest", "logs", "--platfrom", "x"]), None);
        assert_eq!(meant(&["tsql", "SELECT 1", "logs"]), None);
    }
}
