//! What is asked of a scan: its rows after the filters and projections right above it, said in the columns of its files.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, Literal};
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::utils::{collect_columns, conjunction, split_conjunction};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::{fmt_sql, is_volatile};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;

use crate::query::taken_out::TAKING_OUT;
use crate::store::scan_of_store;

/// Functions that take what is packed apart: the numbers that they make, or that are taken out of what they make, stay in its place.
const UNPACKING: [&str; 4] = ["min_repeat_ns", "repeat_noise", "repeats_ns", "scaled"];

/// What is kept of a file: a column of numbers, or numbers that are computed from columns.
#[derive(Debug)]
pub(super) struct Value {
    /// What it is known by; of a column its name.
    pub(super) name: Arc<str>,
    /// Over the columns of the table.
    pub(super) expr: Arc<dyn PhysicalExpr>,
}

/// What is asked of each file of a scan.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) values: Vec<Value>,
    /// Of the values.
    pub(super) schema: SchemaRef,
    /// Which rows, over the values and what all rows of a file share.
    pub(super) filter: Option<Arc<dyn PhysicalExpr>>,
    /// What of each row, over the same.
    pub(super) projection: ProjectionExprs,
    pub(super) extent: Extent,
}

/// How much of the values is read. What is read whole is worth keeping.
#[derive(Debug)]
pub(super) enum Extent {
    Whole,
    /// The pages that may have rows for this condition: a few, or nearly all.
    Pages(String),
    /// Less and less, as rows come.
    Least,
}

impl Asked {
    /// `None` for plans that are more than a scan with filters and projections, or ask for what is not kept.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(said) = Said::of(plan)? else {
            return Ok(None);
        };
        let Some(values) = Values::of(&said)? else {
            return Ok(None);
        };
        let fields = values.all.iter().map(|value| {
            let field = value.expr.return_field(values.table)?;
            Ok(field.as_ref().clone().with_name(value.name.as_ref()))
        });
        let schema = Schema::new(fields.collect::<Result<Vec<_>>>()?);
        let filters = said.filters.into_iter().map(|filter| values.over(filter));
        let filters = filters.collect::<Result<Vec<_>>>()?;
        let projection = said.exprs.try_map_exprs(|expr| values.over(expr))?;
        let chooses = filters.iter().flat_map(collect_columns).any(|column| {
            let field = schema.fields().get(column.index());
            field.is_some_and(|field| !is_measure(field.data_type()))
        });
        let is_least = filters.iter().any(grows);
        let filter = (!filters.is_empty()).then(|| conjunction(filters));
        let extent = match &filter {
            _ if is_least => Extent::Least,
            Some(filter) if chooses => {
                Extent::Pages(format!("{} {filter}", said.scan.object_store_url))
            }
            _ => Extent::Whole,
        };
        Ok(Some(Self {
            schema: Arc::new(schema),
            filter,
            projection,
            values: values.all,
            extent,
        }))
    }

    /// What its values are known by.
    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> + Clone {
        self.values.iter().map(|value| &value.name)
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self
            .values
            .iter()
            .map(|value| fmt_sql(value.expr.as_ref()).to_string());
        let values: Vec<String> = values.collect();
        to.write_str(&values.join(", "))
    }
}

/// Is this measured, or one of a few values? Pages have all sorts of either.
fn is_measure(kind: &DataType) -> bool {
    use DataType::{Float32, Float64, Int8, Int16, Int32};
    matches!(kind, Float32 | Float64 | Int8 | Int16 | Int32)
}

/// Does a filter say more as rows come?
fn grows(filter: &Arc<dyn PhysicalExpr>) -> bool {
    let grows = filter.exists(|part| Ok(part.is::<DynamicFilterPhysicalExpr>()));
    grows.unwrap_or(true)
}

/// The scan that the rows of a plan come from.
pub(super) fn scan_below(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    match plan.children().as_slice() {
        [] => scan_of_store(plan),
        [below] => scan_below(below),
        _ => None,
    }
}

/// What a plan says, over the columns of the table.
struct Said<'a> {
    scan: &'a FileScanConfig,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    exprs: ProjectionExprs,
}

impl<'a> Said<'a> {
    fn of(plan: &'a Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            let said = Self::of(filter.input())?;
            let said = said.filter(|said| said.scan.limit.is_none() && filter.fetch().is_none());
            return said.map_or(Ok(None), |said| said.filtered(filter));
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let said = Self::of(projection.input())?;
            return said.map_or(Ok(None), |said| said.projected(projection));
        }
        let Some(scan) = scan_of_store(plan) else {
            return Ok(None);
        };
        let source = scan.file_source();
        Ok(source.projection().map(|exprs| Self {
            scan,
            filters: source.filter().iter().flat_map(parts).collect(),
            exprs: exprs.clone(),
        }))
    }

    fn filtered(mut self, filter: &FilterExec) -> Result<Option<Self>> {
        if !self.may_be_said([filter.predicate()], false) {
            return Ok(None);
        }
        let predicate = self.exprs.unproject_expr(filter.predicate())?;
        for part in parts(&predicate) {
            if !self.filters.contains(&part) {
                self.filters.push(part);
            }
        }
        if let Some(places) = filter.projection() {
            let exprs = places
                .iter()
                .filter_map(|place| self.exprs.as_ref().get(*place));
            self.exprs = exprs.cloned().collect();
        }
        Ok(Some(self))
    }

    fn projected(mut self, projection: &ProjectionExec) -> Result<Option<Self>> {
        let exprs = projection.expr().iter().map(|expr| &expr.expr);
        if !self.may_be_said(exprs, true) {
            return Ok(None);
        }
        self.exprs = self.exprs.try_merge(projection.projection_expr())?;
        Ok(Some(self))
    }

    /// May these be said over the columns of the table? Nothing is computed twice by it: `once`, what is computed already may be used.
    fn may_be_said<'e>(
        &self,
        exprs: impl IntoIterator<Item = &'e Arc<dyn PhysicalExpr>>,
        once: bool,
    ) -> bool {
        let mut used: Vec<usize> = Vec::new();
        for expr in exprs {
            let used_by = expr.apply(|part| {
                used.extend(part.downcast_ref::<Column>().map(Column::index));
                Ok(TreeNodeRecursion::Continue)
            });
            if used_by.is_err() || is_volatile(expr) {
                return false;
            }
        }
        used.sort_unstable();
        used.chunk_by(|one, next| one == next).all(|uses| {
            let expr = uses
                .first()
                .and_then(|place| self.exprs.as_ref().get(*place));
            expr.is_some_and(|ProjectionExpr { expr, .. }| {
                let is_free = expr.is::<Column>() || expr.is::<Literal>() || unpacks(expr);
                is_free || (once && uses.len() == 1 && !is_volatile(expr))
            })
        })
    }
}

/// The conditions that a filter consists of.
fn parts(filter: &Arc<dyn PhysicalExpr>) -> Vec<Arc<dyn PhysicalExpr>> {
    split_conjunction(filter).into_iter().cloned().collect()
}

/// Does this compute something from what is packed, and nothing else?
fn unpacks(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() else {
        return false;
    };
    let mut args = call.args().iter();
    (UNPACKING.contains(&call.name()) || TAKING_OUT.contains(&call.name()))
        && args.all(|arg| arg.is::<Column>() || arg.is::<Literal>() || unpacks(arg))
}

/// The values that a plan is made of.
struct Values<'a> {
    table: &'a Schema,
    /// How many of the table's columns are stored in files; those after them are what all rows of a file share.
    in_files: usize,
    all: Vec<Value>,
}

impl<'a> Values<'a> {
    /// `None` where there is none, or one of them is not kept.
    fn of(said: &Said<'a>) -> Result<Option<Self>> {
        let source = said.scan.file_source();
        let mut values = Self {
            table: source.table_schema().table_schema(),
            in_files: source.table_schema().file_schema().fields().len(),
            all: Vec::new(),
        };
        let mut is_kept = true;
        for expr in said
            .filters
            .iter()
            .chain(said.exprs.iter().map(AsRef::as_ref))
        {
            expr.apply(|part| {
                let Some(name) = values.name(part) else {
                    return Ok(TreeNodeRecursion::Continue);
                };
                let (name, expr) = (Arc::from(name), Arc::clone(part));
                is_kept &= part.data_type(values.table)?.is_primitive();
                if values.place(&name).is_none() {
                    values.all.push(Value { name, expr });
                }
                Ok(TreeNodeRecursion::Jump)
            })?;
        }
        Ok((is_kept && !values.all.is_empty()).then_some(values))
    }

    /// What an expression is known by, if it is a value.
    fn name(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<String> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            let is_stored = column.index() < self.in_files;
            return is_stored.then(|| column.name().to_owned());
        }
        // Constants are told apart by their types, too.
        unpacks(expr).then(|| format!("{expr:?}"))
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.all
            .iter()
            .position(|value| value.name.as_ref() == name)
    }

    /// An expression over the values, and what all rows of a file share after them.
    fn over(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        expr.transform_down(|part| {
            let name = self.name(&part);
            let value = name.and_then(|name| Some(Column::new(&name, self.place(&name)?)));
            let of_file = || {
                let column = part.downcast_ref::<Column>()?;
                let place = column.index().checked_sub(self.in_files)?;
                Some(Column::new(column.name(), self.all.len() + place))
            };
            Ok(match value.or_else(of_file) {
                Some(column) => Transformed::new(Arc::new(column), true, TreeNodeRecursion::Jump),
                None => Transformed::no(part),
            })
        })
        .data()
    }
}
