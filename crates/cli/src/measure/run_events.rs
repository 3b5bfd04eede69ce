//! Progress of a run: a progress bar for people, JSON lines for programs.

use std::io::Write as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tsql_dataset::trials::Event;
use tsql_error::redact::escape_control_characters;
use tsql_measure::manifest::Manifest;

use crate::stderr::shows_progress;

/// Reports the events of a run.
pub(super) struct Watch {
    json: bool,
    /// Seed of the search.
    seed: Option<u64>,
    bar: Option<ProgressBar>,
    measured: u64,
    failed: u64,
    /// Median in nanoseconds and workload of the last trial that was the best of its workload.
    best: Option<(f64, String)>,
    best_ns_by_workload: std::collections::HashMap<String, f64>,
}

impl Watch {
    pub(super) fn new(json: bool, seed: Option<u64>) -> Self {
        Self {
            json,
            seed,
            bar: None,
            measured: 0,
            failed: 0,
            best: None,
            best_ns_by_workload: std::collections::HashMap::new(),
        }
    }

    pub(super) fn hear(&mut self, event: &Event<'_>) {
        if self.json {
            print_json(event, self.seed);
        }
        match event {
            Event::Started { total, .. } if !self.json && shows_progress() => {
                self.bar = Some(bar(*total));
            }
            Event::Measured {
                item,
                outcome,
                median_ns,
            } => {
                self.measured += 1;
                self.failed += u64::from(outcome.error_no != 0);
                if let Some(median_ns) = median_ns {
                    let key = item.workload_key();
                    let known = self
                        .best_ns_by_workload
                        .get(&key)
                        .copied()
                        .unwrap_or(f64::INFINITY);
                    if *median_ns < known {
                        self.best_ns_by_workload.insert(key.clone(), *median_ns);
                        self.best = Some((*median_ns, key));
                    }
                }
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                    let best = self.best.as_ref();
                    let best = best.map(|(ns, key)| format!("best {} of {key}", time(*ns)));
                    let failed = (self.failed > 0).then(|| format!("{} failed", self.failed));
                    let parts: Vec<String> = [failed, best].into_iter().flatten().collect();
                    bar.set_message(escape_control_characters(&parts.join(", ")).into_owned());
                }
            }
            _ => {}
        }
    }

    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, style) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{bar:30} {pos} of {len}, {per_sec}, {eta} left  {wide_msg}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {pos}, {per_sec}  {wide_msg}",
        ),
    };
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// Prints an event as a line of JSON. A closed standard output does not end the run.
fn print_json(event: &Event<'_>, seed: Option<u64>) {
    let line = match event {
        Event::Started {
            total,
            platform,
            stream,
            active,
        } => {
            json!({"event": "started", "total": total, "platform": platform, "stream": stream, "limits": active, "seed": seed})
        }
        Event::Measured {
            item,
            outcome,
            median_ns,
        } => json!({
            "event": "measured",
            "workload_key": item.workload_key(),
            "steps": Manifest::config_text(&item.config),
            "median_ns": median_ns,
            "repeats": outcome.repeats.len(),
            "number": outcome.number,
            "timed_s": outcome.timed_s(),
            "check_error": outcome.check_error,
            "error_no": outcome.error_no,
            "error_message": outcome.error_message,
            "flags": outcome.flags,
            "all_cost_s": outcome.all_cost_s,
        }),
        Event::Committed(records) => json!({"event": "committed", "records": records}),
        _ => return,
    };
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Formats nanoseconds in a readable unit.
pub(super) fn time(nanoseconds: f64) -> String {
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)] {
        if nanoseconds >= size {
            return format!("{:.3} {unit}", nanoseconds / size);
        }
    }
    format!("{nanoseconds:.1} ns")
}
