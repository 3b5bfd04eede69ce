//! Search task: a computation and its machine.

use super::dag::{Dag, Tensor};
use super::error::Reason;
use super::hardware::Hardware;
use super::objects::TvmObjects;
use super::target::Target;
use super::text;
use crate::computation::{Computation, NoCanonicalForm, computation_of_tensors};
use crate::pickle::{Id, Value};
use crate::tvm_json::StepBudget;

/// Class name of tasks.
const CLASS: &str = "SearchTask";

/// Task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Index among the tasks of the file, from 0.
    pub index: usize,
    /// How often the network uses the task; `None` in a list of the tasks of all networks.
    pub weight: Option<i64>,
    /// Workload key of log records, verbatim.
    pub workload_key: String,
    /// Compilation target.
    pub target: Target,
    /// Target of the host, if stated separately.
    pub target_host: Option<Target>,
    /// Assumed hardware parameters.
    pub hardware: Hardware,
    /// 0: none, 1: insert a layout transform stage, 2: layouts are transformed in advance.
    pub layout_rewrite_option: i64,
    /// Names of inputs that need particular values.
    pub input_names: Vec<String>,
    /// Inputs and outputs, in the order of the sizes in the workload key.
    pub tensors: Vec<Tensor>,
    /// Computation.
    pub dag: Dag,
    /// Canonical computation, or the reason why there is none.
    pub computation: Result<Computation, NoCanonicalForm>,
}

impl Task {
    /// Whether a value is a task.
    pub(super) fn is_task(objects: &TvmObjects<'_>, id: Id) -> bool {
        objects.class_name(id) == Some(CLASS)
    }

    /// Reads the task at an index of a pickle.
    pub(super) fn read(
        objects: &TvmObjects<'_>,
        id: Id,
        index: usize,
        weight: Option<i64>,
    ) -> Result<Self, Reason> {
        let field = |name| objects.required_field(id, name);
        let workload_key = objects.text(field("workload_key")?, "workload key")?;
        let tensors = objects.graph(field("compute_dag")?, "tensors", "computation")?;
        let computation = computation_of_tensors(&tensors);
        let (tensors, dag) = Dag::read(&tensors).map_err(Reason::graph("computation"))?;
        let target_host = objects.field(id, "target_host")?;
        let target_host = target_host.filter(|&host| objects.pickle.get(host) != &Value::None);
        let target_host = target_host.map(|host| read_target(objects, host, "target of the host"));
        let hardware = objects.graph(field("hardware_params")?, "handle", "hardware")?;
        let hardware = hardware.root().and_then(Hardware::read);
        let layout = field("layout_rewrite_option")?;
        let input_names = match objects.field(id, "task_input_names")? {
            Some(names) => read_input_names(objects, names)?,
            None => Vec::new(),
        };
        Ok(Self {
            index,
            weight,
            workload_key: workload_key.to_owned(),
            target: read_target(objects, field("target")?, "target")?,
            target_host: target_host.transpose()?,
            hardware: hardware.map_err(Reason::graph("hardware"))?,
            layout_rewrite_option: objects.integer(layout, "layout option")?,
            input_names,
            tensors,
            dag,
            computation,
        })
    }

    /// Returns the hash or the function name at the beginning of the workload key.
    pub fn workload_name(&self) -> Option<String> {
        let key: Vec<serde_json::Value> = serde_json::from_str(&self.workload_key).ok()?;
        key.first()?.as_str().map(str::to_owned)
    }
}

/// Reads the target of an object.
fn read_target(
    objects: &TvmObjects<'_>,
    id: Id,
    description: &'static str,
) -> Result<Target, Reason> {
    let graph = objects.graph(id, "handle", description)?;
    Target::read(&graph).map_err(Reason::graph(description))
}

/// Reads the texts of an array object.
fn read_input_names(objects: &TvmObjects<'_>, id: Id) -> Result<Vec<String>, Reason> {
    let description = "list of input names";
    let graph = objects.graph(id, "handle", description)?;
    let root = graph.root().map_err(Reason::graph(description))?;
    let names = text::read_texts(root.elements(), &mut StepBudget::for_graph(&graph));
    names.map_err(Reason::graph(description))
}
