//! Series of the programs, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::RecordBatch;
use arrow::datatypes::{Float64Type, Int64Type};
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_dialect::plan_query;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_verdicts::change_points::{
    ChangePoint, ChangePointOptions, SeriesChange, change_points, group_events, summarize,
};

use super::options::{MIN_VALUES, TrendOptions};
use super::order::TrendOrder;
use super::places::{Places, PlatformPlaces};
use super::report::{PlottedSeries, ProgramChange, Trend, TrendEvent};

/// Number of places by which noise moves a change.
const EVENT_TOLERANCE: usize = 1;

/// Number of series of a plot.
const PLOTTED_SERIES: usize = 4;

/// Identity of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    platform: String,
    graph_id: i64,
    config_id: i64,
}

/// Change points of a program.
struct ProgramPoints {
    program: Program,
    values: usize,
    /// Index of the place of each value.
    places: Vec<usize>,
    points: Vec<ChangePoint>,
}

/// Reads the series, and searches each.
pub(super) struct SeriesReader<'a> {
    places: &'a Places,
    options: &'a TrendOptions,
    program: Option<Program>,
    /// Place and value of the program that is being read.
    values: Vec<(usize, f64)>,
    /// Number of searched series by platform.
    searched: BTreeMap<String, usize>,
    short: usize,
    found: Vec<ProgramPoints>,
    largest: Vec<PlottedSeries>,
}

impl<'a> SeriesReader<'a> {
    pub(super) fn new(places: &'a Places, options: &'a TrendOptions) -> Self {
        Self {
            places,
            options,
            program: None,
            values: Vec::new(),
            searched: BTreeMap::new(),
            short: 0,
            found: Vec::new(),
            largest: Vec::new(),
        }
    }

    /// Reads all series of the runs.
    pub(super) async fn read(&mut self, context: &SessionContext, runs: &str) -> Result<()> {
        let sql = format!(
            "SELECT graph_id, config_id, platform, place, median(value) AS value FROM ({runs}) AS placed \
             GROUP BY graph_id, config_id, platform, place ORDER BY graph_id, config_id, platform"
        );
        let frame = plan_query(context, &sql).await?;
        let mut stream = frame.execute_stream().await.map_err(Error::Query)?;
        while let Some(batch) = stream.next().await {
            self.take(&batch.map_err(Error::Query)?)?;
        }
        self.finish_program();
        Ok(())
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let graphs = column::numbers::<Int64Type>(batch, "graph_id")?;
        let configs = column::numbers::<Int64Type>(batch, "config_id")?;
        let platforms = column::text(batch, "platform")?;
        let names = column::text(batch, "place")?;
        let values = column::numbers::<Float64Type>(batch, "value")?;
        for row in 0..batch.num_rows() {
            let (platform, graph_id, config_id) =
                (platforms.value(row), graphs.value(row), configs.value(row));
            let is_known = self.program.as_ref().is_some_and(|known| {
                known.platform == platform
                    && (known.graph_id, known.config_id) == (graph_id, config_id)
            });
            if !is_known {
                self.finish_program();
                self.program = Some(Program {
                    platform: platform.to_owned(),
                    graph_id,
                    config_id,
                });
            }
            let places = self.places.get(platform);
            let place = places.and_then(|places| places.index(names.value(row)));
            self.values
                .extend(place.map(|place| (place, values.value(row))));
        }
        Ok(())
    }

    /// Searches the program that was read.
    fn finish_program(&mut self) {
        let mut values = std::mem::take(&mut self.values);
        let Some(program) = self.program.take() else {
            return;
        };
        if values.len() < MIN_VALUES {
            self.short += 1;
            return;
        }
        *self.searched.entry(program.platform.clone()).or_default() += 1;
        values.sort_unstable_by_key(|(place, _)| *place);
        let (places, values): (Vec<usize>, Vec<f64>) = values.into_iter().unzip();
        let options = ChangePointOptions {
            minimum_change: self.options.minimum_change,
            ..ChangePointOptions::default()
        };
        let points = change_points(&values, &options);
        if points.is_empty() {
            return;
        }
        self.plot_if_large(&program, &places, &values, &points);
        self.found.push(ProgramPoints {
            program,
            values: values.len(),
            places,
            points,
        });
    }

    /// Keeps the series for the plot if its changes are among the largest.
    fn plot_if_large(
        &mut self,
        program: &Program,
        places: &[usize],
        values: &[f64],
        points: &[ChangePoint],
    ) {
        let sizes = points.iter().map(|point| point.change.ln_1p().abs());
        let largest = sizes.fold(0.0, f64::max);
        let levels = (0..values.len()).map(|index| {
            let next = points.iter().find(|point| index < point.index);
            let last = points.last().map(|point| point.after);
            next.map(|point| point.before).or(last).unwrap_or(f64::NAN)
        });
        self.largest.push(PlottedSeries {
            platform: program.platform.clone(),
            graph_id: program.graph_id,
            config_id: program.config_id,
            places: places.to_vec(),
            values_ns: values.to_vec(),
            levels_ns: levels.collect(),
            largest,
        });
        self.largest
            .sort_by(|one, other| other.largest.total_cmp(&one.largest));
        self.largest.truncate(PLOTTED_SERIES);
    }

    /// Returns the changes and events of all programs.
    pub(super) fn finish(self, order: TrendOrder) -> Trend {
        let mut found = Trend {
            version: 1,
            order,
            places: self.places.count(),
            series: self.searched.values().sum(),
            short_series: self.short,
            changes: Vec::new(),
            events: Vec::new(),
            largest: self.largest,
        };
        for (platform, series) in &self.searched {
            let Some(places) = self.places.get(platform) else {
                continue;
            };
            let programs = self.found.iter();
            let programs: Vec<&ProgramPoints> = programs
                .filter(|points| points.program.platform == *platform)
                .collect();
            let first = places.len() - self.options.last.unwrap_or(places.len()).min(places.len());
            let events = PlatformEvents::new(&programs, *series, first);
            for points in &programs {
                let changes = points.changes(places, &events.machine_places);
                found
                    .changes
                    .extend(changes.filter(|change| change.place_index >= first));
            }
            found.events.extend(events.listed(platform, places));
        }
        found.changes.sort_by(|one, other| {
            let size = |change: &ProgramChange| change.change.ln_1p().abs();
            let newest = other.place_index.cmp(&one.place_index);
            newest.then_with(|| size(other).total_cmp(&size(one)))
        });
        found
    }
}

impl ProgramPoints {
    /// Index of the first place after a point.
    fn place_of(&self, point: &ChangePoint) -> Option<usize> {
        self.places.get(point.index).copied()
    }

    /// Returns the changes of the program.
    fn changes<'a>(
        &'a self,
        places: &'a PlatformPlaces,
        machine_places: &'a BTreeSet<usize>,
    ) -> impl Iterator<Item = ProgramChange> + 'a {
        let changes = summarize(&self.points).into_iter();
        changes.filter_map(|change| {
            let (kind, points, size) = match change {
                SeriesChange::Step(point) => ("step", vec![point], point.change),
                SeriesChange::Trend { points, change } => ("trend", points, change),
            };
            let (first, last) = (points.first()?, points.last()?);
            let (from, to) = (self.place_of(first)?, self.place_of(last)?);
            let before = first.index.checked_sub(1);
            let previous = before.and_then(|index| self.places.get(index).copied())?;
            Some(ProgramChange {
                platform: self.program.platform.clone(),
                kind,
                previous: places.name(previous).to_owned(),
                place: places.name(to).to_owned(),
                before_ns: first.before,
                after_ns: last.after,
                change: size,
                p: points.iter().map(|point| point.p).fold(0.0, f64::max),
                is_machine: kind == "step" && machine_places.contains(&from),
                values: self.values,
                workload_key: String::new(),
                steps: None,
                graph_id: self.program.graph_id,
                config_id: self.program.config_id,
                place_index: to,
            })
        })
    }
}

/// Events of a platform.
struct PlatformEvents {
    /// Events from the first place that counts on.
    listed: Vec<(usize, usize, bool)>,
    series: usize,
    /// Places that belong to an event of the machine.
    machine_places: BTreeSet<usize>,
}

impl PlatformEvents {
    fn new(programs: &[&ProgramPoints], series: usize, first: usize) -> Self {
        let places = programs.iter().map(|points| {
            let places = points.points.iter();
            places.filter_map(|point| points.place_of(point)).collect()
        });
        let mut places: Vec<Vec<usize>> = places.collect();
        // Programs without a change count, too.
        places.resize(series.max(places.len()), Vec::new());
        let events = group_events(&places, EVENT_TOLERANCE);
        let machine = events.iter().filter(|event| event.is_machine);
        let machine_places = machine.flat_map(|event| {
            event.place.saturating_sub(EVENT_TOLERANCE)..=event.place + EVENT_TOLERANCE
        });
        let machine_places = machine_places.collect();
        let listed = events.iter().rev();
        let listed = listed.filter(|event| event.place >= first);
        Self {
            listed: listed
                .map(|event| (event.place, event.series.len(), event.is_machine))
                .collect(),
            series,
            machine_places,
        }
    }

    fn listed<'a>(
        &'a self,
        platform: &'a str,
        places: &'a PlatformPlaces,
    ) -> impl Iterator<Item = TrendEvent> + 'a {
        let listed = self.listed.iter();
        listed.map(move |(place, changed, is_machine)| TrendEvent {
            platform: platform.to_owned(),
            place: places.name(*place).to_owned(),
            changed: *changed,
            series: self.series,
            is_machine: *is_machine,
        })
    }
}
