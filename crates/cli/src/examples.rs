//! Tests that the examples of the help and of the documentation parse as command lines.

use clap::CommandFactory as _;

use super::Cli;

/// Variable in the examples, in place of a number.
const VARIABLE: &str = "$SLURM_ARRAY_TASK_ID";

/// Returns the command lines in the examples of a command and its subcommands.
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

/// Splits a line into commands and their words, by the rules of a shell.
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
            // The file of a redirection is no argument. In these texts, no argument follows it.
            (None, '|' | '&' | ';' | '<' | '>') => {
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
            // Assignments of variables precede the command.
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

/// Returns the Markdown files of the checkout, without those of dependencies and builds.
fn documents() -> Vec<std::path::PathBuf> {
    fn collect(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && !["target", "corpus"].contains(&&*name) {
                collect(&path, found);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(
        std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")),
        &mut found,
    );
    found
}

/// Returns the command lines of a document, from console blocks and from code spans that begin with `tsql `.
fn command_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut is_console, mut is_code, mut is_wrong) = (false, false, false);
    for line in text.lines() {
        // A block that shows an error of the command line.
        is_wrong |= line == "<!-- test: exit 2 -->";
        if line.starts_with("```") {
            is_console = line == "```console" && !is_wrong;
            is_code = !is_code;
            is_wrong &= is_code;
            continue;
        }
        match line.strip_prefix("$ ") {
            Some(command) if is_console => lines.push(command.to_owned()),
            _ if is_console => {
                let is_continued =
                    |last: &&mut String| last.ends_with('\\') || last.matches('"').count() % 2 == 1;
                if let Some(last) = lines.last_mut().filter(is_continued) {
                    last.push('\n');
                    last.push_str(line);
                }
            }
            _ if !is_code => {
                let spans = line.split('`').skip(1).step_by(2);
                let spans = spans.filter(|span| span.starts_with("tsql "));
                // An ellipsis or a choice is a placeholder of other words.
                let spans =
                    spans.filter(|span| !span.contains("...") && !span.contains(['|', '[', '{']));
                lines.extend(spans.map(str::to_owned));
            }
            _ => {}
        }
    }
    lines
}

#[test]
fn each_command_of_the_documents_parses() {
    let (mut parsed, mut wrong) = (0, Vec::new());
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in command_lines(&text) {
            for words in commands(&line.replace("\\\n", " ")) {
                if words.first().is_none_or(|word| word != "tsql") {
                    continue;
                }
                parsed += 1;
                let has_placeholder = words.iter().any(|word| {
                    word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '/')
                });
                // A mention of a command or flag may leave out its values.
                let is_name = |error: &clap::Error| {
                    use clap::error::ErrorKind as Kind;
                    let kind = error.kind();
                    let is_value = [Kind::InvalidValue, Kind::ValueValidation].contains(&kind);
                    let without = error.to_string().contains("none was supplied");
                    kind == Kind::MissingRequiredArgument
                        || kind == Kind::DisplayHelpOnMissingArgumentOrSubcommand
                        || is_value && (has_placeholder || without)
                };
                match Cli::command().try_get_matches_from(words) {
                    Err(error) if error.exit_code() != 0 && !is_name(&error) => {
                        wrong.push(format!("{}: {line}\n{error}", path.display()));
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(parsed > 400, "{parsed} commands");
}

#[test]
fn words_are_those_of_a_shell() {
    let split = commands("a 'b c' \"d 'e' \\\"f\" | g=h --x='' # i");
    assert_eq!(split, [vec!["a", "b c", "d 'e' \"f"], vec!["g=h", "--x="]]);
}
