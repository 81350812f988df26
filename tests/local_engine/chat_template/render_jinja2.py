#!/usr/bin/env python3
"""Renders with jinja2, set up as Hugging Face's apply_chat_template sets it up. Reads the lines that
render_huggingface.mjs wrote, or snippets, and writes to standard output one line of JSON for each
rendering: {"text": ...} or {"error": ...}.

usage: render_jinja2.py FILE"""
import datetime
import json
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """{% generation %}: prints its body, in a scope of its own."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    result = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                           extensions=[Generation, jinja2.ext.loopcontrols])
    now = datetime.datetime(2026, 7, 26, 9, 5, 3)  # The clock stands still.
    result.filters["tojson"] = to_json
    result.globals["raise_exception"] = refuse
    result.globals["strftime_now"] = now.strftime
    return result


def main():
    env = environment()
    template, why = None, ""
    with open(sys.argv[1], encoding="utf-8") as cases:
        for line in cases:
            case = json.loads(line)
            if "source" in case:
                try:
                    template = env.from_string(case["source"])
                except Exception as error:
                    template, why = None, f"{type(error).__name__}: {error}"
            if "variables" not in case:
                continue
            try:
                if template is None:
                    raise RuntimeError(why)
                result = {"text": template.render(**case["variables"])}
                json.dumps(result, ensure_ascii=False).encode()  # A lone surrogate is no text.
            except Exception as error:
                result = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(result))


main()
