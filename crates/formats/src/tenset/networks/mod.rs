//! TenSet's `network_info`: the tasks of each network, their weights and their computations.
//!
//! Three kinds of pickles, distinguished by their content ([`read`]):
//!
//! | file | holds |
//! |---|---|
//! | `((resnet_50,[(1,3,224,224)]),cuda).task.pkl` | tasks of a network and their weights; both may be empty |
//! | `all_tasks.pkl` | tasks of all networks, without weights |
//! | `(resnet_50,[(1,3,224,224)]).relay.pkl` | the network in Relay, without its parameters |
//!
//! They are read without Python and without TVM. TVM's objects are pickled as JSON graphs. From the graph of a task
//! follow its tensors, operations and edges, its number of floating-point operations ([`Dag::flop_count`]), and its
//! canonical computation ([`Task::computation`]). [`Network::from_path`] parses the name of a file.
//!
//! ```text
//! pickle ─▶ objects ─▶ tasks ─┬─▶ target, hardware
//! tvm_json ───────────────────┴─▶ dag ─▶ flops ─▶ expressions
//! ```
//!
//! ```no_run
//! use tsql_formats::tenset::networks::{self, Network, NetworkContent};
//!
//! let path = "network_info/((resnet_50,[(1,3,224,224)]),cuda).task.pkl";
//! let network = Network::from_path(path).expect("the name of a network");
//! assert_eq!((network.name.as_str(), network.target.as_deref()), ("resnet_50", Some("cuda")));
//! if let NetworkContent::Network(tasks) = networks::read(&std::fs::read(path)?)? {
//!     for task in tasks {
//!         println!("{} x {} {:?}", task.weight.unwrap_or(1), task.workload_key, task.dag.flop_count);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod class;
mod content;
mod dag;
mod error;
mod expressions;
mod flops;
mod hardware;
mod network;
mod network_info_format;
mod objects;
mod relay;
mod target;
mod tasks;
#[cfg(test)]
mod tests;
mod text;

pub use content::{NetworkContent, read};
pub use dag::{Dag, Operation, Tensor};
pub use error::{Error, Reason};
pub use hardware::Hardware;
pub use network::Network;
pub use network_info_format::{NAME, NetworkInfo};
pub use relay::{NetworkInput, Relay};
pub use target::{Target, TargetValue};
pub use tasks::Task;
