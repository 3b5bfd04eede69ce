//! A search task: something to be computed, on some machine.

use super::dag::{Dag, Tensor};
use super::error::Reason;
use super::hardware::Hardware;
use super::objects::Objects;
use super::target::Target;
use super::text;
use crate::computation::{Computation, NoForm, of_tensors};
use crate::pickle::{Id, Value};
use crate::tvm_json::Budget;

/// The name of its class.
const CLASS: &str = "SearchTask";

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its place among the tasks of the file, from 0.
    pub index: usize,
    /// How often the network has it; `None` in a list of the tasks of all networks.
    pub weight: Option<i64>,
    /// What records of logs know it by, verbatim.
    pub workload_key: String,
    /// What it is compiled for.
    pub target: Target,
    /// What runs the target, where that is said beside it.
    pub target_host: Option<Target>,
    /// What the machine is taken to have.
    pub hardware: Hardware,
    /// 0 none, 1 a stage that transforms layouts, 2 layouts transformed before.
    pub layout_rewrite_option: i64,
    /// Names of inputs that are not just any numbers.
    pub input_names: Vec<String>,
    /// What goes in and comes out, in the order of the workload key's sizes.
    pub tensors: Vec<Tensor>,
    /// What is computed.
    pub dag: Dag,
    /// What is computed, in the form that is the same for the same computation; why it has none.
    pub computation: Result<Computation, NoForm>,
}

impl Task {
    /// Is it a task?
    pub(super) fn is_one(objects: &Objects<'_>, id: Id) -> bool {
        objects.class(id) == Some(CLASS)
    }

    /// Reads the task at a place of a pickle.
    pub(super) fn read(
        objects: &Objects<'_>,
        id: Id,
        index: usize,
        weight: Option<i64>,
    ) -> Result<Self, Reason> {
        let of = |name| objects.needed(id, name);
        let workload_key = objects.text(of("workload_key")?, "workload key")?;
        let tensors = objects.graph(of("compute_dag")?, "tensors", "computation")?;
        let computation = of_tensors(&tensors);
        let (tensors, dag) = Dag::read(&tensors).map_err(Reason::graph("computation"))?;
        let target_host = objects.field(id, "target_host")?;
        let target_host = target_host.filter(|&host| objects.pickle.get(host) != &Value::None);
        let target_host = target_host.map(|host| target(objects, host, "target of the host"));
        let hardware = objects.graph(of("hardware_params")?, "handle", "hardware")?;
        let hardware = hardware.root().and_then(Hardware::read);
        let layout = of("layout_rewrite_option")?;
        let input_names = match objects.field(id, "task_input_names")? {
            Some(names) => input_names(objects, names)?,
            None => Vec::new(),
        };
        Ok(Self {
            index,
            weight,
            workload_key: workload_key.to_owned(),
            target: target(objects, of("target")?, "target")?,
            target_host: target_host.transpose()?,
            hardware: hardware.map_err(Reason::graph("hardware"))?,
            layout_rewrite_option: objects.whole(layout, "layout option")?,
            input_names,
            tensors,
            dag,
            computation,
        })
    }

    /// The hash, or the name of the function, that its workload key begins with.
    pub fn workload_name(&self) -> Option<String> {
        let key: Vec<serde_json::Value> = serde_json::from_str(&self.workload_key).ok()?;
        key.first()?.as_str().map(str::to_owned)
    }
}

/// The target that an object is.
fn target(objects: &Objects<'_>, id: Id, what: &'static str) -> Result<Target, Reason> {
    let graph = objects.graph(id, "handle", what)?;
    Target::read(&graph).map_err(Reason::graph(what))
}

/// The texts of the array that an object is.
fn input_names(objects: &Objects<'_>, id: Id) -> Result<Vec<String>, Reason> {
    let what = "list of input names";
    let graph = objects.graph(id, "handle", what)?;
    let root = graph.root().map_err(Reason::graph(what))?;
    let names = text::all(root.elements(), &mut Budget::of(&graph));
    names.map_err(Reason::graph(what))
}
