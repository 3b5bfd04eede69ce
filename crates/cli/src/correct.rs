//! `tsql correct`, `tsql retract`, `tsql restore`: correct labels, hide records, show them again.

use clap::Args;
use tsql_dataset::corrections::{CorrectionOptions, CorrectionReport, Label};
use tsql_dataset::corrections::{correct, list_corrections, restore, retract};
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_error::Error;

use super::outcome::{DONE, Failure};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Reason, author and extent of a change.
#[derive(Args, Debug)]
struct About {
    /// Reason, stored with the change
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Author [default: the user's name]
    #[arg(long, alias = "who", value_name = "NAME")]
    author: Option<String>,
    /// Allow a change of everything, without --where
    #[arg(long)]
    all: bool,
    /// Report the change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Correct wrong labels of sources: platform, collection, split
///
/// Changes all records of a source. Measured values never change; `tsql retract` hides records. Exported files stay the
/// same, and a file that is ingested again under the wrong platform is recognized.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql correct --label platform=k80 --where \"platform = 'k-80'\" \\\n      \
    --why \"a typing error\"\n  \
    tsql correct --label split=valid --where \"source LIKE 'own/%7.npz'\" \\\n      \
    --why \"every seventh is for validation\"\n  \
    tsql \"SELECT * FROM corrections\"\n  \
    tsql diff records@12")]
pub(super) struct Correct {
    /// Label and correct value: platform=NAME, collection=NAME, split=NAME; an empty value removes it; repeatable
    #[arg(
        long = "label",
        alias = "set",
        value_name = "LABEL=VALUE",
        required = true
    )]
    labels: Vec<String>,
    /// SQL condition over `sources` (`source` is the name)
    #[arg(long = "where", value_name = "SQL", required_unless_present = "all")]
    predicate: Option<String>,
    #[command(flatten)]
    about: About,
}

/// Hide records from all queries
///
/// Retracted records move to the table `retracted`, and their files are still exported byte for byte. Ingesting a file
/// again does not restore its records; `tsql restore` does.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql retract --where \"source = 'logs/night7.json'\" --why \"the fan was broken\"\n  \
    tsql retract --where \"platform = 'k80' AND measured_at >= '2026-11-07'\" \\\n      \
    --why \"a new driver\" --dry-run\n  \
    tsql \"SELECT * FROM retractions\"\n  \
    tsql \"SELECT count(*) FROM retracted WHERE platform = 'k80'\"")]
pub(super) struct Retract {
    /// SQL condition over `records` (`source` is the name of their file)
    #[arg(long = "where", value_name = "SQL", required_unless_present = "all")]
    predicate: Option<String>,
    #[command(flatten)]
    about: About,
}

/// Restore retracted records
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql \"SELECT * FROM retractions\"\n  \
    tsql restore 3f2a91c0 --why \"the fan was fine\"\n  \
    tsql restore --where \"source = 'logs/night7.json'\"\n  \
    tsql restore --all")]
pub(super) struct Restore {
    /// Retraction to undo (`retractions.retraction_id`)
    #[arg(value_name = "RETRACTION", conflicts_with = "predicate")]
    retraction: Option<String>,
    /// SQL condition over `retracted` (`source` is the name of their file)
    #[arg(long = "where", value_name = "SQL", required_unless_present_any = ["all", "retraction"])]
    predicate: Option<String>,
    #[command(flatten)]
    about: About,
}

impl About {
    fn options(self, all: bool) -> CorrectionOptions {
        let options = self.why.map(CorrectionOptions::why).unwrap_or_default();
        options
            .all(self.all || all)
            .dry_run(self.dry_run)
            .set_if(self.author, CorrectionOptions::author)
    }
}

/// Returns the condition, or `true` if there is none.
fn predicate_or_all(predicate: Option<String>) -> String {
    predicate.unwrap_or_else(|| "true".to_owned())
}

pub(super) async fn run_correct(place: &StoreOptions, command: Correct) -> Result<u8, Failure> {
    let store = place.open().await?;
    let labels = command.labels.iter().map(|label| label.parse());
    let labels = labels.collect::<Result<Vec<Label>, Error>>()?;
    let is_dry_run = command.about.dry_run;
    let options = command.about.options(false);
    let done = correct(
        &store,
        &labels,
        &predicate_or_all(command.predicate),
        &options,
    )
    .await?;
    print_report(&done, is_dry_run, ("corrected", "would be corrected"));
    Ok(DONE)
}

pub(super) async fn run_retract(place: &StoreOptions, command: Retract) -> Result<u8, Failure> {
    let store = place.open().await?;
    let is_dry_run = command.about.dry_run;
    let options = command.about.options(false);
    let done = retract(&store, &predicate_or_all(command.predicate), &options).await?;
    print_report(&done, is_dry_run, ("retracted", "would be retracted"));
    if let Some(id) = &done.correction_id {
        print_message(&format!("`tsql restore {id}` restores them"));
    }
    Ok(DONE)
}

pub(super) async fn run_restore(place: &StoreOptions, command: Restore) -> Result<u8, Failure> {
    let store = place.open().await?;
    let predicate = match &command.retraction {
        Some(id) => {
            check_retraction(&store, id).await?;
            format!("retraction_id = '{id}'")
        }
        None => predicate_or_all(command.predicate),
    };
    // A retraction by its id needs no confirmation by `--all`.
    let is_dry_run = command.about.dry_run;
    let options = command.about.options(command.retraction.is_some());
    let done = restore(&store, &predicate, &options).await?;
    print_report(&done, is_dry_run, ("restored", "would be restored"));
    Ok(DONE)
}

/// Checks that a retraction exists.
async fn check_retraction(store: &tsql_store::Store, id: &str) -> Result<(), Failure> {
    let known = list_corrections(store).await?.into_iter();
    let known = known.filter(|one| one.kind == tsql_dataset::corrections::CorrectionKind::Retract);
    let known: Vec<String> = known.map(|one| one.correction_id).collect();
    if known.iter().any(|known| known == id) {
        return Ok(());
    }
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    Err(Failure::Library(Error::Unknown {
        kind: "retraction",
        name: id.to_owned(),
        known,
    }))
}

fn print_report(done: &CorrectionReport, is_dry_run: bool, (did, would): (&str, &str)) {
    let verb = if is_dry_run { would } else { did };
    let records = count_noun(done.records, "record");
    let sources = count_noun(done.sources, "source");
    let other_names = match done.other_names {
        0 => String::new(),
        count => format!(" ({count} of them other names of the same bytes)"),
    };
    let resumed = if done.resumed {
        ", which finished an interrupted run"
    } else {
        ""
    };
    print_message(&format!(
        "{records} of {sources}{other_names} {verb}{resumed}"
    ));
}
