//! Spellings of earlier versions. A renamed command or option works as a hidden alias. One whose meaning changed is
//! rejected with the new spelling. `docs/reference/renames.md` lists both.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::command_suggestions::command_position;

/// Modes of `tsql export --format`, and the commands that they became.
const EXPORTS: [(&str, &str); 5] = [
    ("tenset", "lines"),
    ("databases", "databases"),
    ("submission", "submission"),
    ("graphnet", "hub"),
    ("training", "training"),
];

/// An option whose meaning changed.
struct Changed {
    command: &'static [&'static str],
    option: &'static str,
    hint: &'static str,
}

const CHANGED: [Changed; 4] = [
    Changed {
        command: &["ingest"],
        option: "--format",
        hint: "the format of the input is `--input-format`; `--format` names the format of a result",
    },
    Changed {
        command: &["append"],
        option: "--format",
        hint: "the format of the input is `--input-format`; `--format` names the format of a result",
    },
    Changed {
        command: &["measure", "exec"],
        option: "--format",
        hint: "the format of the output of COMMAND is `--input-format`; `--format` names the format of a result",
    },
    Changed {
        command: &["import", "features"],
        option: "--version",
        hint: "a version of features is a revision: `--revision N`",
    },
];

/// Returns the arguments with commands of earlier versions replaced by the current ones.
pub(super) fn modernize(commands: &Command, mut args: Vec<OsString>) -> Vec<OsString> {
    let Some(first) = command_position(commands, &args) else {
        return args;
    };
    drop_help_of_help(commands, &mut args, first);
    let next = args.get(first + 1).and_then(|word| word.to_str());
    let is_option = next.is_none_or(|word| word.starts_with('-') && !is_help(word));
    match args.get(first).and_then(|word| word.to_str()) {
        Some("page") => {
            args.splice(first..=first, ["report".into(), "html".into()]);
        }
        Some("export") if next.is_some() && is_option => modernize_export(&mut args, first + 1),
        Some("worker") if !is_subcommand(commands, "worker", next) => {
            args.insert(first + 1, "run".into());
        }
        Some("describe") if next == Some("--function") => {
            args.remove(first + 1);
        }
        _ => {}
    }
    args
}

/// Removes `--help` after `help`, which asks for the same.
fn drop_help_of_help(commands: &Command, args: &mut Vec<OsString>, first: usize) {
    let mut command = Some(commands);
    for at in first..args.len() {
        let Some(word) = args.get(at).and_then(|word| word.to_str()) else {
            return;
        };
        if word == "help" {
            let mut position = 0;
            args.retain(|word| {
                position += 1;
                position <= at + 1 || !word.to_str().is_some_and(is_help)
            });
            return;
        }
        command = command.and_then(|command| command.find_subcommand(word));
        if command.is_none_or(|command| !command.has_subcommands()) {
            return;
        }
    }
}

fn is_help(word: &str) -> bool {
    ["-h", "--help"].contains(&word)
}

fn is_subcommand(commands: &Command, command: &str, word: Option<&str>) -> bool {
    let Some(command) = commands.find_subcommand(command) else {
        return true;
    };
    word.is_some_and(|word| {
        is_help(word) || word == "help" || command.find_subcommand(word).is_some()
    })
}

/// Replaces `--format MODE`, `--to` or `--verify` after `export` by the command of that mode.
fn modernize_export(args: &mut Vec<OsString>, begin: usize) {
    let words = args.iter().enumerate().skip(begin);
    let format = words.clone().find(|(_, word)| {
        word.to_str()
            .is_some_and(|word| word.starts_with("--format"))
    });
    let mode = match format {
        Some((at, word)) => {
            let word = word.to_string_lossy().into_owned();
            let (value, count) = match word.split_once('=') {
                Some((_, value)) => (Some(value.to_owned()), 1),
                None => (
                    args.get(at + 1)
                        .map(|word| word.to_string_lossy().into_owned()),
                    2,
                ),
            };
            let mode = EXPORTS
                .iter()
                .find(|(old, _)| value.as_deref() == Some(*old));
            let Some((_, mode)) = mode else { return };
            args.drain(at..(at + count).min(args.len()));
            mode
        }
        None if words
            .clone()
            .any(|(_, word)| word.to_string_lossy().starts_with("--verify")) =>
        {
            "training"
        }
        None => "files",
    };
    args.insert(begin, mode.into());
}

/// Returns the hint for an option whose meaning changed.
pub(super) fn hint(
    commands: &Command,
    error: &clap::Error,
    args: &[OsString],
) -> Option<&'static str> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = option.split(['=', ' ']).next()?;
    let first = command_position(commands, args)?;
    let words = args.iter().skip(first).filter_map(|word| word.to_str());
    let words: Vec<_> = words.collect();
    let changed = CHANGED
        .iter()
        .find(|changed| words.starts_with(changed.command) && changed.option == option);
    changed.map(|changed| changed.hint)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    fn modern(line: &str) -> String {
        let args = line.split(' ').map(OsString::from).collect();
        let args = modernize(&Cli::command(), args);
        let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn commands_of_earlier_versions_become_those_of_today() {
        for (old, new) in [
            ("tsql page -o x.html", "tsql report html -o x.html"),
            ("tsql export --to back", "tsql export files --to back"),
            ("tsql export --format=tenset", "tsql export lines"),
            (
                "tsql --store s export --where a --format databases -o d",
                "tsql --store s export databases --where a -o d",
            ),
            ("tsql export --verify m", "tsql export training --verify m"),
            ("tsql worker --listen :1", "tsql worker run --listen :1"),
            ("tsql worker", "tsql worker run"),
            ("tsql help --help", "tsql help"),
            ("tsql help ingest -h", "tsql help ingest"),
            ("tsql split help --help", "tsql split help"),
            ("tsql describe --function median", "tsql describe median"),
        ] {
            assert_eq!(modern(old), new);
        }
    }

    #[test]
    fn commands_of_today_stay() {
        for line in [
            "tsql export --help",
            "tsql export files -o back",
            "tsql worker status",
            "tsql worker --help",
            "tsql SELECT",
            "tsql export --format odd",
        ] {
            assert_eq!(modern(line), line);
        }
    }

    #[test]
    fn an_option_that_changed_its_meaning_names_the_new_one() {
        let cli = Cli::command();
        for changed in &CHANGED {
            let mut args = vec!["tsql"];
            args.extend(changed.command);
            args.extend([changed.option, "x"]);
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            let error = cli.clone().try_get_matches_from(&args).unwrap_err();
            assert_eq!(hint(&cli, &error, &args), Some(changed.hint));
        }
    }

    /// The page lists each change that this module makes.
    #[test]
    fn the_page_of_renames_is_complete() {
        let page = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/renames.md"
        );
        let page = std::fs::read_to_string(page).unwrap();
        for changed in &CHANGED {
            let old = format!("`{} {}`", changed.command.join(" "), changed.option);
            assert!(page.contains(&old), "{old}");
        }
        for (old, new) in EXPORTS {
            assert!(page.contains(&format!("`export --format {old}`")), "{old}");
            assert!(page.contains(&format!("`export {new}`")), "{new}");
        }
        let mut cli = Cli::command();
        cli.build();
        let mut missing = Vec::new();
        let mut commands = vec![(String::new(), &cli)];
        while let Some((path, command)) = commands.pop() {
            for alias in command.get_all_aliases() {
                let parent = path.rsplit_once(' ').map_or("", |(parent, _)| parent);
                missing.push(format!("`{}`", format!("{parent} {alias}").trim()));
            }
            for option in command
                .get_arguments()
                .filter(|option| path.is_empty() || !option.is_global_set())
            {
                for alias in option.get_all_aliases().into_iter().flatten() {
                    missing.push(format!("`{}`", format!("{path} --{alias}").trim()));
                }
            }
            commands.extend(
                command
                    .get_subcommands()
                    .map(|sub| (format!("{path} {}", sub.get_name()).trim().to_owned(), sub)),
            );
        }
        missing.retain(|spelling| !page.contains(spelling.as_str()));
        assert!(missing.is_empty(), "{missing:?}");
    }
}
