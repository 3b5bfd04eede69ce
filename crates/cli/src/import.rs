//! `tsql import`: imports features of configurations that other programs computed.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use tsql_ml::features::import_features;
use tsql_ml::features::{FeaturesImported, FeaturesOptions};

use super::outcome::{DONE, Failure, PARTLY};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Import features of configurations that another program computed
#[derive(Args, Debug)]
pub(super) struct Import {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Features(Features),
}

/// Import features by configuration key, such as TVM's 164 features of a program
///
/// `tsql export training --features NAME` writes them, and `tsql "SELECT ... FROM features"` shows them. Existing
/// values are not written again. Rejected rows are listed with their line numbers; the exit code is 1 then.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql import features ansor.npz --name ansor\n  \
    tsql import features again.parquet --name ansor --revision 2\n  \
    tsql import features \\\n      \
    \"(SELECT key AS config_key, feature FROM 'tvm.parquet')\" --name ansor\n  \
    tsql export training --features ansor,workload_shape -o files")]
struct Features {
    /// Parquet, Arrow, CSV, JSON lines or npz file, or a query in parentheses, with `config_key` (32 hexadecimal
    /// digits, or 16 bytes; in npz 16 uint8) and numbers, as a list or as one column each
    #[arg(value_name = "FILE")]
    from: String,
    /// Name of the features: lower-case characters, digits and _
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Revision of the features: an existing one, or the next [default: the newest]
    #[arg(long = "revision", value_name = "N")]
    version: Option<i64>,
    /// Column with lists of numbers [default: the only such column, or all numeric columns]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
}

pub(super) async fn run(place: &StoreOptions, command: Import) -> Result<u8, Failure> {
    let What::Features(features) = command.what;
    let store = place.open().await?;
    let mut options = FeaturesOptions::new(features.name);
    if let Some(version) = features.version {
        options = options.version(version);
    }
    if let Some(column) = features.column {
        options = options.column(column);
    }
    let report = import_features(&store, &features.from, &options).await?;
    print_report(&features.from, &report);
    Ok(if report.is_clean() { DONE } else { PARTLY })
}

fn print_report(from: &str, report: &FeaturesImported) {
    let mut listed: BTreeMap<_, u64> = BTreeMap::new();
    for row in &report.rejected_rows {
        *listed.entry(row.category).or_default() += 1;
        print_message(&format!("{from}:{}: {}", row.line, row.reason));
    }
    for (category, count) in &report.rejected {
        let more = count - listed.get(category).copied().unwrap_or_default();
        let more = if more > 0 {
            format!(", {more} of them not shown")
        } else {
            String::new()
        };
        print_message(&format!(
            "rejected: {} {}{more}",
            count_noun(*count, "row"),
            category.description()
        ));
    }
    print_message(&format!(
        "{}@{}: {} of {}, {} new, {} unchanged, {} repeated",
        report.name,
        report.revision,
        count_noun(report.rows, "row"),
        count_noun(report.number_count, "number"),
        report.added,
        report.unchanged,
        report.duplicates,
    ));
    if report.missing > 0 {
        print_message(&format!(
            "missing: {} of the same graphs; {} have these features",
            count_noun(report.missing, "configuration"),
            report.configurations
        ));
    }
}
