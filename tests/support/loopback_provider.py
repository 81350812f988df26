"""A provider of a test's own, on loopback: a server that runs while its `with` does, and handlers that answer in JSON.

    class Model(loopback_provider.Provider):
        def do_POST(self):
            self.reply({"asked": self.server.count(), "for": self.read_json()["model"]})

    with loopback_provider.ProviderServer(Model) as provider:
        run(provider.url)
"""

import http.server
import json
import threading


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # Else a body waits 40 ms for the word that its headers have come.

    def read_json(self):
        return json.loads(self.rfile.read(int(self.headers["content-length"])))

    def reply(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reply_chat(self, message, model="m", number=1, **more):
        """One chat completion; `message`: its words, or all of it; `number` makes its id; `more` joins the choice."""
        if isinstance(message, str):
            message = {"role": "assistant", "content": message}
        self.reply({"id": "chatcmpl-%d" % number, "object": "chat.completion", "created": 1, "model": model,
                    "choices": [dict({"index": 0, "finish_reason": "stop", "message": message}, **more)],
                    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}})

    def log_message(self, *_):
        pass


class ProviderServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.url = "http://127.0.0.1:%d" % self.server_port
        self.lock = threading.Lock()
        self.requests = 0

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def count(self):
        """How many requests there were, this one included; for handlers."""
        with self.lock:
            self.requests += 1
            return self.requests
