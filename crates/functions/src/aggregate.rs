//! Aggregate functions: documentation plus accumulator.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::{
    AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs,
};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Documentation, Signature};

use super::elements::ElementNamesFn;
use super::function_docs::FunctionDocs;

/// Definition of an aggregate function.
pub(super) trait AggregateDefinition: Debug + Send + Sync + 'static {
    /// Return type for these argument types.
    fn return_type(&self, arguments: &[DataType]) -> Result<DataType>;

    /// Creates the accumulator of a group.
    fn accumulator(&self, args: &AccumulatorArgs) -> Result<Box<dyn Accumulator>>;

    /// Name and type of each field of the accumulator state, for these arguments.
    fn state(&self, given: &[FieldRef]) -> Vec<(&'static str, DataType)>;

    /// Result for zero rows; NULL by default.
    fn empty_value(&self) -> Option<ScalarValue> {
        None
    }

    /// Expression that the planner substitutes for a call.
    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        None
    }

    /// Whether DISTINCT arguments are rejected.
    fn rejects_distinct(&self) -> bool {
        false
    }
}

/// An aggregate function.
pub(super) struct Aggregate {
    name: &'static str,
    aliases: Vec<String>,
    signature: Signature,
    documentation: Documentation,
    elements: Option<ElementNamesFn>,
    gathering: Arc<dyn AggregateDefinition>,
}

impl Aggregate {
    pub(super) fn new(about: &FunctionDocs, gathering: impl AggregateDefinition) -> Self {
        Self {
            name: about.name,
            aliases: Vec::new(),
            signature: about.signature(),
            documentation: about.documentation(),
            elements: about.elements,
            gathering: Arc::new(gathering),
        }
    }

    /// Function name, and the names of the elements of its result.
    pub(super) fn elements(&self) -> Option<(&'static str, ElementNamesFn)> {
        Some(self.name).zip(self.elements)
    }

    /// Adds another name of the function.
    pub(super) fn alias(mut self, name: &str) -> Self {
        self.aliases.push(name.to_owned());
        self
    }
}

impl Debug for Aggregate {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        to.debug_struct("Aggregate")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Functions of tsql are identified by their names.
impl PartialEq for Aggregate {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Aggregate {}

impl Hash for Aggregate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl AggregateUDFImpl for Aggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.gathering.return_type(types)
    }

    fn is_nullable(&self) -> bool {
        self.gathering.empty_value().is_none()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        match self.gathering.empty_value() {
            Some(value) => Ok(value),
            None => ScalarValue::try_from(data_type),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct && self.gathering.rejects_distinct() {
            return exec_err!("{} does not support DISTINCT", self.name);
        }
        self.gathering.accumulator(&args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let parts = self.gathering.state(args.input_fields).into_iter();
        let field = |(name, of)| Arc::new(Field::new(name, of, true));
        Ok(parts.map(field).collect())
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        self.gathering.simplify()
    }
}
