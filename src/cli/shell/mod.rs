//! The shell: `tsql` alone on a terminal.
//!
//! ```text
//! editor (reedline) -> entry -> command of the shell -> settings, lists
//!                            -> SQL -> session that lives on -> printer
//! ```
//!
//! One session serves all questions, so that views, tables and settings stay; what others commit to the store shows
//! with the next question. An error is shown, and the shell goes on.

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

use super::outcome::{DONE, Failure};
use super::signals;
use super::sql::Query;
use super::stderr::{has_color, print_message};
use super::store_options::StoreOptions;
use crate::error::Error;
use crate::query::completion::SharedVocabulary;
use completing::Words;
use dot_commands::{Then, act};
use highlighting::Colours;
use input_lines::{Ends, says_something};
use run_query::Asker;
use settings::Settings;

/// Name of the menu of completions.
const MENU: &str = "completions";

/// Asks until somebody leaves.
pub(super) async fn run(place: &StoreOptions, query: Query) -> Result<u8, Failure> {
    signals::hear_interrupts();
    let mut asker = Asker::new(place).await?;
    let mut settings = Settings::new(query.output, query.timer);
    let mut editor = editor(&asker.words);
    print_message(&format!(
        "tsql {}: `.help` lists commands, SQL ends with `;`, Ctrl-D leaves",
        env!("CARGO_PKG_VERSION")
    ));
    loop {
        let typed = editor.read_line(&asker.prompt());
        match typed.map_err(Error::io("terminal"))? {
            Signal::Success(entry) if says_something(&entry) => {
                keep(&mut editor);
                match act(&mut asker, &mut settings, &entry).await {
                    Ok(Then::GoOn) => {}
                    Ok(Then::Leave) => return Ok(DONE),
                    Err(failure) => tell(place, failure),
                }
            }
            Signal::CtrlD => return Ok(DONE),
            // The terminal is in order; whoever heard the signal ends the process.
            Signal::ExternalBreak(_) => std::future::pending::<()>().await,
            _ => {}
        }
    }
}

fn tell(place: &StoreOptions, failure: Failure) {
    match failure {
        Failure::Library(Error::Interrupted) => print_message("interrupted"),
        failure => print_message(&format!("error: {}", place.explain(failure))),
    }
}

/// Writes what was typed into the history at once: another shell finds it, and no signal loses it.
fn keep(editor: &mut Reedline) {
    // What cannot be written is told when the shell begins.
    let _ = editor.sync_history();
}

fn editor(words: &SharedVocabulary) -> Reedline {
    let is_coloured = is_coloured();
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
        .with_highlighter(Box::new(Colours { words: words() }))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_ansi_colors(is_coloured)
        .with_edit_mode(Box::new(Emacs::new(keys())))
        .with_break_signal(signals::ending());
    if is_coloured {
        // Without colours it would look like what was typed.
        let hints = DefaultHinter::default().with_style(reedline::Color::DarkGray.normal());
        editor = editor
            .with_hinter(Box::new(hints))
            .use_bracketed_paste(true);
    }
    editor
}

/// Returns whether the terminal shows colors, and they are wanted.
fn is_coloured() -> bool {
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
