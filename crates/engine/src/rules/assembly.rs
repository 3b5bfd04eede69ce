//! Inserts our rules into DataFusion's lists.

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::optimizer::Optimizer;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

use super::all_rules;
use super::switchable_rule::SwitchableRule;
use crate::limits::Limits;
use crate::rule::{Analyzer, Logical, Physical, PlanningStep, Position};

/// Name of DataFusion's rule for common subexpressions.
const COMMON_EXPRESSIONS: &str = "common_sub_expression_eliminate";

/// Rules of a planning step. DataFusion's rules have a name, by which others are placed. Our rules have `None`.
struct RuleList<R>(Vec<(Option<String>, Arc<R>)>)
where
    R: ?Sized;

impl<R: ?Sized> RuleList<R> {
    fn new(rules: Vec<Arc<R>>, name: fn(&R) -> &str) -> Self {
        let rules = rules.into_iter();
        Self(
            rules
                .map(|rule| (Some(name(&rule).to_owned()), rule))
                .collect(),
        )
    }

    /// Adds a rule at each occurrence of its anchor; `make` is called for each.
    fn add(&mut self, at: Position, make: impl Fn() -> Arc<R>) {
        let anchor = match at {
            Position::End => {
                self.0.push((None, make()));
                return;
            }
            Position::Before(anchor) | Position::After(anchor) => anchor,
        };
        let mut rules = Vec::with_capacity(self.0.len() + 1);
        for (name, rule) in self.0.drain(..) {
            let is_anchor = name.as_deref() == Some(anchor);
            if is_anchor && matches!(at, Position::Before(_)) {
                rules.push((None, make()));
            }
            rules.push((name, rule));
            if is_anchor && matches!(at, Position::After(_)) {
                rules.push((None, make()));
            }
        }
        self.0 = rules;
    }

    /// Replaces DataFusion's rules of these names.
    fn replace(&mut self, names: &[&str], make: impl Fn(Arc<R>) -> Arc<R>) {
        for (name, rule) in &mut self.0 {
            let is_named = name.as_deref().is_some_and(|name| names.contains(&name));
            if is_named {
                *rule = make(Arc::clone(rule));
            }
        }
    }

    fn into_rules(self) -> Vec<Arc<R>> {
        self.0.into_iter().map(|(_, rule)| rule).collect()
    }
}

/// Adds all rules to a session. `is_local` means that the session has no workers.
pub(crate) fn with_rules(
    mut state: SessionStateBuilder,
    is_local: bool,
    limits: &Limits,
) -> SessionStateBuilder {
    let mut logical = RuleList::new(logical_rules(), |rule| rule.name());
    let mut physical = RuleList::new(PhysicalOptimizer::new().rules, |rule| rule.name());
    for rule in all_rules().filter(|rule| rule.scope.includes(is_local, limits)) {
        let name = rule.name;
        for place in rule.places {
            match *place {
                PlanningStep::Analyzer(make) => {
                    state = state.with_analyzer_rule(Arc::new(SwitchableRule::<Analyzer>::new(
                        name,
                        make(),
                        None,
                    )));
                }
                PlanningStep::Logical(at, make) => logical.add(at, || -> Logical {
                    Arc::new(SwitchableRule::new(name, make(), None))
                }),
                PlanningStep::AroundLogical(names, make) => logical.replace(names, |original| {
                    let rule = make(Arc::clone(&original));
                    Arc::new(SwitchableRule::new(name, rule, Some(original)))
                }),
                PlanningStep::Physical(at, make) => physical.add(at, || -> Physical {
                    Arc::new(SwitchableRule::new(name, make(limits), None))
                }),
                PlanningStep::AroundPhysical(names, make) => physical.replace(names, |original| {
                    let rule = make(Arc::clone(&original));
                    Arc::new(SwitchableRule::new(name, rule, Some(original)))
                }),
            }
        }
    }
    state
        .with_optimizer_rules(logical.into_rules())
        .with_physical_optimizer_rules(physical.into_rules())
}

/// Returns DataFusion's logical rules, with `SimplifyExpressions` once more before common subexpressions are
/// eliminated. A condition on a computed column of a view is pushed into the view, and must be simplified there before
/// its comparisons are split. Then timestamps are compared as stored seconds, by which pages are pruned.
fn logical_rules() -> Vec<Logical> {
    let mut rules: Vec<Logical> = Vec::new();
    for rule in Optimizer::new().rules {
        if rule.name() == COMMON_EXPRESSIONS {
            rules.push(Arc::new(SimplifyExpressions::new()));
        }
        rules.push(rule);
    }
    rules
}
