//! TVM objects in a pickle: their classes and fields.

use std::cell::Cell;

use super::error::Reason;
use crate::pickle::{Id, Pickle};
use crate::tvm_json::TvmGraph;

/// Module prefix of TVM's classes.
const TVM: &str = "tvm.";

/// Function that creates an object of the class that is its only argument.
const NEW_OBJECT: &str = "_new_object";

/// How often the whole pickle may be read; genuine pickles are read once.
const MAX_READS: usize = 4;

/// Additional budget for small pickles, in bytes.
const FREE_BYTES: usize = 1 << 16;

/// TVM objects of a pickle.
///
/// A pickle may reference one value a million times. Reads are counted, so that the output is at most a few times the
/// size of the pickle.
pub(super) struct TvmObjects<'a> {
    pub(super) pickle: &'a Pickle,
    remaining: Cell<usize>,
}

impl<'a> TvmObjects<'a> {
    /// Creates a view of this pickle.
    pub(super) fn new(pickle: &'a Pickle) -> Self {
        let remaining = pickle.length().saturating_mul(MAX_READS);
        Self {
            pickle,
            remaining: Cell::new(remaining.saturating_add(FREE_BYTES)),
        }
    }

    /// Subtracts `bytes` (or values) from the budget.
    fn take(&self, bytes: usize) -> Result<(), Reason> {
        let remaining = self.remaining.get().checked_sub(bytes);
        self.remaining.set(remaining.unwrap_or(0));
        let reason =
            || Reason::Invalid("the pickle refers to the same objects too often".to_owned());
        remaining.map(drop).ok_or_else(reason)
    }

    /// Returns the class name of an object, if it is a TVM class.
    pub(super) fn class_name(&self, id: Id) -> Option<&'a str> {
        let object = self.pickle.object(id)?;
        let (module, name) = self.pickle.global(object.class)?;
        let (module, name) = if name == NEW_OBJECT {
            let &[class] = self.pickle.tuple(object.arguments)? else {
                return None;
            };
            self.pickle.global(class)?
        } else {
            (module, name)
        };
        module.starts_with(TVM).then_some(name)
    }

    /// Returns the value of a field, if present.
    pub(super) fn field(&self, id: Id, name: &str) -> Result<Option<Id>, Reason> {
        let state = self.pickle.object(id).and_then(|object| object.state);
        let Some(state) = state else {
            return Ok(None);
        };
        self.take(self.pickle.entry_count(state))?;
        Ok(self.pickle.entry(state, name))
    }

    /// Returns the value of a required field.
    pub(super) fn required_field(&self, id: Id, name: &str) -> Result<Id, Reason> {
        let value = self.field(id, name)?;
        value.ok_or_else(|| Reason::Invalid(format!("field `{name}` is missing")))
    }

    /// Returns a text of Python or of TVM's string class.
    pub(super) fn text(&self, id: Id, description: &str) -> Result<&'a str, Reason> {
        let text = self.pickle.text(id).or_else(|| {
            let arguments = self.pickle.object(id)?.arguments;
            match self.pickle.tuple(arguments)? {
                _ if self.class_name(id) != Some("String") => None,
                [] => Some(""),
                [text] => self.pickle.text(*text),
                _ => None,
            }
        });
        let text =
            text.ok_or_else(|| Reason::Invalid(format!("the {description} is not a string")))?;
        self.take(text.len() + 1)?;
        Ok(text)
    }

    /// Returns an integer.
    pub(super) fn integer(&self, id: Id, description: &str) -> Result<i64, Reason> {
        let number = self.pickle.int(id);
        number.ok_or_else(|| Reason::Invalid(format!("the {description} is not an integer")))
    }

    /// Returns the elements of a list or tuple.
    pub(super) fn sequence(&self, id: Id, description: &str) -> Result<&'a [Id], Reason> {
        let elements = self.pickle.sequence(id);
        let elements =
            elements.ok_or_else(|| Reason::Invalid(format!("the {description} is not a list")))?;
        self.take(elements.len() + 1)?;
        Ok(elements)
    }

    /// Reads the graph in a field of an object.
    pub(super) fn graph(
        &self,
        id: Id,
        name: &str,
        description: &'static str,
    ) -> Result<TvmGraph, Reason> {
        let json = self.field(id, name)?;
        let json =
            json.ok_or_else(|| Reason::Invalid(format!("the {description} is not a graph")))?;
        let json = self.text(json, description)?;
        TvmGraph::read(json.as_bytes()).map_err(Reason::graph(description))
    }
}
