"""Generates requests from the API's document, in a process of its own: schemathesis, from a seed."""

import collections
import logging
import multiprocessing
import warnings
import zlib
from typing import NamedTuple


class Case(NamedTuple):
    """What schemathesis generated for an operation."""

    path: dict
    query: dict
    headers: dict
    # None without one.
    body: object
    # The parts that break the document: path, query, header, body.
    broken: frozenset


_schema = None


def _prepare(document):
    global _schema
    import schemathesis

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    schema = schemathesis.openapi.from_dict(document)
    _schema = {operation.definition.raw["operationId"]: operation for operation in _all(schema)}


def _all(schema):
    return [result.ok() for result in schema.get_all_operations()]


def _generate(task):
    import hypothesis
    from schemathesis import GenerationMode
    from schemathesis.core import NotSet

    name, is_valid, count, seed = task
    mode = GenerationMode.POSITIVE if is_valid else GenerationMode.NEGATIVE
    found = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, database=None, phases=[hypothesis.Phase.generate], deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(_schema[name].as_strategy(generation_mode=mode))
    def collect(case):
        broken = frozenset(
            place.value for place, part in case.meta.components.items() if part.mode == GenerationMode.NEGATIVE)
        body = None if isinstance(case.body, NotSet) else case.body
        if body is None and not isinstance(case.body, NotSet):
            body = b"null"
        found.append(Case(
            dict(case.path_parameters or {}), dict(case.query or {}), dict(case.headers or {}), body, broken))

    try:
        collect()
    except hypothesis.errors.Unsatisfiable:
        # Every request of such an operation keeps to the document.
        return name, is_valid, True, []
    # Hypothesis ends early if an operation has so few requests.
    return name, is_valid, len(found) < count, found


class Cases:
    """Endless cases of each operation; the same seed gives the same ones."""

    # Fewer, and Hypothesis hardly gets beyond the smallest values.
    BATCH = 60

    def __init__(self, document, seed, rounds, each):
        """`each` has the names of the operations, and how many valid cases a round needs of each."""
        # The first batch is of one round, since the run waits for it. Less than half of what is to be refused is
        # generated.
        sizes, left = [1], rounds - 1
        while left > 0:
            sizes.append(min(left, self.BATCH // max(each.values())))
            left -= sizes[-1]
        tasks = [
            (name, is_valid, size * count if is_valid else -(-size * count // 2),
             zlib.crc32(f"{seed}/{batch}/{name}".encode()))
            for batch, size in enumerate(sizes) for is_valid in (True, False) for name, count in each.items()]
        # Spawned, since a fork would inherit connections.
        self.pool = multiprocessing.get_context("spawn").Pool(1, _prepare, (document,))
        self.results = self.pool.imap(_generate, tasks)
        self.waiting = {(name, is_valid): collections.deque() for name in each for is_valid in (True, False)}
        # What was used is used again where there is no more.
        self.used = {key: [] for key in self.waiting}
        self.complete = set()

    def next(self, name, is_valid):
        """A case, or None if there is none of the kind."""
        key = (name, is_valid)
        while not self.waiting[key] and key not in self.complete:
            self._receive()
        if not self.waiting[key]:
            self.waiting[key].extend(self.used[key])
            self.used[key].clear()
        if not self.waiting[key]:
            return None
        self.used[key].append(self.waiting[key].popleft())
        return self.used[key][-1]

    def _receive(self):
        try:
            name, is_valid, is_complete, cases = next(self.results)
        except StopIteration:
            self.complete.update(self.waiting)
            return
        if is_complete:
            self.complete.add((name, is_valid))
        self.waiting[name, is_valid].extend(cases)

    def close(self):
        self.pool.terminate()
        self.pool.join()
