"""The app's writes, while the API is killed and cut off and both servers stall and crash."""

import collections
import random
import time

from storm.load import Author, Client, missing_writes
from storm.scene import FOLLOWERS, Scene

FANS = 3
MISHAPS = {"kill API": 5, "cut": 6, "stall Redis": 3, "crash Redis": 2, "crash Postgres": 2, "kill worker": 3}


def run(plan):
    with Scene(plan.world, "app") as scene:
        scene.start_workers(2)
        scene.start_api()
        names = [*FOLLOWERS, *(f"fan{number}" for number in range(1, FANS + 1))]
        posts = []
        authors = [
            Author(
                Client(scene.url_host, scene.token(name)), name, names, posts, random.Random(plan.rng.random()), 0.05)
            for name in names
        ]
        for author in authors:
            author.start()
        done = collections.Counter()
        begin = time.monotonic()
        while time.monotonic() < begin + plan.seconds * 0.7:
            plan.pause(0.5, 3)
            what = plan.rng.choices(list(MISHAPS), list(MISHAPS.values()))[0]
            _befall(plan, scene, what)
            done[what] += 1
        for author in authors:
            author.end()
        scene.settle(plan.report, "app", plan.patience)
        missing, total = missing_writes(scene, authors)
        plan.report.none(f"app: acknowledged writes missing ({sum(done.values())} mishaps)", missing, total)
        statuses = sum((author.statuses for author in authors), start=type(authors[0].statuses)())
        # 0 means a cut connection or a killed server; 409 means that the key's first request is still running.
        other = sum(count for status, count in statuses.items() if status not in (0, 200, 201, 204, 409, 503))
        seen = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
        plan.report.say("app: " + ", ".join(f"{count} × {what}" for what, count in sorted(done.items())))
        plan.report.say(f"app: {seen} in answer")
        plan.report.none("app: answers that are neither success nor 503", other, sum(statuses.values()))


def _befall(plan, scene, what):
    rng = plan.rng
    if what == "kill API":
        scene.kill_api()
        plan.pause(0, 1)
        scene.launch_api()
    elif what == "cut":
        server, ways = rng.choice(["redis", "postgres"]), rng.choice(["out", "in", "both"])
        scene.network.cut("api", server, ways)
        plan.pause(1, 4 if plan.quick else 15)
        scene.network.heal("api", server)
    elif what == "stall Redis":
        scene.redis.freeze()
        plan.pause(1, 4)
        scene.redis.thaw()
    elif what == "kill worker":
        host = rng.choice(sorted(scene.workers))
        scene.kill_worker(host)
        scene.start_worker(host)
    else:
        server = scene.redis if what == "crash Redis" else scene.postgres
        server.crash()
        plan.pause(0, 1)
        server.start()
