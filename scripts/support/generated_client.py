"""What api-client-check does with the generated client, in the environment where it is installed."""

import io
import secrets
import struct
import sys
import time
import zlib

from fanmill_client import AuthenticatedClient, Client
from fanmill_client.api.accounts import open_account
from fanmill_client.api.feeds import read_home_feed
from fanmill_client.api.pictures import upload_picture
from fanmill_client.api.posts import create_post, read_post
from fanmill_client.api.users import follow, read_user
from fanmill_client.models import CreatePostBody, OpenAccountBody, Post, Problem, Upload
from fanmill_client.types import File

URL = sys.argv[1]


def require(value, kind):
    if not isinstance(value, kind):
        raise SystemExit(f"not {kind.__name__}, but {value}")
    return value


def sign_up(name):
    """A signed-in client of a new account, and its username."""
    username = f"{name}{secrets.token_hex(4)}"
    body = OpenAccountBody(
        email=f"{username}@example.org", password=secrets.token_hex(8), name=name, username=username)
    opened = open_account.sync(client=Client(base_url=URL), body=body)
    client = AuthenticatedClient(base_url=URL, token=opened.token, raise_on_unexpected_status=True)
    return client, opened.username


def picture():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head, pixel = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0), zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def wait_for_post(reader, post, limit=60):
    began = time.monotonic()
    while time.monotonic() < began + limit:
        items = read_home_feed.sync(client=reader).items
        if any(item.id == post.id and item.title == post.title for item in items):
            return time.monotonic() - began
        time.sleep(0.1)
    raise SystemExit("the post never came into the follower's feed")


def main():
    author, name = sign_up("ann")
    reader, _ = sign_up("bob")
    if follow.sync_detailed(name, client=reader).status_code != 204:
        raise SystemExit("following failed")
    body = File(payload=io.BytesIO(picture()), file_name="a.png", mime_type="image/png")
    upload = require(upload_picture.sync(client=author, body=body), Upload)
    post = require(create_post.sync(client=author, body=CreatePostBody(title="Dawn", media=[upload.id])), Post)
    seconds = wait_for_post(reader, post)
    if read_user.sync(name, client=reader).followers != 1:
        raise SystemExit("the author has no follower")
    # A problem has its type too.
    missing = read_post.sync(0, client=reader)
    if isinstance(missing, Post) or getattr(missing.code, "value", missing.code) != "not_found":
        raise SystemExit(f"{Problem.__name__}, but {missing}")
    print(f"two signed up, one followed, and the post was in the feed after {seconds:.1f} s")


main()
