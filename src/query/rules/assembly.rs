//! DataFusion's rules with ours among them.

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::optimizer::Optimizer;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

use super::all;
use super::switched::Switched;
use crate::query::limits::Limits;
use crate::query::rule::{Analyzer, At, Logical, Physical, Place};

/// Name of the rule that computes common parts of expressions once.
const COMMON_EXPRESSIONS: &str = "common_sub_expression_eliminate";

/// The rules of a step, each with the name of DataFusion's by which others find their place; `None` for ours.
struct Step<R>(Vec<(Option<String>, Arc<R>)>)
where
    R: ?Sized;

impl<R: ?Sized> Step<R> {
    fn new(rules: Vec<Arc<R>>, name: fn(&R) -> &str) -> Self {
        let rules = rules.into_iter();
        Self(
            rules
                .map(|rule| (Some(name(&rule).to_owned()), rule))
                .collect(),
        )
    }

    /// Adds a rule; `make` is called for each place that it gets.
    fn add(&mut self, at: At, make: impl Fn() -> Arc<R>) {
        let anchor = match at {
            At::End => {
                self.0.push((None, make()));
                return;
            }
            At::Before(anchor) | At::After(anchor) => anchor,
        };
        let mut rules = Vec::with_capacity(self.0.len() + 1);
        for (name, rule) in self.0.drain(..) {
            let is_anchor = name.as_deref() == Some(anchor);
            if is_anchor && matches!(at, At::Before(_)) {
                rules.push((None, make()));
            }
            rules.push((name, rule));
            if is_anchor && matches!(at, At::After(_)) {
                rules.push((None, make()));
            }
        }
        self.0 = rules;
    }

    /// Puts a rule in the place of others.
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

/// Gives a session its rules. `is_local`: whether it has no workers.
pub(in crate::query) fn assembled(
    mut state: SessionStateBuilder,
    is_local: bool,
    limits: &Limits,
) -> SessionStateBuilder {
    let mut logical = Step::new(logical_rules(), |rule| rule.name());
    let mut physical = Step::new(PhysicalOptimizer::new().rules, |rule| rule.name());
    for rule in all().filter(|rule| rule.scope.has(is_local, limits)) {
        let name = rule.name;
        for place in rule.places {
            match *place {
                Place::Analyzer(make) => {
                    state = state.with_analyzer_rule(Arc::new(Switched::<Analyzer>::new(
                        name,
                        make(),
                        None,
                    )));
                }
                Place::Logical(at, make) => logical.add(at, || -> Logical {
                    Arc::new(Switched::new(name, make(), None))
                }),
                Place::AroundLogical(names, make) => logical.replace(names, |original| {
                    let rule = make(Arc::clone(&original));
                    Arc::new(Switched::new(name, rule, Some(original)))
                }),
                Place::Physical(at, make) => physical.add(at, || -> Physical {
                    Arc::new(Switched::new(name, make(limits), None))
                }),
                Place::AroundPhysical(names, make) => physical.replace(names, |original| {
                    let rule = make(Arc::clone(&original));
                    Arc::new(Switched::new(name, rule, Some(original)))
                }),
            }
        }
    }
    state
        .with_optimizer_rules(logical.into_rules())
        .with_physical_optimizer_rules(physical.into_rules())
}

/// DataFusion's logical rules, one of them twice: a condition on a column that a view computes is simplified once more after it was
/// moved into the view, before common parts of its comparisons are computed apart. Times are compared as stored seconds
/// then, by which pages are chosen.
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
