"""Pairs of small documents, and what api-diff must say of each."""

import copy

from api_difference import Difference

SMALL = {
    "paths": {"/v1/posts/{id}": {"put": {
        "operationId": "edit", "summary": "Edits.", "security": [{"session": []}],
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
            {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": {
            "type": "object", "required": ["title"], "properties": {
                "title": {"type": "string", "maxLength": 200},
                "kind": {"type": ["string", "null"], "enum": ["a", "b", None]},
            }}}}},
        "responses": {
            "200": {"headers": {"ETag": {}}, "content": {"application/json": {
                "schema": {"$ref": "#/components/schemas/Post"}}}},
            "404": {"$ref": "#/components/responses/not_found"}},
    }}},
    "components": {
        "schemas": {"Post": {"type": "object", "required": ["id", "state"], "properties": {
            "id": {"type": "integer"}, "text": {"type": "string"},
            "state": {"type": "string", "enum": ["new", "old"]}}}},
        "responses": {"not_found": {"content": {"application/problem+json": {"schema": {
            "allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"code": {"enum": ["not_found"]}}}]}}}}},
    },
    "x-events": [{
        "event": "post", "description": "A post.", "hasId": True, "data": {"type": "object", "properties": {}}}],
}
EDIT = "paths /v1/posts/{id} put "
BODY = EDIT + "requestBody content application/json schema "
POST = "components schemas Post "
CODES = "components responses not_found content application/problem+json schema allOf 1 properties code "
TITLE = "PUT /v1/posts/{id}: "
ANSWER = "`Post` in answers"
# A place, its new value (GONE without one), and the line; breaking if it begins with an exclamation mark.
GONE = object()
PAIRS = [
    ("paths /v1/posts/{id}", GONE, "!PUT /v1/posts/{id} is gone"),
    ("paths /v1/new", {"get": {"operationId": "new", "summary": "New.", "responses": {}}}, "GET /v1/new: New."),
    (EDIT + "operationId", "change", f"!{TITLE}the id was edit"),
    (EDIT + "deprecated", True, "PUT /v1/posts/{id}"),
    (EDIT + "security", [{"cookie": []}], f"!{TITLE}no longer works with the credential `session`"),
    (EDIT + "security", [], f"{TITLE}works with the credential `none`"),
    (EDIT + "parameters 1", GONE, f"!{TITLE}the query parameter `limit` is gone"),
    (EDIT + "parameters 1 required", True, f"!{TITLE}the query parameter `limit` is required"),
    (EDIT + "parameters 1 schema maximum", 50, f"!{TITLE}the query parameter `limit` is at most 50"),
    (EDIT + "parameters 1 schema maximum", 200, f"{TITLE}the query parameter `limit` is at most 200"),
    (BODY + "properties title maxLength", 100, f"!{TITLE}the request: the field `title` is at most 100 characters"),
    (BODY + "properties title type", "integer", f"!{TITLE}the request: the field `title` is integer, and was string"),
    (BODY + "properties title", GONE, f"!{TITLE}the request: the field `title` is gone"),
    (BODY + "properties more", {"type": "string"}, f"{TITLE}the request: field `more`"),
    (BODY + "required", ["title", "kind"], f"!{TITLE}the request: the field `kind` is required"),
    (BODY + "properties kind enum", ["a", None], f"!{TITLE}the request: the field `kind` is never `b`"),
    (BODY + "properties kind enum", ["a", "b", "c", None], f"{TITLE}the request: the field `kind` may be `c`"),
    (BODY + "properties kind type", "string", f"!{TITLE}the request: the field `kind` cannot be null"),
    (EDIT + "responses 200", GONE, f"!{TITLE}the success 200 is gone"),
    (EDIT + "responses 202", {}, f"!{TITLE}the success 202 is new"),
    (EDIT + "responses 200 headers ETag", GONE, f"!{TITLE}200 has no header `ETag`"),
    (POST + "properties text", GONE, f"!{ANSWER}: the field `text` is gone"),
    (POST + "properties more", {"type": "string"}, f"{ANSWER}: field `more`"),
    (POST + "required", ["id"], f"!{ANSWER}: the field `state` may be missing"),
    (POST + "properties id type", ["integer", "null"], f"!{ANSWER}: the field `id` may be null"),
    (POST + "properties id type", "number", f"!{ANSWER}: the field `id` is number, and was integer"),
    (POST + "properties state enum", ["new", "old", "odd"], f"!{ANSWER}: the field `state` may be `odd`"),
    (POST + "properties state enum", ["new"], f"{ANSWER}: the field `state` is never `old`"),
    (POST + "properties text maxLength", 9, f"{ANSWER}: the field `text` is at most 9 characters"),
    (CODES + "enum", ["not_found", "gone"], f"{TITLE}404 `gone`"),
    (CODES + "enum", ["gone"], f"{TITLE}404 `not_found`"),
    ("x-events 0", GONE, "!the event `post` is gone"),
    ("x-events 0 hasId", False, "!the event `post` has no id"),
    ("x-events 0 data properties id", {"type": "integer"}, "the event `post`: field `id`"),
]


def changed(document, place, value):
    document = copy.deepcopy(document)
    *parts, last = [int(part) if part.isdigit() and len(part) < 3 else part for part in place.split(" ")]
    inner = document
    for part in parts:
        inner = inner[part]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return document


def check():
    unequal = {kind: list(texts) for kind, texts in Difference(SMALL, SMALL).found.items() if texts}
    if unequal:
        raise SystemExit(f"api-diff: the same document differs: {unequal}")
    for place, value, line in PAIRS:
        found = Difference(SMALL, changed(SMALL, place, value)).found
        lines = {("!" if kind == "breaking" else "") + text for kind, texts in found.items() for text in texts}
        if line not in lines or not line.startswith("!") and found["breaking"]:
            raise SystemExit(f"api-diff: {place} makes {sorted(lines)}, not '{line}'")
