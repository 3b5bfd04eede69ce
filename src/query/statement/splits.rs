//! `split('NAME')` and `table_version('records')`: written out when a statement is planned.
//!
//! `split` becomes an expression over the keys of `records` in the same `FROM`, or over columns of these names. A view that somebody
//! makes keeps the text that was typed: it is planned again when the store has changed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow::{self, Break, Continue};

use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Select, SetExpr,
    Statement as SqlStatement, TableFactor, Value, ValueWithSpan, VisitorMut,
};

use super::super::dialect::pieces::{nothing, number};
use super::super::shown::Shown;
use super::super::splits::{Written, find, written as expression};
use super::keys::has_keys;
use super::walk::walk;
use crate::error::{Error, Result};
use crate::schema;

/// The function of a part.
const SPLIT: &str = "split";

/// The function of a version.
const VERSION: &str = "table_version";

/// Tables and views whose rows have the keys of records, those with most keys first.
const KEYED: [&str; 4] = [RECORDS, "retracted", "configurations", "graphs"];

const RECORDS: &str = "records";

/// What splits are made of, as tables and as views.
pub(in crate::query) const TABLES: [&str; 10] = [
    "splits",
    "graphs",
    "environments",
    "configurations",
    "samples",
    "sources",
    "network_tasks",
    "node_types",
    "tasks",
    "records",
];
pub(in crate::query) const VIEWS: [&str; 1] = ["nodes"];

/// What a statement asks of the store beside its tables.
#[derive(Debug, Default)]
pub(in crate::query) struct Asked {
    /// Splits by name.
    pub(in crate::query) splits: Vec<String>,
    /// Tables whose versions are asked for.
    pub(in crate::query) versions: Vec<String>,
}

/// What a statement asks for.
///
/// # Errors
/// [`Error::Refused`] for a call whose arguments are not texts.
pub(in crate::query) fn asked(statement: &Statement) -> Result<Asked> {
    let mut calls = Calls::default();
    match walk(&mut statement.clone(), &mut calls) {
        Continue(()) => Ok(calls.asked),
        Break(error) => Err(error),
    }
}

/// What was written out of a statement.
#[derive(Default)]
pub(super) struct Out {
    splits: BTreeMap<String, Written>,
    /// The text of a view that is made.
    view: Option<String>,
}

/// Writes the calls of a statement out.
///
/// # Errors
/// [`Error::Unknown`] for a split or a table that there is not, [`Error::Refused`] for a call that cannot be answered.
pub(super) async fn written(context: &SessionContext, statement: &mut Statement) -> Result<Out> {
    let asked = asked(statement)?;
    let mut out = Out::default();
    if asked.splits.is_empty() && asked.versions.is_empty() {
        return Ok(out);
    }
    if let Statement::Statement(inner) = &*statement
        && let SqlStatement::CreateView(_) = inner.as_ref()
    {
        out.view = Some(inner.to_string());
    }
    for name in asked.splits {
        if let Entry::Vacant(place) = out.splits.entry(name) {
            let split = find(context, place.key()).await?;
            place.insert(expression(context, &split).await?);
        }
    }
    let shown = Shown::of(context);
    let mut versions = BTreeMap::new();
    for table in asked.versions {
        let name = schema::table(&table)?.name.as_str();
        let version = shown.as_ref().and_then(|shown| shown.version(name));
        versions.insert(table, version);
    }
    let mut calls = Calls {
        splits: Some(&out.splits),
        versions: Some(&versions),
        ..Calls::default()
    };
    match walk(statement, &mut calls) {
        Continue(()) => Ok(out),
        Break(error) => Err(error),
    }
}

impl Out {
    /// The plan, where a view that it makes keeps its text.
    pub(super) fn kept(&self, mut plan: LogicalPlan) -> LogicalPlan {
        if let LogicalPlan::Ddl(DdlStatement::CreateView(view)) = &mut plan
            && self.view.is_some()
        {
            view.definition.clone_from(&self.view);
        }
        plan
    }

    /// Why a statement could not be planned, where it is for want of a key.
    pub(super) fn explained(&self, error: Error) -> Error {
        let text = error.to_string();
        let mut splits = self.splits.iter();
        let missing = splits.find_map(|(name, written)| {
            let mut columns = written.columns().iter();
            let column = columns.find(|column| {
                text.contains(&format!("no column named `{column}`"))
                    || text.contains(&format!(".{column}`")) && text.contains("no column named")
            })?;
            Some((name, column, written))
        });
        let Some((name, column, written)) = missing else {
            return error;
        };
        let keys = written.columns().join(", ");
        Error::Refused(format!(
            "split('{name}') follows from {keys} of each row, and there is no {column} here\n\
             hint: ask where records are read: (SELECT *, split('{name}') AS part FROM records)"
        ))
    }
}

/// The relations of a `SELECT` that have keys.
#[derive(Clone, Default)]
struct Rows {
    /// The name that the keys are of; `None` for columns without.
    name: Option<String>,
    /// Others of the same table.
    others: Vec<String>,
}

/// Finds the calls, and writes them out where it is told what they stand for.
#[derive(Default)]
struct Calls<'a> {
    asked: Asked,
    splits: Option<&'a BTreeMap<String, Written>>,
    versions: Option<&'a BTreeMap<String, Option<u64>>>,
    rows: Vec<Rows>,
}

impl VisitorMut for Calls<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        // For its ORDER BY.
        self.rows.push(match query.body.as_ref() {
            SetExpr::Select(select) => rows_of(select),
            _ => Rows::default(),
        });
        Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.rows.pop();
        Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.rows.push(rows_of(select));
        Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Error> {
        self.rows.pop();
        Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let written = match call(expr) {
            Some((SPLIT, args)) => self.split(&args),
            Some((_, args)) => self.version(&args),
            None => return Continue(()),
        };
        match written {
            Ok(None) => {}
            Ok(Some(written)) => *expr = written,
            Err(error) => return Break(error),
        }
        Continue(())
    }
}

impl Calls<'_> {
    fn split(&mut self, args: &[Option<String>]) -> Result<Option<Expr>> {
        let (name, rows) = match args {
            [Some(name)] => (name, None),
            [Some(name), Some(rows)] => (name, Some(rows)),
            _ => {
                let reason = "split takes the name of a split in quotes: split('by-task'), split('by-task@2')\n\
                    hint: `tsql split list` lists them";
                return Err(Error::Refused(reason.to_owned()));
            }
        };
        let Some(splits) = self.splits else {
            self.asked.splits.push(name.clone());
            return Ok(None);
        };
        let Some(written) = splits.get(name) else {
            return Ok(None);
        };
        let known = self.rows.last().cloned().unwrap_or_default();
        if rows.is_none()
            && let Some(first) = known.name.as_ref().filter(|_| !known.others.is_empty())
        {
            let all = known.others.join(", ");
            return Err(Error::Refused(format!(
                "split('{name}') is of the rows of one relation, and {first}, {all} have keys\n\
                 hint: name it: split('{name}', {first})"
            )));
        }
        let rows = rows.or(known.name.as_ref()).map(String::as_str);
        // In parentheses, whatever stands around it.
        written
            .expr(rows)
            .map(|expr| Some(Expr::Nested(Box::new(expr))))
    }

    fn version(&mut self, args: &[Option<String>]) -> Result<Option<Expr>> {
        let [Some(table)] = args else {
            let reason =
                "table_version takes the name of a table in quotes: table_version('records')";
            return Err(Error::Refused(reason.to_owned()));
        };
        let Some(versions) = self.versions else {
            self.asked.versions.push(table.clone());
            return Ok(None);
        };
        let version = versions.get(table).copied().flatten();
        let version = version.and_then(|version| usize::try_from(version).ok());
        Ok(Some(version.map_or_else(nothing, number)))
    }
}

/// A call of one of these functions, with the texts and names that it is given.
fn call(expr: &Expr) -> Option<(&'static str, Vec<Option<String>>)> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let [part] = function.name.0.as_slice() else {
        return None;
    };
    let name = part.as_ident()?.value.to_ascii_lowercase();
    let name = [SPLIT, VERSION].into_iter().find(|own| *own == name)?;
    let FunctionArguments::List(list) = &function.args else {
        return Some((name, Vec::new()));
    };
    let text = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }))) => Some(text.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name))) => {
            Some(name.value.clone()).filter(|_| list.args.len() > 1)
        }
        _ => None,
    };
    Some((name, list.args.iter().map(text).collect()))
}

/// The relations of a `SELECT` that have the keys of records.
fn rows_of(select: &Select) -> Rows {
    let tables = select.from.iter();
    let tables = tables.flat_map(|table| {
        let joined = table.joins.iter().map(|join| &join.relation);
        std::iter::once(&table.relation).chain(joined)
    });
    let named: Vec<(String, String)> = tables.filter_map(named).collect();
    for keyed in KEYED {
        let mut own = named.iter().filter(|(table, _)| table == keyed);
        if let Some((_, name)) = own.next() {
            return Rows {
                name: Some(name.clone()),
                others: own.map(|(_, name)| name.clone()).collect(),
            };
        }
    }
    Rows::default()
}

/// The table of a relation, and what it is called.
fn named(factor: &TableFactor) -> Option<(String, String)> {
    let (table, alias) = match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } => (normal(name.0.last()?.as_ident()?), alias),
        TableFactor::Derived { alias, .. } if has_keys(factor) => (RECORDS.to_owned(), alias),
        _ => return None,
    };
    let called = alias.as_ref().map(|alias| normal(&alias.name));
    Some((table.clone(), called.unwrap_or(table)))
}

/// A name as the planner knows it.
fn normal(name: &Ident) -> String {
    match name.quote_style {
        None => name.value.to_ascii_lowercase(),
        Some(_) => name.value.clone(),
    }
}
