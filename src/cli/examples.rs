//! Does each example of the help parse as a command line?

use clap::CommandFactory as _;

use super::Cli;

/// A variable that stands for a number.
const VARIABLE: &str = "$SLURM_ARRAY_TASK_ID";

/// Command lines of the examples of a command and of those below it.
fn examples(command: &clap::Command) -> Vec<String> {
    let help = command.get_after_help().map(ToString::to_string);
    let help = help.unwrap_or_default().replace("\\\n", " ");
    let mut examples: Vec<String> = Vec::new();
    for line in help.lines().filter(|line| line.starts_with("  ")) {
        match examples.last_mut() {
            Some(last) if line.starts_with("      ") => *last += line,
            _ => examples.push(line.to_owned()),
        }
    }
    examples.extend(command.get_subcommands().flat_map(self::examples));
    examples
}

/// The commands of a line, and their words, by the rules of a shell.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let (mut quote, mut chars) = (None, line.chars().peekable());
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('"'), '\\') if chars.peek() == Some(&'"') => {
                word.get_or_insert_default().extend(chars.next());
            }
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | '&' | ';' | '>') => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    commands.push(words);
    commands
}

#[test]
fn each_example_of_the_help_parses() {
    let mut cli = Cli::command();
    cli.build();
    let mut parsed = 0;
    for example in examples(&cli) {
        for words in commands(&example) {
            // Variables stand before the command.
            let mut words = words.into_iter().skip_while(|word| {
                let name = word.split_once('=').map(|(name, _)| name);
                name.is_some_and(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
            });
            let words = words.by_ref();
            let words: Vec<String> = words.map(|word| word.replace(VARIABLE, "1")).collect();
            if words.first().is_none_or(|word| word != "tsql") {
                continue;
            }
            if let Err(error) = Cli::command().try_get_matches_from(words) {
                panic!("{example}: {error}");
            }
            parsed += 1;
        }
    }
    assert!(parsed > 60, "{parsed} examples");
}

#[test]
fn words_are_those_of_a_shell() {
    let split = commands("a 'b c' \"d 'e' \\\"f\" | g=h --x='' # i");
    assert_eq!(split, [vec!["a", "b c", "d 'e' \"f"], vec!["g=h", "--x="]]);
}
