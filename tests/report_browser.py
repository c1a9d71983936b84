"""A browser, driven over its debugging pipe with Python's standard library alone."""
import base64, json, os, shutil, subprocess, tempfile


def find_chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """A headless Chromium with one page."""

    def __init__(self, width=1280, height=900):
        self.profile = tempfile.mkdtemp()
        commands_read, self.commands = os.pipe()
        self.answers, answers_write = os.pipe()

        # Chromium reads commands from descriptor 3 and writes answers to 4. Both are first moved out of the way of these.
        def connect():
            read, write = os.dup(commands_read), os.dup(answers_write)
            os.dup2(read, 3), os.dup2(write, 4)
            os.set_inheritable(3, True), os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands_read), os.close(answers_write)
        self.buffer, self.number, self.events = b"", 0, []
        self.session = None
        self.version = self.call("Browser.getVersion")["product"]
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.commands), os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def read_message(self):
        while b"\0" not in self.buffer:
            block = os.read(self.answers, 1 << 20)
            if not block:
                raise RuntimeError("Chromium ended")
            self.buffer += block
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self.read_message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, event):
        while not any(message.get("method") == event for message in self.events):
            self.events.append(self.read_message())

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}")
        self.wait_for("Page.loadEventFired")

    def run(self, script):
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(f"{script[:80]}: {details.get('exception', details)}")
        return answer["result"].get("value")

    def problems(self):
        """Errors that the page logged, and addresses that it asked for besides itself."""
        found = []
        for message in self.events:
            method, what = message.get("method"), message.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(what["exceptionDetails"])[:300])
            if method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                found.append(what["entry"]["text"])
            if method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(("file:", "data:")):
                found.append(f"asks for {what['request']['url']}")
        return found

    def resize(self, width, height, is_phone=False, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=is_phone)

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            text = "\r" if key == "Enter" and kind == "keyDown" else ""
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
