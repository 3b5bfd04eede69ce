//! A network in Relay.

use serde::Serialize;

use super::error::Reason;
use super::objects::Objects;
use crate::pickle::Id;

/// A network as Relay has it, without its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Its module: a graph of JSON, for [`Graph::read`](crate::tvm_json::Graph::read).
    pub module: String,
    /// How many bytes its parameters have, which are not in the file.
    pub parameter_bytes: u64,
    /// What goes into it.
    pub inputs: Vec<Input>,
}

/// A tensor that goes into a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<i64>,
    /// The type of its numbers.
    pub dtype: String,
}

impl Relay {
    /// Reads `(module, length of the parameters, inputs)`.
    pub(super) fn read(objects: &Objects<'_>, parts: [Id; 3]) -> Result<Self, Reason> {
        let [module, length, inputs] = parts;
        let length = objects.whole(length, "length of parameters")?;
        let inputs = objects.sequence(inputs, "list of inputs")?.iter();
        let inputs = inputs.map(|&input| Input::read(objects, input));
        Ok(Self {
            module: objects.text(module, "module")?.to_owned(),
            parameter_bytes: u64::try_from(length)
                .map_err(|_| Reason::Lacks(format!("parameters of {length} bytes")))?,
            inputs: inputs.collect::<Result<_, _>>()?,
        })
    }
}

impl Input {
    /// Reads `(name, shape, type)`.
    fn read(objects: &Objects<'_>, id: Id) -> Result<Self, Reason> {
        let &[name, shape, dtype] = objects.sequence(id, "input")? else {
            return Err(Reason::Lacks(
                "an input of other than three parts".to_owned(),
            ));
        };
        let sizes = objects.sequence(shape, "shape of an input")?.iter();
        let sizes = sizes.map(|&size| objects.whole(size, "size of an input"));
        Ok(Self {
            name: objects.text(name, "name of an input")?.to_owned(),
            shape: sizes.collect::<Result<_, _>>()?,
            dtype: objects.text(dtype, "type of an input")?.to_owned(),
        })
    }
}
