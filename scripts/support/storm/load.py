"""API clients that retry until they get a response and record which writes were acknowledged."""

import collections
import http.client
import json
import threading
import time
import uuid


class Client:
    """One account's connection to the API."""

    def __init__(self, host, token, port=8080, limit=20):
        self._place = (host, port)
        self._token, self._limit = token, limit
        self._connection = None
        # Of the last response.
        self.headers = {}

    def ask(self, method, path, body=None, key=None):
        """The status and the response; the status is 0 if there was no response."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        try:
            if not self._connection:
                self._connection = http.client.HTTPConnection(*self._place, timeout=self._limit)
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            self.headers = {}
            return 0, None
        self.headers = answer.headers
        if answer.will_close:
            self.close()
        try:
            return answer.status, json.loads(text) if text else None
        except ValueError:
            return answer.status, None

    def close(self):
        if self._connection:
            self._connection.close()
            self._connection = None


class Author(threading.Thread):
    """Posts, likes, follows and comments as one account. Each write is resent until it is acknowledged.

    Nothing is undone: a request whose response was lost might be executed after the request that undoes it.
    """

    def __init__(
            self, client, account, others, posts, rng, pause, kinds=("post", "like", "follow", "comment"), size=10):
        super().__init__(daemon=True)
        self._client, self.account, self._others, self._rng = client, account, others, rng
        self._pause, self._kinds, self._text = pause, kinds, "x" * size
        self._ending = threading.Event()
        self._number = 0
        # All authors' posts, in one list.
        self.posts = posts
        # Titles, liked posts, followed names and comments.
        self.acknowledged = {"post": {}, "like": set(), "follow": set(), "comment": {}}
        self.statuses = collections.Counter()
        self.error = None

    def run(self):
        try:
            while not self._ending.is_set():
                kind = self._rng.choice(self._kinds)
                if kind in ("like", "comment") and not self.posts:
                    kind = "post"
                getattr(self, "_" + kind)()
                self._ending.wait(self._pause)
        except Exception as error:
            self.error = error
            raise

    def end(self):
        """Waits until the current write is acknowledged, then stops."""
        self._ending.set()
        self.join(120)
        if self.is_alive():
            raise TimeoutError(f"{self.account}'s last write was not acknowledged for 120 s: {self.statuses}")
        if self.error:
            raise self.error

    def _until_acknowledged(self, method, path, body=None):
        key = str(uuid.UUID(int=self._rng.getrandbits(128))) if method == "POST" else None
        while True:
            status, answer = self._client.ask(method, path, body, key)
            self.statuses[status] += 1
            if 200 <= status < 300:
                return answer
            time.sleep(0.1)

    def _next(self):
        self._number += 1
        return f"{self.account}-{self._number}"

    def _post(self):
        title = self._next()
        post = self._until_acknowledged("POST", "/v1/posts", {"title": title, "description": self._text})["id"]
        self.posts.append(post)
        self.acknowledged["post"][title] = post

    def _like(self):
        post = self._rng.choice(self.posts)
        self._until_acknowledged("PUT", f"/v1/posts/{post}/like")
        self.acknowledged["like"].add(post)

    def _follow(self):
        other = self._rng.choice(self._others)
        if other != self.account:
            self._until_acknowledged("PUT", f"/v1/users/{other}/follow")
            self.acknowledged["follow"].add(other)

    def _comment(self):
        text = self._next()
        post = self._rng.choice(self.posts)
        self._until_acknowledged("POST", f"/v1/posts/{post}/comments", {"text": text})
        self.acknowledged["comment"][text] = post


def missing_writes(scene, authors):
    """The number of acknowledged writes that are not in Postgres exactly once, and the total."""
    stored = {
        "post": collections.Counter(scene.sql("SELECT title FROM posts").splitlines()),
        "comment": collections.Counter(scene.sql("SELECT text FROM comments").splitlines()),
        "like": set(scene.sql(
            "SELECT a.username || '/' || l.post_id FROM likes l JOIN accounts a ON a.id = l.account_id").splitlines()),
        "follow": set(scene.sql("""
            SELECT a.username || '/' || b.username FROM follows f JOIN accounts a ON a.id = f.follower_id
            JOIN accounts b ON b.id = f.followee_id""").splitlines()),
    }
    missing = total = 0
    for author in authors:
        for kind, writes in author.acknowledged.items():
            for write in writes:
                total += 1
                if kind in ("post", "comment"):
                    missing += stored[kind][write] != 1
                else:
                    missing += f"{author.account}/{write}" not in stored[kind]
    return missing, total
