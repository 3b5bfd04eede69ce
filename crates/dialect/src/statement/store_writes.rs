//! Rejects statements that would change the tables of a store, and suggests the command for it.

use datafusion::sql::sqlparser::ast::{
    FromTable, ObjectName, ObjectType, Statement, TableFactor, TableObject, TableWithJoins,
};

use tsql_error::{Error, Result};
use tsql_schema as schema;

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
        _ => return Ok(()),
    };
    match names.into_iter().find_map(store_table_name) {
        None => Ok(()),
        Some(name) => Err(Error::Refused(format!(
            "`{name}` belongs to the store, which SQL cannot change: {verb} is not possible\nhint: {hint}"
        ))),
    }
}

fn table_name(table: &TableWithJoins) -> Option<&ObjectName> {
    match &table.relation {
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
    }
}
