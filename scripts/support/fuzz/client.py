"""Sends requests over one connection, and keeps what is needed to repeat them."""

import http.client
import ipaddress
import json
import shlex
from urllib.parse import quote, urlencode, urlsplit


class Call:
    """A request of an operation before it is sent."""

    def __init__(self, operation, account=None, path=None, query=None, headers=None, body=None, token=None):
        self.operation = operation
        self.account = account
        self.path = dict(path or {})
        self.query = dict(query or {})
        self.headers = dict(headers or {})
        # Bytes are sent as they are, None is no body, and everything else is JSON.
        self.body = body
        self.token = token or (account.token if account else None)
        # Whether it is to be refused.
        self.is_spoilt = False
        # Added to the query as it is.
        self.suffix = ""
        # Path parameters that are percent-encoded already.
        self.raw = set()

    def target(self):
        path = self.operation.path
        for name, value in self.path.items():
            text = str(value) if name in self.raw else quote(str(value), safe="")
            path = path.replace("{" + name + "}", text)
        pairs = []
        for name, value in self.query.items():
            values = value if isinstance(value, list) else [value]
            pairs += [(name, "true" if item is True else "false" if item is False else item) for item in values]
        query = "&".join(filter(None, [urlencode(pairs), self.suffix]))
        return path + ("?" + query if query else "")

    def payload(self):
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()

    @property
    def fields(self):
        """The body's."""
        try:
            return json.loads(self.payload())
        except ValueError:
            return {}

    def all_headers(self):
        headers = {str(name): str(value) for name, value in self.headers.items()}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.body is not None and not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
        return headers

    def curl(self, url):
        """A command that repeats it."""
        words = ["curl", "-i", "-X", self.operation.method]
        for name, value in self.all_headers().items():
            words += ["-H", f"{name}: {value}"]
        body = self.payload()
        if body:
            words += ["--data-binary", "@-" if len(body) > 2000 or not _printable(body) else body.decode()]
        tail = f"  # body: {body[:200]!r}" if body and words[-1] == "@-" else ""
        return " ".join(map(shlex.quote, [*words, url + self.target()])) + tail


def _printable(body):
    try:
        return body.decode().isprintable()
    except UnicodeDecodeError:
        return False


class Answer:
    def __init__(self, method, status, headers, body):
        self.method = method
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def problem(self):
        is_problem = self.headers.get("content-type", "").startswith("application/problem+json")
        return self.json if is_problem and isinstance(self.json, dict) else None

    @property
    def code(self):
        return (self.problem or {}).get("code")

    @property
    def is_success(self):
        return 200 <= self.status < 300


class Unsendable(Exception):
    """HTTP cannot express the request."""


class Client:
    def __init__(self, url):
        parts = urlsplit(url)
        self.url = url
        self.place = (parts.hostname, parts.port)
        self.connection = None
        self.sent = 0

    def send(self, call, limit=60):
        method, target, body = call.operation.method, call.target(), call.payload()
        headers = call.all_headers()
        self.sent += 1
        # The limits of attempts are per network address; a trusted proxy names one.
        headers["X-Forwarded-For"] = str(ipaddress.IPv4Address(0x0A000000 + self.sent % 0xFFFFFF))
        for name, value in headers.items():
            if not (name and _sendable(name) and _sendable(value)):
                raise Unsendable(name)
        for attempt in range(2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(*self.place, timeout=limit)
            try:
                self.connection.request(method, target, body, headers)
                response = self.connection.getresponse()
                break
            except ValueError as error:
                self.close()
                raise Unsendable(str(error)) from error
            except (http.client.HTTPException, ConnectionError):
                # The server closes connections that were idle, and those with a head or a body that it refuses.
                self.close()
                if attempt:
                    raise
        kept = {name.lower(): value for name, value in response.getheaders()}
        if kept.get("content-type", "").startswith("text/event-stream"):
            content = b""
            self.close()
        else:
            content = response.read()
        if response.will_close:
            self.close()
        return Answer(method, response.status, kept, content)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


def _sendable(text):
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return not any(character in text for character in "\r\n\0")
