"""A loader as torch's `DataLoader` wants it; imported where torch is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info


class Steps(IterableDataset[Any]):
    """Steps of a loader, shared by the workers of a `DataLoader`: it takes one of each in turn, so that the order stays."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        if worker is None:
            yield from (given.torch() for given in self.loader)
            return
        epoch, begun = self.loader._epoch, self.loader._step
        for step in range(begun + worker.id, self.loader._steps(epoch), worker.num_workers):
            yield self.loader.batch(epoch, step).torch()


def iterable(loader: Any) -> Steps:
    """The loader's steps."""
    return Steps(loader)
