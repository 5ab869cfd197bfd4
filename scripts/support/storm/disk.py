"""A full disk under Postgres's data: a tablespace on a small file system."""

import contextlib
import os
import random
import subprocess
import time

from storm.load import Author, Client, missing_writes
from storm.scene import FOLLOWERS, Scene
from storm.servers import wait_for

SIZE = 96 << 20
# The space left besides the filler.
ROOM = 256 << 10


def run(plan):
    folder = os.path.join(plan.world.folder, "small")
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], check=True)
    os.mkdir(os.path.join(folder, "data"))
    subprocess.run(["chown", "postgres:postgres", os.path.join(folder, "data")], check=True)
    plan.world.postgres.sql("postgres", f"CREATE TABLESPACE small LOCATION '{folder}/data'")
    with Scene(plan.world, "disk", tablespace="small") as scene:
        scene.start_workers(1)
        scene.start_api()
        posts = []
        authors = [
            Author(Client(scene.url_host, scene.token(name)), name, list(FOLLOWERS), posts,
                   random.Random(plan.rng.random()), 0.05, kinds=("post",), size=1500)
            for name in FOLLOWERS
        ]
        for author in authors:
            author.start()
        answered = lambda status: sum(author.statuses[status] for author in authors)  # noqa: E731
        wait_for("posts are taken", lambda: answered(201) > 5, 60)
        filler = os.path.join(folder, "filler")
        _fill(folder, filler)
        wait_for("posts are refused with 503", lambda: answered(503) >= 5, 60)
        time.sleep(3)
        os.remove(filler)
        free = time.time()
        before = answered(201)
        wait_for("posts are taken again", lambda: answered(201) > before, 120)
        took = time.time() - free
        time.sleep(2)
        for author in authors:
            author.end()
        statuses = sum((author.statuses for author in authors), start=type(authors[0].statuses)())
        other = sum(count for status, count in statuses.items() if status not in (201, 503))
        plan.report.none(
            f"full disk: answers other than 201 ({statuses[201]}) and 503 ({statuses[503]})", other,
            sum(statuses.values()))
        plan.report.at_most("full disk: first write once there is room", 15, took, plan.generosity)
        scene.settle(plan.report, "disk", plan.patience)
        missing, total = missing_writes(scene, authors)
        plan.report.none("full disk: acknowledged writes missing", missing, total)


def _fill(folder, path):
    """Fills the disk almost completely."""
    def left():
        there = os.statvfs(folder)
        return there.f_bavail * there.f_frsize - ROOM

    # Postgres is writing too, and may be faster.
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while (size := left()) > 0:
            file.write(b"\0" * min(size, 1 << 20))
