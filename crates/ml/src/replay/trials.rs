//! Trials of a task, and the course of a search over them.

/// A configuration with its result, from all of its records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    /// Mean time of the records in nanoseconds; `None` if all of them failed.
    pub time_ns: Option<f64>,
    /// Seconds that a draw takes.
    pub cost_s: Option<f64>,
    /// Prediction, higher for a faster configuration.
    pub prediction: Option<f64>,
}

/// State of a search after a draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SearchStep {
    /// Number of draws so far.
    pub draws: usize,
    /// Seconds so far; NaN if the cost of a draw is unknown.
    pub seconds: f64,
    /// Best time so far in nanoseconds; infinite if no draw has a time.
    pub best_ns: f64,
}

/// Improvements of a search, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SearchTrace(Vec<SearchStep>);

impl SearchTrace {
    /// Adds a step if it improves the best time.
    pub(super) fn push(&mut self, step: SearchStep) {
        let best = self.0.last().map_or(f64::INFINITY, |last| last.best_ns);
        if step.best_ns < best {
            self.0.push(step);
        }
    }

    /// Returns the best time after some draws; infinite if there is none.
    pub(super) fn best_after_draws(&self, draws: usize) -> f64 {
        self.best_while(|step| step.draws <= draws)
    }

    /// Returns the best time after some seconds; infinite if there is none.
    pub(super) fn best_after_seconds(&self, seconds: f64) -> f64 {
        self.best_while(|step| step.seconds <= seconds)
    }

    fn best_while(&self, is_over: impl Fn(&SearchStep) -> bool) -> f64 {
        let count = self.0.partition_point(is_over);
        let last = count.checked_sub(1).and_then(|last| self.0.get(last));
        last.map_or(f64::INFINITY, |step| step.best_ns)
    }

    /// Returns the first step whose best time is at most a limit.
    pub(super) fn reach(&self, limit_ns: f64) -> Option<&SearchStep> {
        self.0.iter().find(|step| step.best_ns <= limit_ns)
    }
}

/// Returns the state after each draw of an order.
pub(super) fn search<'a>(
    trials: &'a [Trial],
    order: &'a [usize],
) -> impl Iterator<Item = SearchStep> + 'a {
    let (mut seconds, mut best_ns) = (0.0, f64::INFINITY);
    let drawn = order.iter().filter_map(|place| trials.get(*place));
    drawn.enumerate().map(move |(place, trial)| {
        seconds += trial.cost_s.unwrap_or(f64::NAN);
        best_ns = trial.time_ns.map_or(best_ns, |time| time.min(best_ns));
        SearchStep {
            draws: place + 1,
            seconds,
            best_ns,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_draws_cost_and_have_no_time() {
        let trial = |time_ns, cost_s| Trial {
            time_ns,
            cost_s: Some(cost_s),
            prediction: None,
        };
        let trials = [
            trial(Some(4.0), 1.0),
            trial(None, 10.0),
            trial(Some(2.0), 0.5),
            trial(Some(3.0), 0.25),
        ];
        let mut trace = SearchTrace::default();
        search(&trials, &[1, 3, 0, 2]).for_each(|step| trace.push(step));
        let best = |draws| trace.best_after_draws(draws);
        assert_eq!([best(1), best(2), best(3)], [f64::INFINITY, 3.0, 3.0]);
        assert_eq!([best(4), best(99)], [2.0, 2.0]);
        assert_eq!(trace.best_after_seconds(10.2), f64::INFINITY);
        assert_eq!(trace.best_after_seconds(10.25), 3.0);
        let reached = trace.reach(2.0).unwrap();
        assert_eq!((reached.draws, reached.seconds), (4, 11.75));
        assert_eq!(trace.reach(1.9), None);
    }
}
