//! Words that were typed for a command, and are none.

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::Command;
use clap::error::ErrorKind;

use crate::error::nearest;

/// A single word is a mistyped command, not SQL.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

/// The commands that there are.
static COMMANDS: OnceLock<fn() -> Command> = OnceLock::new();

/// Makes them known; the first call counts.
pub(super) fn know(commands: fn() -> Command) {
    COMMANDS.get_or_init(|| commands);
}

fn commands() -> Command {
    COMMANDS
        .get()
        .map_or_else(Command::default, |commands| commands())
}

/// What is said of a word that is no command.
pub(super) fn no_command(word: &str) -> String {
    let commands = commands();
    let names = commands.get_subcommands().map(Command::get_name);
    let meant = nearest(word, names);
    let hint = meant.map_or_else(
        || "`tsql --help` lists the commands; a query goes in quotes".to_owned(),
        |meant| format!("did you mean `tsql {meant}`?"),
    );
    format!("no command `{word}`\nhint: {hint}")
}

/// Was a command mistyped (`tsql ingst logs`), so that what follows it could not be read?
pub(super) fn command(kind: ErrorKind, args: &[OsString]) -> Option<String> {
    if !matches!(
        kind,
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand
    ) {
        return None;
    }
    let commands = commands();
    let first = first_word(&commands, args)?;
    let is_known = commands.find_subcommand(first).is_some();
    (!is_known && is_word(first)).then(|| no_command(first))
}

/// The first word that is neither an option nor the value of one; `None` after an option that does not exist, which is the
/// mistake then.
fn first_word<'a>(commands: &Command, args: &'a [OsString]) -> Option<&'a str> {
    let mut words = args.iter().skip(1).map_while(|word| word.to_str());
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            return Some(word);
        }
        let (name, value) = word.split_once('=').unzip();
        let name = name.unwrap_or(word);
        let is_meant = |option: &&clap::Arg| {
            let long = option.get_long().map(|name| format!("--{name}"));
            let short = option.get_short().map(|name| format!("-{name}"));
            long.as_deref() == Some(name) || short.as_deref() == Some(name)
        };
        let option = commands.get_arguments().find(is_meant)?;
        if value.is_none() && option.get_action().takes_values() {
            words.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn a_mistyped_command_is_told_from_a_mistyped_option() {
        know(|| {
            let store = Arg::new("store").long("store");
            Command::new("tsql")
                .arg(store)
                .subcommand(Command::new("ingest"))
        });
        let meant = |words: &[&str]| {
            let args: Vec<OsString> = words.iter().map(OsString::from).collect();
            command(ErrorKind::UnknownArgument, &args)
        };
        let told = meant(&["tsql", "ingst", "logs"]).unwrap();
        assert!(told.contains("`ingst`"), "{told}");
        let told = meant(&["tsql", "--store", "x", "ingst", "logs"]).unwrap();
        assert!(told.contains("`ingst`"), "{told}");
        assert_eq!(meant(&["tsql", "ingest", "logs", "--platfrom", "x"]), None);
        assert_eq!(meant(&["tsql", "SELECT 1", "logs"]), None);
        assert_eq!(meant(&["tsql", "--sotre", "x", "SELECT 1"]), None);
        let told = meant(&["tsql", "--store=x", "ingst", "logs"]).unwrap();
        assert!(told.contains("`ingst`"), "{told}");
    }
}
