//! `tsql correct`, `tsql retract`, `tsql restore`: what was wrong, put right.

use clap::Args;

use super::outcome::{DONE, Failure};
use super::place::Place;
use super::talk::{counted, talk};
use crate::corrections::{Corrected, CorrectionOptions, Label};
use crate::error::Error;

/// Why, who, and how much.
#[derive(Args, Debug)]
struct About {
    /// Why: kept for whoever asks later
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Who does it [default: the user's name]
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Everything may be chosen
    #[arg(long)]
    all: bool,
    /// Only say what it would do
    #[arg(long)]
    dry_run: bool,
}

/// Change labels that were given wrong: platform, collection, split
///
/// For whole sources, in all their records. What was measured is never changed: `tsql retract` takes it out of all answers.
/// Files are given back as before; a file that is ingested again under the wrong platform is known.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql correct --set platform=k80 --where \"platform = 'k-80'\" \\\n      \
    --why \"a typing error\"\n  \
    tsql correct --set split=valid --where \"source LIKE 'own/%7.npz'\" \\\n      \
    --why \"every seventh is for validation\"\n  \
    tsql \"SELECT * FROM corrections\"\n  \
    tsql diff records@12")]
pub(super) struct Correct {
    /// The label and its right value: platform=NAME, collection=NAME, split=NAME; nothing after = takes it away
    #[arg(long, value_name = "LABEL=VALUE", required = true)]
    set: Vec<String>,
    /// Which sources: SQL over `sources`, whose names are also `source`
    #[arg(long = "where", value_name = "SQL", required_unless_present = "all")]
    predicate: Option<String>,
    #[command(flatten)]
    about: About,
}

/// Take records out of all answers
///
/// They are kept in `retracted`, and their files are given back byte for byte. Ingesting a file again does not bring them back:
/// `tsql restore` does.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql retract --where \"source = 'logs/night7.json'\" --why \"the fan was broken\"\n  \
    tsql retract --where \"platform = 'k80' AND measured_at >= '2026-11-07'\" \\\n      \
    --why \"a new driver\" --dry-run\n  \
    tsql \"SELECT * FROM retractions\"\n  \
    tsql \"SELECT count(*) FROM retracted WHERE platform = 'k80'\"")]
pub(super) struct Retract {
    /// Which records: SQL over `records`; the name of their file is `source`
    #[arg(long = "where", value_name = "SQL", required_unless_present = "all")]
    predicate: Option<String>,
    #[command(flatten)]
    about: About,
}

/// Put retracted records back
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql \"SELECT * FROM retractions\"\n  \
    tsql restore 3f2a91c0 --why \"the fan was fine\"\n  \
    tsql restore --where \"source = 'logs/night7.json'\"\n  \
    tsql restore --all")]
pub(super) struct Restore {
    /// A retraction, as `retractions.retraction_id` names it
    #[arg(value_name = "RETRACTION", conflicts_with = "predicate")]
    retraction: Option<String>,
    /// Which records: SQL over `retracted`; the name of their file is `source`
    #[arg(long = "where", value_name = "SQL", required_unless_present_any = ["all", "retraction"])]
    predicate: Option<String>,
    #[command(flatten)]
    about: About,
}

impl About {
    fn options(self, all: bool) -> CorrectionOptions {
        CorrectionOptions {
            why: self.why,
            who: self.who,
            all: self.all || all,
            dry_run: self.dry_run,
        }
    }
}

/// Everything, where nothing else is said.
fn chosen(predicate: Option<String>) -> String {
    predicate.unwrap_or_else(|| "true".to_owned())
}

pub(super) async fn correct(place: &Place, command: Correct) -> Result<u8, Failure> {
    let store = place.open().await?;
    let labels = command.set.iter().map(|label| label.parse());
    let labels = labels.collect::<Result<Vec<Label>, Error>>()?;
    let options = command.about.options(false);
    let done = store
        .correct(&labels, &chosen(command.predicate), &options)
        .await?;
    tell(&done, &options, ("corrected", "would be corrected"));
    Ok(DONE)
}

pub(super) async fn retract(place: &Place, command: Retract) -> Result<u8, Failure> {
    let store = place.open().await?;
    let options = command.about.options(false);
    let done = store.retract(&chosen(command.predicate), &options).await?;
    tell(&done, &options, ("retracted", "would be retracted"));
    if let Some(id) = &done.correction_id {
        talk(&format!("`tsql restore {id}` puts them back"));
    }
    Ok(DONE)
}

pub(super) async fn restore(place: &Place, command: Restore) -> Result<u8, Failure> {
    let store = place.open().await?;
    let predicate = match &command.retraction {
        Some(id) => {
            known_retraction(&store, id).await?;
            format!("retraction_id = '{id}'")
        }
        None => chosen(command.predicate),
    };
    // Who names a retraction means all of it.
    let options = command.about.options(command.retraction.is_some());
    let done = store.restore(&predicate, &options).await?;
    tell(&done, &options, ("restored", "would be restored"));
    Ok(DONE)
}

async fn known_retraction(store: &crate::Store, id: &str) -> Result<(), Failure> {
    let known = store.corrections().await?.into_iter();
    let known = known.filter(|one| one.kind == crate::corrections::Kind::Retract);
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

fn tell(done: &Corrected, options: &CorrectionOptions, (did, would): (&str, &str)) {
    let verb = if options.dry_run { would } else { did };
    let records = counted(done.records, "record");
    let sources = counted(done.sources, "source");
    let other_names = match done.other_names {
        0 => String::new(),
        count => format!(" ({count} of them other names of the same bytes)"),
    };
    let resumed = if done.resumed {
        ", with what had been broken off"
    } else {
        ""
    };
    talk(&format!(
        "{records} of {sources}{other_names} {verb}{resumed}"
    ));
}
