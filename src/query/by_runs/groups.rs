//! The groups of rows that lie together.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch, UInt64Array};
use arrow::compute::{partition, take};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

use super::reduced::of_runs;

/// Rows of a run, in the mean of a batch, from which on runs are worth more than rows.
const LONG: usize = 16;

/// An aggregate and which rows count for it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) aggregate: Arc<AggregateFunctionExpr>,
    pub(super) filter: Option<Arc<dyn PhysicalExpr>>,
}

/// The groups so far, in the order in which they came. Names and sums are DataFusion's own, so that the second half of the
/// aggregation finds what it expects.
pub(super) struct Groups {
    keys: Arc<[usize]>,
    known: Box<dyn GroupValues>,
    /// The group of each run of a batch.
    of_runs: Vec<usize>,
    /// The group of each row of a batch.
    of_rows: Vec<usize>,
    /// What there is of each group.
    sums: Vec<(Part, Box<dyn GroupsAccumulator>)>,
}

impl Groups {
    /// No groups yet, whose rows have the columns of `made`: keys first.
    pub(super) fn new(keys: Arc<[usize]>, parts: &[Part], made: &SchemaRef) -> Result<Self> {
        let sums = parts.iter().map(|part| {
            let sums = part.aggregate.create_groups_accumulator()?;
            Ok((part.clone(), sums))
        });
        let names = made.fields().iter().take(keys.len()).cloned();
        let names = Arc::new(Schema::new(names.collect::<Vec<_>>()));
        Ok(Self {
            keys,
            known: new_group_values(names, &GroupOrdering::None)?,
            of_runs: Vec::new(),
            of_rows: Vec::new(),
            sums: sums.collect::<Result<_>>()?,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let keys = self.keys.iter();
        let keys = keys.filter_map(|key| batch.columns().get(*key).cloned());
        let keys: Vec<ArrayRef> = keys.collect();
        let runs = runs(&keys, rows)?;
        self.of_runs.clear();
        self.of_rows.clear();
        let are_long = runs.len() * LONG <= rows;
        if are_long {
            let first = runs.iter().map(|run| run.start as u64);
            let first = UInt64Array::from_iter_values(first);
            let first = keys.iter().map(|key| take(key, &first, None));
            let first = first.collect::<std::result::Result<Vec<_>, _>>()?;
            self.known.intern(&first, &mut self.of_runs)?;
        } else {
            self.known.intern(&keys, &mut self.of_rows)?;
        }
        let groups = self.known.len();
        for (part, sums) in &mut self.sums {
            let values = part.aggregate.expressions().into_iter();
            let values = values.map(|value| value.evaluate(batch)?.into_array(rows));
            let values = values.collect::<Result<Vec<ArrayRef>>>()?;
            let counts = part.filter.as_ref();
            let counts = counts.map(|filter| filter.evaluate(batch)?.into_array(rows));
            let counts = counts.transpose()?;
            let counts = counts.as_ref().map(|counts| as_boolean_array(counts));
            let counts = counts.transpose()?;
            if are_long && counts.is_none() {
                let states = of_runs(part.aggregate.fun().name(), &values, &runs);
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
            sums.update_batch(&values, &self.of_rows, counts, groups)?;
        }
        Ok(())
    }

    /// A row for each: its key, then what its aggregates have.
    pub(super) fn finish(mut self, schema: &SchemaRef) -> Result<RecordBatch> {
        if self.known.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(schema)));
        }
        let mut columns = self.known.emit(EmitTo::All)?;
        for (_, mut sums) in self.sums {
            columns.extend(sums.state(EmitTo::All)?);
        }
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }
}

/// Rows after each other that have the same keys.
fn runs(keys: &[ArrayRef], rows: usize) -> Result<Vec<Range<usize>>> {
    let others = keys.iter().filter(|key| !is_one_value(key));
    let others: Vec<ArrayRef> = others.cloned().collect();
    Ok(match others.is_empty() {
        true => (rows > 0).then_some(0..rows).into_iter().collect(),
        false => partition(&others)?.ranges(),
    })
}

/// Surely one value throughout: texts that lie in the same place.
fn is_one_value(key: &ArrayRef) -> bool {
    let Some(texts) = key.as_string_view_opt().filter(|_| key.null_count() == 0) else {
        return false;
    };
    let mut views = texts.views().iter();
    let first = views.next();
    views.all(|view| Some(view) == first)
}
