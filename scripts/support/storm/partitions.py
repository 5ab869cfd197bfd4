"""Partitions: packets between a worker or the API and a server are dropped for a while, one way or both."""

import itertools
import random
import time

from storm.load import Author, Client, missing_writes
from storm.scene import FOLLOWERS, Scene
from storm.servers import wait_for

PAIRS = [("worker1", "redis"), ("worker1", "postgres"), ("api", "redis"), ("api", "postgres")]
WAYS = ["out", "in", "both"]
# In seconds: one that is hardly noticed, one of about two leases, one that outlives time limits.
LENGTHS = [(1, 4), (4, 12), (12, 30)]
QUICK_LENGTHS = [(1, 3), (4, 8)]


def run(plan):
    with Scene(plan.world, "partitions") as scene:
        scene.take_time(20)
        scene.start_workers(2)
        scene.start_api()
        producer = scene.produce(0, 10_000_000, batch=2, rate=40)
        posts = []
        authors = [
            Author(Client(scene.url_host, scene.token(name)), name, list(FOLLOWERS), posts,
                   random.Random(plan.rng.random()), 0.3)
            for name in FOLLOWERS
        ]
        for author in authors:
            author.start()
        wait_for(
            "jobs are done", lambda: scene.number("SELECT count(*) FROM effects WHERE worker LIKE 'worker1-%'"), 60)
        cuts = list(itertools.product(PAIRS, WAYS, QUICK_LENGTHS if plan.quick else LENGTHS))
        plan.rng.shuffle(cuts)
        heals, calm = [], []
        for pair, ways, length in cuts:
            if not plan.goes_on(len(heals), len(cuts)):
                break
            heals.append(_cut(plan, scene, pair, ways, plan.rng.uniform(*length), calm))
        for author in authors:
            author.end()
        time.sleep(1)
        producer.kill()
        scene.settle(plan.report, "partitions", plan.patience)
        missing, total = missing_writes(scene, authors)
        plan.report.none("partitions: acknowledged writes missing", missing, total)
        plan.report.at_most(f"first job after a partition, of {len(heals)}", 15, max(heals), plan.generosity)
        longest = max([scene.longest_wait(), *(_longest_post(scene, begin, end) for begin, end in calm)])
        plan.report.at_most("longest wait beside a connected worker", 5, longest, plan.generosity)


def _cut(plan, scene, pair, ways, seconds, calm):
    """Cuts, heals, and waits for the affected process's first job; returns the time that took since healing.

    `calm` receives the time span if the API was not affected, so that posts are measured from their creation.
    """
    host, server = pair
    begin = time.time()
    scene.network.cut(host, server, ways)
    time.sleep(seconds)
    scene.network.heal(host, server)
    healed = time.time()
    if host == "api":
        # A post that the API has accepted since, delivered to all followers.
        first = f"""
            SELECT extract(epoch FROM min(f.finished_at)) FROM posts p JOIN fan_outs f ON f.post_id = p.id
            WHERE p.created_at > to_timestamp({healed}) AND f.finished_at IS NOT NULL"""
    else:
        worker = scene.workers[host].name
        first = f"""
            SELECT extract(epoch FROM min(at)) FROM effects
            WHERE worker = '{worker}' AND at > to_timestamp({healed})"""
    took = wait_for(f"a job of {host} after the partition from {server}", lambda: scene.number(first), 120) - healed
    waited = scene.longest_wait(begin - 5)
    plan.report.say(f"{host} and {server} apart for {seconds:.1f} s ({ways}): first job after {took:.2f} s, "
                    f"longest wait {waited:.2f} s")
    if host != "api":
        calm.append((begin, healed))
    return took


def _longest_post(scene, begin, end):
    return scene.number(f"""
        SELECT extract(epoch FROM max(f.finished_at - p.created_at)) FROM posts p JOIN fan_outs f ON f.post_id = p.id
        WHERE p.created_at BETWEEN to_timestamp({begin}) AND to_timestamp({end})""")
