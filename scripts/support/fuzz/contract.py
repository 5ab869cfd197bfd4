"""What the API's document promises of each operation's answers, and how an answer breaks it."""

import json
import re

import jsonschema_rs

# Codes of the HTTP server, below the routes: the document has them under `default`.
BELOW_ROUTES = {"malformed_request", "request_timeout", "too_many_connections"}
# Headers of some answers only: a cookie is set on request, and the budgets' are left out while Redis is slow.
OCCASIONAL = {"set-cookie"}
BUDGETS = {"ratelimit", "ratelimit-policy"}


class Operation:
    def __init__(self, document, path, method, item):
        self.document = document
        self.path = path
        self.method = method.upper()
        self.id = item["operationId"]
        self.schemes = [name for scheme in item["security"] for name in scheme]
        self.parameters = item.get("parameters", [])
        self.responses = {status: self._resolved(response) for status, response in item["responses"].items()}
        contents = item.get("requestBody", {}).get("content", {})
        self.content_type, content = next(iter(contents.items()), (None, {}))
        self.body = content.get("schema")
        self.body_example = content.get("example")
        self._validators = {}
        # Headers of accepted requests, and those that are declared but did not come yet.
        self.seen, self.unseen = set(), set()

    def _resolved(self, response):
        while "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
        return response

    def examples(self, place):
        return {item["name"]: item["example"] for item in self.parameters if item["in"] == place and "example" in item}

    # MARK: Answers

    def violations(self, answer):
        """What the document does not say of this answer."""
        response = self.responses.get(str(answer.status))
        problem = answer.problem
        if response is None:
            if problem and problem.get("code") in BELOW_ROUTES:
                response = self.responses["default"]
            else:
                return [f"status {answer.status} ({answer.code or 'no code'}) is not declared"]
        if answer.status >= 500 and answer.status not in (501, 503, 507):
            return [f"status {answer.status}: {answer.code or 'no code'}"]
        found = [f"header {name} is missing" for name in self._missing(response, answer)]
        contents = response.get("content", {})
        if answer.method == "HEAD":
            return found + (["HEAD has a body"] if answer.body else [])
        if not contents:
            return found + (["a body, where none is declared"] if answer.body else [])
        kind = answer.headers.get("content-type", "").split(";")[0].strip()
        if kind not in contents:
            return found + [f"content type {kind or 'missing'} is not declared"]
        return found + self._body_violations(answer, kind, response)

    def _missing(self, response, answer):
        # A problem that never passes has no Retry-After: both kinds share the status 503.
        if answer.status == 503:
            return []
        declared = {name.lower(): name for name in response.get("headers", {})}
        if answer.is_success:
            self.unseen |= BUDGETS & declared.keys() - self.seen
            self.seen |= answer.headers.keys()
            self.unseen -= self.seen
        return [declared[name] for name in declared.keys() - answer.headers.keys() - OCCASIONAL - BUDGETS]

    def _body_violations(self, answer, kind, response):
        if not kind.endswith("json"):
            return []
        try:
            value = json.loads(answer.body)
        except ValueError as error:
            return [f"the body is not JSON: {error}"]
        if kind == "application/problem+json" and isinstance(value, dict):
            if value.get("status") != answer.status:
                return [f"the body's status is {value.get('status')}"]
            # The code of a list's element ends with its index.
            value["code"] = re.sub(r"\.\d+$", "", str(value.get("code")))
            if value["code"] not in response.get("x-codes", [value["code"]]):
                return [f"the code {value['code']} is not declared"]
        key = (answer.status, kind)
        if key not in self._validators:
            schema = response["content"][kind].get("schema", {})
            rooted = dict(schema, components=self.document["components"])
            self._validators[key] = jsonschema_rs.Draft202012Validator(rooted, validate_formats=True)
        return [_words(error) for error in self._validators[key].iter_errors(value)][:3]


def _words(error):
    # Without indexes and ids, so that the same failure of two answers is one.
    place = "/".join("*" if isinstance(part, int) else part for part in error.instance_path)
    return f"{place or 'the body'}: {re.sub(r'[0-9]{4,}', 'N', error.message)[:160]}"


def operations(document):
    """All operations by id."""
    found = {}
    for path, items in document["paths"].items():
        for method, item in items.items():
            operation = Operation(document, path, method, item)
            found[operation.id] = operation
    return found


def without_credentials(document):
    """The document for generation: credentials come from the run, not from the generator."""
    plain = json.loads(json.dumps(document))
    plain["components"].pop("securitySchemes", None)
    for items in plain["paths"].values():
        for item in items.values():
            item.pop("security", None)
    return plain

