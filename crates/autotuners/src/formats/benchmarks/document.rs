//! Reading of a JSON document whose records need facts behind them, and helpers of all benchmark formats.

use crate::document::End;
use crate::error::Error;
use crate::formats::elements::ElementFormat;
use crate::json::Span;
use crate::model::{Metric, Origin, Repeats, Sourced, Trial};
use crate::output::{FormatReader, Output};
use crate::quantity::{Time, TimeUnit};
use crate::value::{Fields, Number, Value, get};

/// An element of the list of results.
pub(super) struct Element {
    /// Name of the field; `None` in a list.
    pub(super) key: Option<String>,
    pub(super) value: Value,
    pub(super) span: Span,
}

impl Element {
    /// A trial at the position of the element.
    pub(super) fn trial(&self) -> Trial {
        Trial::at(self.span.line, self.span.bytes.clone())
    }
}

/// A format that reads its results when the whole document is known.
pub(super) trait BenchmarkDocument {
    /// Field with the results and its opening bracket. An empty name is the document itself, `None` a document without
    /// such a field.
    fn results(&self) -> Option<(&'static str, u8)>;

    /// Returns whether text may precede the document.
    fn has_preamble(&self) -> bool {
        false
    }

    /// Returns whether a field is stored as a setting of the run.
    fn is_setting(&self, _name: &str) -> bool {
        true
    }

    /// Emits the records. An error rejects the file.
    fn emit(
        &self,
        fields: &Fields,
        elements: Vec<Element>,
        output: &mut Output,
    ) -> Result<(), String>;
}

/// Collects the fields and the results of a document.
pub(super) struct Collected<F> {
    format: F,
    fields: Fields,
    elements: Vec<Element>,
}

impl<F: BenchmarkDocument> Collected<F> {
    pub(super) fn new(format: F) -> Self {
        Self {
            format,
            fields: Fields::new(),
            elements: Vec::new(),
        }
    }
}

impl<F: BenchmarkDocument> ElementFormat for Collected<F> {
    fn opens(&self, field: &str) -> Option<u8> {
        let (name, bracket) = self.format.results()?;
        (name == field).then_some(bracket)
    }

    fn field(&mut self, name: &str, value: Value, output: &mut Output) -> Result<(), String> {
        if self.format.is_setting(name) {
            output.setting(name, value.clone());
        }
        self.fields.push((name.to_owned(), value));
        Ok(())
    }

    fn element(
        &mut self,
        key: Option<String>,
        value: Value,
        span: &Span,
        _output: &mut Output,
    ) -> Result<(), String> {
        self.elements.push(Element {
            key,
            value,
            span: span.clone(),
        });
        Ok(())
    }

    fn has_preamble(&self) -> bool {
        self.format.has_preamble()
    }

    fn finish(&mut self, output: &mut Output) -> Result<(), String> {
        let elements = std::mem::take(&mut self.elements);
        self.format.emit(&self.fields, elements, output)
    }
}

/// A file without records that belongs to files with records. Its content is not looked at.
pub(super) struct Part;

impl FormatReader for Part {
    fn step(&mut self, output: &mut Output) -> Result<bool, Error> {
        output.document.end = End::Closed;
        Ok(false)
    }
}

/// A name that the file states.
pub(super) fn stated(name: impl Into<String>) -> Option<Sourced> {
    let name = name.into();
    (!name.is_empty()).then_some(Sourced {
        name,
        origin: Origin::File,
    })
}

/// Text of a field.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_text()
}

/// Number of a field.
pub(super) fn number<'a>(value: &'a Value, name: &str) -> Option<&'a Number> {
    value.get(name)?.as_number()
}

/// Fields of an object that a predicate selects.
pub(super) fn facts(object: &Value, is_selected: impl Fn(&str) -> bool) -> Fields {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| is_selected(name));
    fields.cloned().collect()
}

/// Text of a field of a document.
pub(super) fn field_text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    get(fields, name)?.as_text()
}

/// Elements of a list that are all numbers.
pub(super) fn numbers(list: &[Value]) -> Option<Vec<Number>> {
    list.iter().map(|one| one.as_number().cloned()).collect()
}

/// A computed number.
pub(super) fn computed(value: f64) -> Option<Number> {
    Number::parse(&format!("{value:e}"))
}

/// Mean of numbers. That of one number keeps its text.
pub(super) fn mean(values: &[Number]) -> Option<Number> {
    if let [single] = values {
        return Some(single.clone());
    }
    let total: f64 = values.iter().map(Number::value).sum();
    #[expect(clippy::cast_precision_loss, reason = "a count of repeats")]
    let count = values.len() as f64;
    computed(total / count)
}

/// Quotients of totals and counts, in pairs.
pub(super) fn quotients(totals: &[Number], counts: &[Number]) -> Result<Vec<Number>, String> {
    if totals.len() != counts.len() {
        return Err(format!(
            "{} times and {} numbers of iterations",
            totals.len(),
            counts.len()
        ));
    }
    let pairs = totals.iter().zip(counts);
    let quotient = |(total, count): (&Number, &Number)| {
        let positive = count.value() > 0.0;
        let quotient = positive.then(|| total.value() / count.value());
        let quotient = quotient
            .filter(|value| value.is_finite())
            .and_then(computed);
        quotient.ok_or_else(|| format!("{} in {} iterations", total.text(), count.text()))
    };
    pairs.map(quotient).collect()
}

/// Sets the time of a trial. A time that is not positive leaves it unmeasured.
pub(super) fn set_time(trial: &mut Trial, number: &Number, unit: TimeUnit) {
    match Time::new(number.clone(), unit).filter(|_| number.value() > 0.0) {
        Some(time) => trial.time = Some(time),
        None => trial.unmeasured(&format!("the time {} is not positive", number.text())),
    }
}

/// Sets the repeats of a trial, unless there are none.
pub(super) fn set_repeats(
    trial: &mut Trial,
    name: &'static str,
    unit: TimeUnit,
    values: Vec<Number>,
) {
    if !values.is_empty() {
        trial.repeats = Some(Repeats {
            name,
            unit: unit.symbol(),
            values,
        });
    }
}

/// Adds the numbers of these fields as metrics with their units.
pub(super) fn push_metrics(
    trial: &mut Trial,
    value: &Value,
    names: &[(&'static str, &'static str)],
) {
    for (name, unit) in names {
        if let Some(number) = number(value, name) {
            trial.push_metric(Metric::new(*name, *unit, number));
        }
    }
}

/// States the statistic that the time of a trial is.
pub(super) fn set_statistic(trial: &mut Trial, statistic: &str) {
    set_run(trial, "statistic", Some(statistic));
}

/// States a fact of the run, if it is known.
pub(super) fn set_run(trial: &mut Trial, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        trial.run.push((name.to_owned(), Value::text(value)));
    }
}
