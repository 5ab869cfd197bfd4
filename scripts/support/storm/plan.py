"""What a part of the storm is given: how long it may take, what it draws from, where it writes its figures."""

import random
import time


class Plan:
    def __init__(self, options, report, world, part, seconds):
        self.report, self.world = report, world
        self.quick, self.jobs = options.quick, options.jobs
        # Each part draws for itself, so that one run alone does what it does among the others.
        self.rng = random.Random(f"{options.seed} {part}")
        self.seconds = seconds
        self._is_bounded = options.minutes is not None
        # In the quick storm: how much longer than promised something may take on a slow, shared machine.
        self.generosity = 4 if options.quick else 1
        # How long to wait for what has to come, before it counts as lost.
        self.patience = 90 if options.quick else 600
        self._end = time.monotonic() + seconds

    def goes_on(self, done, full):
        """Whether to do once more what a full storm does `full` times. Where time is short, once at least."""
        return done < full and (done == 0 or not self._is_bounded or time.monotonic() < self._end)

    def pause(self, least, most):
        time.sleep(self.rng.uniform(least, most))
