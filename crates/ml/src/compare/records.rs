//! Streams the records of both sides, configuration by configuration.
//!
//! The records are sorted by an external sort, so that only the records of one configuration are in memory.

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::datatypes::{Float64Type, Int16Type, Int64Type, TimestampMicrosecondType};
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::{SessionContext, col, lit};
use futures::StreamExt as _;
use tsql_dialect::plan_query;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::noise::{RecordPosition, day_of, level, spoiled_expression};
use tsql_verdicts::verdict::{Run, SideRuns};

use super::options::RecordChoice;

/// Identity of a configuration on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PairKey {
    pub(super) graph_id: i64,
    pub(super) config_id: i64,
    /// `None` if pairs are not compared by platform.
    pub(super) platform: Option<String>,
}

/// Combined records of a configuration on one side.
#[derive(Clone, Debug, Default)]
pub(super) struct SideRecord {
    /// The records that count, in ascending order.
    records: Vec<RecordPosition>,
    pub(super) repeats_ns: Vec<f64>,
    /// Whether one of the records has a flag that spoils it.
    pub(super) spoiled: bool,
    /// The records that did not fail, each as one run.
    pub(super) runs: SideRuns,
    /// Error number of the last failed record.
    pub(super) error_no: i16,
    /// Whether the newest record failed, which hides the earlier runs of its day.
    is_newest_failed: bool,
}

impl SideRecord {
    pub(super) fn is_missing(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn is_failed(&self) -> bool {
        self.repeats_ns.is_empty() || self.is_newest_failed
    }

    /// Returns whether both sides consist of the same records.
    pub(super) fn has_same_records(&self, other: &Self) -> bool {
        self.records == other.records
    }

    /// Merges a record, if it counts.
    fn merge_record(&mut self, choice: RecordChoice, at: RecordPosition, record: Self) {
        if let Some(&newest) = self.records.last()
            && (newest.0.is_some() || at.0.is_some())
        {
            let is_other = match choice {
                RecordChoice::All => false,
                RecordChoice::Newest => true,
                RecordChoice::NewestDay => day_of(at) != day_of(newest),
            };
            if is_other && at < newest {
                return;
            }
            if is_other {
                *self = Self::default();
            }
        }
        let place = self.records.partition_point(|known| *known < at);
        self.records.insert(place, at);
        if choice == RecordChoice::NewestDay && at.0.is_some() && place + 1 == self.records.len() {
            self.is_newest_failed = record.is_failed();
        }
        if record.is_failed() {
            self.error_no = record.error_no;
            return;
        }
        let is_time = |ns: &f64| ns.is_finite() && *ns > 0.0;
        let repeats = record.repeats_ns.into_iter().filter(is_time);
        let repeats: Vec<f64> = repeats.collect();
        self.spoiled |= record.spoiled;
        match level(&repeats) {
            Some(_) if record.spoiled => self.runs.spoiled += 1,
            Some(level) => self.runs.runs.push(Run {
                level,
                day: day_of(at),
            }),
            None => {}
        }
        self.repeats_ns.extend(repeats);
    }
}

/// A configuration with its records on both sides.
pub(super) struct MatchedConfig {
    pub(super) key: PairKey,
    pub(super) a: SideRecord,
    pub(super) b: SideRecord,
}

/// Reader of the records of both sides.
pub(super) struct RecordReader {
    stream: SendableRecordBatchStream,
    of: RecordChoice,
    begun: Option<MatchedConfig>,
}

impl RecordReader {
    /// Starts reading. Each side is a session and a SQL predicate over the columns of `records`.
    pub(super) async fn open(
        sides: [(&SessionContext, &str); 2],
        is_by_platform: bool,
        of: RecordChoice,
    ) -> Result<Self> {
        let [(a, in_a), (b, in_b)] = sides;
        let a = side_records(a, in_a, is_by_platform).await?;
        let b = side_records(b, in_b, is_by_platform).await?;
        let with = |frame: DataFrame, is_b: bool| frame.with_column("is_b", lit(is_b));
        let order = ["graph_id", "config_id", "platform"];
        let order = order.map(|name| col(name).sort(true, true)).to_vec();
        let both = with(a, false).and_then(|a| a.union(with(b, true)?));
        let sorted = both
            .and_then(|both| both.sort(order))
            .map_err(Error::Query)?;
        Ok(Self {
            stream: sorted.execute_stream().await.map_err(Error::Query)?,
            of,
            begun: None,
        })
    }

    /// Returns the next batch of configurations; empty at the end.
    pub(super) async fn next(&mut self) -> Result<Vec<MatchedConfig>> {
        let mut done = Vec::new();
        while done.is_empty() {
            match self.stream.next().await {
                Some(batch) => self.take(&batch.map_err(Error::Query)?, &mut done)?,
                None => {
                    done.extend(self.begun.take());
                    break;
                }
            }
        }
        Ok(done)
    }

    fn take(&mut self, batch: &RecordBatch, done: &mut Vec<MatchedConfig>) -> Result<()> {
        let integers = |name| column::numbers::<Int64Type>(batch, name);
        let (graphs, configs) = (integers("graph_id")?, integers("config_id")?);
        let (sources, lines) = (integers("source_id")?, integers("line")?);
        let platforms = column::text(batch, "platform")?;
        let times = column::numbers::<TimestampMicrosecondType>(batch, "measured_at")?;
        let errors = column::numbers::<Int16Type>(batch, "error_no")?;
        let repeats = column::lists(batch, "repeats_ns")?;
        let spoiled = column::flags(batch, "spoiled")?;
        let is_b = column::flags(batch, "is_b")?;
        for row in 0..batch.num_rows() {
            let key = PairKey {
                graph_id: graphs.value(row),
                config_id: configs.value(row),
                platform: column::text_at(platforms, row).map(str::to_owned),
            };
            let error_no = errors.value(row);
            let valid = (error_no == 0 && repeats.is_valid(row)).then(|| repeats.value(row));
            let record = SideRecord {
                repeats_ns: valid.map_or_else(Vec::new, |list| {
                    list.as_primitive::<Float64Type>().values().to_vec()
                }),
                spoiled: spoiled.value(row),
                error_no,
                ..SideRecord::default()
            };
            if self.begun.as_ref().is_none_or(|begun| begun.key != key) {
                done.extend(self.begun.take());
            }
            let begun = self.begun.get_or_insert_with(|| MatchedConfig {
                key,
                a: SideRecord::default(),
                b: SideRecord::default(),
            });
            let side = if is_b.value(row) {
                &mut begun.b
            } else {
                &mut begun.a
            };
            let at = (
                column::value(times, row),
                sources.value(row),
                lines.value(row),
            );
            side.merge_record(self.of, at, record);
        }
        Ok(())
    }
}

/// Selects the records of a side that were measured, or that failed in the measurement.
async fn side_records(
    context: &SessionContext,
    predicate: &str,
    is_by_platform: bool,
) -> Result<DataFrame> {
    let platform = if is_by_platform { "platform" } else { "NULL" };
    let spoiled = spoiled_expression();
    let sql = format!(
        "SELECT graph_id, config_id, arrow_cast({platform}, 'Utf8View') AS platform, source_id, line, measured_at, \
         error_no, repeats_ns, {spoiled} AS spoiled \
         FROM records WHERE ({predicate}) AND (error_no <> 0 OR runtime_ns > 0)"
    );
    plan_query(context, &sql).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(repeats_ns: &[f64]) -> SideRecord {
        SideRecord {
            repeats_ns: repeats_ns.to_vec(),
            error_no: if repeats_ns.is_empty() { 6 } else { 0 },
            ..SideRecord::default()
        }
    }

    fn side_record(of: RecordChoice, records: &[(Option<i64>, &[f64])]) -> SideRecord {
        let mut timed = SideRecord::default();
        for (line, (at, repeats)) in (1..).zip(records) {
            timed.merge_record(of, (*at, 7, line), record(repeats));
        }
        timed
    }

    #[test]
    fn the_newest_record_counts() {
        let newest = side_record(
            RecordChoice::Newest,
            &[(Some(1), &[5.0]), (Some(3), &[4.0]), (Some(2), &[6.0])],
        );
        assert_eq!(newest.repeats_ns, [4.0]);
        // Whether it failed or not. A record without a time is older than all others.
        let failed = side_record(
            RecordChoice::Newest,
            &[
                (None, &[5.0]),
                (Some(1), &[5.0]),
                (Some(3), &[]),
                (None, &[5.0]),
            ],
        );
        assert!(failed.is_failed() && failed.error_no == 6 && !failed.is_missing());
        let last = side_record(
            RecordChoice::Newest,
            &[(Some(1), &[5.0]), (Some(1), &[4.0])],
        );
        assert_eq!(last.repeats_ns, [4.0], "the later line of one second");
        assert!(last.has_same_records(&side_record(
            RecordChoice::Newest,
            &[(Some(0), &[5.0]), (Some(1), &[4.0])]
        )));
    }

    #[test]
    fn records_without_a_time_count_together_and_so_do_all() {
        let some: [(Option<i64>, &[f64]); 3] = [(None, &[5.0]), (None, &[]), (None, &[4.0, 3.0])];
        for of in [RecordChoice::Newest, RecordChoice::All] {
            assert_eq!(side_record(of, &some).repeats_ns, [5.0, 4.0, 3.0]);
        }
        let all = side_record(RecordChoice::All, &[(Some(2), &[5.0]), (Some(1), &[4.0])]);
        assert_eq!(all.repeats_ns, [5.0, 4.0]);
        assert_eq!(all.runs.days(), [0], "both times are of 1970-01-01");
        assert!(!all.has_same_records(&side_record(RecordChoice::Newest, &[(Some(2), &[5.0])])));
    }

    #[test]
    fn all_runs_of_the_newest_day_count() {
        const DAY: i64 = 86_400_000_000;
        let of = RecordChoice::NewestDay;
        let two = side_record(
            of,
            &[
                (Some(DAY + 1), &[5.0]),
                (Some(7), &[9.0]),
                (Some(DAY + 2), &[4.0, 6.0, 4.0]),
            ],
        );
        let mut levels = two.runs.levels();
        levels.sort_by(f64::total_cmp);
        assert_eq!(levels, [4.0_f64.ln(), 5.0_f64.ln()]);
        assert_eq!((two.runs.days(), two.records.len()), (vec![1], 2));
        // A failure that is newer than all runs of the day.
        let failed = side_record(of, &[(Some(1), &[5.0]), (Some(2), &[])]);
        assert!(failed.is_failed());
        // An earlier failure does not hide the runs of its day, in whichever order the records are read.
        let records: [(Option<i64>, &[f64]); 3] =
            [(Some(2), &[]), (Some(3), &[5.0]), (Some(1), &[4.0])];
        for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1]] {
            let repaired = side_record(of, &order.map(|place| records[place]));
            assert!(!repaired.is_failed() && repaired.runs.runs.len() == 2);
        }
        // Records without a time are runs of the day of their source.
        let timeless = side_record(of, &[(None, &[5.0]), (None, &[6.0])]);
        assert_eq!(
            (timeless.runs.runs.len(), timeless.runs.days().len()),
            (2, 1)
        );
    }

    #[test]
    fn spoiled_runs_are_left_out() {
        let mut side = SideRecord::default();
        for (line, spoiled) in [(1, true), (2, false), (3, true)] {
            let one = SideRecord {
                spoiled,
                ..record(&[5.0, 5.5])
            };
            side.merge_record(RecordChoice::All, (Some(1), 7, line), one);
        }
        assert_eq!((side.runs.runs.len(), side.runs.spoiled), (1, 2));
        assert!(side.spoiled && side.repeats_ns.len() == 6);
    }
}
