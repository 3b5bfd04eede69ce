use std::fs;

use super::*;
use crate::context::new_context;

async fn copy(sql: &str) -> std::result::Result<u64, String> {
    let context = new_context(None).unwrap();
    let frame = context.sql(sql).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    let counts = batches.iter().map(|batch| {
        let counts = batch.column(0).as_any();
        let counts = counts.downcast_ref::<arrow::array::UInt64Array>().unwrap();
        counts.values().iter().sum::<u64>()
    });
    Ok(counts.sum())
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| {
        let name = entry.unwrap().file_name();
        name.into_string().unwrap()
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Rows whose computation fails at the end.
const FAILING: &str =
    "SELECT 10 / (99999 - value) AS x FROM generate_series(0, 100000) AS s(value)";

#[tokio::test]
async fn a_file_is_replaced_by_a_whole_one_or_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["csv", "json", "parquet", "arrow"] {
        let path = folder.path().join(format!("good.{ending}"));
        let missing = folder.path().join(format!("new.{ending}"));
        fs::write(&path, "good").unwrap();
        for target in [&path, &missing] {
            let sql = format!("COPY ({FAILING}) TO '{}'", target.display());
            assert!(copy(&sql).await.is_err(), "{sql}");
        }
        assert_eq!(fs::read(&path).unwrap(), b"good", "{ending}");
        assert!(!missing.exists(), "{ending}");
        let sql = format!("COPY (SELECT 1 AS a, 'x' AS b) TO '{}'", path.display());
        assert_eq!(copy(&sql).await.unwrap(), 1);
        assert_ne!(fs::read(&path).unwrap(), b"good", "{ending}");
        fs::remove_file(&path).unwrap();
    }
    assert!(names(folder.path()).is_empty());
}

#[tokio::test]
async fn a_target_is_the_file_of_exactly_that_name() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a%20b.csv", "a*[b.csv", "a b?#.csv", "ä\\.csv"] {
        let path = folder.path().join(name);
        let sql = format!("COPY (SELECT 1 AS a) TO '{}'", path.display());
        copy(&sql).await.unwrap();
        assert_eq!(names(folder.path()), [name]);
        assert_eq!(fs::read(&path).unwrap(), b"a\n1\n");
        fs::remove_file(&path).unwrap();
    }
    let path = folder.path().join("no/such/x.csv");
    let told = copy(&format!("COPY (SELECT 1) TO '{}'", path.display())).await;
    assert!(told.unwrap_err().contains("the folder does not exist"));
    assert!(names(folder.path()).is_empty());
}

#[tokio::test]
async fn nested_values_are_json_in_csv() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let sql = format!(
        "COPY (SELECT [1, 2] AS l, named_struct('a', 1.5) AS s, 'q\"' AS t, CAST(NULL AS INT) AS n) TO '{}'",
        path.display()
    );
    copy(&sql).await.unwrap();
    let wanted = "l,s,t,n\n\"[1,2]\",\"{\"\"a\"\":1.5}\",\"q\"\"\",\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
    let both = format!(
        "COPY (SELECT 1 AS a, [1] AS l) TO '{}' OPTIONS ('format.delimiter' ';')",
        path.display()
    );
    copy(&both).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "a;l\n1;[1]\n");
}

#[tokio::test]
async fn a_folder_appears_with_all_its_files_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let rows = "SELECT value % 3 AS k, value FROM generate_series(1, 9) AS s(value)";
    let to = |rows: &str| {
        format!(
            "COPY ({rows}) TO '{}/' STORED AS PARQUET PARTITIONED BY (k)",
            out.display()
        )
    };
    let failing = FAILING.replace("AS x", "AS x, value % 3 AS k");
    assert!(copy(&to(&failing)).await.is_err());
    assert!(names(folder.path()).is_empty());
    assert_eq!(copy(&to(rows)).await.unwrap(), 9);
    assert_eq!(names(&out), ["k=0", "k=1", "k=2"]);
    assert_eq!(names(folder.path()), ["out"]);
    let told = copy(&to(rows)).await.unwrap_err();
    assert!(
        told.contains("expected an empty or missing folder"),
        "{told}"
    );
    let file = folder.path().join("out/k=0");
    let told = copy(&format!("COPY ({rows}) TO '{}'", file.display())).await;
    assert!(told.is_err());
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir(&out).unwrap();
    assert_eq!(copy(&to(rows)).await.unwrap(), 9);
}
