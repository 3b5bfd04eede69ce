//! `tsql import`: what other programs computed of configurations.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};

use super::outcome::{DONE, Failure, PARTLY};
use super::place::Place;
use super::talk::{counted, talk};
use crate::features::{FeaturesImported, FeaturesOptions};

/// Take what another program computed of configurations into the store
#[derive(Args, Debug)]
pub(super) struct Import {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Features(Features),
}

/// Take features that another program computed, TVM's 164 of a program say, by the keys of configurations
///
/// `tsql export --format training --features NAME` writes them beside others, and `tsql "SELECT ... FROM features"` shows them. What is there
/// already is not written again. Rows that cannot be used are told with their lines and left out: the exit code is 1 then.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql import features ansor.npz --name ansor\n  \
    tsql import features again.parquet --name ansor --version 2\n  \
    tsql import features \\\n      \
    \"(SELECT key AS config_key, feature FROM 'tvm.parquet')\" --name ansor\n  \
    tsql export --format training --features ansor,workload_shape -o files")]
struct Features {
    /// Parquet, Arrow, CSV, JSON lines or npz, or a query in parentheses: `config_key` (32 hexadecimal digits, 16 bytes, in npz 16 uint8),
    /// and numbers, as a list or in a column each
    #[arg(value_name = "FILE")]
    from: String,
    /// Their name: lower-case letters, digits and _
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The version that they are of: one that there is, or the next [default: the newest]
    #[arg(long, value_name = "N")]
    version: Option<i64>,
    /// The column with the lists of numbers [default: the one that has lists, or all columns of numbers]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
}

pub(super) async fn run(place: &Place, command: Import) -> Result<u8, Failure> {
    let What::Features(features) = command.what;
    let store = place.open().await?;
    let mut options = FeaturesOptions::new(features.name);
    if let Some(version) = features.version {
        options = options.version(version);
    }
    if let Some(column) = features.column {
        options = options.column(column);
    }
    let told = store.import_features(&features.from, &options).await?;
    say(&features.from, &told);
    Ok(if told.is_clean() { DONE } else { PARTLY })
}

fn say(from: &str, told: &FeaturesImported) {
    let mut listed: BTreeMap<_, u64> = BTreeMap::new();
    for row in &told.refused_rows {
        *listed.entry(row.refusal).or_default() += 1;
        talk(&format!("{from}:{}: {}", row.line, row.reason));
    }
    for (refusal, count) in &told.refused {
        let more = count - listed.get(refusal).copied().unwrap_or_default();
        let more = if more > 0 {
            format!(", {more} of them not shown")
        } else {
            String::new()
        };
        talk(&format!(
            "refused: {} {}{more}",
            counted(*count, "row"),
            refusal.words()
        ));
    }
    talk(&format!(
        "{}@{}: {} of {}, {} new, {} there already, {} twice",
        told.name,
        told.version,
        counted(told.rows, "row"),
        counted(told.number_count, "number"),
        told.added,
        told.known,
        told.doubled,
    ));
    if told.missing > 0 {
        talk(&format!(
            "missing: {} of the same graphs, {} have such features",
            counted(told.missing, "configuration"),
            told.configurations
        ));
    }
}
