use super::*;

#[test]
fn every_schema_file_is_listed_and_valid() {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas")).unwrap();
    let files = folder.filter(|entry| entry.is_ok()).count();
    assert_eq!(files, tables().unwrap().len() + views().unwrap().len());
}

#[test]
fn each_shown_column_has_one_name() {
    for table in tables().unwrap() {
        let mut names: Vec<&str> = table
            .shown_columns()
            .map(|column| column.name.as_str())
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{}", table.name);
    }
}

#[test]
fn unknown_keys_are_rejected() {
    let text = "table = 't'\nversion = 1\ndoc = ''\nkey = []\nsort = []\npartition = []\ncolour = 'red'\ncolumn = []";
    assert!(
        Table::parse(text, &[])
            .unwrap_err()
            .to_string()
            .contains("colour")
    );
}

#[test]
fn a_unit_must_end_the_name() {
    let text = "table = 't'\nversion = 1\ndoc = ''\nkey = []\nsort = []\npartition = []\n[[column]]\nname = 'runtime'\ntype = 'Float64'\nunit = 'ns'\ndoc = ''";
    assert!(
        Table::parse(text, &[])
            .unwrap_err()
            .to_string()
            .contains("does not end in its unit")
    );
}

/// A prefix of the key leads to all rows that share it; a whole key, and more columns, to one row.
#[test]
fn every_reference_names_a_table_and_its_key() {
    let views = views().unwrap();
    let tables = tables().unwrap().iter();
    let own = tables.map(|table| (&table.name, &table.columns, &table.several));
    let own = own.chain(
        views
            .iter()
            .map(|view| (&view.name, &view.columns, &view.several)),
    );
    let mut seen = 0;
    for (name, columns, several) in own {
        for reference in references(columns, several) {
            let target = table(&reference.to).unwrap();
            let (key, by) = (&target.key, &reference.columns);
            let leads = key.starts_with(by) || key.iter().all(|one| by.contains(one));
            assert!(leads, "{name}: {by:?} is no key of {}", target.name);
            for column in by {
                let own = columns.iter().find(|one| &one.name == column).unwrap();
                let theirs = target.column(column).unwrap();
                assert_eq!(own.type_name, theirs.type_name, "{name}.{column}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 22, "{seen} references");
}

#[test]
fn filter_columns_of_records_are_within_the_first_32_leaves() {
    assert!(table("records").unwrap().stored_columns().count() <= 32);
}
