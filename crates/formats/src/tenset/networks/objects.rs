//! TVM's objects in a pickle: what they are called, and what they hold.

use std::cell::Cell;

use super::error::Reason;
use crate::pickle::{Id, Pickle};
use crate::tvm_json::Graph;

/// Where TVM's classes are.
const TVM: &str = "tvm.";

/// The function that makes an object of the class that is its only argument.
const NEW_OBJECT: &str = "_new_object";

/// How many times all of a pickle may be taken: genuine ones are taken once.
const TIMES: usize = 4;

/// What a small pickle may be taken anyway, in bytes.
const FREE_BYTES: usize = 1 << 16;

/// The objects of a pickle.
///
/// A pickle may name one thing a million times. What is taken of it is taken down, so that it gives no more than
/// a few times what it has bytes.
pub(super) struct Objects<'a> {
    pub(super) pickle: &'a Pickle,
    left: Cell<usize>,
}

impl<'a> Objects<'a> {
    /// Those of this pickle.
    pub(super) fn new(pickle: &'a Pickle) -> Self {
        let left = pickle.length().saturating_mul(TIMES);
        Self {
            pickle,
            left: Cell::new(left.saturating_add(FREE_BYTES)),
        }
    }

    /// Takes down that so many bytes, or values, are taken.
    fn take(&self, bytes: usize) -> Result<(), Reason> {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.unwrap_or(0));
        let reason = || Reason::Lacks("the pickle names the same things too often".to_owned());
        left.map(drop).ok_or_else(reason)
    }

    /// The name of an object's class, where that is one of TVM.
    pub(super) fn class(&self, id: Id) -> Option<&'a str> {
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

    /// What an object has under a name, if anything.
    pub(super) fn field(&self, id: Id, name: &str) -> Result<Option<Id>, Reason> {
        let state = self.pickle.object(id).and_then(|object| object.state);
        let Some(state) = state else {
            return Ok(None);
        };
        self.take(self.pickle.entry_count(state))?;
        Ok(self.pickle.entry(state, name))
    }

    /// What an object has under a name, which it has to have.
    pub(super) fn needed(&self, id: Id, name: &str) -> Result<Id, Reason> {
        let found = self.field(id, name)?;
        found.ok_or_else(|| Reason::Lacks(format!("it has no {name}")))
    }

    /// A text of Python or of TVM, whose class is one of texts.
    pub(super) fn text(&self, id: Id, what: &str) -> Result<&'a str, Reason> {
        let text = self.pickle.text(id).or_else(|| {
            let arguments = self.pickle.object(id)?.arguments;
            match self.pickle.tuple(arguments)? {
                _ if self.class(id) != Some("String") => None,
                [] => Some(""),
                [text] => self.pickle.text(*text),
                _ => None,
            }
        });
        let text = text.ok_or_else(|| Reason::Lacks(format!("its {what} is no text")))?;
        self.take(text.len() + 1)?;
        Ok(text)
    }

    /// A whole number.
    pub(super) fn whole(&self, id: Id, what: &str) -> Result<i64, Reason> {
        let number = self.pickle.int(id);
        number.ok_or_else(|| Reason::Lacks(format!("its {what} is no whole number")))
    }

    /// The elements of a list or tuple.
    pub(super) fn sequence(&self, id: Id, what: &str) -> Result<&'a [Id], Reason> {
        let elements = self.pickle.sequence(id);
        let elements = elements.ok_or_else(|| Reason::Lacks(format!("its {what} is no list")))?;
        self.take(elements.len() + 1)?;
        Ok(elements)
    }

    /// The graph that an object holds under a name.
    pub(super) fn graph(&self, id: Id, name: &str, what: &'static str) -> Result<Graph, Reason> {
        let json = self.field(id, name)?;
        let json = json.ok_or_else(|| Reason::Lacks(format!("its {what} is no graph")))?;
        let json = self.text(json, what)?;
        Graph::read(json.as_bytes()).map_err(Reason::graph(what))
    }
}
