//! Levels of the programs in each run of a schedule.

use std::collections::BTreeMap;

use arrow::datatypes::{Float64Type, Int16Type, Int64Type};
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;
use tsql_session::noise::spoiled_expression;
use tsql_session::{SessionOptions, open_session_with};
use tsql_store::Store;
use tsql_verdicts::blocks::{BLOCK_RUNS, schedule};

/// A program with its level in each run.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramLevels {
    pub workload_key: String,
    pub steps: String,
    /// Natural logarithm of the median in nanoseconds, by run.
    pub levels: BTreeMap<usize, f64>,
    /// Runs in which the program failed, with the error number.
    pub failures: BTreeMap<usize, i16>,
}

impl ProgramLevels {
    /// Mean level of head minus mean level of base of each block with all its runs.
    pub(super) fn contrasts(&self) -> Vec<f64> {
        let blocks = self
            .levels
            .keys()
            .next_back()
            .map_or(0, |run| run / BLOCK_RUNS + 1);
        let sides = schedule(blocks);
        let runs = |block: usize| {
            let first = block * BLOCK_RUNS;
            let runs = (first..first + BLOCK_RUNS)
                .map(|run| Some((*sides.get(run)?, *self.levels.get(&run)?)));
            runs.collect::<Option<Vec<_>>>()
        };
        let complete = (0..blocks).filter_map(runs).flatten();
        tsql_verdicts::blocks::contrasts(&complete.collect::<Vec<_>>(), BLOCK_RUNS)
    }
}

/// Reads the levels of all programs of a pair.
pub(super) async fn read_levels(store: &Store, pair: &str) -> Result<Vec<ProgramLevels>> {
    let spoiled = spoiled_expression();
    let sql = format!(
        "SELECT n.run, r.graph_id, arrow_cast(g.workload_key, 'Utf8View') AS workload_key, \
         arrow_cast(c.steps, 'Utf8View') AS program_steps, median(r.value) AS value, max(r.error_no) AS error_no \
         FROM (SELECT source_id, graph_id, config_id, error_no, \
         CASE WHEN error_no = 0 AND NOT {spoiled} THEN list_median(repeats_ns) END AS value FROM records) AS r \
         JOIN (SELECT source_id, CAST(value AS BIGINT) AS run FROM labels WHERE key = 'run' AND source_id IN \
         (SELECT source_id FROM labels WHERE key = 'pair' AND value = '{pair}')) AS n ON n.source_id = r.source_id \
         JOIN graphs AS g ON g.graph_id = r.graph_id \
         JOIN configurations AS c ON c.graph_id = r.graph_id AND c.config_id = r.config_id \
         GROUP BY n.run, r.graph_id, g.workload_key, c.steps ORDER BY r.graph_id, c.steps, n.run"
    );
    let options = SessionOptions::default().sql(sql.as_str());
    let context = open_session_with(store, &options).await?;
    let mut programs: Vec<ProgramLevels> = Vec::new();
    for batch in collect(&context, &sql).await? {
        let runs = column::numbers::<Int64Type>(&batch, "run")?;
        let keys = column::text(&batch, "workload_key")?;
        let steps = column::text(&batch, "program_steps")?;
        let values = column::numbers::<Float64Type>(&batch, "value")?;
        let errors = column::numbers::<Int16Type>(&batch, "error_no")?;
        for row in 0..batch.num_rows() {
            let (key, steps) = (keys.value(row), steps.value(row));
            let is_known = programs
                .last()
                .is_some_and(|last| last.workload_key == key && last.steps == steps);
            if !is_known {
                programs.push(ProgramLevels {
                    workload_key: key.to_owned(),
                    steps: steps.to_owned(),
                    ..ProgramLevels::default()
                });
            }
            let (Some(program), Ok(run)) = (programs.last_mut(), usize::try_from(runs.value(row)))
            else {
                continue;
            };
            match column::value(values, row).filter(|value| *value > 0.0) {
                Some(value) => {
                    program.levels.insert(run, value.ln());
                }
                None if errors.value(row) != 0 => {
                    program.failures.insert(run, errors.value(row));
                }
                None => {}
            }
        }
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_blocks_have_no_contrast() {
        let mut program = ProgramLevels::default();
        for (run, side) in schedule(3).into_iter().enumerate() {
            let change = if side == tsql_verdicts::blocks::BlockSide::B {
                0.5
            } else {
                0.0
            };
            program.levels.insert(run, change);
        }
        assert_eq!(program.contrasts(), [0.5; 3]);
        program.levels.remove(&5);
        assert_eq!(program.contrasts(), [0.5; 2]);
        assert!(ProgramLevels::default().contrasts().is_empty());
    }
}
