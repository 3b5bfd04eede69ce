//! `tsql batch`: graphs with some of their configurations, for training.

mod several;
mod writer;

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use arrow::datatypes::Schema;
use clap::{Args, ValueEnum};
use tsql_folders::OutputFile;

use super::outcome::{DONE, Failure};
use super::place::Place;
use super::printer::PrintError;
use super::talk::{counted, talk};
use crate::error::Error;
use crate::store::Store;
use crate::tpugraphs::{self, Form, GraphsOptions, Pick, Picking, TrainingFile, TrainingGraph};
use several::Several;
use writer::BatchWriter;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// all samples in their order
    All,
    /// k at random, none twice
    Random,
    /// the k fastest
    Best,
    /// the k slowest
    Worst,
    /// a third the fastest, a third the slowest, the rest at random between (with repetition)
    Baseline,
    /// as upstream trains: at random, fast ones more often, none twice
    Gumbel,
    /// k neighbours by runtime, out of 1 to 4 times as many
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// all numbers as bytes (of tiles: as float32)
    Int8,
    /// all numbers as in the npz files
    Float32,
    /// a code for each group of nodes, and the table of layouts
    Codes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Container {
    /// Arrow IPC stream, a batch for each step
    Arrow,
    /// NumPy arrays with the graph, one step
    Npz,
}

/// Give graphs with k of their configurations, for training
///
/// Reads one file's graph, configurations and runtimes, and nothing else; then every step costs
/// well under a millisecond. Of several files, or of a collection, each step is another file, and each file comes
/// once an epoch. `runtime_ns` is NULL (in npz: 0) where the test split withholds it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql batch                              # the files there are\n  \
    tsql batch layout:xla:default:unet3d -k 128 --seed 7 -o step.npz\n  \
    tsql batch layout:xla:default:unet3d -k 16 --steps 1000 \\\n      \
    | python train.py   # pyarrow.ipc.open_stream\n  \
    tsql batch layout:xla:default:unet3d --pick all --unique --values codes \\\n      \
    -o all.arrow\n  \
    tsql batch layout:xla:random --split train --pick gumbel -k 32 --epochs 3 \\\n      \
    | python train.py   # a batch for each file, in another order each epoch\n  \
    tsql batch layout:xla:random --epochs 3 -o steps.arrow \\\n      \
    --balance \"split_part(split_part(id, ':', 4), '_', 1)\"   # bert, resnet, ...")]
pub(super) struct Batch {
    /// Files: COLLECTION:NAME, or the end of it, or COLLECTION for all of its files; without any all are listed
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Of collections only files of this split: train, valid, test
    #[arg(long, value_name = "SPLIT")]
    split: Option<String>,
    /// Of several files: families take turns, files of one value of this SQL over `sources`
    #[arg(long, value_name = "SQL")]
    balance: Option<String>,
    /// Configurations of a step
    #[arg(short, value_name = "K", default_value_t = 128)]
    k: usize,
    /// Which ones
    #[arg(long, value_enum, default_value_t = How::Random)]
    pick: How,
    /// Seed of random picks: the same seed gives the same steps
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Of samples of the same configuration take only the first
    #[arg(long)]
    unique: bool,
    /// How configurations are given
    #[arg(long, value_enum, default_value_t = Kind::Int8)]
    values: Kind,
    /// Steps to give, one batch each [default: 1, of several files one epoch]
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Epochs to give, of several files
    #[arg(long, value_name = "N", conflicts_with = "steps")]
    epochs: Option<u64>,
    /// Format [default: by the name of FILE, else arrow]
    #[arg(long, value_enum)]
    format: Option<Container>,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(place: &Place, command: Batch) -> Result<u8, Failure> {
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
        Some(name) => one(&store, name, &command).await,
        None if command.container() == Container::Npz => {
            let reason = "an npz file holds one step of one file: take arrow for several";
            Err(Failure::Usage(reason.to_owned()))
        }
        None => {
            let wanted = command.several();
            several::run(&store, &wanted, |schema| command.writer(schema)).await
        }
    }
}

/// Steps of one file.
async fn one(store: &Store, name: &str, command: &Batch) -> Result<u8, Failure> {
    let started = Instant::now();
    let graph = tpugraphs::training_graph(store, name).await?;
    let opened = started.elapsed();
    let started = Instant::now();
    match command.container() {
        Container::Npz => write_npz(&graph, command)?,
        Container::Arrow => write_arrow(&graph, command)?,
    }
    let taken = started.elapsed();
    let samples = counted(graph.sample_count() as u64, "sample");
    let (slots, groups) = (graph.slot_count(), graph.group_count());
    let nodes = match slots {
        0 => String::new(),
        _ => format!(" of {slots} nodes in {groups} groups"),
    };
    talk(&format!(
        "{}: {samples}{nodes}, opened in {:.1} ms, {} in {:.1} ms",
        graph.id(),
        opened.as_secs_f64() * 1e3,
        counted(command.steps.unwrap_or(1), "step"),
        taken.as_secs_f64() * 1e3,
    ));
    Ok(DONE)
}

impl Batch {
    /// The one file that was named; `None` for several, or a collection.
    fn single(&self, files: &[TrainingFile]) -> Option<&str> {
        let [name] = self.files.as_slice() else {
            return None;
        };
        let prefix = format!("{name}:");
        let is_file = files.iter().any(|file| file.id == *name);
        let is_collection = files.iter().any(|file| file.id.starts_with(&prefix));
        let asks_for_epochs =
            self.epochs.is_some() || self.split.is_some() || self.balance.is_some();
        (is_file || !is_collection)
            .then_some(name.as_str())
            .filter(|_| !asks_for_epochs)
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
        let named = self.output.as_ref();
        let npz = named.is_some_and(|path| path.extension().is_some_and(|end| end == "npz"));
        let by_name = if npz {
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

    /// The Arrow stream that was asked for.
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
        let reason = "npz needs a file: -o FILE".to_owned();
        return Err(Failure::Usage(reason));
    };
    if command.steps.is_some_and(|steps| steps != 1) {
        let reason = "an npz file holds one step: take arrow for more".to_owned();
        return Err(Failure::Usage(reason));
    }
    let samples = graph.pick(&command.picking(), 0);
    let (output, file) = OutputFile::create(path).map_err(Error::from)?;
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
