//! Calls that modify a store, or write files: each returns its report as JSON.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use tsql::corrections::{CorrectionOptions, Label};
use tsql::graphnet::{self, ReportOptions, SubsetOptions};
use tsql::notes::Subject;
use tsql::optional_setting::OptionalSetting as _;
use tsql::trend::TrendOptions;
use tsql::{
    CheckOptions, CompareOptions, CopyOptions, ExportOptions, IngestOptions, OptimizeOptions,
    PublishOptions, Shard, VacuumOptions,
};

use crate::errors::to_py_err;
use crate::progress::Progress;
use crate::runtime::{wait, wait_with_progress};
use crate::store::{Store, json};

/// Time for an interrupted ingest to end by itself.
const STOP_TIME: Duration = Duration::from_millis(300);

/// Callable that receives progress, or `None`.
type ProgressCallback = Option<Py<PyAny>>;

/// Options of an ingest, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct IngestArgs {
    platform: Option<String>,
    graph: Option<String>,
    map: Option<String>,
    commit: Option<String>,
    measured_at: Option<String>,
    graph_parameters: Option<String>,
    format: Option<String>,
    labels: Vec<(String, String)>,
    strict: bool,
    dry_run: bool,
    replace: bool,
    threads: Option<usize>,
    part: Option<(u64, u64)>,
}

#[pymethods]
impl Store {
    fn ingest(
        &self,
        py: Python<'_>,
        inputs: Vec<String>,
        how: IngestArgs,
        heard: ProgressCallback,
    ) -> PyResult<String> {
        let (stop, progress) = (Arc::new(AtomicBool::new(false)), Progress::default());
        let told = progress.clone();
        let mut options = IngestOptions::default()
            .strict(how.strict)
            .dry_run(how.dry_run)
            .stop(Arc::clone(&stop))
            .progress(move |event| told.note_event(event))
            .labels(how.labels)
            .set_if(how.platform, IngestOptions::platform)
            .set_if(how.format, IngestOptions::format)
            .set_if(how.threads, IngestOptions::threads);
        if let Some(graph) = &how.graph {
            options = options
                .graph(graph)
                .map_err(|error| to_py_err(py, &error))?;
        }
        if let Some(map) = &how.map {
            options = options.map(map).map_err(|error| to_py_err(py, &error))?;
        }
        if let Some(commit) = &how.commit {
            options = options
                .commit(commit)
                .map_err(|error| to_py_err(py, &error))?;
        }
        if let Some(time) = &how.measured_at {
            options = options
                .measured_at(time)
                .map_err(|error| to_py_err(py, &error))?;
        }
        if let Some(names) = &how.graph_parameters {
            options = options
                .graph_parameters(names)
                .map_err(|error| to_py_err(py, &error))?;
        }
        if let Some((number, of)) = how.part {
            options = options.shard(Shard::new(number, of).map_err(|error| to_py_err(py, &error))?);
        }
        let store = self.get(py)?;
        let call = move || async move {
            match how.replace {
                true => store.ingest_replacing(&inputs, &options).await,
                false => store.ingest(&inputs, &options).await,
            }
        };
        let mut tell = progress.reporter(heard);
        let report = wait_with_progress(py, call, |py| {
            // Complete commit batches are stored before the call returns.
            tell(py).inspect_err(|_| {
                stop.store(true, Ordering::Relaxed);
                py.detach(|| std::thread::sleep(STOP_TIME));
            })
        });
        if report.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        json(py, &report?)
    }

    #[pyo3(signature = (again, dry_run, part, heard))]
    fn optimize(
        &self,
        py: Python<'_>,
        again: bool,
        dry_run: bool,
        part: Option<(u64, u64)>,
        heard: ProgressCallback,
    ) -> PyResult<String> {
        let progress = Progress::default();
        let told = progress.clone();
        let mut options = OptimizeOptions::default()
            .again(again)
            .dry_run(dry_run)
            .progress(move |table, done, of| told.note(table, done, of));
        if let Some((number, of)) = part {
            options = options.shard(Shard::new(number, of).map_err(|error| to_py_err(py, &error))?);
        }
        let store = self.get(py)?;
        let call = move || async move { store.optimize(&options).await };
        json(py, &wait_with_progress(py, call, progress.reporter(heard))?)
    }

    fn vacuum(
        &self,
        py: Python<'_>,
        retain_s: f64,
        force_unlisted: bool,
        dry_run: bool,
    ) -> PyResult<Vec<String>> {
        let retain = Duration::try_from_secs_f64(retain_s);
        let retain = retain.map_err(|error| {
            crate::errors::argument_error(py, "retain", format!("{retain_s} s: {error}"))
        })?;
        let options = VacuumOptions::default()
            .retain(retain)
            .force_unlisted(force_unlisted)
            .dry_run(dry_run);
        let store = self.get(py)?;
        wait(py, move || async move { store.vacuum(&options).await })
    }

    #[pyo3(signature = (memory_limit, heard))]
    fn check(
        &self,
        py: Python<'_>,
        memory_limit: Option<usize>,
        heard: ProgressCallback,
    ) -> PyResult<String> {
        let progress = Progress::default();
        let told = progress.clone();
        let options = CheckOptions::default()
            .progress(move |what, done, of| told.note(what, done, of))
            .set_if(memory_limit, CheckOptions::memory_limit_bytes);
        let store = self.get(py)?;
        let call = move || async move { store.check_with(&options).await };
        json(py, &wait_with_progress(py, call, progress.reporter(heard))?)
    }

    fn repair(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        json(py, &wait(py, move || async move { store.repair().await })?)
    }

    fn export(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        source: Option<String>,
        samples: Option<String>,
        overwrite: bool,
    ) -> PyResult<String> {
        let options = ExportOptions::default()
            .overwrite(overwrite)
            .set_if(source, ExportOptions::source)
            .set_if(samples, ExportOptions::samples);
        let store = self.get(py)?;
        let call = move || async move { store.export(&folder, &options).await };
        json(py, &wait(py, call)?)
    }

    #[pyo3(signature = (to, predicate, dry_run, heard))]
    fn copy_to(
        &self,
        py: Python<'_>,
        to: &Self,
        predicate: Option<String>,
        dry_run: bool,
        heard: ProgressCallback,
    ) -> PyResult<String> {
        let progress = Progress::default();
        let told = progress.clone();
        let options = CopyOptions::default()
            .dry_run(dry_run)
            .progress(move |what, done, of| told.note(what, done, of))
            .set_if(predicate, CopyOptions::predicate);
        let (store, to) = (self.get(py)?, to.get(py)?);
        let call = move || async move { store.copy_to(&to, &options).await };
        json(py, &wait_with_progress(py, call, progress.reporter(heard))?)
    }

    fn create_tag(&self, py: Python<'_>, name: String, note: Option<String>) -> PyResult<String> {
        let store = self.get(py)?;
        let call = move || async move { store.create_tag(&name, note.as_deref()).await };
        json(py, &wait(py, call)?)
    }

    fn delete_tag(&self, py: Python<'_>, name: String) -> PyResult<()> {
        let store = self.get(py)?;
        wait(py, move || async move { store.delete_tag(&name).await })
    }

    /// `about` is a pair of `where`, `source` or `platform`, and its value.
    fn add_note(
        &self,
        py: Python<'_>,
        text: String,
        about: (String, String),
        author: Option<String>,
    ) -> PyResult<String> {
        let subject = match about.0.as_str() {
            "where" => Subject::Where(about.1),
            "source" => Subject::Source(about.1),
            _ => Subject::Platform(about.1),
        };
        let store = self.get(py)?;
        let call = move || async move { store.add_note(&text, &subject, author.as_deref()).await };
        json(py, &wait(py, call)?)
    }

    fn delete_note(&self, py: Python<'_>, note_id: i64) -> PyResult<()> {
        let store = self.get(py)?;
        wait(py, move || async move { store.delete_note(note_id).await })
    }

    fn correct(
        &self,
        py: Python<'_>,
        labels: Vec<String>,
        predicate: String,
        how: CorrectionArgs,
    ) -> PyResult<String> {
        let labels = labels.iter().map(|label| label.parse::<Label>());
        let labels = labels.collect::<tsql::Result<Vec<_>>>();
        let labels = labels.map_err(|error| to_py_err(py, &error))?;
        let (store, options) = (self.get(py)?, how.options());
        let call = move || async move { store.correct(&labels, &predicate, &options).await };
        json(py, &wait(py, call)?)
    }

    fn retract(&self, py: Python<'_>, predicate: String, how: CorrectionArgs) -> PyResult<String> {
        let (store, options) = (self.get(py)?, how.options());
        let call = move || async move { store.retract(&predicate, &options).await };
        json(py, &wait(py, call)?)
    }

    fn restore(&self, py: Python<'_>, predicate: String, how: CorrectionArgs) -> PyResult<String> {
        let (store, options) = (self.get(py)?, how.options());
        let call = move || async move { store.restore(&predicate, &options).await };
        json(py, &wait(py, call)?)
    }

    /// `about` has the metadata of a publication: names and texts.
    #[pyo3(signature = (to, about, overwrite, dry_run, heard))]
    fn publish(
        &self,
        py: Python<'_>,
        to: String,
        about: Vec<(String, String)>,
        overwrite: bool,
        dry_run: bool,
        heard: ProgressCallback,
    ) -> PyResult<String> {
        let progress = Progress::default();
        let told = progress.clone();
        let mut options = PublishOptions::default()
            .overwrite(overwrite)
            .dry_run(dry_run)
            .progress(move |what, done, of| told.note(what, done, of));
        for (name, text) in about {
            options = match name.as_str() {
                "title" => options.title(text),
                "description" => options.description(text),
                "license" => options.license(text),
                "citation" => options.citation(text),
                "author" => options.author(text),
                "url" => options.url(text),
                "version" => options.version(text),
                _ => options.date(text),
            };
        }
        let store = self.get(py)?;
        let call = move || async move { store.publish(&to, &options).await };
        json(py, &wait_with_progress(py, call, progress.reporter(heard))?)
    }

    /// Compares two sides; a plot is drawn if a path is given.
    #[pyo3(signature = (a, b, predicate, all, minimum_change, allowed_regression, top, picture, ranks, anchors))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the options of one call"
    )]
    fn compare(
        &self,
        py: Python<'_>,
        a: String,
        b: String,
        predicate: Option<String>,
        all: bool,
        minimum_change: Option<f64>,
        allowed_regression: Option<f64>,
        top: usize,
        picture: Option<PathBuf>,
        ranks: bool,
        anchors: Vec<String>,
    ) -> PyResult<String> {
        let mut options = CompareOptions::default().top(top).anchors(anchors);
        if ranks {
            options = options.rule(tsql::compare::Rule::Ranks);
        }
        if all {
            options = options.record_choice(tsql::compare::RecordChoice::All);
        }
        options = options
            .set_if(predicate, CompareOptions::predicate)
            .set_if(minimum_change, CompareOptions::minimum_change)
            .set_if(allowed_regression, CompareOptions::allowed_regression);
        let store = self.get(py)?;
        let found = wait(py, move || async move {
            let found = store.compare(&a.parse()?, &b.parse()?, &options).await?;
            if let Some(path) = picture {
                found.draw(&path, PICTURE_WIDTH)?;
            }
            Ok(found)
        })?;
        json(py, &found)
    }

    /// Searches the history of each program; a plot is drawn if a path is given and there are changes.
    #[pyo3(signature = (by, predicate, minimum_change, last, picture))]
    fn trend(
        &self,
        py: Python<'_>,
        by: Option<String>,
        predicate: Option<String>,
        minimum_change: Option<f64>,
        last: Option<usize>,
        picture: Option<PathBuf>,
    ) -> PyResult<String> {
        let options = TrendOptions::default()
            .set_if(predicate, TrendOptions::predicate)
            .set_if(minimum_change, TrendOptions::minimum_change)
            .set_if(last, TrendOptions::last);
        let store = self.get(py)?;
        let found = wait(py, move || async move {
            let order = by.map(|by| by.parse()).transpose()?;
            let found = store
                .trend(&options.set_if(order, TrendOptions::order))
                .await?;
            if let Some(path) = picture.filter(|_| !found.changes.is_empty()) {
                found.draw(&path, PICTURE_WIDTH)?;
            }
            Ok(found)
        })?;
        json(py, &found)
    }

    /// Scores benchmark runs; plots and tables are written if a folder is given.
    fn report(&self, py: Python<'_>, how: ReportArgs) -> PyResult<String> {
        let options = ReportOptions::default()
            .mismatch_extended(how.mismatch_extended)
            .set_if(how.predicate, ReportOptions::predicate)
            .set_if(how.by, ReportOptions::group_by)
            .set_if(how.category, ReportOptions::category)
            .set_if(how.penalty, ReportOptions::p)
            .set_if(how.failure, ReportOptions::b);
        let store = self.get(py)?;
        let (folder, width) = (how.folder, how.width);
        let report = wait(py, move || async move {
            let report = graphnet::report(&store, &options).await?;
            if let Some(folder) = folder {
                report.write(&folder, width)?;
            }
            Ok(report)
        })?;
        json(py, &report)
    }

    fn create_subset(
        &self,
        py: Python<'_>,
        name: String,
        query: Option<String>,
        random: Option<(usize, u64)>,
        tasks: Option<(usize, usize, u64)>,
    ) -> PyResult<String> {
        let mut options = SubsetOptions::default();
        if let Some((count, seed)) = random {
            options = options.random(count, seed);
        }
        if let Some((count, programs, seed)) = tasks {
            options = options.tasks(count, programs, seed);
        }
        let store = self.get(py)?;
        let query = query.unwrap_or_else(|| graphnet::TASK_QUERY.to_owned());
        let call =
            move || async move { graphnet::create_subset(&store, &name, &query, &options).await };
        json(py, &wait(py, call)?)
    }

    fn subset(&self, py: Python<'_>, name: String, version: Option<i64>) -> PyResult<String> {
        let store = self.get(py)?;
        let call = move || async move { graphnet::subset(&store, &name, version).await };
        json(py, &wait(py, call)?)
    }

    fn delete_subset(&self, py: Python<'_>, name: String) -> PyResult<u64> {
        let store = self.get(py)?;
        wait(py, move || async move {
            graphnet::delete_subset(&store, &name).await
        })
    }
}

/// Width of plots in pixels.
const PICTURE_WIDTH: u32 = 1600;

/// Options of a report, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ReportArgs {
    predicate: Option<String>,
    by: Option<String>,
    category: Option<String>,
    penalty: Option<f64>,
    failure: Option<f64>,
    mismatch_extended: bool,
    folder: Option<PathBuf>,
    width: u32,
}

/// Options of a correction, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct CorrectionArgs {
    why: Option<String>,
    author: Option<String>,
    all: bool,
    dry_run: bool,
}

impl CorrectionArgs {
    fn options(self) -> CorrectionOptions {
        let options = match self.why {
            Some(why) => CorrectionOptions::why(why),
            None => CorrectionOptions::default(),
        };
        let options = options.set_if(self.author, CorrectionOptions::author);
        options.all(self.all).dry_run(self.dry_run)
    }
}
