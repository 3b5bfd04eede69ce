//! Client of a device's worker: starts it, sends trials, and restarts it after a kernel corrupted its
//! context, hung or crashed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tsql_folders::Scratch;

use super::child::{Child, Received};
use super::compiler::{Cubin, duration_from_secs, source_error};
use super::job::{CudaJob, Reply, failed_outcome};
use crate::error::{Error, Result};
use crate::trial::{Outcome, Trial};

/// Creating a context takes hundreds of milliseconds; drivers of many devices take seconds.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Trials after which a worker is replaced, which frees what the driver leaks.
const TRIALS_PER_PROCESS: u32 = 200;

/// A process with a context on a device. It ends when this value is dropped.
pub(crate) struct Worker {
    command: Vec<OsString>,
    ordinal: u32,
    child: Option<Child>,
    /// Trials that `child` has completed.
    done: u32,
    scratch: Scratch,
}

impl Worker {
    /// Starts a worker for device `ordinal`; `command` is the command line of the hidden command.
    ///
    /// # Errors
    /// [`Error::Source`] if the device cannot create a context.
    pub(crate) fn start(command: &[OsString], ordinal: u32) -> Result<Self> {
        let mut worker = Self {
            command: command.to_vec(),
            ordinal,
            child: None,
            done: 0,
            scratch: Scratch::new()?,
        };
        worker.child = Some(worker.start_child()?);
        Ok(worker)
    }

    /// Checks and times the kernel in `cubin`.
    ///
    /// `reference` is a file with the expected outputs, concatenated in the order of the arguments. It is
    /// required if the trial has a check. A failure of the kernel is an outcome; a fault of the machine is
    /// an error.
    pub(crate) fn run(
        &mut self,
        trial: &Trial,
        cubin: &Cubin,
        reference: Option<&Path>,
    ) -> Result<Outcome> {
        let path = self.scratch.path().join("kernel.cubin");
        fs::write(&path, &cubin.bytes).map_err(Error::io(&path))?;
        let job = CudaJob {
            trial: trial.clone(),
            cubin: path,
            reference: reference.map(Path::to_owned),
        };
        let (child, started) = self.send_job(&job)?;
        let limit_s = trial.settings.timeout_run_s;
        let mut outcome = match child.receive(duration_from_secs(limit_s)) {
            Received::Reply(Reply::Done { outcome, last }) => {
                self.done += 1;
                if !last && self.done < TRIALS_PER_PROCESS {
                    self.child = Some(child);
                }
                outcome
            }
            Received::Reply(Reply::Fault(reason)) => return Err(source_error(self.name(), reason)),
            Received::Reply(Reply::Ready | Reply::Compiled) => {
                return Err(source_error(self.name(), "unexpected reply of the worker"));
            }
            Received::TimedOut => failed_outcome(7, format!("timeout: execution took {limit_s} s")),
            Received::Ended => match child.describe_exit() {
                crash if crash.starts_with("signal:") => failed_outcome(4, crash),
                other => failed_outcome(8, other),
            },
        };
        outcome.all_cost_s = cubin.cost_s + started.elapsed().as_secs_f64();
        Ok(outcome)
    }

    /// Sends a job to the worker, or to a new one if it has exited.
    fn send_job(&mut self, job: &CudaJob) -> Result<(Child, Instant)> {
        if let Some(mut child) = self.child.take() {
            let started = Instant::now();
            if child.send(job).is_ok() {
                return Ok((child, started));
            }
        }
        let mut child = self.start_child()?;
        let started = Instant::now();
        match child.send(job) {
            Ok(()) => Ok((child, started)),
            Err(_) => Err(source_error(self.name(), child.describe_exit())),
        }
    }

    fn start_child(&mut self) -> Result<Child> {
        let child = Child::start(&self.command, &["run", &self.ordinal.to_string()])?;
        self.done = 0;
        match child.receive(START_TIMEOUT) {
            Received::Reply(Reply::Ready) => Ok(child),
            Received::Reply(Reply::Fault(reason)) => Err(source_error(self.name(), reason)),
            Received::Reply(_) => Err(source_error(self.name(), "unexpected reply of the worker")),
            Received::TimedOut => Err(source_error(self.name(), "the worker does not start")),
            Received::Ended => Err(source_error(self.name(), child.describe_exit())),
        }
    }

    fn name(&self) -> String {
        format!("cuda:{}", self.ordinal)
    }
}

#[cfg(test)]
mod tests {
    use super::super::stub;
    use super::*;

    #[test]
    fn a_worker_is_reused_and_replaced_after_many_trials() {
        let directory = tempfile::tempdir().unwrap();
        let reference = stub::reference(&directory);
        let mut worker = Worker::start(&stub::command(&[]), 0).unwrap();
        let run = |worker: &mut Worker| {
            let trial = stub::trial("scale");
            let outcome = worker.run(&trial, &stub::cubin(), Some(&reference));
            assert_eq!(outcome.unwrap().error_no, 0);
        };
        run(&mut worker);
        assert!(worker.done == 1 && worker.child.is_some());
        worker.done = TRIALS_PER_PROCESS - 1;
        run(&mut worker);
        assert!(worker.child.is_none());
        run(&mut worker);
        assert!(worker.done == 1 && worker.child.is_some());
    }

    #[test]
    fn an_error_that_leaves_the_context_usable_keeps_the_worker() {
        let mut worker = Worker::start(&stub::command(&[]), 0).unwrap();
        let absent = stub::trial("absent");
        let outcome = worker.run(&absent, &stub::cubin(), None).unwrap();
        assert!(outcome.error_no == 3 && worker.child.is_some());
        let empty = Cubin {
            bytes: b"not a CUBIN".to_vec(),
            cost_s: 0.0,
        };
        let outcome = worker.run(&absent, &empty, None).unwrap();
        let message = outcome.error_message.unwrap();
        assert_eq!(message, "module_load: 200: CUDA_ERROR_INVALID_IMAGE");
        assert!(worker.child.is_some());
    }
}
