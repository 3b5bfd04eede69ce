//! Rejects statements that would change the tables of a store, and suggests the command for it. A temporary table is
//! a table of the session.

use datafusion::sql::sqlparser::ast::{
    FromTable, ObjectName, ObjectType, Statement, TableFactor, TableObject, TableWithJoins,
};

use tsql_error::{Error, Result};
use tsql_schema as schema;

const CREATE_INDEX: &str = "CREATE INDEX";

/// Hint for users who want an index.
const NO_INDEX: &str =
    "queries skip data by the statistics of files, `tsql optimize` sorts and merges the files";

/// Rejects a statement that changes or removes a table or view of the store. Tables created in the session may be
/// changed.
///
/// # Errors
/// [`Error::Refused`] with the table and the suggested command.
pub(super) fn check(statement: &Statement) -> Result<()> {
    let (verb, names, hint) = match statement {
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            let names = from.iter().filter_map(table_name).collect();
            ("DELETE", names, "`tsql retract --where CONDITION`")
        }
        Statement::Truncate(truncate) => {
            let names = truncate.table_names.iter().map(|table| &table.name);
            (
                "TRUNCATE",
                names.collect(),
                "`tsql retract --where CONDITION`",
            )
        }
        Statement::Update(update) => {
            let names = table_name(&update.table).into_iter().collect();
            (
                "UPDATE",
                names,
                "`tsql correct --where CONDITION --label NAME=VALUE`",
            )
        }
        Statement::Insert(insert) => {
            let names = match &insert.table {
                TableObject::TableName(name) => vec![name],
                _ => Vec::new(),
            };
            (
                "INSERT",
                names,
                "`tsql ingest FILES` and `tsql append` add records",
            )
        }
        Statement::Drop {
            object_type: ObjectType::Table | ObjectType::View,
            names,
            ..
        } => {
            let hint = "`tsql retract --where CONDITION` removes records";
            ("DROP", names.iter().collect(), hint)
        }
        Statement::AlterTable(alter) => (
            "ALTER",
            vec![&alter.name],
            "`tsql describe TABLE` lists its columns",
        ),
        Statement::Merge(merge) => (
            "MERGE",
            factor_name(&merge.table).into_iter().collect(),
            "`tsql ingest FILES` and `tsql append` add records",
        ),
        Statement::CreateIndex(index) => (CREATE_INDEX, vec![&index.table_name], NO_INDEX),
        _ => return Ok(()),
    };
    match names.into_iter().find_map(store_table_name) {
        None if verb == CREATE_INDEX => Err(Error::Refused(format!(
            "indexes are not supported\nhint: {NO_INDEX}"
        ))),
        None => Ok(()),
        Some(name) => Err(Error::Refused(format!(
            "`{name}` belongs to the store, which SQL cannot change: {verb} is not possible\nhint: {hint}"
        ))),
    }
}

/// Drops `TEMPORARY` from `CREATE`: tables and views that SQL creates end with the session.
pub(super) fn drop_temporary(statement: &mut Statement) {
    match statement {
        Statement::CreateTable(table) => table.temporary = false,
        Statement::CreateView(view) => view.temporary = false,
        _ => {}
    }
}

fn table_name(table: &TableWithJoins) -> Option<&ObjectName> {
    factor_name(&table.relation)
}

fn factor_name(table: &TableFactor) -> Option<&ObjectName> {
    match table {
        TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

/// The last component of a name, if it is a table or view of every store.
fn store_table_name(name: &ObjectName) -> Option<String> {
    let last = name.0.last()?.as_ident()?;
    let last = match last.quote_style {
        Some(_) => last.value.clone(),
        None => last.value.to_lowercase(),
    };
    let tables = schema::tables().into_iter().flatten();
    let views = schema::views().into_iter().flatten();
    let mut names = tables
        .map(|table| table.sql_name())
        .chain(views.map(|view| view.name.as_str()));
    names.any(|name| name == last).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    #[test]
    fn tables_of_the_store_are_not_changed_by_sql() {
        for (sql, hint) in [
            ("DELETE FROM records WHERE line = 1", "retract"),
            ("TRUNCATE TABLE records", "retract"),
            ("UPDATE Records SET line = 1", "correct"),
            ("INSERT INTO records VALUES (1)", "ingest"),
            ("DROP TABLE records", "retract"),
            ("DROP VIEW IF EXISTS public.nodes", "retract"),
            ("ALTER TABLE graphs ADD COLUMN a INT", "describe"),
            (
                "MERGE INTO records AS r USING mine AS m ON r.line = m.line WHEN MATCHED THEN DELETE",
                "ingest",
            ),
            ("CREATE INDEX i ON records (graph_id)", "optimize"),
        ] {
            let error = parse_statements(sql).unwrap_err().to_string();
            assert!(error.contains("belongs to the store"), "{sql}: {error}");
            let (_, way_out) = error.split_once("\nhint: ").unwrap();
            assert!(way_out.contains(hint), "{sql}: {error}");
        }
        for sql in [
            "DROP VIEW mine",
            "INSERT INTO mine VALUES (1)",
            "DELETE FROM \"Records\"",
        ] {
            assert!(parse_statements(sql).is_ok(), "{sql}");
        }
        let index = parse_statements("CREATE INDEX i ON mine (a)").unwrap_err();
        let index = index.to_string();
        assert!(
            index.starts_with("indexes are not supported\nhint: "),
            "{index}"
        );
    }

    #[test]
    fn temporary_tables_are_tables_of_the_session() {
        for (sql, wanted) in [
            ("CREATE TEMP TABLE t AS SELECT 1 AS a", "CREATE TABLE t AS "),
            (
                "CREATE TEMPORARY VIEW v AS SELECT 1 AS a",
                "CREATE VIEW v AS ",
            ),
        ] {
            let parsed = parse_statements(sql).unwrap();
            assert!(parsed[0].to_string().starts_with(wanted), "{sql}");
        }
    }
}
