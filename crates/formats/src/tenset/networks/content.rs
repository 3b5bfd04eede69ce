//! Content of a `network_info` file.

use super::error::Error;
use super::objects::TvmObjects;
use super::relay::Relay;
use super::tasks::Task;
use crate::pickle::{self, Id, Value};

/// Content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum NetworkContent {
    /// Weighted tasks of a network: `*.task.pkl`.
    Network(Vec<Task>),
    /// Tasks of all networks: `all_tasks.pkl`.
    AllTasks(Vec<Task>),
    /// Network in Relay: `*.relay.pkl`.
    Relay(Relay),
}

/// Reads a file of any name. A file with anything else in it is rejected completely.
///
/// # Errors
/// Returns an error if it is not a pickle of one of the three kinds, or if a part of it is invalid.
pub fn read(bytes: &[u8]) -> Result<NetworkContent, Error> {
    let pickle = pickle::read(bytes)?;
    if pickle.length() < bytes.len() {
        let trailing = bytes.len() - pickle.length();
        return Err(Error::Other(format!("{trailing} bytes follow the pickle")));
    }
    let objects = TvmObjects::new(&pickle);
    let are_tasks = |list: &[Id]| list.iter().all(|&task| Task::is_task(&objects, task));
    match pickle.get(pickle.root()) {
        Value::Tuple(parts) => match **parts {
            [module, length, inputs] if is_module(&objects, module) => {
                let relay = Relay::read(&objects, [module, length, inputs]);
                return relay.map(NetworkContent::Relay).map_err(Error::Relay);
            }
            [tasks, weights] => {
                let (tasks, weights) = (pickle.sequence(tasks), pickle.sequence(weights));
                if let (Some(tasks), Some(weights)) = (tasks, weights)
                    && are_tasks(tasks)
                {
                    return read_weighted_tasks(&objects, tasks, weights)
                        .map(NetworkContent::Network);
                }
            }
            _ => {}
        },
        Value::List(list) if !list.is_empty() && are_tasks(list) => {
            let tasks = list.iter().enumerate();
            let tasks = tasks.map(|(index, &task)| read_task(&objects, task, index, None));
            return tasks
                .collect::<Result<_, _>>()
                .map(NetworkContent::AllTasks);
        }
        _ => {}
    }
    Err(Error::Other(
        "the pickle has neither search tasks nor a Relay network".to_owned(),
    ))
}

/// Whether a value is the text of a module.
fn is_module(objects: &TvmObjects<'_>, id: Id) -> bool {
    let text = objects.text(id, "module");
    text.is_ok_and(|text| text.trim_start().starts_with('{'))
}

/// Reads one task.
fn read_task(
    objects: &TvmObjects<'_>,
    task: Id,
    index: usize,
    weight: Option<i64>,
) -> Result<Task, Error> {
    let task = Task::read(objects, task, index, weight);
    task.map_err(|reason| Error::Task { index, reason })
}

/// Reads tasks and their weights; the counts must match.
fn read_weighted_tasks(
    objects: &TvmObjects<'_>,
    tasks: &[Id],
    weights: &[Id],
) -> Result<Vec<Task>, Error> {
    if tasks.len() != weights.len() {
        let (tasks, weights) = (tasks.len(), weights.len());
        return Err(Error::Other(format!(
            "{tasks} tasks and {weights} weights, expected equal numbers"
        )));
    }
    let tasks = tasks.iter().zip(weights).enumerate();
    let tasks = tasks.map(|(index, (&task, &weight))| {
        let weight = objects.integer(weight, "weight");
        let weight = weight.map_err(|reason| Error::Task { index, reason })?;
        read_task(objects, task, index, Some(weight))
    });
    tasks.collect()
}
