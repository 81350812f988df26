"""A chat provider on loopback for tests of verbs that ask: what it says is the test's to decide."""
import http.server
import json
import threading


def token(text, logprob, top=()):
    """One entry of a chat's logprobs; `top` are (text, logprob)."""
    entry = {"token": text, "logprob": logprob, "bytes": list(text.encode())}
    entry["top_logprobs"] = [token(other, value) for other, value in top]
    return entry


class ChatProvider:
    """`answer(request, index)` returns the message's text, or a dict with "text", and optionally "tokens",
    "fingerprint", "model", "id", "prompt_tokens" and "status"."""

    def __init__(self, answer):
        self.requests, self.answer, self.lock = [], answer, threading.Lock()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # Else a body waits 40 ms for the word that its headers have come.

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with provider.lock:
                    index = len(provider.requests)
                    provider.requests.append(request)
                said = provider.answer(request, index)
                if isinstance(said, str):
                    said = {"text": said}
                body = json.dumps(provider.body(request, index, said)).encode()
                self.send_response(said.get("status", 200))
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    @staticmethod
    def body(request, index, said):
        if said.get("status", 200) != 200:
            return {"error": {"message": said["text"], "type": "invalid_request_error"}}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said["text"]}}
        if request.get("logprobs"):
            choice["logprobs"] = {"content": said.get("tokens") or [token(said["text"], -0.1, [(said["text"], -0.1), ("?", -3.0)])]}
        prompt_tokens = said.get("prompt_tokens", 5)
        body = {"id": said.get("id", f"c-{index}"), "object": "chat.completion", "created": 1,
                "model": said.get("model", request["model"]), "choices": [choice],
                "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 1, "total_tokens": prompt_tokens + 1}}
        if "fingerprint" in said:
            body["system_fingerprint"] = said["fingerprint"]
        return body

    def close(self):
        self.server.shutdown()
        self.server.server_close()
