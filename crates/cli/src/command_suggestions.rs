//! Suggestions for mistyped commands.

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::Command;
use clap::error::ErrorKind;
use tsql_error::nearest;

/// Returns whether a text is a single word, which is a mistyped command and not SQL.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

/// Constructor of all commands.
static COMMANDS: OnceLock<fn() -> Command> = OnceLock::new();

/// Sets the constructor of all commands; only the first call has an effect.
pub(super) fn set_commands(commands: fn() -> Command) {
    COMMANDS.get_or_init(|| commands);
}

/// Returns all commands.
pub(super) fn commands() -> Command {
    COMMANDS
        .get()
        .map_or_else(Command::default, |commands| commands())
}

/// Returns the error message for a word that is no command.
pub(super) fn no_command(word: &str) -> String {
    let commands = commands();
    let names = commands.get_subcommands().map(Command::get_name);
    let meant = nearest(word, names);
    if std::path::Path::new(word).is_file() {
        return format!(
            "`{word}` is a file, expected a command or a query\nhint: `tsql -f {word}` runs the query in it"
        );
    }
    let hint = meant.map_or_else(
        || "`tsql --help` lists the commands; a query goes in quotes".to_owned(),
        |meant| format!("did you mean `tsql {meant}`?"),
    );
    format!("no command `{word}`\nhint: {hint}")
}

/// Returns the error message for a mistyped command (`tsql ingst logs`), whose arguments could not be parsed.
pub(super) fn command(kind: ErrorKind, args: &[OsString]) -> Option<String> {
    if !matches!(
        kind,
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand
    ) {
        return None;
    }
    let commands = commands();
    let first = args.get(command_position(&commands, args)?)?.to_str()?;
    let is_known = commands.find_subcommand(first).is_some();
    (!is_known && is_word(first)).then(|| no_command(first))
}

/// Returns the position of the first word that is neither an option nor the value of one. `None` after an unknown
/// option, because the option is the error then.
pub(super) fn command_position(commands: &Command, args: &[OsString]) -> Option<usize> {
    let mut words = args.iter().enumerate().skip(1);
    while let Some((position, word)) = words.next() {
        let word = word.to_str()?;
        if !word.starts_with('-') {
            return Some(position);
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
    fn mistyped_commands_and_options_are_distinguished() {
        set_commands(|| {
            let store = Arg::new("store").long("store");
            Command::new("tsql")
                .arg(store)
                .subcommand(Command::new("ingest"))
        });
        let meant = |words: &[&str]| {
            let args: Vec<OsString> = words.iter().map(OsString::from).collect();
            command(ErrorKind::UnknownArgument, &args)
        };
        let error = meant(&["tsql", "ingst", "logs"]).unwrap();
        assert!(error.contains("`ingst`"), "{error}");
        let error = meant(&["tsql", "--store", "x", "ingst", "logs"]).unwrap();
        assert!(error.contains("`ingst`"), "{error}");
        assert_eq!(meant(&["tsql", "ingest", "logs", "--platfrom", "x"]), None);
        assert_eq!(meant(&["tsql", "SELECT 1", "logs"]), None);
        assert_eq!(meant(&["tsql", "--sotre", "x", "SELECT 1"]), None);
        let error = meant(&["tsql", "--store=x", "ingst", "logs"]).unwrap();
        assert!(error.contains("`ingst`"), "{error}");
    }
}
