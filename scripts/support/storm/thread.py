"""The storm of jobs again, with workers under the thread sanitizer."""

import glob
import os
import subprocess
import sys

from storm import jobs

JOBS = 100_000
SCRATCH = ".build-thread"
# The number of warnings to print in full.
SHOWN = 5


def build(project):
    """Builds the sanitized worker, while there is a network for missing packages."""
    subprocess.run(
        ["scripts/swift-build", "--sanitize=thread", "--scratch-path", SCRATCH, "--product", "TestWorker"], check=True,
        cwd=project)


def run(plan):
    world = plan.world
    suppressions = os.path.join(world.project, "scripts", "tsan-suppressions")
    os.environ["TSAN_OPTIONS"] = f"suppressions={suppressions} report_thread_leaks=0"
    world.others["TestWorker"] = os.path.join(world.project, SCRATCH, "debug", "TestWorker")
    plan.jobs = min(plan.jobs, JOBS)
    try:
        jobs.run(plan, "thread")
    finally:
        del world.others["TestWorker"], os.environ["TSAN_OPTIONS"]
    logs = sorted(glob.glob(os.path.join(world.logs, "storm_thread-*.log")))
    found = [warning for path in logs for warning in warnings(path)]
    for warning in found[:SHOWN]:
        sys.stderr.write(warning)
    plan.report.none("thread: warnings of the thread sanitizer", len(found))


def warnings(path):
    """The sanitizer's warnings in a log, each with its stacks, up to its summary line."""
    found, is_inside = [], False
    with open(path, errors="replace") as file:
        for line in file:
            if "WARNING: ThreadSanitizer" in line:
                found.append("")
                is_inside = True
            if is_inside:
                found[-1] += line
                is_inside = not line.startswith("SUMMARY: ThreadSanitizer")
    return found
