"""What a client gets from tests/clients/upstream.mjs."""
import gzip
import json
import os
import urllib.request


def chat(text, **more):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **more}).encode(),
        {"content-type": "application/json"})
    return urllib.request.urlopen(request)


def whole(text):
    with chat(text) as answer:
        body = answer.read()
    # On replay it comes as it was stored: decoded.
    return json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)["choices"][0]["message"]["content"]


def stream(text):
    try:
        with chat(text, stream=True) as answer:
            return answer.read().decode()
    except OSError as error:
        return type(error).__name__
    except Exception as error:  # http.client's own, where the answer is cut.
        return [type(error).__name__, error.partial.decode()]


print(whole("hello"))
print(len(whole("x" * (4 << 20))))
print(stream("hello"))
print(stream("cut me off"))
print(whole("count"))
