"""Training loaders for torch's `DataLoader`. Importing this module imports torch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from .errors import ArgumentError

_WORKERS = 512
"""Maximum number of worker processes of a `DataLoader`."""


class StepDataset(IterableDataset[Any]):
    """Steps of a loader. Worker processes take turns, so the order is that of a plain loop.

    A `DataLoader` does not notify its dataset when it starts or restarts workers. Therefore the position is in shared
    memory:

    - `[0]` is 1 if the main process counts used steps, and sets the start of each pass (`StepLoader`).
    - `[1]` and `[2]` are the epoch and the batch at which the first pass starts.
    - The next values are, for each worker, its last pass as `seed << 32 | epoch + 1`, and its process id. The seed
      distinguishes the passes of a plain `DataLoader`.

    Args:
        loader: The training loader.
    """

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self._shared = torch.zeros(3 + 2 * _WORKERS, dtype=torch.int64).share_memory_()
        self.publish(False)

    def publish(self, is_counted: bool) -> None:
        """Sets the start of the next pass to the position of the loader."""
        self._shared[3:] = 0
        self._shared[1], self._shared[2] = self.loader._position
        self._shared[0] = int(is_counted)

    def last_epoch(self) -> int | None:
        """Returns the last epoch that workers of a plain `DataLoader` started; `None` if they started none."""
        epochs = [int(passed) & 0xFFFFFFFF for passed in self._shared[3 : 3 + _WORKERS].tolist()]
        return max(epochs) - 1 if any(epochs) else None

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        if worker is None:
            return (step.torch() for step in self.loader)
        epoch, batch = self._begin(worker)
        return self._share(epoch, batch, worker.id, worker.num_workers)

    def _share(self, epoch: int, batch: int, worker: int, workers: int) -> Iterator[Any]:
        loader = self.loader
        for step in range(worker, loader._steps_left(epoch, batch), workers):
            yield loader._step_after(epoch, batch, step).torch()

    def _begin(self, worker: Any) -> tuple[int, int]:
        """Returns the start of the pass of this worker. All workers of a pass get the same start, in any order."""
        is_counted, epoch, batch = self._shared[:3].tolist()
        if is_counted:
            return epoch, batch
        if worker.num_workers > _WORKERS:
            message = f"a loader has {worker.num_workers} worker processes, expected at most {_WORKERS}"
            raise ArgumentError(message, name="num_workers")
        passed, processes = self._shared[3 : 3 + _WORKERS].tolist(), self._shared[3 + _WORKERS :].tolist()
        seed = (worker.seed - worker.id) & 0x7FFFFFFF
        own = passed[worker.id]
        same = [one for one in passed if one and one >> 32 == seed]
        if own and (processes[worker.id] == os.getpid() or own >> 32 == seed):
            # The process starts another pass, or the generator of seeds was reset.
            begun = (own & 0xFFFFFFFF) + 1
        elif same:
            begun = same[0] & 0xFFFFFFFF
        else:
            begun = max((one & 0xFFFFFFFF for one in passed if one), default=epoch) + 1
        self._shared[3 + _WORKERS + worker.id] = os.getpid()
        self._shared[3 + worker.id] = seed << 32 | begun
        return (epoch, batch) if begun == epoch + 1 else (begun - 1, 0)


class StepLoader(DataLoader[Any]):
    """A `DataLoader` that sets the position of its training loader with each step that it returns.

    Args:
        loader: The training loader.
        steps: Steps of the loader.
        options: Options of `DataLoader`.
    """

    def __init__(self, loader: Any, steps: StepDataset, options: Mapping[str, Any]) -> None:
        if "batch_size" in options:
            message = "`batch_size` is not supported, because the training loader forms the batches"
            raise ArgumentError(f"{message}\nhint: batch_rows=... of `training_rows`", name="batch_size")
        if options.get("in_order") is False:
            message = "`in_order=False` is not supported, because steps out of order cannot be resumed"
            raise ArgumentError(message, name="in_order")
        if options.get("num_workers", 0):
            # A forked process would have locks of threads that it does not have.
            options = {"multiprocessing_context": "forkserver", **options}
        super().__init__(steps, batch_size=None, **options)
        self._loader = loader
        self._steps = steps

    def __iter__(self) -> Any:
        if self.num_workers == 0:
            yield from super().__iter__()
            return
        loader = self._loader
        epoch, batch = loader._position
        self._steps.publish(True)
        for step, tensors in enumerate(super().__iter__(), 1):
            loader._move(epoch, batch, step)
            yield tensors
        loader._position = epoch + 1, 0

    def __len__(self) -> int:
        """Returns the number of remaining steps of the epoch."""
        left: int = self._loader._steps_left(*self._loader._position)
        return left
