//! `tsql batch`: training batches of TpuGraphs graphs with sampled configurations.

mod multiple_files;
mod writer;

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use arrow::datatypes::Schema;
use clap::{Args, ValueEnum};
use tsql_error::Error;
use tsql_ml::tpugraphs;
use tsql_ml::tpugraphs::{Form, GraphsOptions, Pick, Picking, TrainingFile, TrainingGraph};
use tsql_store::Store;
use tsql_store::atomic_output::create_output;

use multiple_files::Several;
use writer::BatchWriter;

use super::outcome::{DONE, Failure};
use super::printer::PrintError;
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// All rows in their order
    All,
    /// k at random, without repetition
    Random,
    /// The k fastest
    Best,
    /// The k slowest
    Worst,
    /// One third the fastest, one third the slowest, the rest at random (with repetition)
    Baseline,
    /// As in the training code of TpuGraphs: at random, fast ones more often, without repetition
    Gumbel,
    /// k neighbors by runtime, out of 1 to 4 times as many
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// All numbers as bytes (tiles: as float32)
    Int8,
    /// All numbers as in the npz files
    Float32,
    /// One code per group of nodes, and the table of layouts
    Codes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Container {
    /// Arrow IPC stream, one record batch per training batch
    Arrow,
    /// NumPy arrays with the graph, one training batch
    Npz,
}

/// Write training batches: TpuGraphs graphs, each with k of its configurations
///
/// Reads the graph, configurations and runtimes of one file; a batch then takes well under a millisecond. With several
/// files, or a collection, each batch is of another file, and each file occurs once per epoch. `runtime_ns` is NULL (in
/// npz: 0) if the test split withholds it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql batch                              # list the files\n  \
    tsql batch layout:xla:default:unet3d --configs 128 --seed 7 -o step.npz\n  \
    tsql batch layout:xla:default:unet3d --configs 16 --steps 1000 \\\n      \
    | python train.py   # pyarrow.ipc.open_stream\n  \
    tsql batch layout:xla:default:unet3d --pick all --unique --values codes \\\n      \
    -o all.arrow\n  \
    tsql batch layout:xla:random --split train --pick gumbel --configs 32 \\\n      \
    --epochs 3 | python train.py   # a batch per file, in a new order each epoch\n  \
    tsql batch layout:xla:random --epochs 3 -o steps.arrow \\\n      \
    --balance \"split_part(split_part(id, ':', 4), '_', 1)\"   # bert, resnet, ...")]
pub(super) struct Batch {
    /// Files: COLLECTION:NAME, or the end of it, or COLLECTION for all of its files [default: list all files]
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Only files of this dataset split: train, valid, test
    #[arg(long, value_name = "SPLIT")]
    split: Option<String>,
    /// SQL expression over `sources`: alternate between files with different values
    #[arg(long, value_name = "SQL")]
    balance: Option<String>,
    /// Number of configurations of a batch
    #[arg(short, long = "configs", value_name = "K", default_value_t = 128)]
    k: usize,
    /// Selection of the configurations
    #[arg(long, value_enum, default_value_t = How::Random)]
    pick: How,
    /// Seed of the selection: the same seed gives the same batches
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Only the first row of each distinct configuration
    #[arg(long)]
    unique: bool,
    /// Encoding of configurations
    #[arg(long, value_enum, default_value_t = Kind::Int8)]
    values: Kind,
    /// Number of batches [default: 1, or one epoch of several files]
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Number of epochs over several files
    #[arg(long, value_name = "N", conflicts_with = "steps")]
    epochs: Option<u64>,
    /// Format of the result [default: from the name of FILE, else arrow]
    #[arg(long, value_enum)]
    format: Option<Container>,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(place: &StoreOptions, command: Batch) -> Result<u8, Failure> {
    let store = place.open().await?;
    if command.files.is_empty() {
        let mut out = super::stdout::stdout();
        for file in tpugraphs::training_files(&store).await? {
            let split = file.split.unwrap_or_default();
            let written = writeln!(out, "{}\t{split}", file.id);
            written.map_err(PrintError::Io)?;
        }
        return Ok(DONE);
    }
    match command.single(&tpugraphs::training_files(&store).await?) {
        Some(name) => write_one_file(&store, name, &command).await,
        None if command.container() == Container::Npz => {
            let reason =
                "an npz file contains one batch of one file\nhint: --format arrow writes several";
            Err(Failure::Usage(reason.to_owned()))
        }
        None => {
            let wanted = command.several();
            multiple_files::run(&store, &wanted, |schema| command.writer(schema)).await
        }
    }
}

/// Writes batches of one file.
async fn write_one_file(store: &Store, name: &str, command: &Batch) -> Result<u8, Failure> {
    let started = Instant::now();
    let graph = tpugraphs::training_graph(store, name).await?;
    let open_time = started.elapsed();
    let started = Instant::now();
    match command.container() {
        Container::Npz => write_npz(&graph, command)?,
        Container::Arrow => write_arrow(&graph, command)?,
    }
    let write_time = started.elapsed();
    let samples = count_noun(graph.sample_count() as u64, "sample");
    let (slots, groups) = (graph.slot_count(), graph.group_count());
    let nodes = match slots {
        0 => String::new(),
        _ => format!(" of {slots} slots in {groups} slot groups"),
    };
    print_message(&format!(
        "{}: {samples}{nodes}, opened in {:.1} ms, {} in {:.1} ms",
        graph.id(),
        open_time.as_secs_f64() * 1e3,
        count_noun(command.steps.unwrap_or(1), "step"),
        write_time.as_secs_f64() * 1e3,
    ));
    Ok(DONE)
}

impl Batch {
    /// Returns the name of the only file; `None` for several files, a collection, or options that need several files.
    fn single(&self, files: &[TrainingFile]) -> Option<&str> {
        let [name] = self.files.as_slice() else {
            return None;
        };
        let prefix = format!("{name}:");
        let is_file = files.iter().any(|file| file.id == *name);
        let is_collection = files.iter().any(|file| file.id.starts_with(&prefix));
        let has_epoch_options =
            self.epochs.is_some() || self.split.is_some() || self.balance.is_some();
        (is_file || !is_collection)
            .then_some(name.as_str())
            .filter(|_| !has_epoch_options)
    }

    fn several(&self) -> Several<'_> {
        let mut options = GraphsOptions::new(self.picking()).form(self.form());
        if let Some(split) = &self.split {
            options = options.split(split);
        }
        if let Some(family) = &self.balance {
            options = options.balance(family);
        }
        Several {
            names: self.files.iter().map(String::as_str).collect(),
            options,
            form: self.form(),
            epochs: self.epochs,
            steps: self.steps,
        }
    }

    fn container(&self) -> Container {
        let output = self.output.as_ref();
        let is_npz = output.is_some_and(|path| path.extension().is_some_and(|end| end == "npz"));
        let by_name = if is_npz {
            Container::Npz
        } else {
            Container::Arrow
        };
        self.format.unwrap_or(by_name)
    }

    fn picking(&self) -> Picking {
        let pick = match self.pick {
            How::All => Pick::All,
            How::Random => Pick::Random,
            How::Best => Pick::Best,
            How::Worst => Pick::Worst,
            How::Baseline => Pick::Baseline,
            How::Gumbel => Pick::Gumbel,
            How::Close => Pick::Close,
        };
        let picking = Picking::new(pick, self.k);
        picking.seed(self.seed).unique(self.unique)
    }

    /// Opens the output as an Arrow stream with this schema.
    fn writer(&self, schema: &Schema) -> Result<BatchWriter, Failure> {
        BatchWriter::open(self.output.as_deref(), schema)
    }

    fn form(&self) -> Form {
        match self.values {
            Kind::Int8 => Form::Int8,
            Kind::Float32 => Form::Float32,
            Kind::Codes => Form::Codes,
        }
    }
}

fn write_npz(graph: &TrainingGraph, command: &Batch) -> Result<(), Failure> {
    let Some(path) = &command.output else {
        let reason = "npz output needs a file\nhint: -o FILE".to_owned();
        return Err(Failure::Usage(reason));
    };
    if command.steps.is_some_and(|steps| steps != 1) {
        let reason =
            "an npz file contains one batch\nhint: --format arrow writes several".to_owned();
        return Err(Failure::Usage(reason));
    }
    let samples = graph.pick(&command.picking(), 0);
    let (output, file) = create_output(path)?;
    graph.write_npz(&samples, command.form(), BufWriter::new(file))?;
    Ok(output.finish().map_err(Error::from)?)
}

fn write_arrow(graph: &TrainingGraph, command: &Batch) -> Result<(), Failure> {
    let (picking, form) = (command.picking(), command.form());
    let schema = graph.batch(&[], form)?.schema();
    let mut writer = command.writer(&schema)?;
    for step in 0..command.steps.unwrap_or(1) {
        let samples = graph.pick(&picking, step);
        writer.write(&graph.batch(&samples, form)?)?;
    }
    writer.finish()
}
