"""The figures of a storm: the promised and the measured values."""

import sys
import time


class Report:
    def __init__(self):
        self._begin = time.monotonic()
        self._rows = []
        self.is_kept = True

    def say(self, text):
        print(f"storm {time.monotonic() - self._begin:6.1f} s: {text}", flush=True)

    def note(self, figure, promised, measured, is_kept):
        """Adds a figure; a broken promise is reported immediately."""
        self._rows.append((figure, promised, measured if is_kept else f"{measured} BROKEN"))
        if not is_kept:
            self.is_kept = False
            print(f"storm: BROKEN: {figure}: promised {promised}, measured {measured}", file=sys.stderr, flush=True)

    def none(self, figure, count, of=None):
        """A figure that must be 0."""
        measured = f"{count:,}" if of is None else f"{count:,} of {of:,}"
        self.note(figure, "0", measured, count == 0)

    def at_most(self, figure, limit, measured, generosity=1, detail=""):
        """A time in seconds. On a slow, shared machine, `generosity` widens the bound and is reported."""
        promised = f"≤ {limit:g} s" if generosity == 1 else f"≤ {limit:g} s (here {limit * generosity:g})"
        self.note(figure, promised, f"{measured:.2f} s{detail}", measured <= limit * generosity)

    def print(self):
        print("\n| figure | promised | measured |\n|---|---|---|")
        for row in self._rows:
            print("| " + " | ".join(row) + " |")
        print(flush=True)


def percentile(values, percent):
    """The smallest value that this percentage of values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
