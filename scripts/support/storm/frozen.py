"""A worker frozen for minutes inside a job's transaction, and a session that manually locks a job's row."""

import subprocess
import time

from storm.report import percentile
from storm.scene import Scene
from storm.servers import wait_for

JOBS = 12_000
RATE = 40
LEASE = 3


def run(plan):
    with Scene(plan.world, "frozen") as scene:
        scene.take_time(20)
        scene.start_workers(3)
        stand = 10 if plan.quick else JOBS // RATE
        producer = scene.produce(0, 10_000_000, batch=1, rate=RATE)
        wait_for("jobs are done", lambda: scene.number("SELECT count(*) FROM effects") > 20, 60)
        frozen = _freeze_in_transaction(plan, scene, "worker1")
        time.sleep(stand)
        woken = time.time()
        scene.wake_worker("worker1")
        wait_for("what was asked for meanwhile is done", lambda: not _open(scene, woken), plan.patience)
        held, owed = _hold_a_row(plan, scene, 5 if plan.quick else 60)
        producer.kill()
        scene.settle(plan.report, "frozen", plan.patience)
        plan.report.at_most(
            f"frozen for {stand} s in a transaction: its job is done elsewhere, after the lease's end", 10,
            _latest(scene, frozen) - frozen - LEASE, plan.generosity)
        _report_waits(plan, scene, "the others, while it stands still", frozen + LEASE, woken)
        plan.report.note("a row held by hand: jobs that wait for it", "1", f"{owed:,}", owed == 1)
        _report_waits(plan, scene, "the others, while a row is held", *held)


def _freeze_in_transaction(plan, scene, host):
    """Freezes a worker so that one of its transactions stays open; returns the time."""
    while True:
        scene.freeze_worker(host)
        moment = time.time()
        # Let the server finish the worker's statement.
        time.sleep(0.2)
        if scene.number(f"""
                SELECT count(*) FROM pg_stat_activity
                WHERE application_name = '{scene.workers[host].name}' AND state = 'idle in transaction'
                  AND query LIKE 'INSERT INTO effects%'"""):
            return moment
        scene.wake_worker(host)
        # Jobs arrive evenly: with an even pause, each freeze might fall between two of them.
        time.sleep(plan.rng.uniform(0.05, 0.3))


def _hold_a_row(plan, scene, seconds):
    """Locks the row of an unstarted job for this long; returns how long, and the pending jobs at the end."""
    # More jobs than run at once, so that there is one to lock.
    scene.produce(20_000_000, 500, batch=500)
    wait_for("they are asked for", lambda: scene.number("SELECT count(*) FROM asked WHERE count > 1"), 60)
    session = subprocess.Popen(
        ["psql", "-X", "-q", "-A", "-t", "-d", scene.postgres.local_url(scene.database)], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        session.stdin.write("BEGIN;\n")
        while True:
            session.stdin.write("SELECT id FROM jobs ORDER BY id DESC LIMIT 1 FOR UPDATE SKIP LOCKED;\n\\echo end\n")
            session.stdin.flush()
            if session.stdout.readline().strip() != "end":
                break
        wait_for("the others of its batch are done", lambda: scene.number("SELECT count(*) FROM jobs") < 10, 60)
        begin = time.time()
        time.sleep(seconds)
        end = time.time()
        # Jobs enqueued last may still be running.
        owed = wait_for("the others are done", lambda: _owed_before(scene, end) == 1 and 1, plan.patience)
        session.stdin.write("ROLLBACK;\n")
        session.stdin.close()
        return (begin, end), owed
    finally:
        session.kill()
        session.wait()


def _owed_before(scene, moment):
    return int(scene.number(f"SELECT count(*) FROM jobs WHERE created_at < to_timestamp({moment})"))


def _open(scene, moment):
    """The number of jobs enqueued before a time that have had no effect."""
    return scene.number(f"""
        SELECT count(*) FROM asked a WHERE a.at < to_timestamp({moment})
          AND NOT EXISTS (SELECT FROM effects e WHERE e.number = a.first)""")


def _latest(scene, moment):
    """When the last of the jobs enqueued before a time was done."""
    return scene.number(f"""
        SELECT extract(epoch FROM max(e.at)) FROM effects e JOIN asked a ON a.first = e.number
        WHERE a.at < to_timestamp({moment})""")


def _report_waits(plan, scene, who, since, until):
    waits = [float(word) for word in scene.sql(f"""
        SELECT extract(epoch FROM e.at - a.at) FROM effects e JOIN asked a ON a.first = e.number
        WHERE a.count = 1 AND a.at BETWEEN to_timestamp({since}) AND to_timestamp({until})""").split()]
    plan.report.at_most(
        f"{who}: wait of a job, p99 of {len(waits):,}", 1, percentile(waits, 99), plan.generosity,
        f" (longest {max(waits):.2f})")
