//! What a file of `network_info` holds.

use super::error::Error;
use super::objects::Objects;
use super::relay::Relay;
use super::tasks::Task;
use crate::pickle::{self, Id, Value};

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// The tasks of a network, with weights: `*.task.pkl`.
    Network(Vec<Task>),
    /// The tasks of all networks: `all_tasks.pkl`.
    AllTasks(Vec<Task>),
    /// A network in Relay: `*.relay.pkl`.
    Relay(Relay),
}

/// Reads a file, whatever its name is. A file with something else in it is refused as a whole.
///
/// # Errors
/// What is no pickle of one of the three kinds, and what in it is not what it should be.
pub fn read(bytes: &[u8]) -> Result<Content, Error> {
    let pickle = pickle::read(bytes)?;
    if pickle.length() < bytes.len() {
        let more = bytes.len() - pickle.length();
        return Err(Error::Other(format!("{more} bytes follow the pickle")));
    }
    let objects = Objects::new(&pickle);
    let are_tasks = |list: &[Id]| list.iter().all(|&task| Task::is_one(&objects, task));
    match pickle.get(pickle.root()) {
        Value::Tuple(parts) => match **parts {
            [module, length, inputs] if is_module(&objects, module) => {
                let relay = Relay::read(&objects, [module, length, inputs]);
                return relay.map(Content::Relay).map_err(Error::Relay);
            }
            [tasks, weights] => {
                let (tasks, weights) = (pickle.sequence(tasks), pickle.sequence(weights));
                if let (Some(tasks), Some(weights)) = (tasks, weights)
                    && are_tasks(tasks)
                {
                    return weighted(&objects, tasks, weights).map(Content::Network);
                }
            }
            _ => {}
        },
        Value::List(list) if !list.is_empty() && are_tasks(list) => {
            let tasks = list.iter().enumerate();
            let tasks = tasks.map(|(index, &task)| one(&objects, task, index, None));
            return tasks.collect::<Result<_, _>>().map(Content::AllTasks);
        }
        _ => {}
    }
    Err(Error::Other(
        "a pickle of neither search tasks nor a network in Relay".to_owned(),
    ))
}

/// Is it the text of a module?
fn is_module(objects: &Objects<'_>, id: Id) -> bool {
    let text = objects.text(id, "module");
    text.is_ok_and(|text| text.trim_start().starts_with('{'))
}

/// Reads one task.
fn one(objects: &Objects<'_>, task: Id, index: usize, weight: Option<i64>) -> Result<Task, Error> {
    let task = Task::read(objects, task, index, weight);
    task.map_err(|reason| Error::Task { index, reason })
}

/// Reads tasks and their weights, of which there are as many.
fn weighted(objects: &Objects<'_>, tasks: &[Id], weights: &[Id]) -> Result<Vec<Task>, Error> {
    if tasks.len() != weights.len() {
        let (tasks, weights) = (tasks.len(), weights.len());
        return Err(Error::Other(format!("{tasks} tasks and {weights} weights")));
    }
    let tasks = tasks.iter().zip(weights).enumerate();
    let tasks = tasks.map(|(index, (&task, &weight))| {
        let weight = objects.whole(weight, "weight");
        let weight = weight.map_err(|reason| Error::Task { index, reason })?;
        one(objects, task, index, Some(weight))
    });
    tasks.collect()
}
