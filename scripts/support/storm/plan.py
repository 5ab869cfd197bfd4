"""The parameters of a storm's part: its time limit, its random numbers, and its report."""

import random
import time


class Plan:
    def __init__(self, options, report, world, part, seconds):
        self.report, self.world = report, world
        self.quick, self.jobs = options.quick, options.jobs
        # Each part has separate random numbers, so that alone it does the same as among others.
        self.rng = random.Random(f"{options.seed} {part}")
        self.seconds = seconds
        self._is_bounded = options.minutes is not None
        # In the quick storm: how much the bounds widen for a slow, shared machine.
        self.generosity = 4 if options.quick else 1
        # How long to wait for an expected event before it counts as lost.
        self.patience = 90 if options.quick else 600
        self._end = time.monotonic() + seconds

    def goes_on(self, done, full):
        """Whether to repeat a step that a full storm repeats `full` times. If time is short, it runs at least once."""
        return done < full and (done == 0 or not self._is_bounded or time.monotonic() < self._end)

    def pause(self, least, most):
        time.sleep(self.rng.uniform(least, most))
