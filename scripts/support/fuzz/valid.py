"""How to make a valid request of each operation: the ids, tokens and fields that no generator can guess.

A function gets the world and a random generator, sends what must come before, and returns the call's parts. The rest of
the call is the document's example, or what schemathesis generated from its schemas.
"""

import hashlib
import hmac
import json

from fuzz.client import Call
from fuzz.world import Failed, labelled, picture, text64


def account(world, r):
    return {"account": world.one(r)}


def person(world, r):
    one = world.one(r)
    return {"account": one, "path": {"name": world.other(r, one).name}}


def page(world, r):
    # Without a cursor, half of the time: a random one is beyond most lists.
    return {"query": {"before": r.choice([DROP, 2**53 - 1])}}


def listed(find):
    """A page of what `find` finds."""
    return lambda world, r: {**find(world, r), **page(world, r)}


# Leaves an optional part out.
DROP = object()


def any_post(world, r):
    return {"account": world.one(r), "path": {"id": world.post(r)[1]}}


def own_post(world, r):
    author, post = world.post(r)
    return {"account": author, "path": {"id": post}}


def own_celeb(world, r):
    one = world.one(r)
    return {"account": one, "path": world.celeb(r, one)}


def platform(world, r):
    return {"account": world.one(r), "path": {"platform": r.choice(["youtube", "instagram"])}}


def of(things):
    """One of the newest of a list, for the account that has it."""

    def find(world, r):
        owner, number = world.latest(r, getattr(world, things))
        return {"account": owner, "path": {"id": number}}

    return find


# MARK: Accounts


def open_account(world, r):
    name = world.new_name()
    body = {"username": r.choice([name, DROP]), "email": f"{name}@example.org", "avatar": DROP}
    if r.random() < 0.3:
        token = world.ask("issueUploadToken")["token"]
        headers = {"Content-Type": "image/png", "Upload-Token": token}
        body["avatar"] = world.ask("uploadPicture", body=picture(r), headers=headers)["id"]
    return {"body": body}


def sign_in(world, r):
    one = world.one(r)
    return {"body": {"email": one.email, "password": one.password}}


def _session(world, r):
    """A session besides the one that the account works with."""
    if not world.sessions:
        one = world.one(r)
        world.ask("signIn", body={"email": one.email, "password": one.password})
    return world.sessions.pop() if world.is_valid else world.sessions[-1]


def sign_out(world, r):
    one, token = _session(world, r)
    return {"account": one, "token": token}


def request_reset(world, r):
    if not world.is_valid:
        return {"body": {"email": world.one(r).email}}
    # The reset ends its sessions.
    spare = world.spare(r)
    world.resets.append(spare.email)
    return {"body": {"email": spare.email}}


def reset_password(world, r):
    return {"path": {"token": world.mailed_token(world.resets)}}


def request_confirmation(world, r):
    return {"body": {"email": world.one(r).email}}


def confirm_email(world, r):
    return {"path": {"token": world.mailed_token(world.changes)}}


def change_email(world, r):
    address = f"{world.new_name()}@example.org"
    if not world.is_valid:
        spare = world.borrowed(r)
        return {"account": spare, "body": {"email": address, "password": spare.password}}
    # Kept: another change, or the end of the account, would end the token.
    spare = world.spare(r)
    world.changes.append(address)
    world.owners[address] = spare
    return {"account": spare, "body": {"email": address, "password": spare.password}}


def confirm_deletion(world, r):
    return {"path": {"token": world.mailed_token(world.deletions)}}


def delete_account(world, r):
    spare = world.spare(r)
    if world.is_valid and (len(world.deletions) < 2 or r.random() < 0.3):
        # As an import from Firebase leaves it: the owner confirms the deletion by mail.
        world.run.database.execute("UPDATE accounts SET password_hash = NULL WHERE id = %s", (spare.id,))
        world.deletions.append(spare.email)
        return {"account": spare, "body": {"password": DROP}}
    return {"account": spare, "body": {"password": spare.password}}


def change_account(world, r):
    one = world.one(r)
    if r.random() < 0.1:
        one = world.borrowed(r)
        return {"account": one, "body": {"username": world.new_name(), "avatar": DROP}}
    avatar = r.choice([DROP, None, *one.media[:1]])
    return {"account": one, "body": {"username": DROP, "avatar": avatar, "adult": True}}


def change_password(world, r):
    spare = world.borrowed(r)
    return {"account": spare, "body": {"old": spare.password}}


def end_session(world, r):
    one, _ = _session(world, r)
    others = [each["id"] for each in world.ask("listSessions", one)["items"] if not each["isCurrent"]]
    if not others:
        raise Failed("another request has ended the session")
    return {"account": one, "path": {"id": others[0]}}


def end_sessions(world, r):
    return {"account": world.borrowed(r)}


def fetch_export(world, r):
    return {"path": {"token": world.mailed_token(world.exports)}, "headers": {"Range": DROP}}


def request_export(world, r):
    if not world.is_valid:
        return {"account": world.borrowed(r)}
    # Kept: the file goes with its account.
    spare = world.spare(r)
    world.exports.append(spare.email)
    return {"account": spare}


# MARK: Posts


def create_post(world, r):
    one = world.one(r)
    return {"account": one, "body": {"media": r.choice([DROP, [], one.media[-1:]]), "image": DROP}}


def edit_post(world, r):
    author, post = world.post(r)
    return {"account": author, "path": {"id": post}, "body": {"media": DROP, "image": DROP}}


def delete_post(world, r):
    one = world.one(r)
    return {"account": one, "path": {"id": world.ask("createPost", one, body={"title": "Dusk"})["id"]}}


def delete_comment(world, r):
    one, post = world.one(r), world.post(r)[1]
    comment = world.ask("createComment", one, path={"id": post}, body={"text": "Lovely"})
    return {"account": one, "path": {"id": post, "comment": comment["id"]}}


def check_notifications(world, r):
    one = world.one(r)
    items = world.ask("listNotifications", one)["items"]
    if items and r.random() < 0.5:
        return {"account": one, "body": {"ids": [items[0]["id"]], "upTo": DROP}}
    return {"account": one, "body": {"ids": DROP, "upTo": r.randrange(2**53)}}


def read_conversation(world, r):
    sender, name, message = world.latest(r, world.messages)
    reader = next((each for each in world.cast if each.name == name), None)
    if reader is None:
        raise Failed("the reader has another name now")
    return {"account": reader, "path": {"name": sender.name}, "body": {"upTo": message}}


def listen(world, r):
    return {"account": world.one(r), "query": {"posts": str(world.post(r)[1])}, "headers": {"Last-Event-ID": DROP}}


# MARK: Pictures


def upload_picture(world, r):
    headers = {"Content-Type": "image/png"}
    if world.upload_tokens and r.random() < 0.3:
        return {"headers": {**headers, "Upload-Token": world.upload_tokens.pop()}, "body": picture(r)}
    return {"account": world.one(r), "headers": {**headers, "Upload-Token": DROP}, "body": picture(r)}


def delete_upload(world, r):
    one = world.one(r)
    return {"account": one, "path": {"id": world.upload(r, one)}}


def show_picture(world, r):
    _, number = world.latest(r, world.media[:60])
    headers = {} if r.random() < 0.3 else {"If-None-Match": DROP, "Range": DROP, "If-Range": DROP}
    return {"path": {"id": number, "size": r.choice(["thumb", "feed", "full"])}, "headers": headers}


# MARK: Celebs


def register_celeb(world, r):
    one = world.one(r)
    if len(one.celebs) >= 3:
        return {"account": one, "path": world.celeb(r, one)}
    youtube = {"platform": "youtube", "account": world.new_channel(r)}
    return {"account": one, "path": r.choice([youtube, {"platform": "instagram", "account": f"s.{r.randrange(999)}"}])}


def replace_celeb(world, r):
    one = world.one(r)
    return {"account": one, "path": world.celeb(r, one), "body": {
        "platform": r.choice(["instagram", 1]), "account": f"new.{r.randrange(10**9)}"}}


def give_heart(world, r):
    # A celeb gets one heart in ten minutes.
    call = replace_celeb(world, r)
    world.ask("replaceCeleb", call["account"], path=call["path"], body=call["body"])
    return {"account": call["account"], "path": {"platform": "instagram", "account": call["body"]["account"]}}


def edit_celeb(world, r):
    return {**own_celeb(world, r), "body": {"position": r.choice([DROP, 1])}}


def search_channels(world, r):
    words = f"{r.choice(['dawn', 'an artist', 'moon', 'sea'])} {r.randrange(300)}"
    more = r.choice([DROP, True, False])
    return {"account": world.one(r), "query": {"platform": "youtube", "more": more, "q": words}}


def certificate(world, r):
    # Older ones are revoked when their fan removes the celeb.
    if not world.certificates or r.random() < 0.5:
        one = world.one(r)
        world.ask("issueCertificate", one, path=world.celeb(r, one))
    _, token = world.certificates[-1]
    return {"path": {"token": token}, "headers": {"If-None-Match": DROP}}


def purchase(world, r):
    key = world.settings.get("FANMILL_PURCHASE_KEY")
    if not key:
        raise Failed("the stack has no FANMILL_PURCHASE_KEY")
    token = world.ask("listPurchases", world.one(r))["token"]
    payload = {
        "type": r.choice(["purchase", "refund", "refund_reversed"]), "receipt": f"{world.run.mark}-{r.randrange(200)}",
        "account": token, "celebs": r.randint(1, 3), "product": "two", "at": world.run.now}
    message = f"{text64(json.dumps({'alg': 'HS256'}).encode())}.{text64(json.dumps(payload).encode())}"
    code = hmac.new(key.encode(), message.encode(), hashlib.sha256).digest()
    return {"body": {"notice": f"{message}.{text64(code)}", "signedPayload": DROP}}


# MARK: Agreements


def begin_meeting(world, r):
    body = {"publicKey": text64(r.randbytes(64)), "commitment": text64(r.randbytes(32))}
    return {"account": world.one(r), "body": body}


def join_meeting(world, r):
    meeting = world.meeting(r, joined=False)
    joiner = meeting.sides[meeting.joiner].introduction()
    return {"account": meeting.joiner, "body": {"host": meeting.host.name, "code": meeting.code, **joiner}}


def open_commitment(world, r):
    meeting = world.meeting(r, opened=False)
    nonce = text64(meeting.sides[meeting.host].nonce)
    return {"account": meeting.host, "path": {"id": meeting.id}, "body": {"nonce": nonce}}


def met(world, r):
    meeting = world.meeting(r)
    return {"account": r.choice([meeting.host, meeting.joiner]), "path": {"id": meeting.id}}


def send_sealed(world, r):
    call = met(world, r)
    return {**call, "path": {**call["path"], "number": 1}, "body": {"body": text64(r.randbytes(40)), "number": DROP}}


def seal_record(world, r):
    meeting = world.meeting(r)
    body = {**meeting.seal(meeting.host, r.randbytes(40)), "copy": text64(r.randbytes(64)), "expiresAt": world.run.soon}
    return {"account": meeting.host, "path": {"id": meeting.id}, "body": body}


def one_agreement(world, r):
    if not world.agreements or r.random() < 0.2:
        world.agreement(r)
    return of("agreements")(world, r)


def delete_agreement(world, r):
    world.agreement(r)
    owner, number = world.agreements.pop()
    return {"account": owner, "path": {"id": number}}


def keep_backup(world, r):
    body = {"salt": text64(r.randbytes(16)), "secret": text64(r.randbytes(32)), "locked": text64(r.randbytes(60))}
    return {"account": world.one(r), "body": {**body, "proof": text64(labelled("x", r.randbytes(8)))}}


def backup(world, r):
    one = world.one(r)
    if not one.backup:
        call = keep_backup(world, r)
        world.ask("keepBackup", one, body=call["body"])
    return {"account": one}


def open_backup(world, r):
    call = backup(world, r)
    return {**call, "body": {"proof": call["account"].backup}}


# MARK: Safety, operators, the document


def spare_person(world, r):
    return {"account": world.borrowed(r), "path": {"name": world.one(r).name}}


def report(world, r):
    author, post = world.post(r)
    subjects = dict.fromkeys(["post", "comment", "user", "message", "agreement"], DROP)
    subjects |= r.choice([{"post": post}, {"user": author.name}])
    return {"account": world.borrowed(r), "body": subjects}


def enqueue_job(world, r):
    body = {
        "payload": {}, "queue": DROP, "runAt": r.choice([DROP, "2100-01-01T00:00:00Z"]),
        "uniqueKey": r.choice([DROP, world.new_name()])}
    return {"token": world.settings.get("FANMILL_ADMIN_TOKEN"), "path": {"name": "sessions.sweep"}, "body": body}


def read_job(world, r):
    _, number = world.latest(r, world.jobs)
    return {"token": world.settings.get("FANMILL_ADMIN_TOKEN"), "path": {"name": number}}


def read_autoscaling(world, r):
    queue = r.choice(["fanout", "default", "hearts"])
    return {"token": world.settings.get("FANMILL_ADMIN_READ_TOKEN"), "path": {"queue": queue}}


def nothing(world, r):
    return {}


def unless_cached(world, r):
    return {"headers": {"If-None-Match": DROP}} if r.random() < 0.7 else {}


VALID = {
    "openAccount": open_account, "signIn": sign_in, "signOut": sign_out, "requestPasswordReset": request_reset,
    "resetPassword": reset_password, "requestConfirmation": request_confirmation, "confirmEmail": confirm_email,
    "confirmDeletion": confirm_deletion, "changeAccount": change_account, "deleteAccount": delete_account,
    "changePassword": change_password, "changeEmail": change_email, "endOtherSessions": end_sessions,
    "endSession": end_session, "requestExport": request_export, "fetchExport": fetch_export,
    "readUser": person, "follow": person, "unfollow": person, "searchUsers": listed(account),
    "listFollowers": listed(person), "listFollowing": listed(person), "listUserPosts": listed(person),
    "createPost": create_post, "searchPosts": listed(account), "readPost": any_post, "editPost": edit_post,
    "deletePost": delete_post, "readFanOut": own_post, "readHomeFeed": listed(account),
    "readFollowingFeed": listed(account), "createComment": any_post, "listComments": listed(any_post),
    "deleteComment": delete_comment, "like": any_post, "unlike": any_post, "listLikes": listed(account),
    "listNotifications": listed(account), "checkNotifications": check_notifications,
    "listConversations": listed(account), "listMessages": listed(person), "sendMessage": person,
    "readConversation": read_conversation, "listen": listen, "uploadPicture": upload_picture,
    "issueUploadToken": nothing, "readUpload": of("media"), "deleteUpload": delete_upload,
    "showPicture": show_picture, "showPictureHead": show_picture, "readCeleb": own_celeb,
    "registerCeleb": register_celeb, "editCeleb": edit_celeb, "removeCeleb": own_celeb, "replaceCeleb": replace_celeb,
    "giveHeart": give_heart, "searchChannels": search_channels, "readLookup": of("lookups"),
    "readRanking": lambda world, r: {**platform(world, r), "query": {"before": DROP}}, "readHistory": own_celeb,
    "issueCertificate": own_celeb, "checkCertificate": certificate, "showSVGCard": certificate,
    "showPNGCard": certificate, "listKeys": nothing, "takePurchaseNotice": purchase, "beginMeeting": begin_meeting,
    "joinMeeting": join_meeting, "readMeeting": met, "leaveMeeting": met, "openCommitment": open_commitment,
    "listSealedMessages": met, "sendSealedMessage": send_sealed, "sealRecord": seal_record,
    "listAgreements": listed(account), "readAgreement": one_agreement, "deleteAgreement": delete_agreement,
    "withdraw": one_agreement, "readBackup": backup, "keepBackup": keep_backup, "deleteBackup": backup,
    "openBackup": open_backup, "block": spare_person, "unblock": spare_person, "mute": spare_person,
    "unmute": spare_person, "listBlocks": listed(account), "listMutes": listed(account), "report": report,
    "listNotices": listed(account), "enqueueJob": enqueue_job, "readJob": read_job,
    "readAutoscaling": read_autoscaling, "readDocument": unless_cached, "showDocs": nothing,
    "showDocsPage": nothing, "showDocsStyle": nothing,
}
# Those that hash passwords, send mails or need a scene of other requests are sent less often.
COSTLY = {
    "openAccount", "signIn", "signOut", "requestPasswordReset", "resetPassword", "requestConfirmation", "confirmEmail",
    "confirmDeletion", "deleteAccount", "changePassword", "changeEmail", "endSession", "requestExport", "fetchExport",
    "joinMeeting", "readMeeting", "leaveMeeting", "openCommitment", "listSealedMessages", "sendSealedMessage",
    "sealRecord", "deleteAgreement", "beginMeeting",
}
# They send mails, whose tokens others need.
MAILING = ["requestPasswordReset", "changeEmail", "deleteAccount", "requestExport"]


def valid_call(operation, world, r, case):
    """A valid request: the document's example or the generated case, with the parts that must exist."""
    parts = VALID.get(operation.id, account)(world, r)
    use = case if r.random() < 0.6 else None
    call = Call(operation, parts.get("account"), token=parts.get("token"))
    call.path = {**operation.examples("path"), **parts.get("path", {})}
    call.query = _kept({**(use.query if use else {}), **parts.get("query", {})})
    call.headers = _kept({**(use.headers if use else {}), **parts.get("headers", {})})
    if r.random() < 0.8:
        # Many cases have the example's key, and a repeated key repeats the answer.
        call.headers.pop("Idempotency-Key", None)
    body = parts.get("body", {})
    if isinstance(body, bytes):
        call.body = body
    elif operation.body is not None:
        base = use.body if use and isinstance(use.body, dict) else operation.body_example
        call.body = _kept({**(base or {}), **body})
    return call


def _kept(parts):
    return {name: value for name, value in parts.items() if value is not DROP}
