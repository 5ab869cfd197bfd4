"""The differences of two documents of the API, by kind; scripts/api-diff states what is breaking."""

import json
import re

# Limits by name: in words, and whether a larger value admits more.
LIMITS = {
    "minLength": ("at least {} characters", False), "maxLength": ("at most {} characters", True),
    "minimum": ("at least {}", False), "maximum": ("at most {}", True),
    "minItems": ("at least {} items", False), "maxItems": ("at most {} items", True),
}


class Schema:
    """A schema in the form that is compared: references are resolved, and null is apart."""

    def __init__(self, document, json_schema):
        self.name = None
        self.is_nullable = False
        while True:
            choices = json_schema.get("oneOf", [])
            rest = [choice for choice in choices if choice != {"type": "null"}]
            if len(rest) < len(choices):
                self.is_nullable = True
            if "$ref" in json_schema:
                self.name = json_schema["$ref"].rsplit("/", 1)[1]
                json_schema = document["components"]["schemas"][self.name]
            elif len(rest) == 1:
                json_schema = rest[0]
            else:
                break
        self.json = json_schema
        self.choices = sorted(json.dumps(_plain(choice), sort_keys=True) for choice in rest)
        types = json_schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        self.is_nullable |= "null" in types and len(types) > 1
        self.types = [each for each in types if each != "null" or len(types) == 1]
        values = json_schema.get("enum")
        self.values = None if values is None else [each for each in values if each is not None]
        self.required = set(json_schema.get("required", []))
        self.properties = json_schema.get("properties", {})

    @property
    def words(self):
        return " or ".join(self.types) or ("one of several" if self.choices else "anything")


def _plain(value):
    """Without words, which do not matter here."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key not in ("description", "example")}
    return [_plain(each) for each in value] if isinstance(value, list) else value


class Difference:
    def __init__(self, old, new):
        self.old, self.new = old, new
        # Texts by kind, in order, without repetition: the same schema is in many answers.
        self.found = {kind: {} for kind in ("breaking", "removed", "deprecated", "added", "changed")}
        self.compared = set()
        self.operations()
        self.events()

    def say(self, kind, text):
        self.found[kind][text] = None

    # MARK: Operations

    def operations(self):
        old, new = _operations(self.old), _operations(self.new)
        for key in old.keys() - new.keys():
            self.say("breaking", f"{_title(old[key])} is gone")
        for key in new.keys() - old.keys():
            self.say("added", f"{_title(new[key])}: {new[key]['summary']}")
        for key in sorted(old.keys() & new.keys()):
            self.operation(old[key], new[key])

    def operation(self, old, new):
        title = _title(new)
        if old["operationId"] != new["operationId"]:
            self.say("breaking", f"{title}: the id was {old['operationId']}")
        if new.get("deprecated") and not old.get("deprecated"):
            self.say("deprecated", title)
        before, after = (
            {" and ".join(sorted(scheme)) or "none" for scheme in each.get("security") or [{}]} for each in (old, new))
        # Without credentials, every one is accepted.
        if "none" not in after:
            for scheme in before - after:
                self.say("breaking", f"{title}: no longer works with the credential `{scheme}`")
        for scheme in after - before:
            self.say("changed", f"{title}: works with the credential `{scheme}`")
        self.parameters(title, old, new)
        self.body(title, old, new)
        self.responses(title, old, new)

    def parameters(self, title, old, new):
        # A path is the same whatever its parameters are called.
        old, new = (
            {(each["in"], each["name"]): each for each in operation.get("parameters", [])
             if each["in"] != "path"} | {
                ("path", index): each for index, each in enumerate(
                    each for each in operation.get("parameters", []) if each["in"] == "path")}
            for operation in (old, new))
        for key in old.keys() - new.keys():
            self.say("breaking", f"{title}: the {key[0]} parameter `{key[1]}` is gone")
        for key in new.keys() - old.keys():
            is_required = new[key].get("required", False)
            kind = "breaking" if is_required else "added"
            self.say(kind, f"{title}: {'required' if is_required else 'optional'} {key[0]} parameter `{key[1]}`")
        for key in old.keys() & new.keys():
            place = f"{title}: the {key[0]} parameter `{new[key]['name']}`"
            if new[key].get("required") and not old[key].get("required"):
                self.say("breaking", f"{place} is required")
            self.deprecation(place, old[key], new[key])
            self.schemas(place, old[key]["schema"], new[key]["schema"], is_request=True)

    def body(self, title, old, new):
        old, new = (each.get("requestBody", {}) for each in (old, new))
        if new.get("required") and not old.get("required"):
            self.say("breaking", f"{title}: a body is required")
        self.contents(title, "the request", old, new, is_request=True)

    def responses(self, title, old, new):
        old, new = (
            {status: _response(document, each) for status, each in operation["responses"].items()}
            for document, operation in ((self.old, old), (self.new, new)))
        for status in old.keys() | new.keys():
            if status == "default":
                continue
            codes = set(_codes(new.get(status, {}))) - set(_codes(old.get(status, {})))
            for code in sorted(codes):
                self.say("added", f"{title}: {status} `{code}`")
            gone = set(_codes(old.get(status, {}))) - set(_codes(new.get(status, {})))
            for code in sorted(gone):
                self.say("removed", f"{title}: {status} `{code}`")
            if status not in new or status not in old:
                self.status(title, status, is_new=status in new)
                continue
            for header in old[status].get("headers", {}).keys() - new[status].get("headers", {}).keys():
                self.say("breaking", f"{title}: {status} has no header `{header}`")
            for header in new[status].get("headers", {}).keys() - old[status].get("headers", {}).keys():
                self.say("added", f"{title}: {status} has the header `{header}`")
            if not status.startswith(("4", "5")):
                self.contents(title, f"{status}", old[status], new[status], is_request=False)

    def status(self, title, status, is_new):
        # A problem's statuses are in the lines of its codes.
        if status.startswith("2"):
            self.say("breaking", f"{title}: the success {status} is {'new' if is_new else 'gone'}")
        elif status.startswith("3") and not is_new:
            self.say("removed", f"{title}: {status}")
        elif status.startswith("3"):
            self.say("added", f"{title}: {status}")

    def contents(self, title, what, old, new, is_request):
        old, new = (each.get("content", {}) for each in (old, new))
        for kind in old.keys() - new.keys():
            self.say("breaking", f"{title}: {what} is no longer {kind}")
        for kind in new.keys() - old.keys():
            self.say("added", f"{title}: {what} may be {kind}")
        for kind in old.keys() & new.keys():
            place = f"{title}: {what}"
            self.schemas(place, old[kind].get("schema", {}), new[kind].get("schema", {}), is_request)

    # MARK: Schemas

    def deprecation(self, place, old, new):
        if new.get("deprecated") and not old.get("deprecated"):
            self.say("deprecated", place)

    def schemas(self, place, old, new, is_request):
        old, new = Schema(self.old, old), Schema(self.new, new)
        if old.name and old.name == new.name:
            if (old.name, is_request) in self.compared:
                self.nullability(place, old, new, is_request)
                return
            self.compared.add((old.name, is_request))
            self.nullability(place, old, new, is_request)
            place = f"`{old.name}` in {'requests' if is_request else 'answers'}"
        else:
            self.nullability(place, old, new, is_request)
        self.types(place, old, new, is_request)
        self.values(place, old, new, is_request)
        self.limits(place, old, new, is_request)
        self.fields(place, old, new, is_request)
        if "items" in old.json and "items" in new.json:
            self.schemas(f"{place}, each item", old.json["items"], new.json["items"], is_request)

    def nullability(self, place, old, new, is_request):
        if old.is_nullable and not new.is_nullable:
            self.say("breaking" if is_request else "changed", f"{place} cannot be null")
        if new.is_nullable and not old.is_nullable:
            self.say("changed" if is_request else "breaking", f"{place} may be null")

    def types(self, place, old, new, is_request):
        narrow, wide = (new, old) if is_request else (old, new)
        # Every integer is a number; no type at all is every type.
        admitted = set(narrow.types) | ({"integer"} if "number" in narrow.types else set())
        lost = set(wide.types) - admitted if narrow.types else set()
        if narrow.types and not wide.types and not wide.choices:
            lost = {"anything"}
        if lost:
            self.say("breaking", f"{place} is {new.words}, and was {old.words}")
        elif sorted(old.types) != sorted(new.types):
            self.say("changed", f"{place} is {new.words}, and was {old.words}")
        gone = set(wide.choices) - set(narrow.choices) if narrow.choices or wide.choices else set()
        if gone and not lost:
            self.say("breaking", f"{place} has other alternatives")
        elif old.choices != new.choices and not lost:
            self.say("changed", f"{place} has other alternatives")

    def values(self, place, old, new, is_request):
        if old.values == new.values:
            return
        before, after = old.values, new.values
        gone = [each for each in before or [] if after is not None and each not in after]
        more = [each for each in after or [] if before is not None and each not in before]
        if before is None:
            self.say("breaking" if is_request else "changed", f"{place} is one of {', '.join(map(str, after))}")
        elif after is None:
            self.say("changed" if is_request else "breaking", f"{place} may have any value")
        for each in gone:
            self.say("breaking" if is_request else "changed", f"{place} is never `{each}`")
        for each in more:
            self.say("changed" if is_request else "breaking", f"{place} may be `{each}`")

    def limits(self, place, old, new, is_request):
        for name, (words, grows) in LIMITS.items():
            before, after = old.json.get(name), new.json.get(name)
            if before == after:
                continue
            if after is None:
                self.say("changed", f"{place} need not be {words.format(before)}")
                continue
            narrows = before is None or (after < before if grows else after > before)
            self.say("breaking" if narrows and is_request else "changed", f"{place} is {words.format(after)}")
        for name in ("pattern", "format"):
            before, after = old.json.get(name), new.json.get(name)
            if before != after:
                is_breaking = after is not None if is_request else before is not None
                text = f"{place} has the {name} {after}" if after else f"{place} has not the {name} {before}"
                self.say("breaking" if is_breaking else "changed", text)

    def fields(self, place, old, new, is_request):
        for name in old.properties.keys() - new.properties.keys():
            self.say("breaking", f"{place}: the field `{name}` is gone")
        for name in new.properties.keys() - old.properties.keys():
            if is_request and name in new.required:
                self.say("breaking", f"{place}: required field `{name}`")
            else:
                self.say("added", f"{place}: field `{name}`")
        for name in old.properties.keys() & new.properties.keys():
            field = f"{place}: the field `{name}`"
            if name in new.required - old.required:
                self.say("breaking" if is_request else "changed", f"{field} is required")
            if name in old.required - new.required:
                self.say("changed" if is_request else "breaking", f"{field} may be missing")
            self.deprecation(field, old.properties[name], new.properties[name])
            self.schemas(field, old.properties[name], new.properties[name], is_request)

    # MARK: Events

    def events(self):
        old, new = ({each["event"]: each for each in document.get("x-events", [])} for document in (self.old, self.new))
        for name in old.keys() - new.keys():
            self.say("breaking", f"the event `{name}` is gone")
        for name in new.keys() - old.keys():
            self.say("added", f"event `{name}`: {new[name]['description']}")
        for name in old.keys() & new.keys():
            if old[name].get("hasId") and not new[name].get("hasId"):
                self.say("breaking", f"the event `{name}` has no id")
            self.schemas(f"the event `{name}`", old[name]["data"], new[name]["data"], is_request=False)


def _operations(document):
    return {
        (re.sub(r"\{[^}]*\}", "{}", path), method): {**item, "path": path, "method": method.upper()}
        for path, items in document["paths"].items() for method, item in items.items()}


def _title(operation):
    return f"{operation['method']} {operation['path']}"


def _response(document, response):
    while "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
    return response


def _codes(response):
    yield from response.get("x-codes", [])
    schema = response.get("content", {}).get("application/problem+json", {}).get("schema", {})
    for part in schema.get("allOf", []):
        yield from part.get("properties", {}).get("code", {}).get("enum", [])
