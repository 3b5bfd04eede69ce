"""A loader as torch's `DataLoader` wants it; imported where torch is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from .errors import ArgumentError

_WORKERS = 512
"""The most worker processes of a `DataLoader`."""


class Steps(IterableDataset[Any]):
    """Steps of a loader. Worker processes share them: each takes one in turn, so the order is that of a plain loop.

    The place is in shared memory, since a `DataLoader` starts workers, or lets them begin again, without a word to its dataset:

    - `[0]` 1 where the main process counts what is used, and says where each pass begins (`StepLoader`);
    - `[1]`, `[2]` epoch and batch where the first pass begins;
    - then for each worker its last pass, as `seed << 32 | epoch + 1`, and its process: a plain `DataLoader` tells a pass by its seed.
    """

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self._shared = torch.zeros(3 + 2 * _WORKERS, dtype=torch.int64).share_memory_()
        self.publish(False)

    def publish(self, is_counted: bool) -> None:
        """Sets where the next pass begins: where the loader is."""
        self._shared[3:] = 0
        self._shared[1], self._shared[2] = self.loader._place
        self._shared[0] = int(is_counted)

    def last_epoch(self) -> int | None:
        """The last epoch that workers of a plain `DataLoader` began, if any has."""
        epochs = [int(passed) & 0xFFFFFFFF for passed in self._shared[3 : 3 + _WORKERS].tolist()]
        return max(epochs) - 1 if any(epochs) else None

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        if worker is None:
            return (given.torch() for given in self.loader)
        epoch, batch = self._begin(worker)
        return self._share(epoch, batch, worker.id, worker.num_workers)

    def _share(self, epoch: int, batch: int, worker: int, workers: int) -> Iterator[Any]:
        loader = self.loader
        for step in range(worker, loader._steps_left(epoch, batch), workers):
            yield loader._step_after(epoch, batch, step).torch()

    def _begin(self, worker: Any) -> tuple[int, int]:
        """Where the pass of this worker begins. All workers of a pass find the same, whichever comes first."""
        is_counted, epoch, batch = self._shared[:3].tolist()
        if is_counted:
            return epoch, batch
        if worker.num_workers > _WORKERS:
            raise ArgumentError(f"{worker.num_workers} worker processes: at most {_WORKERS} share a loader", name="num_workers")
        passed, processes = self._shared[3 : 3 + _WORKERS].tolist(), self._shared[3 + _WORKERS :].tolist()
        seed = (worker.seed - worker.id) & 0x7FFFFFFF
        own = passed[worker.id]
        same = [one for one in passed if one and one >> 32 == seed]
        if own and (processes[worker.id] == os.getpid() or own >> 32 == seed):
            # Its process goes on with another pass, or the generator of seeds was reset.
            begun = (own & 0xFFFFFFFF) + 1
        elif same:
            begun = same[0] & 0xFFFFFFFF
        else:
            begun = max((one & 0xFFFFFFFF for one in passed if one), default=epoch) + 1
        self._shared[3 + _WORKERS + worker.id] = os.getpid()
        self._shared[3 + worker.id] = seed << 32 | begun
        return (epoch, batch) if begun == epoch + 1 else (begun - 1, 0)


class StepLoader(DataLoader[Any]):
    """A `DataLoader` that moves its loader on with each step that it gives."""

    def __init__(self, loader: Any, steps: Steps, options: Mapping[str, Any]) -> None:
        if "batch_size" in options:
            raise ArgumentError("a loader makes its batches itself\nhint: batch_rows=... of `training_rows`", name="batch_size")
        if options.get("in_order") is False:
            raise ArgumentError("steps that come out of order cannot be resumed", name="in_order")
        if options.get("num_workers", 0):
            # Locks of threads that a forked process does not have may end it.
            options = {"multiprocessing_context": "forkserver", **options}
        super().__init__(steps, batch_size=None, **options)
        self._loader = loader
        self._steps = steps

    def __iter__(self) -> Any:
        if self.num_workers == 0:
            yield from super().__iter__()
            return
        loader = self._loader
        epoch, batch = loader._place
        self._steps.publish(True)
        for step, given in enumerate(super().__iter__(), 1):
            loader._move(epoch, batch, step)
            yield given
        loader._place = epoch + 1, 0

    def __len__(self) -> int:
        """Steps that are left of the epoch."""
        left: int = self._loader._steps_left(*self._loader._place)
        return left
