"""Lost pushes beside millions of waiting jobs: how soon the relay finds them."""

import subprocess
import time
import uuid

from storm.scene import Scene
from storm.servers import wait_for

WAITING = 5_000_000
LOSSES = 20
# The workers serve both queues; the first one is paused, so that its jobs wait.
FULL, OTHER = "effects", "fanout"
# A job id in the broker's form: sixteen bytes.
BYTES = "local id = string.gsub(ARGV[1], '..', function(hex) return string.char(tonumber(hex, 16)) end) "


def run(plan):
    with Scene(plan.world, "backlog") as scene:
        scene.start_workers(2)
        scene.world.must(scene.database, "queues", "pause", FULL)
        _fill(scene, WAITING)
        wait_for("the broker knows all that waits", lambda: _known(scene) >= WAITING, 1800)
        plan.report.say(f"backlog: {WAITING:,} jobs wait")
        never_pushed = {queue: [] for queue in (FULL, OTHER)}
        for number in range(LOSSES):
            for queue, times in never_pushed.items():
                times.append(_found_after(scene, queue, _owe(scene, queue, number), 300))
            plan.pause(0, 5)
        forgotten = [_forget(scene, _owe(scene, FULL, 100 + number)) for number in range(LOSSES)]
        old = scene.sql(f"SELECT id FROM jobs.jobs TABLESAMPLE SYSTEM (0.01) WHERE queue = '{FULL}' LIMIT 20").split()
        begin = time.monotonic()
        for job in old:
            _erase(scene, job)
        for job in old:
            _found_after(scene, FULL, job, 900)
        took = time.monotonic() - begin
        jobs = f"{WAITING:,} waiting"
        plan.report.at_most(f"lost push in another queue, {jobs}, longest of {LOSSES}", 5, max(never_pushed[OTHER]))
        plan.report.at_most(f"lost push in the same queue, {jobs}, longest of {LOSSES}", 15, max(never_pushed[FULL]))
        plan.report.at_most(f"job of the last minute that the broker lost, {jobs}", 15, max(forgotten))
        plan.report.at_most(f"20 jobs of any age that the broker lost, {jobs}, the last", 300, took)


def _fill(scene, count):
    """Adds this many pending jobs, a millisecond apart, the newest an hour old."""
    newest = int(time.time() * 1000) - 3_600_000
    scene.sql(f"""
        INSERT INTO jobs (queue, id, kind, version, payload)
        SELECT '{FULL}', (lpad(to_hex({newest} - {count} + i), 12, '0') || '7000'
            || '8000' || lpad(to_hex(i), 12, '0'))::uuid,
          'test.count-effect', 1, '{{"number":' || i || '}}'
        FROM generate_series(1, {count}) i;
        """, limit=900)


def _owe(scene, queue, number):
    """Adds a pending job without a push, as if a process died between commit and push; returns its id."""
    moment = int(time.time() * 1000)
    job = str(uuid.UUID(int=moment << 80 | 7 << 76 | 2 << 62 | uuid.uuid4().int & (1 << 62) - 1))
    scene.sql(f"""
        INSERT INTO jobs (queue, id, kind, version, payload)
        VALUES ('{queue}', '{job}', 'test.count-effect', 1, '{{"number":{-1 - number}}}')""")
    return job


def _found_after(scene, queue, job, limit):
    """How long it takes until the broker knows the job, or it is done."""
    begin = time.monotonic()
    if queue == FULL:
        wait_for(f"{job} is found", lambda: _script(scene, "HEXISTS", job) == 1, limit)
    else:
        wait_for(f"{job} is done", lambda: not scene.number(
            f"SELECT count(*) FROM jobs WHERE queue = '{queue}' AND id = '{job}'"), limit)
    return time.monotonic() - begin


def _forget(scene, job):
    """Makes the broker lose a known job; returns how long it takes until it is found."""
    _found_after(scene, FULL, job, 300)
    _erase(scene, job)
    return _found_after(scene, FULL, job, 300)


def _erase(scene, job):
    """Removes a job from the broker. Its entry stays, because a paused queue is not claimed from."""
    _script(scene, "HDEL", job)


def _script(scene, command, job):
    return int(_redis(
        scene, "EVAL", f"{BYTES} return redis.call('{command}', KEYS[1], id)", "1", _key(), job.replace("-", "")))


def _known(scene):
    return int(_redis(scene, "HLEN", _key()))


def _key():
    return f"fanmill:{{{FULL}}}:known"


def _redis(scene, *words):
    return subprocess.run(
        ["redis-cli", "-s", scene.redis.socket, *words], check=True, text=True, capture_output=True,
        stdin=subprocess.DEVNULL, timeout=60).stdout.strip()
