//! Groups of adjacent rows.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, RecordBatch, UInt64Array};
use arrow::compute::{concat_batches, partition, take};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

use super::run_state::run_states;

/// Minimum mean length of a run in a batch for aggregation by runs.
const MIN_RUN_ROWS: usize = 16;

/// An aggregate and its filter.
#[derive(Clone, Debug)]
pub(super) struct FilteredAggregate {
    pub(super) aggregate: Arc<AggregateFunctionExpr>,
    pub(super) filter: Option<Arc<dyn PhysicalExpr>>,
}

/// A grouping key.
#[derive(Clone, Debug)]
pub(super) struct GroupKey {
    pub(super) expr: Arc<dyn PhysicalExpr>,
    /// Whether all rows of a file have the same value, so that it is looked up once per file.
    pub(super) of_file: bool,
}

/// Groups so far, by the keys of their files.
pub(super) struct Groups<'a> {
    keys: &'a [GroupKey],
    parts: &'a [FilteredAggregate],
    made: &'a SchemaRef,
    of_files: Vec<(Vec<ScalarValue>, FileGroups)>,
    /// Position of the last used entry, which is most likely used next.
    last: usize,
}

/// Groups of one file key, in order of appearance. Uses DataFusion's group values and accumulators, so that the final
/// stage of the aggregation gets the expected state.
struct FileGroups {
    known: Box<dyn GroupValues>,
    /// Group number of each run of a batch.
    of_runs: Vec<usize>,
    /// Group number of each row of a batch.
    of_rows: Vec<usize>,
    /// Accumulators of all groups.
    sums: Vec<(FilteredAggregate, Box<dyn GroupsAccumulator>)>,
}

impl<'a> Groups<'a> {
    /// Returns no groups. `made` is the output schema: keys first.
    pub(super) fn new(
        keys: &'a [GroupKey],
        parts: &'a [FilteredAggregate],
        made: &'a SchemaRef,
    ) -> Self {
        Self {
            keys,
            parts,
            made,
            of_files: Vec::new(),
            last: 0,
        }
    }

    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        let known = self.of_files.iter().map(|(_, groups)| groups.known.len());
        known.sum()
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let of_file = evaluate_keys(self.keys.iter().filter(|key| key.of_file), batch)?;
        let others = evaluate_keys(self.keys.iter().filter(|key| !key.of_file), batch)?;
        for run in runs(&of_file, batch.num_rows())? {
            let (start, rows) = (run.start, run.len());
            let key = of_file.iter();
            let key = key.map(|key| ScalarValue::try_from_array(key, start));
            let others = others.iter().map(|key| key.slice(start, rows));
            let groups = self.groups_of_file(key.collect::<Result<_>>()?)?;
            groups.add(&others.collect::<Vec<_>>(), &batch.slice(start, rows))?;
        }
        Ok(())
    }

    /// Returns the groups of a file key, and adds them if they are new.
    fn groups_of_file(&mut self, key: Vec<ScalarValue>) -> Result<&mut FileGroups> {
        if self
            .of_files
            .get(self.last)
            .is_none_or(|(known, _)| *known != key)
        {
            let known = self.of_files.iter().position(|(known, _)| *known == key);
            self.last = known.unwrap_or(self.of_files.len());
            if known.is_none() {
                let named = self.made.fields().iter().zip(self.keys);
                let names = named.filter(|(_, key)| !key.of_file);
                let names = names.map(|(name, _)| Arc::clone(name));
                let groups = FileGroups::new(Schema::new(names.collect::<Vec<_>>()), self.parts)?;
                self.of_files.push((key, groups));
            }
        }
        let found = self.of_files.get_mut(self.last);
        let found = found.map(|(_, groups)| groups);
        found.ok_or_else(|| internal_datafusion_err!("groups that were made are missing"))
    }

    /// Returns one row per group: its keys, then the state of its aggregates.
    pub(super) fn finish(self) -> Result<RecordBatch> {
        let all = self.of_files.into_iter().map(|(key, groups)| {
            let rows = groups.known.len();
            let mut emitted = groups.finish()?.into_iter();
            let mut of_file = key.into_iter();
            let keys = self.keys.iter().map(|key| match key.of_file {
                true => of_file.next().map(|key| key.to_array_of_size(rows)),
                false => emitted.next().map(Ok),
            });
            let keys = keys.flatten().collect::<Result<Vec<ArrayRef>>>()?;
            let columns = keys.into_iter().chain(emitted).collect();
            Ok(RecordBatch::try_new(Arc::clone(self.made), columns)?)
        });
        let all = all.collect::<Result<Vec<_>>>()?;
        Ok(concat_batches(self.made, &all)?)
    }
}

/// Converts each row to a group of its own, if groups are nearly as many as rows: its keys, then the state of its
/// aggregates.
pub(super) fn convert_to_state(
    batch: &RecordBatch,
    keys: &[GroupKey],
    parts: &[FilteredAggregate],
    made: &SchemaRef,
) -> Result<RecordBatch> {
    let mut columns = evaluate_keys(keys.iter(), batch)?;
    for part in parts {
        let (values, counts) = part.values(batch)?;
        let sums = part.aggregate.create_groups_accumulator()?;
        columns.extend(sums.convert_to_state(&values, counts.as_ref())?);
    }
    Ok(RecordBatch::try_new(Arc::clone(made), columns)?)
}

fn evaluate_keys<'a>(
    keys: impl Iterator<Item = &'a GroupKey>,
    batch: &RecordBatch,
) -> Result<Vec<ArrayRef>> {
    let keys = keys.map(|key| key.expr.evaluate(batch)?.into_array(batch.num_rows()));
    keys.collect()
}

impl FilteredAggregate {
    /// Evaluates the arguments of the aggregate and its filter.
    fn values(&self, batch: &RecordBatch) -> Result<(Vec<ArrayRef>, Option<BooleanArray>)> {
        let rows = batch.num_rows();
        let values = self.aggregate.expressions().into_iter();
        let values = values.map(|value| value.evaluate(batch)?.into_array(rows));
        let counts = self.filter.as_ref();
        let counts = counts.map(|filter| filter.evaluate(batch)?.into_array(rows));
        let counts = counts.transpose()?;
        let counts = counts
            .as_ref()
            .map(|counts| as_boolean_array(counts).cloned());
        Ok((values.collect::<Result<_>>()?, counts.transpose()?))
    }
}

impl FileGroups {
    fn new(names: Schema, parts: &[FilteredAggregate]) -> Result<Self> {
        let sums = parts.iter().map(|part| {
            let sums = part.aggregate.create_groups_accumulator()?;
            Ok((part.clone(), sums))
        });
        Ok(Self {
            known: new_group_values(Arc::new(names), &GroupOrdering::None)?,
            of_runs: Vec::new(),
            of_rows: Vec::new(),
            sums: sums.collect::<Result<_>>()?,
        })
    }

    /// Adds rows with their keys.
    fn add(&mut self, keys: &[ArrayRef], batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let runs = runs(keys, rows)?;
        self.of_runs.clear();
        self.of_rows.clear();
        let are_long = runs.len() * MIN_RUN_ROWS <= rows;
        if are_long {
            let first = runs.iter().map(|run| run.start as u64);
            let first = UInt64Array::from_iter_values(first);
            let first = keys.iter().map(|key| take(key, &first, None));
            let first = first.collect::<std::result::Result<Vec<_>, _>>()?;
            self.known.intern(&first, &mut self.of_runs)?;
        } else {
            self.known.intern(keys, &mut self.of_rows)?;
        }
        let groups = self.known.len();
        for (part, sums) in &mut self.sums {
            let (values, counts) = part.values(batch)?;
            if are_long && counts.is_none() {
                let states = run_states(part.aggregate.fun().name(), &values, &runs);
                if let Some(states) = states {
                    sums.merge_batch(&states, &self.of_runs, groups)?;
                    continue;
                }
            }
            if self.of_rows.is_empty() {
                for (run, group) in runs.iter().zip(&self.of_runs) {
                    self.of_rows.resize(run.end, *group);
                }
            }
            sums.update_batch(&values, &self.of_rows, counts.as_ref(), groups)?;
        }
        Ok(())
    }

    /// Returns the keys and the aggregate states of all groups.
    fn finish(mut self) -> Result<Vec<ArrayRef>> {
        let mut columns = self.known.emit(EmitTo::All)?;
        for (_, mut sums) in self.sums {
            columns.extend(sums.state(EmitTo::All)?);
        }
        Ok(columns)
    }
}

/// Returns the runs of adjacent rows with equal keys.
fn runs(keys: &[ArrayRef], rows: usize) -> Result<Vec<Range<usize>>> {
    let others = keys.iter().filter(|key| !is_one_value(key));
    let others: Vec<ArrayRef> = others.cloned().collect();
    Ok(match others.is_empty() {
        true => (rows > 0).then_some(0..rows).into_iter().collect(),
        false => partition(&others)?.ranges(),
    })
}

/// Returns whether a string view array surely has one value: all views are identical.
fn is_one_value(key: &ArrayRef) -> bool {
    let Some(texts) = key.as_string_view_opt().filter(|_| key.null_count() == 0) else {
        return false;
    };
    let mut views = texts.views().iter();
    let first = views.next();
    views.all(|view| Some(view) == first)
}
