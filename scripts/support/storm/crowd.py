"""A crowd: hostile clients, and their effect on the others."""

import asyncio
import collections
import contextlib
import json
import multiprocessing
import random
import re
import resource
import secrets
import select
import socket
import time

from storm.load import Client
from storm.report import percentile
from storm.scene import Scene
from storm.servers import Failed, wait_for

# The crowd's addresses; the good client's address is the storm's.
HOST = "crowd"
PORT = 8080
GUESSERS = 80
# In seconds, after each guess: without it, guesses would leave a debug build no time for its slow hashes.
QUICK_PAUSE = 0.2
SIGN_INS_A_SECOND = 2
# A request that is never completed.
HALF_A_HEAD = b"GET /v1/posts HTTP/1.1\r\nHost: api\r\nX-Half: "
KB, MB = 1 << 10, 1 << 20
# For the API and the crowd: one file per connection.
FILES = 12_000
# In seconds: the time limit for a head.
HEAD, QUICK_HEAD = 10, 5
# In seconds: when the memory of closed connections counts as retained.
CALM = 10


def run(plan):
    files = resource.RLIMIT_NOFILE
    resource.setrlimit(files, [max(FILES, limit) for limit in resource.getrlimit(files)])
    with Scene(plan.world, "crowd") as scene:
        address = scene.network.add(HOST)
        _guesses(plan, scene, "guesses from one address", {})
        # Each guess claims another origin and its proxy is trusted, so no budget stops the lookups.
        _guesses(plan, scene, "guesses from anywhere", {"FANMILL_TRUSTED_PROXIES": address})
        _waves(plan, scene)
        _one_client(plan, scene)
        scene.settle(plan.report, "crowd", plan.patience)


# Guesses at tokens

def _guesses(plan, scene, name, more):
    """Signs in steadily while others guess tokens."""
    seconds = 5 if plan.quick else 30
    scene.start_api({"FANMILL_LIMITS": "on", **more})
    client = Client(scene.url_host, "")
    account = {"email": "guest@example.org", "password": "the password of a guest"}
    if not scene.number("SELECT count(*) FROM accounts WHERE username = 'guest'"):
        client.ask("POST", "/v1/accounts", {"username": "guest", "name": "Guest", **account})
    status, answer = client.ask("POST", "/v1/sessions", account)
    if status != 201:
        raise Failed(f"{name}: nobody can sign in even before them: {status} {answer}")
    times, failures = [], 0
    pause = QUICK_PAUSE if plan.quick else 0
    with _at(scene, _guess, scene.url_host, plan.rng.random(), bool(more), pause) as pipe:
        _told(pipe)
        first = time.monotonic()
        while (begin := time.monotonic()) < first + seconds:
            status, _ = client.ask("POST", "/v1/sessions", account)
            times.append(time.monotonic() - begin)
            failures += status != 201
            time.sleep(max(0, 1 / SIGN_INS_A_SECOND - times[-1]))
        took = time.monotonic() - first
        pipe.send("end")
        guesses = _told(pipe)
    scene.kill_api()
    seen = ", ".join(f"{count:,} × {status}" for status, count in sorted(guesses.items()))
    plan.report.say(f"{name}: {seen} in answer, {sum(guesses.values()) / took:,.0f} a second")
    plan.report.none(
        f"{name} ({guesses[404]:,} × 404, {guesses[429]:,} × 429): sign-ins refused meanwhile", failures, len(times))
    plan.report.at_most(
        f"{name}: longest sign-in meanwhile", 1, max(times), plan.generosity,
        f" (p99 {percentile(times, 99):.2f}, median {percentile(times, 50):.2f})")


def _guess(pipe, host, seed, from_anywhere, pause):
    """Sends invented tokens on many connections until stopped; then reports the responses."""
    rng, statuses = random.Random(seed), collections.Counter()

    async def guesser(ending):
        while not ending.is_set():
            try:
                reader, writer = await asyncio.open_connection(host, PORT)
                with contextlib.closing(writer):
                    while not ending.is_set():
                        writer.write(_reset(rng, from_anywhere))
                        head = await reader.readuntil(b"\r\n\r\n")
                        await reader.readexactly(int(re.search(rb"(?i)content-length: *(\d+)", head)[1]))
                        statuses[int(head.split(b" ", 2)[1])] += 1
                        await asyncio.sleep(pause)
            except (OSError, asyncio.IncompleteReadError):
                statuses[0] += 1

    async def guessers():
        ending = asyncio.Event()
        asyncio.get_running_loop().add_reader(pipe.fileno(), ending.set)
        await asyncio.gather(*(guesser(ending) for _ in range(GUESSERS)))

    pipe.send("begins")
    asyncio.run(guessers())
    pipe.send(statuses)


def _reset(rng, from_anywhere):
    """A request that is valid except for its unknown token."""
    body = json.dumps({"password": "a password of nobody"})
    lines = [
        f"POST /v1/password-resets/{secrets.token_urlsafe(32)} HTTP/1.1", "Host: api", "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    if from_anywhere:
        lines.append("X-Forwarded-For: 100." + ".".join(str(rng.randrange(256)) for _ in range(3)))
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


# Half heads

def _waves(plan, scene):
    """Waves of connections that stop in the middle of a head: how long they last, and the memory they leave."""
    count, head, times = (400, QUICK_HEAD, 1) if plan.quick else (4000, HEAD, 2)
    scene.start_api({"FANMILL_HTTP_CLIENT_CONNECTIONS": "0", "FANMILL_HTTP_HEAD_TIMEOUT": f"{head}s"})
    client = Client(scene.url_host, scene.token("author1"))
    # One-time allocations must happen before the measurement.
    for _ in range(100):
        _get(client)
    waves, memory = [], [_memory(scene)]
    for _ in range(times):
        waves.append(_wave(scene, client, count, head))
        time.sleep(0 if plan.quick else CALM)
        memory.append(_memory(scene))
    scene.kill_api()
    name = f"{count:,} half heads"
    asked, lives = times * count, [life for wave in waves for life in wave.lives]
    plan.report.say(
        f"{name}: memory of {_megabytes(memory[:1])} before, {_megabytes(wave.memory for wave in waves)} while they "
        f"are open, {_megabytes(memory[1:])} after")
    missing = asked - sum(wave.open for wave in waves)
    plan.report.none(f"{name}: connections that were not open at once", missing, asked)
    plan.report.none(f"{name}: connections that the server left open", asked - len(lives), asked)
    plan.report.at_most(f"{name}: longest connection", head + 5, max(lives), plan.generosity)
    _report_gets(plan, name, [get for wave in waves for get in wave.gets])
    if plan.quick:
        # A debug build's connections are larger, and this few leave less than the process gains by itself.
        return
    before, first, second = memory
    _bound(plan, f"{name}: memory of a connection", 16, (waves[0].memory - before) / count / KB, "KB")
    _bound(plan, f"{name}: memory kept {CALM} s after all have ended", 8, (first - before) / MB, "MB")
    _bound(plan, f"{name}: memory that a second wave adds", 1, (second - first) / MB, "MB")


def _one_client(plan, scene):
    """More connections than one client may have."""
    count, head = (400, QUICK_HEAD) if plan.quick else (1000, HEAD)
    scene.start_api({"FANMILL_HTTP_HEAD_TIMEOUT": f"{head}s"})
    wave = _wave(scene, Client(scene.url_host, scene.token("author1")), count, head)
    scene.kill_api()
    name = f"{count:,} half heads of one client"
    plan.report.note(f"{name}: open at once", "≤ 256", f"{wave.open:,}", wave.open <= 256)
    _report_gets(plan, name, wave.gets)


Wave = collections.namedtuple("Wave", "open lives memory gets")


def _wave(scene, client, count, head):
    """A wave of half heads, from its first connection to its last, beside the good client."""
    gets = []
    with _at(scene, _half_heads, scene.url_host, count, head + 15) as pipe:
        while not pipe.poll():
            gets.append(_get(client))
        count_open = _told(pipe)
        memory = _memory(scene)
        while not pipe.poll():
            gets.append(_get(client))
            time.sleep(0.05)
        lives = _told(pipe)
    return Wave(count_open, lives, memory, gets)


def _half_heads(pipe, host, count, limit):
    """Opens connections that send half a head; returns how many were open at once, and how long each lived."""
    poll, alive, lives = select.poll(), {}, []
    for _ in range(count):
        connection = socket.create_connection((host, PORT), timeout=limit)
        alive[connection.fileno()] = (connection, time.monotonic())
        with contextlib.suppress(OSError):
            connection.sendall(HALF_A_HEAD)
        poll.register(connection, select.POLLIN)
    end = time.monotonic() + limit
    # The server has accepted all of them, and responded to those that it refuses.
    told = time.monotonic() + 1
    while alive and time.monotonic() < end:
        for number, _ in poll.poll(100):
            connection, born = alive[number]
            with contextlib.suppress(OSError):
                if connection.recv(4096):
                    continue
            lives.append(time.monotonic() - born)
            poll.unregister(number)
            connection.close()
            del alive[number]
        if told and time.monotonic() > told:
            pipe.send(len(alive))
            told = None
    if told:
        pipe.send(len(alive))
    pipe.send(lives)


def _get(client):
    """A request on a separate connection: its response and its duration."""
    client.close()
    begin = time.monotonic()
    status, _ = client.ask("GET", "/v1/users/author1")
    return status, time.monotonic() - begin


def _report_gets(plan, name, gets):
    plan.report.none(f"{name}: requests of others refused", sum(status != 200 for status, _ in gets), len(gets))
    plan.report.at_most(f"{name}: longest request of others", 1, max(took for _, took in gets), plan.generosity)


def _memory(scene):
    """The API's memory in bytes."""
    with open(f"/proc/{scene.api.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1]) * KB


def _megabytes(sizes):
    return " and ".join(f"{size / MB:.1f} MB" for size in sizes)


def _bound(plan, figure, limit, measured, unit):
    plan.report.note(figure, f"≤ {limit} {unit}", f"{measured:.1f} {unit}", measured <= limit)


# The crowd's processes

@contextlib.contextmanager
def _at(scene, body, *arguments):
    """Runs `body(pipe, …)` on the crowd's host in a separate process, so that it does not block the measurement."""
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe()
    process = fork.Process(target=_there, args=(scene.network, there, body, *arguments), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        process.kill()
        process.join()


def _there(network, pipe, body, *arguments):
    network.enter(HOST)
    body(pipe, *arguments)


def _told(pipe, limit=60):
    """The next message of the crowd's process."""
    wait_for("the crowd's process says something", pipe.poll, limit)
    try:
        return pipe.recv()
    except EOFError:
        raise Failed("the crowd's process ended: what it printed says why") from None
