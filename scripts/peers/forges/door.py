"""Between Checkrein and its forge: who calls, what is answered instead, and who dies of it."""

import http.client
import http.server
import re
import threading
import urllib.parse


PUSHED = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) refs/heads/([^\0\n]+)")


class Call:
    """One call of a process: its kind, the kind before it, all kinds since the process began, what the job was then, and
    the branches that are made, moved and deleted by it."""

    def __init__(self, kind, asked, state, data):
        self.kind, self.asked, self.state = kind, asked, state
        self.before = asked[-2] if len(asked) > 1 else None
        pushed = PUSHED.findall(data) if kind.endswith("git-receive-pack") else []
        self.branches = tuple(("makes" if set(old) == {48} else "deletes" if set(new) == {48} else "moves", name.decode())
                              for old, new, name in pushed)


class Door:
    """Counts the calls, and kills whoever makes one that is chosen, before it is passed on or when it is answered and
    nobody has heard that. Its weather is answers that the forge itself does not give now and then: each with the kind
    of call it is for, how often, its status, words and headers, and whether the forge has done it all the same."""

    def __init__(self, forge, choose=lambda _: None):
        self.target = urllib.parse.urlsplit(forge.url).netloc
        self.choose, self.kill = choose, None
        self.weather = []
        self.lock = threading.Lock()
        self.calls, self.hits = [], []
        self.state, self.asked = None, ()
        door = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def serve(self):
                door.serve(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def aim(self, kill, state=None):
        """Another process calls, in this state of its job."""
        with self.lock:
            self.kill, self.state, self.asked = kill, state, ()

    def chosen(self, kind, data):
        """When to kill whoever makes this call, if at all."""
        with self.lock:
            self.calls.append(kind)
            self.asked += (kind,)
            when = self.choose(Call(kind, self.asked, self.state, data)) if self.kill else None
            if when is None:
                return None, None
            self.hits.append((when, kind))
            kill, self.kill = self.kill, None
            return when, kill

    def serve(self, handler):
        data = self.read(handler)
        path = urllib.parse.urlsplit(handler.path).path
        kind = re.sub(r"^(/api/v\d)?/(repos/)?bot/[^/.]+", "", path) or "/"
        kind = re.sub(r"/[0-9a-f]{40}", "/COMMIT", kind)
        kind = f"{handler.command} {re.sub(r'/[0-9]+', '/N', kind)}"
        when, kill = self.chosen(kind, data)
        if when == "before":
            kill()
            handler.close_connection = True
            return
        weather = self.weather_for(kind)
        if weather and not weather.get("done"):
            return self.say(handler, weather["status"], weather.get("headers", {}).items(), weather["body"].encode())
        connection = http.client.HTTPConnection(self.target, timeout=300)
        headers = {name: value for name, value in handler.headers.items()
                   if name.lower() not in ("transfer-encoding", "content-length", "connection")}
        headers["Content-Length"] = str(len(data))
        connection.request(handler.command, handler.path, body=data, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if when == "after":
            kill()
            handler.close_connection = True
            return
        if weather:
            return self.say(handler, weather["status"], weather.get("headers", {}).items(), weather["body"].encode())
        self.say(handler, answer.status, answer.getheaders(), body)

    def weather_for(self, kind):
        with self.lock:
            found = next((one for one in self.weather if one["kind"] == kind and one["times"] > 0), None)
            if found:
                found["times"] -= 1
            return found

    def say(self, handler, status, headers, body):
        handler.send_response(status)
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def read(self, handler):
        if handler.headers.get("Transfer-Encoding") != "chunked":
            return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        data = b""
        while True:
            size = int(handler.rfile.readline().split(b";")[0], 16)
            data += handler.rfile.read(size)
            handler.rfile.readline()
            if size == 0:
                return data
