//! The commands of the shell: their names, their arguments, and their parser.

use super::super::outcome::Failure;

/// Kind of argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Command,
    File,
    Mode,
    Question,
    Rows,
    Sql,
    Switch,
    Table,
}

/// Action of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Describe,
    Explain,
    Help,
    MaxRows,
    Mode,
    Once,
    Output,
    Queries,
    Quit,
    Read,
    Schema,
    Tables,
    Timer,
    Vertical,
}

/// A command of the shell.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    /// Arguments in the list of `.help`.
    pub(super) arguments: &'static str,
    pub(super) doc: &'static str,
    pub(super) takes: Takes,
    pub(super) action: Action,
}

macro_rules! commands {
    ($($name:literal $arguments:literal $takes:ident $action:ident $doc:literal;)*) => {
        &[$(Command {
            name: $name,
            arguments: $arguments,
            doc: $doc,
            takes: Takes::$takes,
            action: Action::$action,
        }),*]
    };
}

/// All commands, sorted by name.
pub(super) const COMMANDS: &[Command] = commands![
    ".exit" "" Nothing Quit "Leave (so does Ctrl-D)";
    ".explain" "[SQL]" Sql Explain "Show the plan of this query, or of the last one";
    ".help" "[COMMAND]" Command Help "List the commands, or explain one";
    ".maxrows" "[N|all]" Rows MaxRows "Set the number of rows that a table shows";
    ".mode" "[FORMAT]" Mode Mode "Set the format of results, as --format does";
    ".once" "FILE" File Once "Write the next result to a file";
    ".output" "[FILE]" File Output "Write results to a file, or to the terminal again";
    ".queries" "[NAME [PARAMETER=VALUE ...]]" Question Queries "List the built-in queries, or run one";
    ".quit" "" Nothing Quit "Leave (so does Ctrl-D)";
    ".read" "FILE" File Read "Run the commands and the SQL of a file";
    ".schema" "[TABLE]" Table Schema "List the columns of all tables, or of one";
    ".tables" "[PATTERN]" Table Tables "List the tables and views; * and % match any text";
    ".timer" "[on|off]" Switch Timer "Show the time of each query";
    "\\?" "[COMMAND]" Command Help "List the commands, or explain one";
    "\\d" "[TABLE]" Table Describe "List the tables, or describe the columns of one";
    "\\dt" "[PATTERN]" Table Tables "List the tables and views; * and % match any text";
    "\\i" "FILE" File Read "Run the commands and the SQL of a file";
    "\\o" "[FILE]" File Output "Write results to a file, or to the terminal again";
    "\\q" "" Nothing Quit "Leave (so does Ctrl-D)";
    "\\timing" "[on|off]" Switch Timer "Show the time of each query";
    "\\x" "[on|off]" Switch Vertical "Show each row as lines of column and value";
];

/// Names of formats in DuckDB, with our names.
const MODES: [(&str, &str); 5] = [
    ("box", "table"),
    ("duckbox", "table"),
    ("jsonlines", "jsonl"),
    ("line", "vertical"),
    ("tabs", "tsv"),
];

/// Returns the format for the argument of `.mode`.
pub(super) fn mode(word: &str) -> &str {
    let other = MODES.iter().find(|(name, _)| *name == word);
    other.map_or(word, |(_, format)| format)
}

/// Commands of other shells, with our commands.
const BARE: [(&str, &str); 4] = [
    ("exit", ".exit"),
    ("help", ".help"),
    ("quit", ".quit"),
    ("\\h", ".help"),
];

/// Returns the command for an entry in the spelling of other shells: `help`, `exit;`.
pub(super) fn bare(entry: &str) -> Option<&'static str> {
    let word = entry.trim().trim_end_matches(';').trim_end();
    let known = BARE
        .iter()
        .find(|(bare, _)| bare.eq_ignore_ascii_case(word));
    known.map(|(_, command)| *command)
}

/// Parses a line into a command and its arguments.
///
/// # Errors
/// Fails for an unknown command, and names the nearest one.
pub(super) fn parse(line: &str) -> Result<(&'static Command, &str), Failure> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match find_command(word) {
        Some(command) => Ok((command, rest.trim())),
        None => {
            let hint = match nearest(word) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`.help` lists the commands".to_owned(),
            };
            Err(Failure::Usage(format!("no command `{word}`\nhint: {hint}")))
        }
    }
}

/// Returns the command with this name.
pub(super) fn find_command(word: &str) -> Option<&'static Command> {
    COMMANDS
        .iter()
        .find(|command| command.name.eq_ignore_ascii_case(word))
}

/// Returns the command that is most similar to a word, if one is similar enough.
fn nearest(word: &str) -> Option<&'static str> {
    /// Minimum similarity; 1 means equal.
    const MIN_SIMILARITY: f64 = 0.75;
    let similarity = |command: &&Command| strsim::jaro_winkler(command.name, word);
    let all = COMMANDS.iter();
    let near = all.max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(&near) >= MIN_SIMILARITY).then_some(near.name)
}

/// Splits arguments into words; quotes join words.
pub(super) fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_and_mistyped_ones_name_the_nearest() {
        let (command, rest) = parse(".tables  rec* ;").unwrap();
        assert_eq!((command.name, rest), (".tables", "rec*"));
        assert_eq!(parse("\\d").unwrap().0.action, Action::Describe);
        let message = |line: &str| parse(line).unwrap_err().to_string();
        assert_eq!(
            message(".tabels x"),
            "no command `.tabels`\nhint: did you mean `.tables`?"
        );
        assert_eq!(
            message(".0000"),
            "no command `.0000`\nhint: `.help` lists the commands"
        );
        let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        assert!(names.is_sorted(), "{names:?}");
    }

    #[test]
    fn words_of_other_shells_are_commands() {
        assert_eq!(bare(" Help ;"), Some(".help"));
        assert_eq!(bare("exit"), Some(".exit"));
        assert_eq!(bare("SELECT 1;"), None);
        assert_eq!(bare("help me"), None);
        assert_eq!(parse("\\?").unwrap().0.action, Action::Help);
        assert_eq!(parse("\\dt rec*").unwrap().0.action, Action::Tables);
    }

    #[test]
    fn quotes_join_words() {
        let split = words("a 'b c.csv' x=\"it's\"  ''");
        assert_eq!(split, ["a", "b c.csv", "x=it's", ""]);
    }
}
