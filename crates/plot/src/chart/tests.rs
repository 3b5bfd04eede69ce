use super::table::Categories;
use super::*;

fn numbers(name: &str, values: &[f64]) -> Column {
    Column {
        name: name.to_owned(),
        unit: None,
        values: ColumnValues::Numbers(values.to_vec()),
    }
}

fn words(name: &str, values: &[&str]) -> Column {
    Column {
        name: name.to_owned(),
        unit: None,
        values: ColumnValues::Words(
            values
                .iter()
                .map(|name| Some(*name))
                .collect::<Categories>(),
        ),
    }
}

fn chart(columns: Vec<Column>, spec: &str) -> Chart {
    let table = PlotTable {
        columns,
        ..PlotTable::default()
    };
    Chart::new(table, &spec.parse().unwrap()).unwrap()
}

fn svg(columns: Vec<Column>, spec: &str) -> String {
    let chart = chart(columns, spec);
    let svg = chart.svg(Appearance::default());
    // Every chart can be rendered in all formats.
    assert!(
        chart
            .png(Appearance::default(), 64)
            .unwrap()
            .starts_with(b"\x89PNG")
    );
    assert!(chart.text(60, 20, false).lines().count() >= 8);
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    svg
}

#[test]
fn the_data_are_in_the_chart() {
    let line = svg(
        vec![
            numbers("trial", &[3.0, 1.0, 2.0]),
            numbers("best_ns", &[1e6, 3e6, 2e6]),
            words("platform", &["k80", "k80", "t4"]),
        ],
        "kind=line x=trial y=best_ns by=platform",
    );
    assert!(line.contains("data-series=\"k80\" data-x=\"[1,3]\" data-y=\"[3000000,1000000]\""));
    assert!(line.contains("data-series=\"t4\" data-x=\"[2]\" data-y=\"[2000000]\""));
    assert!(line.contains(">best (ms)</text>"));
}

#[test]
fn quartiles_and_shares_are_those_of_the_values() {
    let values: Vec<f64> = (1..=101).map(f64::from).collect();
    let boxed = svg(vec![numbers("v", &values)], "kind=box y=v");
    // Quartiles of 1 to 101: 26, 51 and 76.
    assert!(
        boxed
            .contains("data-low=\"[26]\" data-median=\"[51]\" data-high=\"[76]\" data-n=\"[101]\"")
    );
    let shares = svg(vec![numbers("v", &[4.0, 1.0, 2.0, 2.0])], "kind=ecdf x=v");
    assert!(
        shares.contains("data-x=\"[1,2,2,4]\" data-y=\"[0.25,0.5,0.75,1]\""),
        "{shares}"
    );
    let histogram = svg(vec![numbers("v", &values)], "kind=histogram x=v");
    let counts = histogram
        .split("data-y=\"[")
        .nth(1)
        .unwrap()
        .split(']')
        .next()
        .unwrap();
    let sum: f64 = counts
        .split(',')
        .map(|count| count.parse::<f64>().unwrap())
        .sum();
    assert!((sum - 101.0).abs() < 1e-9);
}

#[test]
fn bars_and_heat_maps_have_their_names() {
    let bars = svg(
        vec![
            words("op", &["conv", "dense"]),
            numbers("gflops", &[5.0, 7.0]),
        ],
        "kind=bar x=op y=gflops",
    );
    assert!(bars.contains("data-names=\"[&quot;conv&quot;,&quot;dense&quot;]\" data-y=\"[5,7]\""));
    assert!(bars.contains(">GFLOPS</text>"));
    let heat = svg(
        vec![
            words("a", &["k80", "t4"]),
            words("b", &["t4", "k80"]),
            numbers("tau", &[0.5, 0.75]),
        ],
        "kind=heat x=a y=b value=tau",
    );
    assert!(heat.contains("data-value=\"[0.5,0.75]\"") && heat.contains(">0.75</text>"));
    let counted = svg(vec![words("a", &["x"]), words("b", &["y"])], "kind=heat");
    assert!(counted.contains("data-value=\"[1]\""));
}

#[test]
fn impossible_charts_have_a_reason() {
    let nan = f64::NAN;
    for kind in ChartKind::ALL {
        let spec = match kind {
            ChartKind::Box | ChartKind::Violin | ChartKind::Bar => format!("kind={kind} y=v x=n"),
            ChartKind::Heat => "kind=heat x=n y=m value=v".to_owned(),
            ChartKind::Histogram | ChartKind::Ecdf => format!("kind={kind} x=v"),
            _ => format!("kind={kind} x=w y=v"),
        };
        let columns = |values: &[f64]| {
            let names = vec!["a \"<name>\""; values.len()];
            vec![
                numbers("v", values),
                numbers("w", values),
                words("n", &names),
                words("m", &names),
            ]
        };
        let none = svg(columns(&[]), &spec);
        assert!(
            none.contains("There is nothing to draw: the result has no rows."),
            "{kind}"
        );
        for values in [&[nan, nan][..], &[f64::INFINITY]] {
            let text = svg(columns(values), &spec);
            let said = text.contains("no row has the required numbers.");
            assert!(
                said || matches!(kind, ChartKind::Bar | ChartKind::Heat),
                "{kind}: {text}"
            );
        }
        for values in [
            &[5.0][..],
            &[0.0, 0.0],
            &[1e300, -1e300, 3.0],
            &[1e-300, 1.0, nan],
        ] {
            let text = svg(columns(values), &spec);
            assert!(!text.contains("nothing to draw"), "{kind} {values:?}");
            let is_told = text.contains("1 row without a number is left out");
            let has_none = values.iter().any(|value| value.is_nan());
            assert!(
                is_told == has_none || matches!(kind, ChartKind::Bar | ChartKind::Heat),
                "{kind} {values:?}"
            );
        }
    }
}

#[test]
fn logarithmic_axes_leave_out_what_they_have_not() {
    let text = svg(
        vec![
            numbers("x", &[1.0, 2.0, 3.0]),
            numbers("y", &[0.0, 10.0, 1000.0]),
        ],
        "kind=scatter x=x y=y log=y",
    );
    assert!(text.contains("1 row at or below 0 is not on the logarithmic axis"));
}

#[test]
fn many_series_names_and_panels_are_counted() {
    let names: Vec<String> = (0..200).map(|place| format!("platform-{place}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let values: Vec<f64> = (0..200).map(f64::from).collect();
    let columns = || {
        vec![
            words("platform", &names),
            numbers("v_ns", &values),
            numbers("w", &values),
        ]
    };
    let lines = svg(columns(), "kind=line x=w y=v_ns by=platform");
    // Each drawn name is shown.
    assert!(lines.contains("176 more series are not drawn") && !lines.contains("platform-24"));
    assert!((0..24).all(|place| lines.contains(&format!(">platform-{place}</text>"))));
    let bars = svg(columns(), "kind=bar x=platform y=v_ns");
    assert!(bars.contains("140 more names are not drawn"));
    assert!(bars.contains(">platform-59</text>") && !bars.contains("platform-60"));
    let facets = svg(columns(), "kind=scatter x=w y=v_ns facet=platform");
    assert!(facets.contains("188 more panels are not drawn"));
    let long = "x".repeat(300);
    let bars = svg(
        vec![words("n", &[&long, "b"]), numbers("v", &[1.0, 2.0])],
        "kind=bar x=n y=v",
    );
    let shown = bars
        .split("</text>")
        .filter(|text| text.contains('…'))
        .count();
    assert!(
        shown >= 1
            && !bars
                .split("<text")
                .any(|text| text.split('>').nth(1).is_some_and(|text| text.len() > 200))
    );
}

#[test]
fn dots_beyond_five_thousand_are_counted_in_cells() {
    let values: Vec<f64> = (0..6000).map(|place| f64::from(place % 100)).collect();
    let dense = svg(
        vec![numbers("x", &values), numbers("y", &values)],
        "kind=scatter",
    );
    assert!(!dense.contains("<circle") && dense.contains("colors show the number of dots"));
    let few = svg(
        vec![numbers("x", &values[..50]), numbers("y", &values[..50])],
        "kind=scatter",
    );
    assert_eq!(few.matches("<circle").count(), 50);
}

#[test]
fn a_terminal_shows_the_same() {
    let values: Vec<f64> = (0..50).map(f64::from).collect();
    let text = chart(
        vec![numbers("x", &values), numbers("t_ns", &values)],
        "kind=line x=x y=t_ns title=T",
    )
    .text(60, 15, false);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines.len() >= 15 && lines.iter().all(|line| line.chars().count() <= 60),
        "{text}"
    );
    assert!(
        lines[0].trim() == "T" && text.contains("t (ns)") && text.contains('⠤'),
        "{text}"
    );
}
