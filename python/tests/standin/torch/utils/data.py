"""The `DataLoader` of torch as far as its datasets see it: who is called in which process, when, and how far ahead."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_END, _RESUME = "end", "resume"


class IterableDataset(Generic[T]):
    """A dataset that is iterated."""


@dataclass
class WorkerInfo:
    id: int
    num_workers: int
    seed: int


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    return _info


def _work(dataset: Any, collate: Callable[[Any], Any], info: WorkerInfo, wanted: Any, made: Any) -> None:
    global _info
    _info = info
    steps, ended = iter(dataset), False
    while (index := wanted.get()) is not None:
        if index == _RESUME:
            made.put((_RESUME, None, None))
            steps, ended = iter(dataset), False
        elif not ended:
            try:
                given: Any = collate(next(steps))
            except StopIteration:
                given, ended = _END, True
            except Exception as error:
                given = error
            made.put((index, info.id, given))


class DataLoader(Generic[T]):
    """Steps of a dataset, by worker processes that take turns and are `prefetch_factor` steps ahead each."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        *,
        num_workers: int = 0,
        prefetch_factor: int = 2,
        persistent_workers: bool = False,
        multiprocessing_context: str | None = None,
        collate_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        assert batch_size is None, "steps are batches already"
        self.dataset, self.num_workers, self.prefetch_factor = dataset, num_workers, prefetch_factor
        self.persistent_workers, self.context = persistent_workers, multiprocessing.get_context(multiprocessing_context)
        self.collate = collate_fn or _same
        self._kept: _Workers | None = None

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0:
            return map(self.collate, iter(self.dataset))
        if not self.persistent_workers:
            return _Workers(self)
        if self._kept is None:
            self._kept = _Workers(self)
        else:
            self._kept.resume()
        return self._kept


def _same(given: Any) -> Any:
    return given


class _Workers:
    def __init__(self, loader: DataLoader[Any]) -> None:
        self.loader, context = loader, loader.context
        self.made = context.Queue()
        self.wanted = [context.Queue() for _ in range(loader.num_workers)]
        seed = random.getrandbits(62)
        self.processes = []
        for worker, wanted in enumerate(self.wanted):
            info = WorkerInfo(worker, loader.num_workers, seed + worker)
            arguments = (loader.dataset, loader.collate, info, wanted, self.made)
            process = context.Process(target=_work, args=arguments, daemon=True)  # type: ignore[attr-defined]
            process.start()
            self.processes.append(process)
        self._begin()

    def _begin(self) -> None:
        self.sent = self.next = 0
        self.owners: dict[int, int] = {}
        self.early: dict[int, Any] = {}
        self.active = [True] * self.loader.num_workers
        self.turn = 0
        for _ in range(self.loader.prefetch_factor * self.loader.num_workers):
            self._ask()

    def resume(self) -> None:
        for wanted in self.wanted:
            wanted.put(_RESUME)
        left = len(self.wanted)
        while left:
            left -= self.made.get(timeout=120)[0] == _RESUME
        self._begin()

    def _ask(self) -> None:
        for _ in self.active:
            worker, self.turn = self.turn, (self.turn + 1) % len(self.active)
            if self.active[worker]:
                self.wanted[worker].put(self.sent)
                self.owners[self.sent] = worker
                self.sent += 1
                return

    def __iter__(self) -> _Workers:
        return self

    def __next__(self) -> Any:
        while True:
            while self.next < self.sent and self.next not in self.early and not self.active[self.owners[self.next]]:
                self.next += 1
            if self.next >= self.sent:
                if not self.loader.persistent_workers:
                    self.close()
                raise StopIteration
            if self.next in self.early:
                return self._give(self.early.pop(self.next))
            index, worker, given = self.made.get(timeout=120)
            if given is _END or isinstance(given, str) and given == _END:
                self.active[worker] = False
                self._ask()
            elif index == self.next:
                return self._give(given)
            else:
                self.early[index] = given

    def _give(self, given: Any) -> Any:
        self.next += 1
        self._ask()
        if isinstance(given, Exception):
            raise given
        return given

    def close(self) -> None:
        for wanted in self.wanted:
            wanted.put(None)
        for process in self.processes:
            process.join(10)
            process.kill()
        self.processes = []

    def __del__(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()
