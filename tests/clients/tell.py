"""Prints what the steps of a client came to, a line each; and what both of them ask."""
import json
import sys

TOOLS = [{"type": "function", "function": {"name": "lookup_order", "description": "An order.", "parameters": {
    "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}}]
ORDERS = {"A7": {"state": "shipped", "total": 120}}


def chat_request(text, more_messages=(), **more):
    return {"model": "gpt-4o-2024-08-06", "messages": [{"role": "user", "content": text}, *more_messages], **more}


def tool_results(answer):
    """The message of an answer that asks for tools, and what these give."""
    said = answer["choices"][0]["message"]
    return [said] + [{"role": "tool", "tool_call_id": call["id"],
                      "content": json.dumps(ORDERS[json.loads(call["function"]["arguments"])["id"]])}
                     for call in said["tool_calls"]]


def tell(steps):
    """Takes the steps that the command line names, or all."""
    for name in sys.argv[1:] or steps:
        try:
            line = {"got": steps[name]()}
        except Exception as error:  # Whatever a client throws is what it came to.
            line = {"failed": type(error).__name__}
        print(name, json.dumps(line))
