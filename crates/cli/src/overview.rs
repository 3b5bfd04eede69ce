//! `tsql --help`: the commands by task, and the options, in at most 60 lines.

use std::ffi::OsString;
use std::io::Write as _;

use clap::Command;
use clap::error::ErrorKind;

use super::command_suggestions::command_position;

/// Every visible command, by task.
const GROUPS: [(&str, &[&str]); 10] = [
    ("Get data in", &["ingest", "append", "import"]),
    (
        "Query",
        &["queries", "tables", "describe", "functions", "plot"],
    ),
    (
        "Analyze",
        &["compare", "trend", "score", "replay", "report", "diff"],
    ),
    (
        "Build datasets",
        &["split", "subset", "tag", "note", "platform", "batch"],
    ),
    ("Write data", &["export", "publish", "verify", "copy"]),
    ("Correct", &["correct", "retract", "restore"]),
    ("Measure", &["measure", "gate"]),
    (
        "Maintain",
        &["init", "check", "optimize", "vacuum", "history", "store"],
    ),
    ("Serve", &["ui", "serve", "mcp", "worker"]),
    ("Other", &["completions", "man", "help"]),
];

/// Returns whether an error is a request for the help of the whole program.
pub(super) fn is_meant(cli: &Command, error: &clap::Error, args: &[OsString]) -> bool {
    if error.kind() != ErrorKind::DisplayHelp {
        return false;
    }
    let Some(first) = command_position(cli, args) else {
        return true;
    };
    let mut words = args.iter().skip(first);
    words.next().is_some_and(|word| word == "help") && words.next().is_none()
}

/// Prints the help of the whole program.
pub(super) fn print(cli: Command) {
    // A closed pipe is no error.
    let _ = std::io::stdout().lock().write_all(text(cli).as_bytes());
}

fn text(cli: Command) -> String {
    let mut groups = "Commands:\n".to_owned();
    for (task, commands) in GROUPS {
        let commands: Vec<String> = commands.iter().map(|name| format!("{name:<10}")).collect();
        groups += format!("  {task:<16}{}", commands.join(" ")).trim_end();
        groups.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\nOptions:\n{{options}}{{after-help}}\n"
    );
    let mut command = compact(cli).help_template(template);
    command.build();
    command.render_help().to_string()
}

/// Hides the variables and values of options, which the help of each command lists.
fn compact(command: Command) -> Command {
    command.mut_args(|arg| {
        let has_values = arg.get_action().takes_values();
        arg.hide_env(true).hide_possible_values(has_values)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::Cli;
    use super::*;

    #[test]
    fn each_visible_command_is_in_one_group() {
        let cli = Cli::command();
        let mut commands: Vec<_> = cli
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .chain(["help"])
            .collect();
        let mut listed: Vec<_> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        commands.sort_unstable();
        listed.sort_unstable();
        listed.retain(|name| {
            cfg!(all(
                feature = "cluster",
                feature = "flight",
                feature = "mcp",
                feature = "measure",
                feature = "ui",
                target_os = "linux"
            )) || commands.contains(name)
        });
        assert_eq!(commands, listed);
    }

    #[test]
    fn the_help_fits_a_screen_of_60_lines() {
        let text = text(Cli::command());
        assert!(text.lines().count() <= 60, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        for option in [
            "--store", "--at", "--format", "--output", "--quiet", "--tls-ca",
        ] {
            assert!(text.contains(option), "{option}: {text}");
        }
    }
}
