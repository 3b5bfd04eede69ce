//! Search spaces: verdicts, and what follows from an exhaustive one.

use crate::support::Place;

/// Search space of a kernel with five valid points of six: `y` or an even `x`.
const SPACE: &str = r#"{"ConfigurationSpace": {"TuningParameters": [
  {"Name": "x", "Type": "int", "Values": "[2**i for i in range(0, 3)]", "Default": 1},
  {"Name": "y", "Type": "bool", "Values": "[True, False]"}],
  "Conditions": [{"Expression": "x % 2 == 0 or y", "Parameters": ["x", "y"]}]},
  "KernelSpecification": {"Language": "CUDA", "KernelName": "toy"}}"#;

/// All valid points with their times in milliseconds; none if the configuration failed.
const POINTS: [(i32, bool, Option<f64>); 5] = [
    (1, true, Some(4.0)),
    (2, true, Some(1.0)),
    (2, false, Some(1.03)),
    (4, true, None),
    (4, false, Some(8.0)),
];

/// A cache of Kernel Tuner with these points.
fn cache(device: &str, kernel: &str, points: &[(i32, bool, Option<f64>)]) -> String {
    let entries = points.iter().map(|(x, y, time)| {
        let key = format!("{x},{}", if *y { "True" } else { "False" });
        let time = match time {
            Some(time) => format!("\"time\": {time}, \"times\": [{time}, {time}]"),
            None => "\"time\": \"RuntimeFailedConfig\"".to_owned(),
        };
        format!("\"{key}\": {{\"x\": {x}, \"y\": {y}, {time}}}")
    });
    let entries = entries.collect::<Vec<_>>().join(",\n");
    format!(
        "{{\n\"device_name\": \"{device}\",\n\"kernel_name\": \"{kernel}\",\n\"problem_size\": 64,\n\
         \"tune_params_keys\": [\"x\", \"y\"],\n\"tune_params\": {{\"x\": [1, 2, 4], \"y\": [true, false]}},\n\
         \"cache\": {{\n{entries}}}}}"
    )
}

fn filled() -> Place {
    let place = Place::new();
    place.write("in/T1/toy.json", SPACE);
    place.write("in/all.json", cache("Whole", "toy", &POINTS));
    place.write("in/some.json", cache("Part", "toy", &POINTS[..3]));
    let mut outside = POINTS.to_vec();
    outside.push((1, false, Some(2.0)));
    place.write("in/more.json", cache("Outside", "toy", &outside));
    place.write("in/other.json", cache("Whole", "unknown", &POINTS));
    place.write(
        "in/tuned/toy_chip/pallas_triton_norm.json",
        crate::autotuners::corpus("tokamax"),
    );
    let ran = place.tsql(&["ingest", "in"]);
    // The file of tokamax has a damaged entry.
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    place
}

#[test]
fn spaces_are_compared_set_by_set() {
    let place = filled();
    let sql = "SELECT g.workload_name, s.platform, s.verdict, s.config_count, s.timed_count, s.valid_count, s.outside_count, s.reason \
               FROM search_spaces() AS s JOIN graphs AS g ON g.graph_id = s.graph_id WHERE g.dataset = 'kerneltuner' \
               ORDER BY g.workload_name, s.platform";
    assert_eq!(
        place.rows(sql),
        [
            "toy,Outside,searched,6,5,5,1,1 configurations are outside of the space",
            "toy,Part,searched,3,3,5,0,3 of 5 valid points",
            "toy,Whole,exhaustive,5,4,5,0,",
            "unknown,Whole,searched,5,4,,0,no source states the conditions of the space",
        ]
    );
    let winners = "SELECT verdict, valid_count IS NULL, reason FROM search_spaces() WHERE verdict = 'winners' LIMIT 1";
    assert_eq!(
        place.rows(winners),
        ["winners,true,the sources state only the best configurations"]
    );
    let shown = place.ok(&["queries", "search-spaces"]).stdout;
    assert!(
        shown.contains("Whole,exhaustive,5,4,5,1.0,0,in/T1/toy.json,"),
        "{shown}"
    );
    // A point that is written in another way is no other point.
    let spelled = cache("Spelled", "toy", &POINTS[..4]);
    let again = cache("Spelled", "toy", &POINTS[..1]).replace("\"x\": 1,", "\"x\": 1.0,");
    place.write("spelled/a.json", spelled);
    place.write("spelled/b.json", again);
    place.ok(&["ingest", "spelled"]);
    let spelled =
        "SELECT config_count, verdict, reason FROM search_spaces() WHERE platform = 'Spelled'";
    assert_eq!(place.rows(spelled), ["5,searched,4 of 5 valid points"]);
    // A retracted point is no longer measured.
    let retract = [
        "retract",
        "--where",
        "platform = 'Whole' AND error_no = 0 AND runtime_ns > 7e6",
        "--why",
        "a test",
    ];
    place.ok(&retract);
    let verdicts = "SELECT verdict, reason FROM search_spaces() AS s JOIN graphs AS g ON g.graph_id = s.graph_id \
                    WHERE s.platform = 'Whole' AND g.workload_name = 'toy'";
    assert_eq!(place.rows(verdicts), ["searched,4 of 5 valid points"]);
}

#[test]
fn random_search_needs_an_exhaustive_space() {
    let place = filled();
    let found = place.ok(&["queries", "random-search"]).stdout;
    let rows: Vec<&str> = found.lines().skip(1).collect();
    assert_eq!(rows.len(), 1, "{found}");
    // One of five trials: the mean of four times is 3.5075 ms. Two trials are near the best: four draws miss both with
    // a probability of 0, three with 1/10.
    let fields: Vec<&str> = rows[0].rsplitn(9, ',').collect();
    assert_eq!(fields[..2], ["4.0", "1.0"], "{found}");
    let fraction: f64 = fields[3].parse().unwrap();
    assert!((fraction - 1.0 / 3.5075).abs() < 1e-12, "{found}");
    let direct = "SELECT round(expected_best(runtime_ns, 1), 3), draws_to_reach(runtime_ns, 5, 0.9) FROM records \
                  WHERE platform = 'Whole' AND graph_id IN (SELECT graph_id FROM graphs WHERE workload_name = 'toy')";
    assert_eq!(place.rows(direct), ["3507500.0,3.0"]);
    let ran = place.tsql(&["SELECT expected_best(runtime_ns, 0) FROM records"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains("draws is 0, expected a number from 1 up"),
        "{}",
        ran.stderr
    );
    let ran = place.tsql(&["SELECT * FROM search_spaces('Whole')"]);
    assert!(
        ran.stderr
            .contains("hint: SELECT * FROM search_spaces() WHERE"),
        "{}",
        ran.stderr
    );
}

#[test]
fn parameters_are_ranked_by_the_variance_they_explain() {
    let place = filled();
    let found = place
        .ok(&["queries", "parameter-importance", "--format", "csv"])
        .stdout;
    let row = |parameter: &str| {
        let text = format!(",Part,{parameter},");
        let line = found.lines().find(|line| line.contains(&text));
        line.map(str::to_owned).unwrap_or_else(|| panic!("{found}"))
    };
    // `Part` has the times 4, 1 and 1.03: `x` separates 4 from the others.
    let explained = |parameter: &str| -> f64 {
        let row = row(parameter);
        let mut fields = row.rsplit(',');
        fields.nth(1).unwrap().parse().unwrap()
    };
    let logs = [4.0_f64.ln(), 0.0, 1.03_f64.ln()];
    let mean = logs.iter().sum::<f64>() / 3.0;
    let total: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let of_two = (logs[1] + logs[2]) / 2.0;
    let by_x = ((logs[0] - mean).powi(2) + 2.0 * (of_two - mean).powi(2)) / total;
    let of_true = (logs[0] + logs[1]) / 2.0;
    let by_y = (2.0 * (of_true - mean).powi(2) + (logs[2] - mean).powi(2)) / total;
    assert!((explained("x") - by_x).abs() < 1e-9, "{found}");
    assert!((explained("y") - by_y).abs() < 1e-9, "{found}");
    assert!(row("x").ends_with(",2"), "the best value of x: {found}");
}
