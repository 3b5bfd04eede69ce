//! Graph and platform of a file before it is read: which of them neither the file, its path nor the user states.

use std::io::{BufReader, Read as _};
use std::path::PathBuf;

use tsql_error::{Error, Result};
use tsql_formats::autotuners::readers::{Event, Format, ReadOptions, Reader, Trial};
use tsql_formats::autotuners::{FileNames, TunerFile};
use tsql_formats::{ByteCounter, Format as _, Input};

use crate::formats::format_reader::{Admission, AdmissionRequest};
use crate::formats::platform;

/// Options of the reader of a file.
pub(super) fn read_options(file: &TunerFile, input: &Input, names: &FileNames) -> ReadOptions {
    let graph = names.graph.clone();
    let (kernel, problem) = graph.map(|graph| (graph.kernel, graph.problem)).unzip();
    ReadOptions {
        path: path_of(input),
        kernel,
        problem: problem.unwrap_or_default(),
        platform: names.platform.clone(),
        mapping: names.table.clone(),
        run: names.run.clone(),
        companions: companions(file, input),
    }
}

/// Maximum size of a file that names the records of another.
const COMPANION_BYTES: u64 = 16 << 20;

/// Contents of the files beside a file that name its records. A member of an archive and a stream have none.
fn companions(file: &TunerFile, input: &Input) -> Vec<(String, Vec<u8>)> {
    let folder = input.file.parent();
    let Some(folder) = folder.filter(|_| !input.is_in_archive()) else {
        return Vec::new();
    };
    let names = file.format.companions().iter();
    let contents = names.filter_map(|name| {
        let mut content = Vec::new();
        let opened = std::fs::File::open(folder.join(name)).ok()?;
        let mut limited = opened.take(COMPANION_BYTES);
        limited.read_to_end(&mut content).ok()?;
        Some(((*name).to_owned(), content))
    });
    contents.collect()
}

/// Folder of the names of streams.
const STREAMS: &str = "stdin/";

/// Path whose folder and name may state graph and device: the name in the store, or the path on disk where the name has
/// no folder. The folder of an export means nothing. `None` for a stream.
fn path_of(input: &Input) -> Option<PathBuf> {
    if input.name.starts_with(STREAMS) && !input.is_in_archive() {
        None
    } else if input.name.contains('/') || input.is_in_archive() || input.exported.is_some() {
        Some(PathBuf::from(&input.name))
    } else {
        let path = std::path::absolute(&input.file);
        Some(path.unwrap_or_else(|_| input.file.clone()))
    }
}

/// Names that the first trials of a file state.
#[derive(Default)]
struct StatedNames {
    has_trials: bool,
    has_graph: bool,
    platform: Option<String>,
}

/// Decides on a file: reads it up to the first trial that states its platform, which becomes that of the source.
///
/// # Errors
///
/// A file that cannot be opened, and a platform that a store cannot hold.
pub(super) fn admit(file: &TunerFile, request: &AdmissionRequest<'_>) -> Result<Admission> {
    let input = request.input;
    let mut names = request.names.clone();
    if let Some(platform) = request.platform {
        names.platform = Some(platform.to_owned());
    }
    let mut stated = read_names(file, input, &read_options(file, input, &names))?;
    let exported = input.exported_as(file.dataset());
    let exported = exported.map(|exported| exported.platform.as_str());
    let exported = exported.filter(|name| *name != platform::NO_PLATFORM);
    let is_other = stated.platform.as_deref() != exported;
    if let (None, Some(name), true) = (&names.platform, exported, is_other) {
        // A platform that was given at the first ingest.
        names.platform = Some(name.to_owned());
        stated = read_names(file, input, &read_options(file, input, &names))?;
    }
    let (fact, hint) = match (stated.has_graph, stated.platform) {
        _ if !stated.has_trials => {
            let platform = names.platform.clone();
            return Ok(Admission::Named(platform, Box::new(names)));
        }
        (true, Some(platform)) => {
            platform::check(&platform, &input.path)?;
            return Ok(Admission::Named(Some(platform), Box::new(names)));
        }
        (true, None) if folder_platform(file, input).is_some() => {
            let platform = folder_platform(file, input);
            return Ok(Admission::Named(platform, Box::new(names)));
        }
        (false, Some(_)) => ("its graph is unknown", "--graph NAME sets it"),
        (true, None) => ("its platform is unknown", "--platform NAME sets it"),
        (false, None) => (
            "its graph and its platform are unknown",
            "--graph NAME and --platform NAME set them",
        ),
    };
    Ok(Admission::Unnamed(format!(
        "{fact}\nhint: {} does not state it; {hint}, --map FILE does so by patterns of paths",
        file.description()
    )))
}

/// Platform of a file of a benchmark tool that states no machine: the name of its folder, as for tuning logs. The folder of
/// samples of Criterion is that of a baseline.
fn folder_platform(file: &TunerFile, input: &Input) -> Option<String> {
    let is_named = file.format.is_benchmark() && file.format != Format::CriterionSample;
    let folder = input.directory.as_ref().filter(|_| is_named)?;
    platform::is_valid_name(folder).then(|| folder.clone())
}

fn read_names(file: &TunerFile, input: &Input, options: &ReadOptions) -> Result<StatedNames> {
    let opened = input.open_file()?;
    let (stream, _) = opened
        .stream(&ByteCounter::default())
        .map_err(Error::io(&input.file))?;
    let reader = Reader::new(file.format, BufReader::new(stream), options.clone());
    let mut stated = StatedNames::default();
    for event in reader {
        match event {
            Ok(Event::Trial(trial)) => stated.add(&trial),
            Ok(_) => {}
            // The reader reports it again.
            Err(_) => break,
        }
        if stated.has_graph && stated.platform.is_some() {
            break;
        }
    }
    Ok(stated)
}

impl StatedNames {
    fn add(&mut self, trial: &Trial) {
        self.has_trials = true;
        self.has_graph |= trial.graph.kernel.is_some();
        if self.platform.is_none() {
            let platform = trial.platform.as_ref();
            self.platform = platform.map(|platform| platform.name.clone());
        }
    }
}
