//! Networks in Relay.

use serde::Serialize;

use super::error::Reason;
use super::objects::TvmObjects;
use crate::pickle::Id;

/// Network in Relay, without its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Module as a JSON graph, for [`TvmGraph::read`](crate::tvm_json::TvmGraph::read).
    pub module: String,
    /// Size of its parameters in bytes; they are not in the file.
    pub parameter_bytes: u64,
    /// Inputs.
    pub inputs: Vec<NetworkInput>,
}

/// Input tensor of a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetworkInput {
    /// Name.
    pub name: String,
    /// Shape.
    pub shape: Vec<i64>,
    /// Data type of the elements.
    pub dtype: String,
}

impl Relay {
    /// Reads `(module, length of the parameters, inputs)`.
    pub(super) fn read(objects: &TvmObjects<'_>, parts: [Id; 3]) -> Result<Self, Reason> {
        let [module, length, inputs] = parts;
        let length = objects.integer(length, "length of parameters")?;
        let inputs = objects.sequence(inputs, "list of inputs")?.iter();
        let inputs = inputs.map(|&input| NetworkInput::read(objects, input));
        Ok(Self {
            module: objects.text(module, "module")?.to_owned(),
            parameter_bytes: u64::try_from(length).map_err(|_| {
                Reason::Invalid(format!(
                    "the parameters have {length} bytes, expected 0 or more"
                ))
            })?,
            inputs: inputs.collect::<Result<_, _>>()?,
        })
    }
}

impl NetworkInput {
    /// Reads `(name, shape, type)`.
    fn read(objects: &TvmObjects<'_>, id: Id) -> Result<Self, Reason> {
        let &[name, shape, dtype] = objects.sequence(id, "input")? else {
            return Err(Reason::Invalid(
                "an input does not have three parts".to_owned(),
            ));
        };
        let sizes = objects.sequence(shape, "shape of an input")?.iter();
        let sizes = sizes.map(|&size| objects.integer(size, "size of an input"));
        Ok(Self {
            name: objects.text(name, "name of an input")?.to_owned(),
            shape: sizes.collect::<Result<_, _>>()?,
            dtype: objects.text(dtype, "type of an input")?.to_owned(),
        })
    }
}
