//! Curves of S(t) and ES(t) and the distribution of speedups of GraphNet's benchmark runs, as plots and as numbers.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use arrow::datatypes::{Float64Type, Int32Type};
use derive_setters::Setters;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_metrics::speedup::{self, Interpretation, Sample, ScoreParams};
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;
use tsql_store::atomic_output::{check_output, write_output};

#[cfg_attr(not(feature = "plot"), path = "report/no_plots.rs")]
mod plots;
mod scores;

pub use scores::{Curve, Point, Report};

/// Widths of the PNGs of a report, in pixels: from readable text to wall size.
pub const PNG_WIDTHS: RangeInclusive<u32> = 800..=8000;

/// Options of a report. Its expressions are SQL over the columns of `runs`, `name` (of the log), and `source`,
/// `heuristic_tag` and `framework` of the sample, if the store has it.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
pub struct ReportOptions {
    /// Restricts the report to runs that satisfy this predicate.
    #[setters(into)]
    pub(crate) predicate: String,
    /// Sets the grouping expression of the curves. Default: the name of the log.
    #[setters(rename = "group_by", into)]
    pub(crate) by: String,
    /// Sets the grouping expression of the violins. Default: the tag of the sample, or the compiler if no sample has a
    /// tag.
    #[setters(into)]
    pub(crate) category: String,
    /// Sets the exponent that is added for slowdowns.
    pub(crate) p: f64,
    /// Sets the speedup that a failure counts as.
    pub(crate) b: f64,
    /// Tolerates failures as upstream's `mismatch_extended` does.
    pub(crate) mismatch_extended: bool,
}

impl Default for ReportOptions {
    fn default() -> Self {
        let usual = ScoreParams::default();
        Self {
            predicate: "true".to_owned(),
            by: "regexp_replace(name, '^.*/|[.][^.]*$', '', 'g')".to_owned(),
            // Tags and compilers must not be mixed on one axis.
            category:
                "CASE WHEN count(heuristic_tag) OVER () > 0 THEN coalesce(heuristic_tag, 'no tag') \
                       ELSE coalesce(compiler, 'unknown') END"
                    .to_owned(),
            p: usual.p,
            b: usual.b,
            mismatch_extended: false,
        }
    }
}

/// Scores benchmark runs.
///
/// # Errors
/// [`Error::Query`] for an invalid expression.
pub async fn report(store: &Store, options: &ReportOptions) -> Result<Report> {
    let context = open_session(store).await?;
    let (by, category, predicate) = (&options.by, &options.category, &options.predicate);
    let sql = format!(
        "WITH about AS (SELECT sample, min(source) AS source, min(heuristic_tag) AS heuristic_tag, \
         min(framework) AS framework FROM samples GROUP BY sample), \
         known AS (SELECT r.*, s.name, a.source, a.heuristic_tag, a.framework FROM runs AS r \
         JOIN sources AS s ON s.source_id = r.source_id LEFT JOIN about AS a ON a.sample = r.sample) \
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
    let params = ScoreParams {
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
    Ok(Report {
        curves: curves.collect(),
        categories: categories.into_iter().collect(),
    })
}

fn curve(name: String, samples: &[Sample], params: &ScoreParams) -> Option<Curve> {
    let mut points = Vec::new();
    for t in params.interpretation.levels() {
        let found = speedup::speedup_statistics(samples, t, params)?;
        points.push(Point {
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
    Some(Curve {
        name,
        runs: samples.len(),
        aggregate: speedup::aggregate_speedup_score(samples, params)?,
        points,
    })
}

impl Report {
    /// Writes the plots (`speedup_score`, `error_aware_speedup_score`, `speedups`, each as SVG and as PNG of
    /// `png_width` pixels across and 9/16 of it high) and the numbers (`scores.csv`, `speedups.csv`) into a folder.
    /// Returns their paths.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written, [`Error::Argument`] for a width outside of [`PNG_WIDTHS`],
    /// [`Error::Drawing`] in a build without the feature `plot`.
    pub fn write(&self, folder: &Path, png_width: u32) -> Result<Vec<PathBuf>> {
        if !PNG_WIDTHS.contains(&png_width) {
            let reason = format!(
                "plots are {} to {} pixels wide, found `{png_width}`",
                PNG_WIDTHS.start(),
                PNG_WIDTHS.end()
            );
            return Err(Error::Argument {
                name: "png_width",
                reason,
            });
        }
        let pictures = plots::draw_plots(self, png_width)?;
        check_output(folder)?;
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let mut written = Vec::new();
        for (name, picture) in pictures {
            for (extension, bytes) in [("svg", picture.svg.into_bytes()), ("png", picture.png)] {
                let path = folder.join(format!("{name}.{extension}"));
                write_output(&path, bytes)?;
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
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(heads).map_err(failed)?;
    for row in rows {
        file.write_record(&row).map_err(failed)?;
    }
    let bytes = file.into_inner();
    let bytes = bytes.map_err(|error| Error::io(&path)(error.into_error()))?;
    write_output(&path, bytes)?;
    Ok(path)
}
