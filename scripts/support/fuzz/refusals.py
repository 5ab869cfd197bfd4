"""Turns valid requests into ones to refuse: broken in generated ways, or aimed at what is not the sender's."""

from fuzz.world import text64

BROKEN, ANONYMOUS, STRANGER, UNKNOWN, ENDED = "broken", "anonymous", "stranger", "unknown", "ended"
# The bytes themselves are damaged, which no schema describes.
GARBLED = "garbled"

# A stranger would be accepted, and lose sessions that the run needs.
OWN_ONLY = {"signOut", "endSession", "endOtherSessions"}


def kinds(operation):
    """The ways to be refused that the operation has; some may not apply."""
    found = [BROKEN] * 3
    if operation.body is not None or operation.parameters:
        found.append(GARBLED)
    if operation.schemes:
        found += [ANONYMOUS, ENDED, STRANGER]
    if "{" in operation.path:
        found += [UNKNOWN, STRANGER]
    return [kind for kind in found if kind != STRANGER or operation.id not in OWN_ONLY]


def spoil(kind, call, case, world, r):
    """Changes the call."""
    call.is_spoilt = True
    if kind == BROKEN:
        _break(call, case)
    elif kind == ANONYMOUS:
        call.account, call.token = None, None
    elif kind == ENDED:
        call.token = r.choice([text64(r.randbytes(32)), *world.ended[-5:]])
    elif kind == STRANGER and call.account:
        call.account = world.other(r, call.account)
        call.token = call.account.token
    elif kind == GARBLED:
        _garble(call, r)
    elif kind == UNKNOWN:
        call.path = {name: _unknown(name, value, r) for name, value in call.path.items()}


def _break(call, case):
    if "path" in case.broken:
        call.path = dict(case.path)
        call.raw = set(case.path)
    if "query" in case.broken:
        call.query = dict(case.query)
    if "header" in case.broken:
        call.headers = {**call.headers, **case.headers}
    if "body" in case.broken:
        call.body = case.body


def _garble(call, r):
    places = [place for place in ("path", "query") if any(
        each["in"] == place for each in call.operation.parameters)]
    if call.operation.body is not None:
        places += ["body", "body"]
    place = r.choice(places or ["header"])
    if place == "body":
        call.body = r.choice(BODIES)(call.payload() or b"{}")
    elif place == "header":
        call.headers |= r.choice(HEADERS)
    elif place == "path":
        name = r.choice(list(call.path) or [""])
        call.path[name] = r.choice(TEXTS)
        call.raw = {name}
    else:
        names = [each["name"] for each in call.operation.parameters if each["in"] == "query"]
        call.suffix = f"{r.choice(names)}={r.choice(TEXTS)}"


# Percent-encoded: a zero byte, bytes that are not UTF-8, half an escape, a surrogate, a slash, a long text, numbers.
TEXTS = [
    "%00", "a%00b", "%ff%fe", "%C3", "%", "%zz", "%ED%A0%80", "%2F", "..%2F..", "%20", "a" * 3000, "%F0%9F%92%A9",
    "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e3", "0x10", "+1", "%2B1", "01", "NaN",
    "%E2%80%AE", "'%22%3B--", "e%CC%81",
]
HEADERS = [
    {"Range": "bytes=5-2"}, {"Range": "bytes=-0"}, {"Range": "bytes=0-0,2-3"}, {"Accept": "*/*;q=x"},
    {"If-None-Match": "*"}, {"Idempotency-Key": "\xe9"}, {"Last-Event-ID": "-"}, {"Upload-Token": "a"},
]
BODIES = [
    lambda body: body[:-1], lambda body: body + b"}", lambda body: b"", lambda body: b"\xff" + body,
    lambda body: b"\xef\xbb\xbf" + body, lambda body: b"[" * 50_000 + b"]" * 50_000, lambda body: b"[" * 100_000,
    lambda body: body.replace(b'"', b"'"), lambda body: b"[" + body + b"]", lambda body: b"null", lambda body: b'"x"',
    lambda body: body.replace(b": ", b": 1e400, \"x\": "), lambda body: body.replace(b": ", b": -0, \"x\": "),
    lambda body: body.replace(b'": "', b'": "\\ud800'), lambda body: body.replace(b'": "', b'": "\\u0000'),
    lambda body: body.replace(b'": "', b'": "\xed\xa0\x80'), lambda body: body.replace(b'": "', b'": "\x01'),
    lambda body: body.replace(b": ", b": 9223372036854775808, \"x\": "), lambda body: body + body,
    lambda body: b'{"a": "' + b"x" * 1_100_000 + b'"}', lambda body: body.replace(b"{", b'{"\\u0000": 1, ', 1),
    lambda body: body.replace(b": ", b": {}, \"x\": "), lambda body: body.replace(b": ", b": [[]], \"x\": "),
]


def _unknown(name, value, r):
    if isinstance(value, int):
        return r.choice([0, value + 10**9, 2**53 - 1, 2**53, 2**63, -1])
    if name in ("platform", "size", "number"):
        return r.choice(["nothing", "2", "00"])
    if name == "name" and r.random() < 0.3:
        return r.choice(["~1", "~999999999", "Ä", "a b", "deleted account"])
    size = max(1, len(str(value)) * 3 // 4)
    return text64(r.randbytes(size)) if r.random() < 0.7 else str(value)[:-1] + r.choice("AZ0_")
