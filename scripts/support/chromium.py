"""A headless Chromium, driven by the DevTools protocol over a pipe: no driver, no packages, no port."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Failed(Exception):
    """An awaited condition did not occur, or the browser returned an error."""


class Browser:
    """A browser with a temporary profile."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not program:
            raise Failed("no chromium here: `make setup` installs it")
        self.profile = tempfile.mkdtemp(prefix="fanmill-browser-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        arguments = [
            program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "--no-first-run",
            "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
            "--font-render-hinting=none", "about:blank",
        ]
        if os.getuid() == 0:
            arguments.insert(1, "--no-sandbox")

        def connect():
            # The protocol uses descriptors 3 and 4. Both ends are moved out of the way first, wherever they are.
            one, other = os.dup(to_browser), os.dup(from_browser)
            while one in (3, 4):
                one = os.dup(one)
            while other in (3, 4):
                other = os.dup(other)
            os.dup2(one, 3)
            os.dup2(other, 4)

        self._process = subprocess.Popen(
            arguments, preexec_fn=connect, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._events = []
        self.complaints = []

    def close(self):
        try:
            self.call("Browser.close", limit=10)
        except (Failed, OSError):
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # The protocol

    def call(self, method, session=None, limit=60, **parameters):
        """Sends a command to the browser and waits for its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + limit
        while True:
            answer = self._next(deadline, method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error'].get('message')}")
                return answer.get("result", {})

    def event(self, name, session, limit=60):
        """Waits for an event that arrives from now on, or has arrived since `forget`."""
        deadline = time.monotonic() + limit
        while True:
            for event in self._events:
                if event["method"] == name and event.get("sessionId") == session:
                    self._events.remove(event)
                    return event["params"]
            self._next(deadline, name)

    def forget(self, name):
        self._events = [event for event in self._events if event["method"] != name]

    def _next(self, deadline, what):
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise Failed(f"no answer from the browser to {what}")
            chunk = os.read(self._in, 1 << 20)
            if not chunk:
                raise Failed(f"the browser has ended, with status {self._process.poll()}")
            self._buffer += chunk
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self._note(message)
            self._events.append(message)
        return message

    def _note(self, message):
        """Records a page's errors: a script's exception, or something that its policy forbids."""
        parameters = message["params"]
        if message["method"] == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            exception = details.get("exception", {}).get("description")
            self.complaints.append(exception or details.get("text", "an exception"))
        elif message["method"] == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            said = [str(one.get("value", one.get("description"))) for one in parameters["args"]]
            self.complaints.append("console: " + " ".join(said))
        elif message["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            entry = parameters["entry"]
            # Some tests expect an error status.
            if entry["source"] != "network":
                self.complaints.append(f"{entry['source']}: {entry['text']}")

    def page(self, **options):
        return Page(self, **options)


class Page:
    """A tab, with separate cookies unless it is in the context of another."""

    def __init__(self, browser, width=1280, height=900, dark=False, phone=False, scale=1, context=None):
        self.browser = browser
        self.context = context or browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.call(f"{domain}.enable")
        self.look(width, height, dark, phone, scale)

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def look(self, width, height, dark=False, phone=False, scale=1):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def go(self, url):
        self.browser.forget("Page.loadEventFired")
        error = self.call("Page.navigate", url=url).get("errorText")
        if error:
            raise Failed(f"{url}: {error}")
        self.browser.event("Page.loadEventFired", self.session)

    def value(self, expression):
        """Evaluates an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(f"{expression}: {answer['exceptionDetails'].get('text')}")
        return answer["result"].get("value")

    def text(self):
        return self.value("document.querySelector('main').innerText")

    def wait(self, what, condition, reload=False, limit=90):
        """Waits until an expression holds; `reload` requests the page again each time."""
        deadline = time.monotonic() + limit
        while True:
            if self.value(condition):
                return
            if time.monotonic() > deadline:
                raise Failed(f"never happened: {what}\n{self.text()}")
            time.sleep(0.1)
            if reload:
                self.go(self.value("location.href"))

    def _place(self, find):
        place = self.value(
            "(() => { const e = " + find + "; if (!e) return null; e.scrollIntoView({block: 'center'});"
            " const r = e.getBoundingClientRect(); const x = r.x + r.width / 2, y = r.y + r.height / 2;"
            " const hit = document.elementFromPoint(x, y);"
            " return {x, y, seen: !!hit && (hit === e || e.contains(hit) || hit.contains(e))}; })()")
        if not place:
            raise Failed(f"nothing to click: {find}\n{self.text()}")
        if not place["seen"]:
            raise Failed(f"something lies over it: {find}")
        return place["x"], place["y"]

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def point(self, find):
        """Moves the mouse onto the element of an expression, and after it if it moves meanwhile."""
        place = self._place(find)
        while True:
            self.move(*place)
            before, place = place, self._place(find)
            if place == before:
                return place

    def click(self, find, leads_on=True):
        """Clicks with the mouse on the element of an expression, as a reader would, and waits for the next page."""
        x, y = self.point(find)
        self.browser.forget("Page.loadEventFired")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        if leads_on:
            self.browser.event("Page.loadEventFired", self.session)

    def button(self, label, within="document"):
        """Clicks on the button or link with this label."""
        self.click(
            f"[...{within}.querySelectorAll('button, a')]"
            f".find(e => e.innerText.trim().startsWith({json.dumps(label)}))")

    def type(self, find, text):
        self.click(find, leads_on=False)
        self.call("Input.insertText", text=text)

    def key(self, name, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def screenshot(self, path):
        kind = {".png": {"format": "png"}, ".webp": {"format": "webp", "quality": 85}}[os.path.splitext(path)[1]]
        data = self.call("Page.captureScreenshot", **kind)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
