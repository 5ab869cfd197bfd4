"""Silence: a server under the API freezes without any sign."""

import collections
import random
import threading
import time

from storm.load import Author, Client, missing_writes
from storm.report import percentile
from storm.scene import FOLLOWERS, Scene
from storm.servers import wait_for

FANS = 3
# The clients while Postgres is frozen: more than the API's pool has connections.
ASKERS = 20
# In seconds: how long a request may wait for a server, and how much longer its response may take.
DEADLINE, BESIDES = 5, 1
# More than the storm needs: Redis stores the budgets, and requests wait for it.
BUDGETS = {
    "FANMILL_LIMITS": "on",
    **{f"FANMILL_LIMIT_{what}": "1000000" for what in ("POSTS", "FOLLOWS", "LIKES", "COMMENTS")},
}


def run(plan):
    with Scene(plan.world, "silence") as scene:
        scene.start_workers(2)
        scene.start_api(BUDGETS)
        _redis(plan, scene)
        _postgres(plan, scene)


Answer = collections.namedtuple("Answer", "begin end status code retry_after")


class TimedClient(Client):
    """Records its responses and their durations."""

    def __init__(self, host, token):
        super().__init__(host, token)
        self.answers = []

    def ask(self, *arguments):
        begin = time.monotonic()
        status, answer = super().ask(*arguments)
        code = answer.get("code") if isinstance(answer, dict) else None
        self.answers.append(Answer(begin, time.monotonic(), status, code, self.headers.get("Retry-After")))
        return status, answer


def _redis(plan, scene):
    """Writes continue without Redis, as fast as with it."""
    names = [*FOLLOWERS, *(f"fan{number}" for number in range(1, FANS + 1))]
    clients = [TimedClient(scene.url_host, scene.token(name)) for name in names]
    posts = []
    authors = [
        Author(client, name, names, posts, random.Random(plan.rng.random()), 0.05)
        for client, name in zip(clients, names)
    ]
    for author in authors:
        author.start()
    wait_for("posts are taken", lambda: len(posts) > 20, 60)
    health = TimedClient(scene.url_host, "")
    scene.redis.freeze()
    frozen = time.monotonic()
    while time.monotonic() < frozen + (5 if plan.quick else 30):
        health.ask("GET", "/readyz")
        time.sleep(0.2)
    thawed = time.monotonic()
    scene.redis.thaw()
    for author in authors:
        author.end()
    answers = [answer for client in clients for answer in client.answers if frozen <= answer.begin < thawed]
    times = [answer.end - answer.begin for answer in answers]
    plan.report.none(
        "silent Redis: writes not answered with 2xx", sum(not 200 <= answer.status < 300 for answer in answers),
        len(answers))
    plan.report.at_most(
        "silent Redis: answers to writes, p99", 0.1, percentile(times, 99), plan.generosity,
        f" (longest {max(times):.2f}, median {percentile(times, 50):.3f})")
    plan.report.none(
        "silent Redis: answers of /readyz other than 200", sum(answer.status != 200 for answer in health.answers),
        len(health.answers))
    scene.settle(plan.report, "silent Redis", plan.patience)
    missing, total = missing_writes(scene, authors)
    plan.report.none("silent Redis: acknowledged writes missing", missing, total)


def _postgres(plan, scene):
    """Requests end at their deadline, and find a complete pool when Postgres resumes."""
    token = scene.token("author1")
    clients = [TimedClient(scene.url_host, token) for _ in range(ASKERS)]
    ending = threading.Event()
    askers = [
        threading.Thread(target=_ask_on, args=(client, number, ending), daemon=True)
        for number, client in enumerate(clients)
    ]
    for asker in askers:
        asker.start()
    wait_for("all are answered", lambda: all(len(client.answers) > 3 for client in clients), 60)
    scene.postgres.freeze()
    frozen = time.monotonic()
    status = scene.world.fanmill(scene.database, "jobs", "list").returncode
    command = time.monotonic() - frozen
    # Longer than the bound, so that a request without a deadline visibly breaks it.
    time.sleep(max(0, frozen + (10 if plan.quick else 20) - time.monotonic()))
    ending.set()
    thawed = time.monotonic()
    scene.postgres.thaw()
    rounds, whole = _until_whole(scene, token, thawed)
    for asker in askers:
        asker.join(60)
    answers = [answer for client in clients for answer in client.answers if frozen <= answer.begin < thawed]
    # A request that was open when Postgres resumed may be served.
    refusals = [answer for answer in answers if answer.end < thawed or answer.status >= 400 or not answer.status]
    wrong = sum((answer.status, answer.code) != (503, "unavailable") or not answer.retry_after for answer in refusals)
    limit = DEADLINE + BESIDES * plan.generosity
    plan.report.none("silent Postgres: answers other than 503 with Retry-After", wrong, len(refusals))
    plan.report.at_most(
        "silent Postgres: longest request", limit, max(answer.end - answer.begin for answer in answers))
    plan.report.note("silent Postgres: status of a command", "69", str(status), status == 69)
    plan.report.at_most("silent Postgres: end of the command", limit, command)
    plan.report.at_most(
        f"silent Postgres: {ASKERS} requests at once succeed after it", 1, whole, plan.generosity,
        f" ({rounds} {'round' if rounds == 1 else 'rounds'})")
    scene.settle(plan.report, "silent Postgres", plan.patience)


def _ask_on(client, number, ending):
    """Reads and writes in turn, until stopped."""
    while not ending.is_set():
        if (number + len(client.answers)) % 2:
            client.ask("POST", "/v1/posts", {"title": f"{number}-{len(client.answers)}", "description": "of an asker"})
        else:
            client.ask("GET", "/v1/users/author1")
        ending.wait(0.1)


def _until_whole(scene, token, thawed):
    """Sends many requests at once until all succeed; returns how often, and how long after the thaw."""
    rounds = 0
    while True:
        rounds += 1
        clients = [TimedClient(scene.url_host, token) for _ in range(ASKERS)]
        threads = [
            threading.Thread(target=client.ask, args=("GET", "/v1/users/author1"), daemon=True) for client in clients
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if all(client.answers[0].status == 200 for client in clients):
            return rounds, time.monotonic() - thawed
        if time.monotonic() > thawed + 60:
            return rounds, time.monotonic() - thawed
