//! Shell completions, the manual, and the examples of the help.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::support::{Place, log};

/// Returns a store `.tsql` with records of two platforms and a tag.
fn laboratory() -> Place {
    let place = Place::new();
    place.write("k80/a.json", log(1, 3));
    place.write("t4/b.json", log(1, 3));
    place.ok(&["ingest", "-q", "k80", "t4"]);
    place.ok(&["tag", "create", "v1.0"]);
    place
}

/// Returns the folder of the command.
fn path() -> String {
    let command = Path::new(env!("CARGO_BIN_EXE_tsql"));
    let folder = command.parent().unwrap().display();
    format!("{folder}:/usr/local/bin:/usr/bin:/bin")
}

/// Returns the completions of bash at the end of a line, by the script of `tsql completions bash`.
fn bash_completions(place: &Place, line: &str) -> Vec<String> {
    let script = "source <(tsql completions bash); \
        COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; \
        _clap_complete_tsql tsql \"${!#}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .args(["-c", script, "bash"])
        .args(line.split(' '))
        .current_dir(place.path())
        .env_clear()
        .env("PATH", path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {stderr}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_store_contents() {
    let place = laboratory();
    for (line, wanted) in [
        ("tsql ing", &["ingest"][..]),
        ("tsql describe rec", &["records"]),
        ("tsql queries best-program-per", &["best-program-per-graph"]),
        (
            "tsql queries best-program-per-graph --set p",
            &["platform="],
        ),
        (
            "tsql queries best-program-per-graph --set platform=",
            &["platform=k80", "platform=t4"],
        ),
        ("tsql --at v", &["v1.0"]),
        ("tsql tag delete ", &["v1.0"]),
        ("tsql functions top_k", &["top_k_error", "top_k_score"]),
        ("tsql --format mark", &["markdown"]),
        ("tsql ingest --platform t", &["t4"]),
        ("tsql --store elsewhere ingest --platform t", &[]),
    ] {
        let mut completed = bash_completions(&place, line);
        completed.retain(|word| !word.starts_with('-'));
        assert_eq!(completed, wanted, "{line}");
    }
    let options = bash_completions(&place, "tsql ingest --dry");
    assert_eq!(options, ["--dry-run"]);
}

/// Returns whether a shell is installed.
fn is_installed(shell: &str) -> bool {
    let found = Command::new(shell).args(["-c", "true"]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: no {shell}");
    }
    found
}

#[test]
fn completion_scripts_of_other_shells_are_valid() {
    let place = Place::new();
    for (shell, wanted) in [
        ("zsh", "#compdef tsql"),
        ("fish", "complete --keep-order --exclusive --command tsql"),
        ("nushell", "export extern \"tsql ingest\""),
        ("elvish", "edit:completion:arg-completer[tsql]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = place.ok(&["completions", shell]).stdout;
        assert!(script.contains(wanted), "{shell}:\n{script}");
        let written = place.write(&format!("script.{shell}"), &script);
        if ["zsh", "fish"].contains(&shell) && is_installed(shell) {
            let parsed = Command::new(shell).arg("-n").arg(written).output();
            assert!(parsed.unwrap().status.success(), "{shell}");
        }
    }
    let wrong = place.tsql(&["completions", "cmd"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stdout);
}

/// Returns the help text of each command, by its words.
fn help_texts(place: &Place) -> BTreeMap<Vec<String>, String> {
    let mut helps = BTreeMap::new();
    let mut waiting = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
        args.push("--help");
        let help = place.ok(&args).stdout;
        let commands = help.split("\nCommands:\n").nth(1).unwrap_or_default();
        let commands = commands.lines().take_while(|line| !line.is_empty());
        let commands = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        // The help of the whole program lists the commands of a task on one line.
        let names = |line: &str| match words.is_empty() {
            true => line
                .split_at(18)
                .1
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            false => line
                .split_whitespace()
                .take(1)
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        };
        for name in commands.flat_map(names) {
            if name != "help" {
                let words: Vec<String> = words.iter().cloned().chain([name]).collect();
                waiting.push(words);
            }
        }
        helps.insert(words, help);
    }
    helps
}

/// Returns the long options in a text.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let options = words.filter(|word| word.starts_with("--") && word.len() > 3);
    options.map(str::to_owned).collect()
}

#[test]
fn the_manual_lists_all_commands_and_options() {
    let place = Place::new();
    place.ok(&["man", "pages/man1"]);
    let helps = help_texts(&place);
    assert!(helps.len() > 30, "{:?}", helps.keys());
    for (words, help) in &helps {
        let name = ["tsql"].into_iter().chain(words.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join("-");
        let page = String::from_utf8(place.read(&format!("pages/man1/{name}.1"))).unwrap();
        let page = page.replace("\\-", "-");
        let listed = help.lines().map(str::trim_start);
        let listed = listed.filter(|line| line.starts_with('-'));
        for option in listed.flat_map(options) {
            assert!(page.contains(&option), "{name}: no {option}");
        }
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    let page = place.path().join("pages/man1/tsql-ingest.1");
    let shown = Command::new("man").arg("-l").arg(page).output();
    if let Ok(shown) = shown
        .as_ref()
        .map(|shown| String::from_utf8_lossy(&shown.stdout))
    {
        assert!(shown.is_empty() || shown.contains("--dry-run"), "{shown}");
    }
}

#[test]
fn help_lists_command_options_first_and_does_not_wrap_examples() {
    let place = Place::new();
    for (words, help) in help_texts(&place) {
        if words.is_empty() {
            continue;
        }
        let own = help.find("\nOptions:");
        let shared = help.find("\nStore and limits:");
        assert!(own < shared, "{words:?}:\n{help}");
        let is_example = |line: &&str| line.trim_start().starts_with("tsql ");
        for line in help.lines().filter(is_example) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// Returns the examples of a help text that begin with the command.
fn examples(help: &str) -> Vec<String> {
    let lines = help.split("Example").nth(1).unwrap_or_default();
    let lines = lines
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "));
    let mut examples: Vec<String> = Vec::new();
    for line in lines {
        match examples.last_mut() {
            Some(last) if line.starts_with("      ") => *last += &format!("\n{line}"),
            _ => examples.push(line.trim().to_owned()),
        }
    }
    examples.retain(|example| example.starts_with("tsql "));
    examples
}

/// Returns whether an example runs over a small store without other input files.
fn is_runnable(example: &str) -> bool {
    /// Commands that only read, or that create their outputs.
    const BEGIN: [&str; 19] = [
        "tsql tables",
        "tsql describe",
        "tsql functions",
        "tsql history",
        "tsql queries best",
        "tsql tag list",
        "tsql tag show",
        "tsql note create \"shared",
        "tsql note list",
        "tsql check",
        "tsql vacuum",
        "tsql optimize",
        "tsql export files -o",
        "tsql report html",
        "tsql plot @",
        "tsql plot \"SELECT platform",
        "tsql split create by-task",
        "tsql split list",
        "tsql \"SELECT",
    ];
    let begins = BEGIN.iter().any(|begin| example.starts_with(begin));
    // The store has no failures and no searches of ten trials, and a plot without rows is an error.
    let of_others = [
        "s3://",
        "a100",
        "of GraphNet",
        "trials=10",
        "failures-by-kind",
    ];
    begins && !of_others.iter().any(|other| example.contains(other))
}

#[test]
#[ignore = "full tier"]
fn help_examples_run() {
    let place = laboratory();
    let mut ran = 0;
    for (words, help) in help_texts(&place) {
        for example in examples(&help) {
            if !is_runnable(&example) {
                continue;
            }
            let output = Command::new("bash")
                .args(["-c", &example])
                .current_dir(place.path())
                .env_clear()
                .env("PATH", path())
                .env("HOME", place.path())
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words:?}: {example}\n{stderr}");
            ran += 1;
        }
    }
    assert!(ran >= 15, "{ran} examples ran");
}
