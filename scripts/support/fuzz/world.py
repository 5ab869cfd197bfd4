"""The state that valid requests need: accounts, and what they have made."""

import base64
import collections
import glob
import hashlib
import os
import re
import struct
import time
import zlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fuzz.client import Call

MAIL_LINK = re.compile(rb"\b[A-Za-z0-9_-]{43}\b")
# How many meetings an account begins, of the 20 that it may in an hour.
MEETINGS = 15


class Account:
    def __init__(self, number, name, email, token, password):
        self.id = number
        self.name = name
        self.email = email
        self.token = token
        self.password = password
        self.media = []
        self.celebs = []
        self.backup = None


class Meeting:
    """Two devices that meet, and the keys of both."""

    def __init__(self, r, host, joiner):
        self.host, self.joiner = host, joiner
        self.id = None
        self.sides = {host: Side(r, 1), joiner: Side(r, 2)}

    def seal(self, account, record):
        """The body with which the account seals."""
        host, joiner = self.sides[self.host], self.sides[self.joiner]
        transcript = labelled("transcript", host.public, host.nonce, joiner.public, joiner.nonce)
        digest = labelled("record", record)
        return {"hash": text64(digest), "signature": text64(
            self.sides[account].signing.sign(labelled("seal", transcript, digest)))}


class Side:
    def __init__(self, r, role):
        self.signing = Ed25519PrivateKey.from_private_bytes(r.randbytes(32))
        keys = X25519PrivateKey.from_private_bytes(r.randbytes(32)), self.signing
        self.public = b"".join(
            key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw) for key in keys)
        self.nonce = r.randbytes(32)
        self.commitment = labelled("commitment", bytes([role]), self.public, self.nonce)

    def introduction(self):
        return {"publicKey": text64(self.public), "commitment": text64(self.commitment)}


def text64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def labelled(name, *parts):
    """The hash of docs/agreements.md."""
    return hashlib.sha256(f"fanmill agreement {name} 1".encode() + b"\0" + b"".join(parts)).digest()


def picture(r):
    """A PNG of one colour."""
    width, height, row = r.randint(1, 60), r.randint(1, 60), r.randbytes(3)
    lines = b"".join(b"\0" + row * width for _ in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


class Failed(Exception):
    """A request that prepares another one was refused."""


class World:
    CAST = 14

    def __init__(self, run, settings, mailbox):
        self.run = run
        # Whether the call in preparation is to be accepted.
        self.is_valid = True
        # The stack's settings, for its keys; empty for a stack from elsewhere.
        self.settings = settings
        self.mailbox = mailbox
        self.read_mails = set()
        self.serial = 0
        self.cast, self.spares = [], []
        # Two accounts, and how many meetings they may still begin.
        self.pair, self.meetings_left = [], 0
        self.sessions = []
        # Lists of what exists, the newest last, with the account that may use it.
        self.posts, self.comments, self.messages = [], [], []
        self.media, self.lookups, self.certificates, self.jobs, self.agreements = [], [], [], [], []
        self.upload_tokens = []
        # Addresses that wait for a mail.
        self.resets, self.changes, self.deletions, self.exports = [], [], [], []
        self.owners = {}
        self.mailed = collections.defaultdict(list)
        # Tokens of sessions that have ended.
        self.ended = []

    # MARK: Names

    def new_name(self):
        """Unused; with the run's mark, since a stack may be fuzzed twice."""
        self.serial += 1
        return f"{self.run.mark}{self.serial}"

    def new_channel(self, r):
        return "UC" + text64(r.randbytes(16))

    # MARK: Requests

    def ask(self, name, account=None, **parts):
        """Sends a request that prepares another one."""
        for _ in range(30):
            answer = self.run.send(Call(self.run.operations[name], account, **parts))
            if answer.status != 503:
                break
            # A machine that also builds may leave Postgres no time to answer.
            time.sleep(1)
        if not answer.is_success:
            raise Failed(f"{name}: {answer.status} {answer.code}")
        return answer.json

    def open_account(self):
        name = self.new_name()
        email = f"{name}@example.org"
        body = {"username": name, "name": "Fan", "email": email, "password": f"of {name} only", "adult": True}
        self.ask("openAccount", body=body)
        return self.spares.pop()

    def opened(self, call, made):
        body = call.fields
        if "token" not in made:
            # It is in a cookie, as asked for.
            return
        self.spares.append(Account(made["id"], made["username"], body["email"], made["token"], body["password"]))

    def begin(self, r):
        """What every operation needs at least one of."""
        self.cast = [self.open_account() for _ in range(self.CAST)]
        for account in self.cast:
            for other in r.sample(self.cast, 4):
                if other is not account:
                    self.ask("follow", account, path={"name": other.name})
            self.ask("createPost", account, body={"title": "Dawn over Seoul"})
            self.celeb(r, account)
            self.upload(r, account)

    # MARK: Picking

    def one(self, r):
        return r.choice(self.cast)

    def other(self, r, account):
        return r.choice([each for each in self.cast if each is not account])

    def spare(self, r):
        """An account that nothing else needs."""
        if not self.spares:
            self.spares.append(self.open_account())
        return self.spares.pop()

    def borrowed(self, r):
        """A spare account that can be used again."""
        account = self.spare(r)
        self.spares.insert(0, account)
        return account

    def latest(self, r, things, count=60):
        if not things:
            raise Failed("nothing of the kind exists yet")
        return r.choice(things[-count:])

    def post(self, r):
        return self.latest(r, self.posts)

    def celeb(self, r, account):
        """A celeb of the account, which has one place at least."""
        if not account.celebs:
            place = {"platform": "instagram", "account": f"artist.{r.randrange(500)}"}
            self.ask("registerCeleb", account, path=place)
        return dict(r.choice(account.celebs))

    def upload(self, r, account):
        return self.ask("uploadPicture", account, body=picture(r), headers={"Content-Type": "image/png"})["id"]

    # MARK: Meetings

    def meeting(self, r, joined=True, opened=True):
        if not self.meetings_left:
            # Each may begin few in an hour. The cast's are spent by requests without a meeting to come.
            self.pair, self.meetings_left = [self.open_account(), self.open_account()], MEETINGS
        self.meetings_left -= 1
        meeting = Meeting(r, *self.pair)
        host = meeting.host
        begun = self.ask("beginMeeting", host, body=meeting.sides[host].introduction())
        meeting.id, meeting.code = begun["id"], begun["code"]
        if joined:
            joiner = meeting.sides[meeting.joiner].introduction()
            self.ask("joinMeeting", meeting.joiner, body={"host": host.name, "code": meeting.code, **joiner})
        if joined and opened:
            for account, side in meeting.sides.items():
                self.ask("openCommitment", account, path={"id": meeting.id}, body={"nonce": text64(side.nonce)})
        return meeting

    def agreement(self, r):
        meeting = self.meeting(r)
        record = r.randbytes(40)
        for account in (meeting.host, meeting.joiner):
            self.ask("sealRecord", account, path={"id": meeting.id}, body={
                **meeting.seal(account, record), "copy": text64(r.randbytes(64)), "expiresAt": self.run.soon})
        self.agreements.append((meeting.host, meeting.id))
        return meeting

    # MARK: Mail

    def read_mail(self):
        """Collects the tokens of new mails by address."""
        for path in sorted(glob.glob(os.path.join(self.mailbox or "/nonexistent", "*"))):
            if path in self.read_mails or not os.path.isfile(path):
                continue
            self.read_mails.add(path)
            with open(path, "rb") as file:
                head, _, text = file.read().replace(b"\r\n", b"\n").partition(b"\n\n")
            to = re.search(rb"^To: .*?([^\s<>]+@[^\s<>]+)", head, re.MULTILINE)
            token = MAIL_LINK.search(text)
            if to and token:
                self.mailed[to[1].decode()].append(token[0].decode())

    def mailed_token(self, waiting):
        """The token that was mailed to one of these addresses; used up by a valid call."""
        for address in waiting:
            if self.mailed.get(address):
                if self.is_valid:
                    waiting.remove(address)
                return self.mailed[address][-1]
        raise Failed("no mail has come yet")

    # MARK: Learning

    def learn(self, call, answer):
        """Remembers what an accepted request has made."""
        learn = LEARNED.get(call.operation.id)
        try:
            if learn:
                learn(self, call, answer.json)
        except (KeyError, TypeError, AttributeError):
            # A damaged request that was accepted all the same may lack what a valid one has.
            if not call.is_spoilt:
                raise


def _renamed(world, call, made):
    call.account.name = made["username"]


def _signed_in(world, call, made):
    for account in world.cast:
        if account.email == call.fields["email"] and "token" in made:
            world.sessions.append((account, made["token"]))


def _registered(world, call, made):
    place = {"platform": made["platform"], "account": made["account"]}
    if place not in call.account.celebs:
        call.account.celebs.append(place)


def _removed(world, call, _):
    call.account.celebs = [
        each for each in call.account.celebs if each["account"].lower() != str(call.path["account"]).lower()]


def _replaced(world, call, made):
    _removed(world, call, made)
    _registered(world, call, made)


def _uploaded(world, call, made):
    if call.account:
        call.account.media.append(made["id"])
        world.media.append((call.account, made["id"]))


def _unloaded(world, call, _):
    world.media = [each for each in world.media if each[1] != call.path["id"]]
    if call.account and call.path["id"] in call.account.media:
        call.account.media.remove(call.path["id"])


def _unposted(world, call, _):
    world.posts = [each for each in world.posts if str(each[1]) != str(call.path["id"])]
    world.comments = [each for each in world.comments if str(each[1]) != str(call.path["id"])]


def _uncommented(world, call, _):
    world.comments = [each for each in world.comments if str(each[2]) != str(call.path["comment"])]


def _looked_up(world, call, made):
    if "lookup" in made:
        world.lookups.append((call.account, made["lookup"]))


def _learned_backup(world, call, _):
    call.account.backup = call.fields["proof"]


def _address_changed(world, call, _):
    for address, tokens in world.mailed.items():
        if call.path["token"] in tokens and address in world.owners:
            world.owners[address].email = address


def _password_changed(world, call, _):
    call.account.password = call.fields["new"]


LEARNED = {
    "changeAccount": _renamed,
    "signIn": _signed_in,
    "createPost": lambda world, call, made: world.posts.append((call.account, made["id"])),
    "deletePost": _unposted,
    "createComment": lambda world, call, made: world.comments.append((call.account, call.path["id"], made["id"])),
    "deleteComment": _uncommented,
    "sendMessage": lambda world, call, made: world.messages.append((call.account, call.path["name"], made["id"])),
    "registerCeleb": _registered,
    "removeCeleb": _removed,
    "replaceCeleb": _replaced,
    "uploadPicture": _uploaded,
    "deleteUpload": _unloaded,
    "issueUploadToken": lambda world, call, made: world.upload_tokens.append(made["token"]),
    "searchChannels": _looked_up,
    "issueCertificate": lambda world, call, made: world.certificates.append((call.account, made["token"])),
    "enqueueJob": lambda world, call, made: world.jobs.append((call.account, made["id"])),
    "signOut": lambda world, call, made: world.ended.append(call.token),
    "deleteAccount": lambda world, call, made: world.ended.append(call.token),
    "openAccount": lambda world, call, made: world.opened(call, made),
    "keepBackup": _learned_backup,
    "deleteBackup": lambda world, call, made: setattr(call.account, "backup", None),
    "confirmEmail": _address_changed,
    "changePassword": _password_changed,
}
