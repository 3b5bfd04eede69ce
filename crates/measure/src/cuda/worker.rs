//! The worker of a device, seen from the one who asks: it is started, given trials, and started
//! again where a kernel spoilt its context, hung or crashed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tsql_folders::Scratch;

use super::child::{Child, Received};
use super::compiler::{Cubin, fault, seconds};
use super::job::{Job, Reply, failure};
use crate::error::{Error, Result};
use crate::trial::{Outcome, Trial};

/// A context takes hundreds of milliseconds; drivers of many devices take seconds.
const START: Duration = Duration::from_secs(60);

/// After so many trials a worker is replaced: what a driver leaks goes with it.
const TRIALS: u32 = 200;

/// A process with a context on a device. It ends with this value.
pub(crate) struct Worker {
    command: Vec<OsString>,
    ordinal: u32,
    child: Option<Child>,
    /// Trials that `child` has done.
    done: u32,
    scratch: Scratch,
}

impl Worker {
    /// Starts a worker for device `ordinal`; `command` is the hidden command's line.
    ///
    /// # Errors
    /// [`Error::Source`] where the device gives no context.
    pub(crate) fn start(command: &[OsString], ordinal: u32) -> Result<Self> {
        let mut worker = Self {
            command: command.to_vec(),
            ordinal,
            child: None,
            done: 0,
            scratch: Scratch::new()?,
        };
        worker.child = Some(worker.open()?);
        Ok(worker)
    }

    /// Checks and times the kernel in `cubin`. `reference` is a file with the right
    /// outputs, one after the other in the order of the arguments; it must be there where the trial has a check.
    ///
    /// What the kernel does wrong is an outcome; what the machine does is an error.
    pub(crate) fn run(
        &mut self,
        trial: &Trial,
        cubin: &Cubin,
        reference: Option<&Path>,
    ) -> Result<Outcome> {
        let path = self.scratch.path().join("kernel.cubin");
        fs::write(&path, &cubin.bytes).map_err(Error::io(&path))?;
        let job = Job {
            trial: trial.clone(),
            cubin: path,
            reference: reference.map(Path::to_owned),
        };
        let (child, started) = self.give(&job)?;
        let limit_s = trial.settings.timeout_run_s;
        let mut outcome = match child.receive(seconds(limit_s)) {
            Received::Reply(Reply::Done { outcome, last }) => {
                self.done += 1;
                if !last && self.done < TRIALS {
                    self.child = Some(child);
                }
                outcome
            }
            Received::Reply(Reply::Fault(reason)) => return Err(fault(self.name(), reason)),
            Received::Reply(Reply::Ready | Reply::Compiled) => {
                return Err(fault(self.name(), "the worker is confused"));
            }
            Received::TimedOut => failure(7, format!("timeout: running took {limit_s} s")),
            Received::Ended => match child.epitaph() {
                crash if crash.starts_with("signal:") => failure(4, crash),
                other => failure(8, other),
            },
        };
        outcome.all_cost_s = cubin.cost_s + started.elapsed().as_secs_f64();
        Ok(outcome)
    }

    /// Gives a job to the worker, or to a new one where it is gone.
    fn give(&mut self, job: &Job) -> Result<(Child, Instant)> {
        if let Some(mut child) = self.child.take() {
            let started = Instant::now();
            if child.send(job).is_ok() {
                return Ok((child, started));
            }
        }
        let mut child = self.open()?;
        let started = Instant::now();
        match child.send(job) {
            Ok(()) => Ok((child, started)),
            Err(_) => Err(fault(self.name(), child.epitaph())),
        }
    }

    fn open(&mut self) -> Result<Child> {
        let child = Child::start(&self.command, &["run", &self.ordinal.to_string()])?;
        self.done = 0;
        match child.receive(START) {
            Received::Reply(Reply::Ready) => Ok(child),
            Received::Reply(Reply::Fault(reason)) => Err(fault(self.name(), reason)),
            Received::Reply(_) => Err(fault(self.name(), "the worker is confused")),
            Received::TimedOut => Err(fault(self.name(), "the worker does not start")),
            Received::Ended => Err(fault(self.name(), child.epitaph())),
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
    fn a_worker_is_kept_from_trial_to_trial_and_replaced_after_many() {
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
        worker.done = TRIALS - 1;
        run(&mut worker);
        assert!(worker.child.is_none());
        run(&mut worker);
        assert!(worker.done == 1 && worker.child.is_some());
    }

    #[test]
    fn an_error_that_does_not_spoil_the_context_keeps_the_worker() {
        let mut worker = Worker::start(&stub::command(&[]), 0).unwrap();
        let absent = stub::trial("absent");
        let outcome = worker.run(&absent, &stub::cubin(), None).unwrap();
        assert!(outcome.error_no == 3 && worker.child.is_some());
        let empty = Cubin {
            bytes: b"not a CUBIN".to_vec(),
            cost_s: 0.0,
        };
        let outcome = worker.run(&absent, &empty, None).unwrap();
        let told = outcome.error_message.unwrap();
        assert_eq!(told, "module_load: 200: CUDA_ERROR_INVALID_IMAGE");
        assert!(worker.child.is_some());
    }
}
