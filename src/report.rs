//! Curves of S(t) and ES(t) and the distribution of speedups of GraphNet's benchmark runs, as
//! pictures and as numbers.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use arrow::datatypes::{Float64Type, Int32Type};
use tsql_metrics::speedup::{self, Interpretation, Params, Sample};

use crate::column;
use crate::error::{Error, Result};
use crate::query::collect;
use crate::store::Store;

#[cfg_attr(not(feature = "plot"), path = "report/no_pictures.rs")]
mod pictures;

/// How wide the PNGs of a report may be, in pixels: from where letters can be read to where they
/// fill a wall.
pub const PNG_WIDTHS: RangeInclusive<u32> = 800..=8000;

/// What a report is about.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// Which runs: SQL over the columns of `runs`, `name` (of the log), and `source`,
    /// `heuristic_tag` and `framework` of the sample, where the store has it.
    pub predicate: String,
    /// What the runs of one curve have in common: SQL over the same.
    pub by: String,
    /// What the runs of one violin have in common: SQL over the same.
    pub category: String,
    /// Power that is added to slowdowns.
    pub p: f64,
    /// What a failure counts.
    pub b: f64,
    /// Tolerate failures as upstream's `mismatch_extended` does.
    pub mismatch_extended: bool,
}

impl Default for ReportOptions {
    fn default() -> Self {
        let usual = Params::default();
        Self {
            predicate: "true".to_owned(),
            by: "regexp_replace(name, '^.*/|[.][^.]*$', '', 'g')".to_owned(),
            category: "coalesce(heuristic_tag, compiler, 'unknown')".to_owned(),
            p: usual.p,
            b: usual.b,
            mismatch_extended: false,
        }
    }
}

/// What a report found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GraphnetReport {
    /// One for each curve: its name and its points.
    pub curves: Vec<ReportCurve>,
    /// Speedups by category, each with its sample.
    pub categories: Vec<(String, Vec<(String, f64)>)>,
}

/// A curve of a report.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReportCurve {
    /// What its runs have in common.
    pub name: String,
    /// Runs.
    pub runs: usize,
    /// Weighted mean of log10 ES(t).
    pub aggregate: f64,
    /// Its points, by t.
    pub points: Vec<ReportPoint>,
}

/// A point of a curve. Source of the numbers: GraphNet paper, Appendices B and C.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ReportPoint {
    /// Tolerance.
    pub t: i32,
    /// S(t).
    pub s: f64,
    /// ES(t).
    pub es: f64,
    /// Geometric mean of the speedups of correct runs.
    pub alpha: f64,
    /// Geometric mean of those below 1.
    pub beta: f64,
    /// Share of correct runs.
    pub lambda: f64,
    /// Share of slowdowns among them.
    pub eta: f64,
    /// Mean penalty of an error.
    pub gamma: f64,
}

impl Store {
    /// Scores the benchmark runs of GraphNet.
    ///
    /// # Errors
    /// [`Error::Query`] where an expression is no SQL.
    pub async fn report_graphnet(&self, options: &ReportOptions) -> Result<GraphnetReport> {
        let context = self.session().await?;
        let (by, category, predicate) = (&options.by, &options.category, &options.predicate);
        let sql = format!(
            "WITH about AS (SELECT sample, min(source) AS source, min(heuristic_tag) AS heuristic_tag, \
             min(framework) AS framework FROM samples GROUP BY sample), \
             known AS (SELECT r.*, s.name, a.source, a.heuristic_tag, a.framework FROM runs AS r \
             JOIN files AS s ON s.source_id = r.source_id LEFT JOIN about AS a ON a.sample = r.sample) \
             SELECT arrow_cast({by}, 'Utf8View') AS report_curve, arrow_cast({category}, 'Utf8View') AS report_category, \
             sample, speedup, passes, upstream_status FROM known WHERE {predicate} \
             ORDER BY report_curve, source_id, line"
        );
        let mut curves: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
        let mut categories: BTreeMap<String, Vec<(String, f64)>> = BTreeMap::new();
        for batch in collect(&context, &sql).await? {
            let text = |name| column::text(&batch, name);
            let (names, groups) = (text("report_curve")?, text("report_category")?);
            let (samples, statuses) = (text("sample")?, text("upstream_status")?);
            let speedups = column::numbers::<Float64Type>(&batch, "speedup")?;
            let passes = column::numbers::<Int32Type>(&batch, "passes")?;
            for row in 0..batch.num_rows() {
                let named = |column| column::text_at(column, row).unwrap_or("NULL").to_owned();
                let speedup = column::value(speedups, row);
                curves.entry(named(names)).or_default().push(Sample {
                    speedup,
                    passes: passes.value(row).cast_unsigned(),
                    status: statuses.value(row).to_owned(),
                });
                if let Some(speedup) = speedup.filter(|speedup| *speedup > 0.0) {
                    let group = categories.entry(named(groups)).or_default();
                    group.push((samples.value(row).to_owned(), speedup));
                }
            }
        }
        let params = Params {
            p: options.p,
            b: options.b,
            interpretation: if options.mismatch_extended {
                Interpretation::MismatchExtended
            } else {
                Interpretation::Default
            },
        };
        let curves = curves.into_iter();
        let curves = curves.filter_map(|(name, samples)| curve(name, &samples, &params));
        Ok(GraphnetReport {
            curves: curves.collect(),
            categories: categories.into_iter().collect(),
        })
    }
}

fn curve(name: String, samples: &[Sample], params: &Params) -> Option<ReportCurve> {
    let mut points = Vec::new();
    for t in params.interpretation.levels() {
        let found = speedup::macro_score(samples, t, params)?;
        points.push(ReportPoint {
            t,
            s: speedup::speedup_score(samples, t, params)?,
            es: speedup::error_aware_speedup_score(samples, t, params)?,
            alpha: found.alpha,
            beta: found.beta,
            lambda: found.lambda,
            eta: found.eta,
            gamma: found.gamma,
        });
    }
    Some(ReportCurve {
        name,
        runs: samples.len(),
        aggregate: speedup::aggregate_score(samples, params)?,
        points,
    })
}

impl GraphnetReport {
    /// Writes the pictures (`speedup_score`, `error_aware_speedup_score`, `speedups`, each as SVG
    /// and as PNG of `png_width` pixels across, 9/16 of it high) and the numbers (`scores.csv`,
    /// `speedups.csv`) into a folder; gives their paths.
    ///
    /// # Errors
    /// [`Error::Io`] where a file cannot be written, [`Error::Usage`] for a width that is out of
    /// [`PNG_WIDTHS`], [`Error::Drawing`] where this build has no pictures (feature `plot`).
    pub fn write(&self, folder: &Path, png_width: u32) -> Result<Vec<PathBuf>> {
        if !PNG_WIDTHS.contains(&png_width) {
            return Err(Error::Usage(format!(
                "pictures are {} to {} pixels wide, not `{png_width}`",
                PNG_WIDTHS.start(),
                PNG_WIDTHS.end()
            )));
        }
        let pictures = pictures::drawn(self, png_width)?;
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let mut written = Vec::new();
        for (name, picture) in pictures {
            for (extension, bytes) in [("svg", picture.svg.into_bytes()), ("png", picture.png)] {
                let path = folder.join(format!("{name}.{extension}"));
                fs::write(&path, bytes).map_err(Error::io(&path))?;
                written.push(path);
            }
        }
        written.push(self.write_scores(folder)?);
        written.push(self.write_speedups(folder)?);
        Ok(written)
    }

    fn write_scores(&self, folder: &Path) -> Result<PathBuf> {
        let heads = [
            "curve",
            "runs",
            "t",
            "s",
            "es",
            "alpha",
            "beta",
            "lambda",
            "eta",
            "gamma",
            "aggregate",
        ];
        let rows = self.curves.iter().flat_map(|curve| {
            curve.points.iter().map(|at| {
                let numbers = [
                    at.s,
                    at.es,
                    at.alpha,
                    at.beta,
                    at.lambda,
                    at.eta,
                    at.gamma,
                    curve.aggregate,
                ];
                let mut row = vec![curve.name.clone(), curve.runs.to_string(), at.t.to_string()];
                row.extend(numbers.iter().map(f64::to_string));
                row
            })
        });
        write_csv(folder.join("scores.csv"), &heads, rows)
    }

    fn write_speedups(&self, folder: &Path) -> Result<PathBuf> {
        let rows = self.categories.iter().flat_map(|(name, speedups)| {
            let row = move |(sample, speedup): &(String, f64)| {
                vec![name.clone(), sample.clone(), speedup.to_string()]
            };
            speedups.iter().map(row)
        });
        let heads = ["category", "sample", "speedup"];
        write_csv(folder.join("speedups.csv"), &heads, rows)
    }
}

fn write_csv(
    path: PathBuf,
    heads: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> Result<PathBuf> {
    let failed = |error: csv::Error| Error::io(&path)(std::io::Error::other(error));
    let mut file = csv::Writer::from_path(&path).map_err(failed)?;
    file.write_record(heads).map_err(failed)?;
    for row in rows {
        file.write_record(&row).map_err(failed)?;
    }
    file.flush().map_err(Error::io(&path))?;
    Ok(path)
}
