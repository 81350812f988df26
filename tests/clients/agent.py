"""An agent that depends on everything that changes from one day to the next: python3 agent.py"""
import concurrent.futures
import datetime
import json
import os
import random
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

BASE = os.environ["OPENAI_BASE_URL"]
TOOLS = "{0.scheme}://{0.netloc}/kb".format(urllib.parse.urlsplit(BASE))
STARTED = time.time()


def post(body):
    for attempt in range(4):
        request = urllib.request.Request(BASE + "/chat/completions", json.dumps(body).encode(),
                                         {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["choices"][0]["message"]
        except urllib.error.HTTPError:
            # Backs off, with jitter.
            time.sleep(0.05 * 2 ** attempt + 0.05 * random.random())
    raise SystemExit("no answer")


def use_tool(call):
    query = json.loads(call["function"]["arguments"])["q"]
    with urllib.request.urlopen("%s/search?q=%s&at=%r" % (TOOLS, query, time.time())) as answer:
        found = answer.read().decode()
    return {"role": "tool", "tool_call_id": call["id"], "content": "%s found at %s" % (found, datetime.datetime.now())}


prompt = "LOOK today is %s, at %s, request %s, draw %r, salt %s" % (
    datetime.date.today(), datetime.datetime.now(), uuid.uuid4(), random.random(), secrets.token_hex(8))
messages = [{"role": "user", "content": prompt}]
first = post({"model": "m", "messages": messages})
messages.append(first)
time.sleep(0.12)
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    results = list(pool.map(use_tool, first["tool_calls"]))
messages += results
last = post({"model": "m", "messages": messages})
print(json.dumps({"prompt": prompt, "results": results, "answer": last["content"], "took": time.time() - STARTED}, indent=1))
