//! The shell: `tsql` alone on a terminal.
//!
//! ```text
//! editor (reedline) -> entry -> command of the shell -> settings, lists
//!                            -> SQL -> session of the shell -> printer
//! ```
//!
//! One session runs all queries, so that views, tables and settings stay. Each query sees the commits of others. After
//! an error, the shell continues.

mod commands;
mod completing;
mod dot_commands;
mod highlighting;
mod history;
mod input_lines;
mod prompt;
mod run_query;
mod settings;

use reedline::{
    ColumnarMenu, DefaultHinter, EditCommand, Emacs, InputMode, KeyCode, KeyModifiers,
    MenuBuilder as _, Reedline, ReedlineEvent, ReedlineMenu, Signal, default_emacs_keybindings,
};
use tsql_dialect::completion::SharedVocabulary;
use tsql_error::Error;

use completing::Words;
use dot_commands::{Then, act};
use highlighting::SqlHighlighter;
use input_lines::{Ends, has_content};
use run_query::QueryRunner;
use settings::Settings;

use super::outcome::{DONE, Failure};
use super::signals;
use super::sql::Query;
use super::stderr::{has_color, print_message};
use super::store_options::StoreOptions;

/// Name of the menu of completions.
const MENU: &str = "completions";

/// Reads and runs entries until the user leaves.
pub(super) async fn run(place: &StoreOptions, query: Query) -> Result<u8, Failure> {
    signals::hear_interrupts();
    let mut runner = QueryRunner::new(place).await?;
    let mut settings = Settings::new(query.output, query.timer);
    let mut editor = editor(&runner.words);
    print_message(&format!(
        "tsql {}: `.help` lists commands, SQL ends with `;`, Ctrl-D leaves",
        env!("CARGO_PKG_VERSION")
    ));
    loop {
        let typed = editor.read_line(&runner.prompt());
        match typed.map_err(Error::io("terminal"))? {
            Signal::Success(entry) if has_content(&entry) => {
                save_history(&mut editor);
                match act(&mut runner, &mut settings, &entry).await {
                    Ok(Then::GoOn) => {}
                    Ok(Then::Leave) => return Ok(DONE),
                    Err(failure) => print_failure(place, failure),
                }
            }
            Signal::CtrlD => return Ok(DONE),
            // The terminal is restored. The thread that received the signal ends the process.
            Signal::ExternalBreak(_) => std::future::pending::<()>().await,
            _ => {}
        }
    }
}

fn print_failure(place: &StoreOptions, failure: Failure) {
    match failure {
        Failure::Library(Error::Interrupted) => print_message("interrupted"),
        failure => print_message(&format!("error: {}", place.explain(failure))),
    }
}

/// Writes the entry to the history at once, so that another shell finds it and no signal loses it.
fn save_history(editor: &mut Reedline) {
    // An unwritable history was reported when the shell started.
    let _ = editor.sync_history();
}

fn editor(words: &SharedVocabulary) -> Reedline {
    let is_colored = is_colored();
    let words = || words.clone();
    let menu = ColumnarMenu::default()
        .with_name(MENU)
        .with_marker("")
        .with_input_mode(InputMode::FullBuffer);
    let mut editor = Reedline::create()
        .with_history(Box::new(history::open()))
        .with_history_exclusion_prefix(Some(" ".to_owned()))
        .with_validator(Box::new(Ends))
        .with_completer(Box::new(Words { words: words() }))
        .with_highlighter(Box::new(SqlHighlighter { words: words() }))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_ansi_colors(is_colored)
        .with_edit_mode(Box::new(Emacs::new(keys())))
        .with_break_signal(signals::ending());
    if is_colored {
        // Without colors, a hint would look like typed text.
        let hints = DefaultHinter::default().with_style(reedline::Color::DarkGray.normal());
        editor = editor
            .with_hinter(Box::new(hints))
            .use_bracketed_paste(true);
    }
    editor
}

/// Returns whether the terminal shows colors, and they are wanted.
fn is_colored() -> bool {
    std::env::var_os("TERM").is_some() && has_color()
}

fn keys() -> reedline::Keybindings {
    let mut keys = default_emacs_keybindings();
    let next = ReedlineEvent::UntilFound(vec![
        ReedlineEvent::Menu(MENU.to_owned()),
        ReedlineEvent::MenuNext,
    ]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, next);
    let before = ReedlineEvent::MenuPrevious;
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, before);
    let line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, line);
    keys
}
