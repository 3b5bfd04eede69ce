//! `tsql platform`: facts about platforms with their sources.

use clap::{Args, Subcommand};
use tsql_dataset::platforms::{platform_facts, set_facts, unset_fact};
use tsql_error::Error;
use tsql_session::{SessionOptions, open_session_with};

use super::deletion::Deletion;
use super::outcome::{DONE, Failure};
use super::output::{Output, print};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Facts about platforms, such as cores, bandwidth and peak performance
///
/// The view `platforms` has one row per platform. `tsql queries roofline`, `task-bounds`, `tpugraphs-bounds` and
/// `gflops-beside-peak` read the peak and the bandwidth there. Facts that were not set are those of the environments of the
/// records. The newest value of a fact is valid.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql platform set a100 --device \"NVIDIA A100-PCIE-40GB\" --cores 108 \\\n      \
    --clock 1410MHz --source \"data sheet\"\n  \
    tsql platform set a100 --peak-flops 19.5TFLOP/s --bandwidth 1555GB/s \\\n      \
    --source \"data sheet, FP32\"\n  \
    tsql platform list\n  \
    tsql platform show a100\n  \
    tsql platform unset a100 clock_hz\n  \
    tsql \"SELECT platform, peak_flop_per_s / bandwidth_bytes_per_s AS ridge\n      \
    FROM platforms\"")]
pub(super) struct Platform {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Set facts of a platform, with their source
    Set(Box<Set>),
    /// List all platforms with their facts
    List(List),
    /// Show the facts of a platform with their sources
    Show(Show),
    /// Delete a fact that was set, with its earlier values
    Unset(Unset),
}

#[derive(Args, Debug)]
struct Set {
    /// Platform, as in `records.platform`
    #[arg(value_name = "NAME", add = super::completion_values::platforms())]
    platform: String,
    #[command(flatten)]
    facts: FactOptions,
    /// Source of these facts, such as a data sheet
    #[arg(long, value_name = "TEXT")]
    source: String,
    /// Author [default: $USER]
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

/// Values of facts.
#[derive(Args, Debug)]
struct FactOptions {
    /// Vendor
    #[arg(long, value_name = "TEXT")]
    vendor: Option<String>,
    /// Full name of the processor or accelerator
    #[arg(long, value_name = "TEXT")]
    device: Option<String>,
    /// Number of cores; of a GPU, of multiprocessors
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    cores: Option<String>,
    /// Clock, such as 2.5GHz
    #[arg(long, value_name = "CLOCK", allow_negative_numbers = true)]
    clock: Option<String>,
    /// Instruction set, or compute capability of a GPU
    #[arg(long, value_name = "TEXT")]
    isa: Option<String>,
    /// Size of the memory, such as 40GB
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    memory: Option<String>,
    /// Memory bandwidth, such as 1555GB/s
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    bandwidth: Option<String>,
    /// Peak performance, such as 19.5TFLOP/s
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    peak_flops: Option<String>,
    /// Instance type of a cloud
    #[arg(long, value_name = "TEXT")]
    instance: Option<String>,
}

impl FactOptions {
    /// Returns the names and values of the given facts.
    fn into_values(self) -> Vec<(String, String)> {
        let all = [
            ("vendor", self.vendor),
            ("device", self.device),
            ("cores", self.cores),
            ("clock_hz", self.clock),
            ("isa", self.isa),
            ("memory_bytes", self.memory),
            ("bandwidth_bytes_per_s", self.bandwidth),
            ("peak_flop_per_s", self.peak_flops),
            ("instance", self.instance),
        ];
        let given = all.into_iter();
        given
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}

#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Show {
    /// Platform, as in `records.platform`
    #[arg(value_name = "NAME", add = super::completion_values::platforms())]
    platform: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Unset {
    /// Platform, as in `records.platform`
    #[arg(value_name = "NAME", add = super::completion_values::platforms())]
    platform: String,
    /// Fact: a column of `platforms`
    #[arg(value_name = "FACT", add = super::completion_values::platform_facts())]
    fact: String,
    #[command(flatten)]
    deletion: Deletion,
}

pub(super) async fn run(place: &StoreOptions, command: Platform) -> Result<u8, Failure> {
    match command.action {
        Action::Set(command) => set(place, *command).await,
        Action::List(command) => {
            let sql = "SELECT * FROM platforms ORDER BY platform";
            print_rows(place, sql, &command.output).await
        }
        Action::Show(command) => {
            let name = command.platform.trim();
            let facts = platform_facts(&place.open().await?, name).await?;
            if facts.is_empty() {
                print_message(&format!(
                    "no fact of platform {name} is known\nhint: `tsql platform set {name}` sets facts"
                ));
            }
            let sql = format!(
                "SELECT fact, coalesce(value_text, regexp_replace(CAST(value_number AS VARCHAR), '\\.0$', '')) AS value, source, set_at, author \
                 FROM platform_values WHERE platform = '{}' ORDER BY fact",
                name.replace('\'', "''")
            );
            print_rows(place, &sql, &command.output).await
        }
        Action::Unset(command) => {
            let store = place.open().await?;
            let what = format!("{} of platform {}", command.fact, command.platform);
            if command.deletion.is_confirmed(&what)? {
                unset_fact(&store, &command.platform, &command.fact).await?;
                print_message(&format!("deleted {what}"));
            }
            Ok(DONE)
        }
    }
}

async fn set(place: &StoreOptions, command: Set) -> Result<u8, Failure> {
    let values = command.facts.into_values();
    if values.is_empty() {
        let reason = "no fact to set\nhint: --peak-flops RATE, --bandwidth RATE, --cores N, ...";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let store = place.open().await?;
    let author = command.author.or_else(|| std::env::var("USER").ok());
    let (platform, source) = (&command.platform, &command.source);
    let set = set_facts(&store, platform, &values, source, author.as_deref()).await?;
    let mut parts = Vec::new();
    if !set.written.is_empty() {
        let names: Vec<&str> = set.written.iter().map(|fact| fact.fact.as_str()).collect();
        parts.push(format!("set {}", names.join(", ")));
    }
    if set.unchanged > 0 {
        let facts = count_noun(set.unchanged as u64, "fact");
        parts.push(format!("{facts} unchanged"));
    }
    print_message(&format!("platform {}: {}", set.platform, parts.join("; ")));
    if !set.has_records {
        print_message(&format!(
            "note: the store has no records of platform {}",
            set.platform
        ));
    }
    Ok(DONE)
}

/// Prints the result of a query over the store.
async fn print_rows(place: &StoreOptions, sql: &str, output: &Output) -> Result<u8, Failure> {
    let options = SessionOptions::default().sql(sql);
    let context = open_session_with(&place.open().await?, &options).await?;
    let frame = context.sql(sql).await.map_err(Error::Query)?;
    let rows = frame.execute_stream().await.map_err(Error::Query)?;
    print(rows, output).await?;
    Ok(DONE)
}
