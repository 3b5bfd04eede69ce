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
fn quartiles_and_fractions_match_the_values() {
    let values: Vec<f64> = (1..=101).map(f64::from).collect();
    let boxed = svg(vec![numbers("v", &values)], "kind=box y=v");
    // Quartiles of 1 to 101: 26, 51 and 76.
    assert!(
        boxed
            .contains("data-low=\"[26]\" data-median=\"[51]\" data-high=\"[76]\" data-n=\"[101]\"")
    );
    let ecdf = svg(vec![numbers("v", &[4.0, 1.0, 2.0, 2.0])], "kind=ecdf x=v");
    assert!(
        ecdf.contains("data-x=\"[1,2,2,4]\" data-y=\"[0.25,0.5,0.75,1]\""),
        "{ecdf}"
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
            let has_reason = text.contains("no row has the required numbers.");
            assert!(
                has_reason || matches!(kind, ChartKind::Bar | ChartKind::Heat),
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
            let is_noted = text.contains("1 row without a number is left out");
            let has_none = values.iter().any(|value| value.is_nan());
            assert!(
                is_noted == has_none || matches!(kind, ChartKind::Bar | ChartKind::Heat),
                "{kind} {values:?}"
            );
        }
    }
}

#[test]
fn logarithmic_axes_omit_values_at_or_below_zero() {
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
fn omitted_series_names_and_panels_are_counted() {
    let names: Vec<String> = (0..200).map(|index| format!("platform-{index}")).collect();
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
    assert!((0..24).all(|index| lines.contains(&format!(">platform-{index}</text>"))));
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
    let values: Vec<f64> = (0..6000).map(|index| f64::from(index % 100)).collect();
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

#[test]
fn colours_do_not_depend_on_the_order_of_rows() {
    let colours = |platforms: &[&str], spec: &str| {
        let columns = vec![
            numbers("x", &[1.0, 2.0, 3.0]),
            numbers("y", &[2.0, 1.0, 3.0]),
            words("platform", platforms),
        ];
        let svg = svg(columns, spec);
        let legend = svg.split("class=\"entry\"").skip(1);
        let entry = |text: &str| {
            let name = text.split('"').nth(1).unwrap().to_owned();
            let colour = text.split("#").nth(1).unwrap();
            (name, colour.split('"').next().unwrap().to_owned())
        };
        legend.map(entry).collect::<Vec<_>>()
    };
    for spec in [
        "kind=scatter x=x y=y by=platform",
        "kind=line x=x y=y by=platform",
        "kind=ecdf x=x by=platform",
        "kind=histogram x=x by=platform",
        "kind=bar x=x y=y by=platform",
        "kind=violin x=x y=y by=platform",
    ] {
        let sorted = colours(&["p1", "p2", "p10"], spec);
        assert_eq!(sorted, colours(&["p10", "p1", "p2"], spec), "{spec}");
        let names: Vec<&str> = sorted.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["p1", "p2", "p10"], "{spec}");
    }
}

#[test]
fn known_names_have_one_colour_in_all_plots() {
    let known = ["epyc".to_owned(), "k80".to_owned(), "t4".to_owned()];
    let table = PlotTable {
        columns: vec![numbers("v", &[1.0]), words("platform", &["t4"])],
        ..PlotTable::default()
    };
    for spec in [
        "kind=bar x=platform y=v by=platform",
        "kind=ecdf x=v by=platform",
    ] {
        let chart = Chart::new(table.clone(), &spec.parse().unwrap()).unwrap();
        assert!(!chart.figure(Appearance::default()).contains("var(--s2)"));
        let chart = chart.with_known_names(&known);
        assert!(
            chart.figure(Appearance::default()).contains("var(--s2)"),
            "{spec}"
        );
    }
}

#[test]
fn shortened_names_have_their_full_name_as_tooltip() {
    let long = "tenset [\"conv2d_nhwc\", 1, 28, 28, 16, 8, 3, 3, 1, [1, 1], \"float32\"]";
    let columns = || {
        vec![
            words("task", &[long, "short"]),
            words("by", &[long, "short"]),
            numbers("v", &[1.0, 2.0]),
            numbers("w", &[1.0, 2.0]),
        ]
    };
    let title = format!("<title>{}</title>", long.replace('"', "&quot;"));
    for spec in ["kind=box x=task y=v", "kind=scatter x=v y=w facet=task"] {
        let svg = svg(columns(), spec);
        let shortened = svg.lines().filter(|line| line.contains('…'));
        let shortened: Vec<&str> = shortened.collect();
        assert!(!shortened.is_empty(), "{spec}");
        assert!(
            shortened.iter().all(|line| line.contains(&title)),
            "{shortened:?}"
        );
        assert!(!svg.contains("<title>short</title>"));
    }
    // Names of moderate length have two lines instead.
    let two = svg(
        vec![
            words(
                "task",
                &["tenset [\"matmul\", 128, 128, 128, \"float32\"]", "short"],
            ),
            numbers("v", &[1.0, 2.0]),
        ],
        "kind=box x=task y=v",
    );
    assert!(!two.contains('…'), "{two}");
}

#[test]
fn a_series_in_each_panel_needs_no_legend() {
    let columns = |series: &[&str]| {
        vec![
            numbers("x", &[1.0, 2.0, 1.0, 2.0]),
            numbers("y", &[1.0, 2.0, 3.0, 4.0]),
            words("source", series),
            words("task", &["a", "a", "b", "b"]),
        ]
    };
    let spec = "kind=line x=x y=y by=source facet=task";
    let one = svg(columns(&["log1", "log1", "log2", "log2"]), spec);
    assert!(!one.contains("class=\"entry\"") && one.contains(">log1</text>"));
    let several = svg(columns(&["log1", "log2", "log1", "log2"]), spec);
    assert_eq!(several.matches("class=\"entry\"").count(), 2);
}

#[test]
fn histograms_have_round_bins_within_the_data() {
    let edges = |values: &[f64]| {
        let svg = svg(vec![numbers("v", values)], "kind=histogram x=v");
        let list = |name: &str| -> Vec<f64> {
            let text = svg.split(&format!("{name}=\"[")).nth(1).unwrap();
            let text = text.split(']').next().unwrap();
            text.split(',')
                .map(|number| number.parse().unwrap())
                .collect()
        };
        (list("data-from"), list("data-y"))
    };
    let fractions: Vec<f64> = (0..=100).map(|index| f64::from(index) / 100.0).collect();
    let (from, counts) = edges(&fractions);
    assert_eq!((from[0], from.len()), (0.0, 10), "{from:?}");
    // The last bin contains the maximum.
    assert_eq!((counts[0], counts[9]), (10.0, 11.0));
    let (from, counts) = edges(&[1.0, 2.0, 2.0, 3.0, 3.0, 3.0]);
    assert_eq!(from, [0.5, 1.5, 2.5]);
    assert_eq!(counts, [1.0, 2.0, 3.0]);
}

#[test]
fn rows_that_are_not_drawn_do_not_widen_the_axis() {
    let columns = vec![
        numbers("x", &[1.0, 2.0, 900.0]),
        numbers("y", &[1.0, 2.0, f64::NAN]),
    ];
    let svg = svg(columns, "kind=scatter x=x y=y");
    assert!(
        !svg.contains(">900</text>") && !svg.contains(">500</text>"),
        "{svg}"
    );
}

#[test]
fn numbers_along_heat_maps_are_in_order() {
    let columns = vec![
        numbers("group", &[10.0, 2.0, 2.0]),
        words("code", &["b", "a", "b"]),
        numbers("v", &[1.0, 2.0, 3.0]),
    ];
    let heat = svg(columns, "kind=heat x=group y=code value=v");
    let names = |list: &str| heat.contains(&list.replace('"', "&quot;"));
    assert!(
        names(r#"[["group",1,["2","10"]],["code",1,["b","a"]]]"#),
        "{heat}"
    );
}

#[test]
fn numbers_of_narrow_bars_do_not_overlap() {
    let columns = |values: &[f64]| {
        let n = values.len();
        let names: Vec<String> = (0..n).map(|index| format!("n{}", index % 4)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let by: Vec<String> = (0..n).map(|index| format!("s{}", index / 4)).collect();
        let by: Vec<&str> = by.iter().map(String::as_str).collect();
        vec![words("n", &names), words("by", &by), numbers("v", values)]
    };
    let has_numbers = |values: &[f64]| {
        svg(columns(values), "kind=bar x=n y=v by=by").contains("font-size=\"15.3\"")
    };
    assert!(has_numbers(&[7.0; 12]));
    assert!(!has_numbers(&[7777.0; 12]));
}

#[test]
fn axis_titles_are_options() {
    let svg = svg(
        vec![
            numbers("median_share", &[0.1, 0.9]),
            numbers("t_ns", &[1e3, 2e3]),
        ],
        "kind=scatter x=t_ns y=median_share x_title=\"search time\" y_title=\"fraction of best speed\"",
    );
    assert!(
        svg.contains(">search time (µs)</text>") && svg.contains(">fraction of best speed</text>")
    );
}

#[test]
fn a_limit_that_depends_on_x_is_a_curve() {
    let columns = |limits: &[f64]| {
        vec![
            numbers("x", &[4.0, 1.0, 2.0]),
            numbers("gflops", &[7.0, 2.0, f64::NAN]),
            numbers("roof", limits),
            Column {
                name: "op".to_owned(),
                unit: None,
                values: ColumnValues::Words(
                    [Some("conv"), Some("conv"), None].into_iter().collect(),
                ),
            },
        ]
    };
    let spec = "kind=scatter x=x y=gflops limit=roof by=op";
    let curve = svg(columns(&[8.0, 4.0, 8.0]), spec);
    let dashed = curve.lines().find(|line| line.contains("stroke-dasharray"));
    let points = dashed.unwrap().split('"').nth(1).unwrap();
    let points: Vec<&str> = points.split(' ').collect();
    // In the order of x: it rises, and is constant from 2 on.
    let height = |index: usize| points[index].split(',').nth(1).unwrap();
    assert_eq!(points.len(), 3);
    assert!(
        height(0) != height(1) && height(1) == height(2),
        "{points:?}"
    );
    // The row without a speed defines the curve, and is no point.
    assert!(
        !curve.contains("left out") && !curve.contains("(none)"),
        "{curve}"
    );
    assert!(curve.contains("data-x=\"[4,1]\" data-y=\"[7,2]\""));
    let line = svg(columns(&[8.0, 8.0, 8.0]), spec);
    assert!(line.contains("1 row without a number is left out"));
}
