//! All real logs: counts match other tools, and exports match the original bytes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Place, shared};

const FOLDERS: [&str; 4] = ["a100", "x86", "k80", "tutorial-logs"];

fn ingested() -> Option<(Place, Value)> {
    let shared = shared()?;
    let place = Place::new();
    for folder in FOLDERS {
        let path = shared.join("data/tenset").join(folder);
        place.ok(&["ingest", "-q", path.to_str().unwrap()]);
    }
    let golden = shared.join("golden/tenset/real_files.expected.json");
    let golden = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
    Some((place, golden))
}

/// Returns the rows of a query as JSON objects, by source name.
fn by_source(place: &Place, sql: &str) -> BTreeMap<String, Vec<Value>> {
    let out = place.ok(&["--format", "jsonl", sql]).stdout;
    let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in out.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        rows.entry(row["name"].as_str().unwrap().to_owned())
            .or_default()
            .push(row);
    }
    rows
}

/// Returns a histogram (key to count) in the format of the golden file.
fn histogram(rows: Option<&Vec<Value>>) -> Value {
    let rows = rows.into_iter().flatten();
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    Value::Object(
        rows.map(|row| (text(&row["key"]), row["n"].clone()))
            .collect(),
    )
}

#[test]
#[ignore = "full tier"]
fn every_real_file_matches_counts_of_other_tools() {
    let Some((place, golden)) = ingested() else {
        return;
    };
    let grouped = |key: &str| {
        by_source(
            &place,
            &format!(
                "SELECT s.name, {key} AS key, count(*) AS n FROM records r \
             JOIN sources s ON s.source_id = r.source_id \
             JOIN environments e ON e.environment_id = r.environment_id GROUP BY 1, 2"
            ),
        )
    };
    let errors = grouped("r.error_no");
    let versions = grouped("e.log_version");
    let targets = grouped("e.target");
    let costs = grouped("CASE WHEN r.status = 'ok' THEN r.repeat_count ELSE 1 END");
    let totals = by_source(
        &place,
        "SELECT s.name, count(*) AS records, count(DISTINCT r.config_id) AS programs, \
         count(DISTINCT g.workload_key || e.target) AS tasks FROM records r \
         JOIN sources s ON s.source_id = r.source_id JOIN graphs g ON g.graph_id = r.graph_id \
         JOIN environments e ON e.environment_id = r.environment_id GROUP BY 1",
    );
    let comments = by_source(
        &place,
        "SELECT s.name, count(*) AS n FROM lines l JOIN sources s ON s.source_id = l.source_id \
         WHERE l.kind = 'comment' GROUP BY 1",
    );
    let files = golden.as_object().unwrap();
    let mut checked = 0;
    for (path, wanted) in files {
        let name = path.strip_prefix("data/tenset/").unwrap();
        if !FOLDERS.contains(&name.split('/').next().unwrap()) {
            continue;
        }
        let total = &totals[name][0];
        assert_eq!(total["records"], wanted["records"], "{name}");
        assert_eq!(total["programs"], wanted["distinct_programs"], "{name}");
        assert_eq!(total["tasks"], wanted["n_tasks"], "{name}");
        let repeated = total["records"].as_u64().unwrap() - total["programs"].as_u64().unwrap();
        assert_eq!(
            repeated,
            wanted["duplicate_rows"].as_u64().unwrap(),
            "{name}"
        );
        let comments = comments
            .get(name)
            .map_or(Value::from(0), |rows| rows[0]["n"].clone());
        assert_eq!(comments, wanted["comment_lines"], "{name}");
        assert_eq!(histogram(errors.get(name)), wanted["error_no"], "{name}");
        assert_eq!(histogram(versions.get(name)), wanted["versions"], "{name}");
        assert_eq!(histogram(targets.get(name)), wanted["targets"], "{name}");
        assert_eq!(histogram(costs.get(name)), wanted["n_costs"], "{name}");
        checked += 1;
    }
    assert_eq!(checked, 27);
}

#[test]
fn every_step_of_every_real_program_is_stored() {
    let Some((place, golden)) = ingested() else {
        return;
    };
    let steps = by_source(
        &place,
        "SELECT s.name, c.steps FROM records r JOIN configurations c ON c.config_id = r.config_id \
         JOIN sources s ON s.source_id = r.source_id",
    );
    for (name, rows) in steps {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows {
            let program: Value = serde_json::from_str(row["steps"].as_str().unwrap()).unwrap();
            for step in program.as_array().unwrap() {
                *kinds
                    .entry(step[0].as_str().unwrap().to_owned())
                    .or_default() += 1;
            }
        }
        let wanted = &golden[format!("data/tenset/{name}")]["steps"];
        assert_eq!(&serde_json::to_value(kinds).unwrap(), wanted, "{name}");
    }
}

#[test]
#[ignore = "full tier"]
fn every_real_file_exports_unchanged_after_maintenance() {
    let Some((place, _)) = ingested() else { return };
    let shared = shared().unwrap().join("data/tenset");
    for upkeep in [false, true] {
        if upkeep {
            place.ok(&["optimize"]);
            place.ok(&["vacuum", "--retain", "0s"]);
        }
        place.ok(&["check"]);
        place.ok(&["export", "--to", "back"]);
        let mut files = 0;
        for folder in FOLDERS {
            for entry in std::fs::read_dir(shared.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let name = format!(
                    "back/{folder}/{}",
                    path.file_name().unwrap().to_str().unwrap()
                );
                assert!(
                    place.read(&name) == std::fs::read(&path).unwrap(),
                    "{name} differs"
                );
                files += 1;
            }
        }
        assert_eq!(files, 27);
    }
}

#[test]
fn a_second_ingest_of_real_files_adds_nothing() {
    let Some((place, _)) = ingested() else { return };
    let count = "SELECT (SELECT count(*) FROM records) AS a, (SELECT count(*) FROM configurations) AS b, \
                 (SELECT count(*) FROM lines) AS c, (SELECT count(*) FROM sources) AS d";
    let before = place.rows(count);
    let path = shared().unwrap().join("data/tenset/x86");
    let again = place.ok(&["ingest", path.to_str().unwrap()]);
    assert!(
        again.stderr.contains("5 already ingested"),
        "{}",
        again.stderr
    );
    assert_eq!(place.rows(count), before);
}

/// Results about configurations do not depend on the order of ingests or the packing of rows.
#[test]
#[ignore = "full tier"]
fn sketches_of_real_programs_do_not_depend_on_packing() {
    let Some(shared) = shared() else { return };
    let logs = shared.join("data/tenset");
    let results =
        |place: &Place| -> Vec<Vec<String>> {
            [
            "SELECT config_id, sketch, params_list, steps FROM configurations ORDER BY config_id",
            "SELECT DISTINCT sketch FROM configurations ORDER BY sketch",
            "SELECT c.sketch, count(*), min(r.runtime_ns) FROM records r JOIN configurations c \
             USING (graph_id, config_id) GROUP BY c.sketch ORDER BY 1",
            "SELECT count(*) FROM configurations a JOIN configurations b \
             ON a.graph_id = b.graph_id AND a.sketch = b.sketch",
        ]
        .into_iter()
        .map(|sql| place.rows(sql))
        .chain(["a100", "k80", "x86"].map(|platform| {
            let set = format!("platform={platform}");
            let query_args = ["queries", "best-sketch-per-graph", "--set", &set];
            place.ok(&query_args).stdout.lines().map(str::to_owned).collect()
        }))
        .collect()
        };
    let (one_by_one, together) = (Place::new(), Place::new());
    let mut folders = Vec::new();
    for folder in FOLDERS {
        let mut files: Vec<_> = std::fs::read_dir(logs.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in &files {
            one_by_one.ok(&["ingest", "-q", "--platform", folder, file.to_str().unwrap()]);
        }
        folders.push(logs.join(folder).to_str().unwrap().to_owned());
    }
    let mut args = vec!["ingest", "-q"];
    args.extend(folders.iter().map(String::as_str));
    together.ok(&args);
    let before = results(&one_by_one);
    assert!(before.iter().all(|rows| rows.len() > 1 || rows[0] != "0"));
    one_by_one.ok(&["optimize"]);
    let after = results(&one_by_one);
    together.ok(&["optimize"]);
    let other = results(&together);
    for (query, before) in before.iter().enumerate() {
        assert!(before == &after[query], "query {query} after optimize");
        // Configuration ids differ in another ingest order.
        assert!(
            query == 0 || before == &other[query],
            "query {query} together"
        );
    }
}
