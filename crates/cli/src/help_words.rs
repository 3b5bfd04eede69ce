//! Language of the help texts: `tests/words.txt` lists the words and openings that they avoid.

use clap::CommandFactory as _;

use super::Cli;

/// Returns the words of a group of `tests/words.txt`.
fn group(name: &str) -> Vec<&'static str> {
    let mut lines = include_str!("../../../tests/words.txt").lines();
    let words = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    words.unwrap().split(' ').collect()
}

/// Adds the help texts of a command, its arguments and its subcommands, each with its position.
fn collect_texts(path: &str, command: &clap::Command, texts: &mut Vec<(String, String)>) {
    let path = format!("{path} {}", command.get_name());
    let own = [
        command.get_about(),
        command.get_long_about(),
        command.get_before_help(),
        command.get_after_help(),
    ];
    let own = own.into_iter().flatten();
    texts.extend(own.map(|text| (path.clone(), text.to_string())));
    for argument in command.get_arguments() {
        let position = format!("{path} {}", argument.get_id());
        let own = [argument.get_help(), argument.get_long_help()];
        let own = own.into_iter().flatten();
        texts.extend(own.map(|text| (position.clone(), text.to_string())));
        for value in argument.get_possible_values() {
            let help = value.get_help().map(ToString::to_string);
            texts.extend(help.map(|help| (format!("{position}={}", value.get_name()), help)));
        }
    }
    for subcommand in command.get_subcommands() {
        collect_texts(&path, subcommand, texts);
    }
}

#[test]
fn help_texts_are_plain_english() {
    let (words, openings) = (group("help"), group("sentences"));
    let mut texts = Vec::new();
    collect_texts("", &Cli::command(), &mut texts);
    assert!(texts.len() > 400, "{} texts", texts.len());
    let mut wrong = Vec::new();
    for (position, text) in texts {
        // Code spans are names, not language.
        let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("X");
        let is_end = |c: char| !c.is_alphanumeric() && c != '-';
        let mut used = prose.split(is_end).map(str::to_lowercase);
        if let Some(word) = used.find(|word| words.contains(&word.as_str())) {
            wrong.push(format!("{position}: `{word}` in: {text}"));
        }
        let sentences = prose.split(['.', '\n']).map(str::trim_start);
        let mut first = sentences.filter_map(|sentence| sentence.split([' ', ',']).next());
        if let Some(word) = first.find(|word| openings.contains(word)) {
            wrong.push(format!(
                "{position}: a sentence begins with `{word}`: {text}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} texts:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
