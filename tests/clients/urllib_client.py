"""Python's own urllib, without any client of a provider."""
import concurrent.futures
import json
import os
import time
import urllib.error
import urllib.request

import tell

BASE = os.environ["OPENAI_BASE_URL"]


def post(path, value):
    request = urllib.request.Request(BASE + path, json.dumps(value).encode(),
                                     {"content-type": "application/json", "authorization": "Bearer none"})
    return urllib.request.urlopen(request)


def chat(text, **more):
    with post("/chat/completions", tell.chat_request(text, **more)) as answer:
        return json.load(answer)


def stream(text):
    pieces = []
    try:
        with post("/chat/completions", tell.chat_request(text, stream=True)) as answer:
            for line in answer:
                pieces.append(line.decode())
    except OSError as error:
        pieces.append(type(error).__name__)
    return pieces


def tools():
    first = chat("look up order A7", tools=tell.TOOLS)
    return [first, chat("look up order A7", tools=tell.TOOLS, more_messages=tell.tool_results(first))]


def at_once():
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return list(pool.map(chat, ["say hello", "speak in tongues", "say hello"]))


def busy():
    for attempt in range(3):
        try:
            return {"attempts": attempt + 1, "answer": chat("be busy once")}
        except urllib.error.HTTPError as error:
            time.sleep(float(error.headers["retry-after"]))
    return None


def failing(text):
    def step():
        try:
            return chat(text)
        except urllib.error.HTTPError as error:
            return [error.code, json.load(error)]
    return step


tell.tell({"whole": lambda: chat("say hello"), "stream": lambda: stream("speak in tongues"), "tools": tools,
           "atOnce": at_once, "busy": busy, "broken": failing("break down"), "malformed": lambda: chat("talk nonsense"),
           "cut": lambda: stream("cut me off")})
