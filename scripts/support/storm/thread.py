"""The storm of jobs once more, by workers that the thread sanitizer watches."""

import glob
import os
import subprocess

from storm import jobs

JOBS = 100_000
SCRATCH = ".build-thread"


def build(project):
    """Builds the sanitized worker; before the network is gone, since packages may be missing."""
    subprocess.run(
        ["swift", "build", "--sanitize=thread", "--scratch-path", SCRATCH, "--product", "TestWorker"], check=True,
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
    warnings = 0
    for path in glob.glob(os.path.join(world.logs, "storm_thread-*.log")):
        with open(path, errors="replace") as file:
            warnings += sum("WARNING: ThreadSanitizer" in line for line in file)
    plan.report.none("thread: warnings of the thread sanitizer", warnings)
