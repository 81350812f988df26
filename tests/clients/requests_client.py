"""Python's requests, with its sessions, kept connections and retries."""
import os

import requests
import requests.adapters
import urllib3

import tell

URL = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
session = requests.Session()
retrying = requests.Session()
retrying.mount("http://", requests.adapters.HTTPAdapter(max_retries=urllib3.Retry(
    total=2, backoff_factor=0.1, status_forcelist=[429, 500], allowed_methods=None)))


def chat(text, by=session, **more):
    answer = by.post(URL, json=tell.chat_request(text, **more), headers={"authorization": "Bearer none"})
    return {"status": answer.status_code, "id": answer.headers.get("x-request-id"), "body": answer.json()}


def stream(text):
    pieces = []
    try:
        with session.post(URL, json=tell.chat_request(text, stream=True), stream=True) as answer:
            for piece in answer.iter_content(None):
                pieces.append(piece.decode(errors="replace"))
    except requests.RequestException as error:
        pieces.append(type(error).__name__)
    return "".join(pieces)


def tools():
    first = chat("look up order A7", tools=tell.TOOLS)
    return [first, chat("look up order A7", tools=tell.TOOLS, more_messages=tell.tool_results(first["body"]))]


tell.tell({"whole": lambda: chat("say hello"), "stream": lambda: stream("speak in tongues"), "tools": tools,
           "busy": lambda: chat("be busy once", by=retrying), "broken": lambda: chat("break down"),
           "brokenAgain": lambda: chat("break down", by=retrying), "malformed": lambda: chat("talk nonsense"),
           "cut": lambda: stream("cut me off")})
