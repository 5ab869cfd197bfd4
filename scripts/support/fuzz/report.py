"""Counts answers by operation, and groups failures."""

import collections


class Report:
    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)
        self.codes = collections.defaultdict(collections.Counter)
        self.failures = {}
        self.unprepared = collections.Counter()

    def count(self, operation, answer):
        self.counts[operation]["requests"] += 1
        self.counts[operation][f"{answer.status // 100}xx"] += 1
        self.codes[operation][f"{answer.status} {answer.code or ''}".strip()] += 1

    def fail(self, operation, what, repeat):
        """A failure of the same kind keeps the first request."""
        if (operation, what) not in self.failures:
            print(f"api-fuzz: {operation}: {what}", flush=True)
        first, count = self.failures.get((operation, what), (repeat, 0))
        self.failures[operation, what] = first, count + 1

    @property
    def requests(self):
        return sum(each["requests"] for each in self.counts.values())

    def table(self):
        columns = ["requests", "2xx", "3xx", "4xx", "5xx"]
        lines = [f"{'operation':<24}" + "".join(f"{name:>10}" for name in columns)]
        total = collections.Counter()
        for operation, counts in sorted(self.counts.items()):
            total.update(counts)
            lines.append(f"{operation:<24}" + "".join(f"{counts[name]:>10}" for name in columns))
        lines.append(f"{'total':<24}" + "".join(f"{total[name]:>10}" for name in columns))
        return "\n".join(lines)

    def reasons(self, operation):
        """How often an operation had each code, and why requests of it could not be prepared."""
        unprepared = {f"({why})": count for (name, why), count in self.unprepared.items() if name == operation}
        return ", ".join(f"{what}: {count}" for what, count in {**self.codes[operation], **unprepared}.items())

    def failed(self):
        return [
            f"{operation}: {what} ({count} times)\n    {repeat}"
            for (operation, what), (repeat, count) in sorted(self.failures.items(), key=lambda each: -each[1][1])]
