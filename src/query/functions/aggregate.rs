//! A function of the rows of a group: what is said of it, and what gathers the rows.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::{
    AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs,
};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Documentation, Signature};

use super::about::About;
use super::elements::Named;

/// How one aggregate differs from another.
pub(super) trait Gathering: Debug + Send + Sync + 'static {
    /// Its type, of arguments of these.
    fn gives(&self, arguments: &[DataType]) -> Result<DataType>;

    /// What gathers the rows of a group.
    fn gatherer(&self, args: &AccumulatorArgs) -> Result<Box<dyn Accumulator>>;

    /// Name and type of each part of what is gathered, where arguments of these types are given.
    fn state(&self, given: &[FieldRef]) -> Vec<(&'static str, DataType)>;

    /// What it gives for no rows; NULL where nothing is said.
    fn of_nothing(&self) -> Option<ScalarValue> {
        None
    }

    /// What the planner writes in its place.
    fn written_as(&self) -> Option<AggregateFunctionSimplification> {
        None
    }

    /// Is a DISTINCT before the arguments refused?
    fn refuses_distinct(&self) -> bool {
        false
    }
}

/// An aggregate.
pub(super) struct Aggregate {
    name: &'static str,
    aliases: Vec<String>,
    signature: Signature,
    documentation: Documentation,
    elements: Option<Named>,
    gathering: Arc<dyn Gathering>,
}

impl Aggregate {
    pub(super) fn new(about: &About, gathering: impl Gathering) -> Self {
        Self {
            name: about.name,
            aliases: Vec::new(),
            signature: about.signature(),
            documentation: about.documentation(),
            elements: about.elements,
            gathering: Arc::new(gathering),
        }
    }

    /// Its name, and the names of the elements that it gives.
    pub(super) fn elements(&self) -> Option<(&'static str, Named)> {
        Some(self.name).zip(self.elements)
    }

    /// The same under another name, too.
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

/// Functions of ours are told apart by their names.
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
        self.gathering.gives(types)
    }

    fn is_nullable(&self) -> bool {
        self.gathering.of_nothing().is_none()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        match self.gathering.of_nothing() {
            Some(value) => Ok(value),
            None => ScalarValue::try_from(data_type),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct && self.gathering.refuses_distinct() {
            return exec_err!("{} takes no DISTINCT", self.name);
        }
        self.gathering.gatherer(&args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let parts = self.gathering.state(args.input_fields).into_iter();
        let field = |(name, of)| Arc::new(Field::new(name, of, true));
        Ok(parts.map(field).collect())
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        self.gathering.written_as()
    }
}
