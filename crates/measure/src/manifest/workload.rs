//! The workloads of a manifest: sizes crossed within a table, tables one after the other, each combination once.

use std::collections::{BTreeMap, BTreeSet};

use super::super::expr::Expression;
use super::super::space::Config;
use super::names::macro_fault;
use super::scope::{Scope, float};
use super::typed::{Formula, Sizes, TypedWorkload};

/// Workloads of a manifest at most.
const MAX_WORKLOADS: usize = 100_000;

/// Sizes that a program is measured with.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its sizes by name.
    pub params: BTreeMap<String, i64>,
    /// Floating-point operations of a call.
    pub flops: Option<f64>,
    /// Bytes that a call must move at least.
    pub bytes: Option<f64>,
}

/// What all workloads of a table share.
struct Amounts {
    flops: Option<Expression>,
    bytes: Option<Expression>,
}

pub(super) fn resolve(tables: Vec<TypedWorkload>) -> Result<Vec<Workload>, String> {
    // A program without sizes is measured once.
    if tables.is_empty() {
        return Ok(vec![Workload {
            params: BTreeMap::new(),
            flops: None,
            bytes: None,
        }]);
    }
    let mut seen = BTreeSet::new();
    let mut workloads: Vec<Workload> = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let resolved =
            resolve_table(table).map_err(|reason| format!("workload {}: {reason}", index + 1))?;
        for workload in resolved {
            let names_fit = |first: &Workload| first.params.keys().eq(workload.params.keys());
            if !workloads.first().is_none_or(names_fit) {
                let reason = "its params are not those of the first";
                return Err(format!("workload {}: {reason}", index + 1));
            }
            if seen.insert(workload.params.clone()) {
                workloads.push(workload);
            }
        }
        if workloads.len() > MAX_WORKLOADS {
            return Err(format!("workload: more than {MAX_WORKLOADS} of them"));
        }
    }
    Ok(workloads)
}

fn resolve_table(table: TypedWorkload) -> Result<Vec<Workload>, String> {
    let amounts = Amounts {
        flops: table.flops.map(Formula::parse).transpose()?,
        bytes: table.bytes.map(Formula::parse).transpose()?,
    };
    cross(table.params)?
        .into_iter()
        .map(|params| {
            Ok(Workload {
                flops: amount("flops", amounts.flops.as_ref(), &params)?,
                bytes: amount("bytes", amounts.bytes.as_ref(), &params)?,
                params,
            })
        })
        .collect()
}

fn amount(
    key: &str,
    formula: Option<&Expression>,
    params: &BTreeMap<String, i64>,
) -> Result<Option<f64>, String> {
    let scope = Scope {
        params,
        config: &Config::new(),
    };
    let Some(formula) = formula else {
        return Ok(None);
    };
    match scope.evaluate(formula) {
        Ok(value) if value >= 0 => Ok(Some(float(value))),
        Ok(value) => Err(format!("{key}: `{formula}` is {value}, less than nothing")),
        Err(reason) => Err(format!("{key}: {reason}")),
    }
}

fn cross(params: BTreeMap<String, Sizes>) -> Result<Vec<BTreeMap<String, i64>>, String> {
    let mut crossed = vec![BTreeMap::new()];
    for (name, sizes) in params {
        if let Some(fault) = macro_fault(&name) {
            return Err(format!("params: {fault}"));
        }
        let sizes = match sizes {
            Sizes::One(size) => vec![size],
            Sizes::Many(sizes) => sizes,
        };
        if sizes.is_empty() {
            return Err(format!("params.{name}: no values"));
        }
        if crossed.len().saturating_mul(sizes.len()) > MAX_WORKLOADS {
            return Err(format!("params: more than {MAX_WORKLOADS} combinations"));
        }
        let mut longer = Vec::with_capacity(crossed.len() * sizes.len());
        for params in &crossed {
            for size in &sizes {
                let mut params = params.clone();
                params.insert(name.clone(), *size);
                longer.push(params);
            }
        }
        crossed = longer;
    }
    Ok(crossed)
}
