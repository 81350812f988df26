// A chat template: refused with words, or a text, and the same one twice, within its limits.

#include "local_engine/chat_template/chat_template.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz::chat_template {

using namespace reenact::local_engine;

namespace {

constexpr ChatTemplateLimits kLimits = {.work = 1 << 20, .output_bytes = 1 << 16};

ChatTemplateInput Conversation() {
  ChatTemplateInput input;
  input.messages_json = R"([{"role":"system","content":"Be brief."},
      {"role":"user","content":[{"type":"text","text":"Hi\n é"}]},
      {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",
       "function":{"name":"f","arguments":{"x":1.5,"y":[null,true,"z"]}}}]},
      {"role":"tool","tool_call_id":"a","content":"12"}])";
  input.tools_json =
      R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";
  input.variables_json =
      R"({"enable_thinking":false,"n":7,"s":"a,b,,c","deep":{"a":{"b":[1,2,3]}}})";
  input.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  input.now = absl::CivilSecond(2026, 11, 30, 4, 5, 6);
  return input;
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  const absl::StatusOr<ChatTemplate> parsed = ChatTemplate::Parse(bytes);
  if (!parsed.ok()) {
    if (parsed.status().message().empty()) Broken("an error without words");
    return;
  }
  const ChatTemplateInput input = Conversation();
  const absl::StatusOr<std::string> text = parsed->Render(input, kLimits);
  const absl::StatusOr<std::string> again = parsed->Render(input, kLimits);
  if (text.status() != again.status()) Broken("another error when rendered twice");
  if (!text.ok()) return;
  if (*text != *again) Broken("another text when rendered twice");
  if (text->size() > kLimits.output_bytes) Broken("a text above the limit");
  Reached();
}

std::vector<std::string> Seeds() {
  return {
      "{{- bos_token }}{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' }}"
      "{% if message.content is string %}{{ message.content | trim }}{% elif message.content %}"
      "{% for part in message.content if part.type == 'text' %}{{ part['text'] }}{% endfor %}{% "
      "endif %}"
      "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}{% endfor %}",
      "{%- macro show(x, depth=0) -%}{% if x is mapping %}{% for k, v in x | items %}{{ k }}:{{ "
      "show(v, depth + 1) }}"
      "{% endfor %}{% else %}{{ x | tojson(indent=2) }}{% endif %}{%- endmacro -%}{{ show(deep) "
      "}}{{ show(tools) }}",
      "{% set ns = namespace(found=false, n=0) %}{% for i in range(10) %}{% if i % 2 == 0 %}{% "
      "continue %}{% endif %}"
      "{% set ns.n = ns.n + i * 3 // 2 ** 2 %}{% if i > 6 %}{% break %}{% endif %}{% endfor %}{{ "
      "ns.n }}{{ messages[::-1][0].role }}",
      "{{ s.split(',') | map('upper') | select | join('-') }}{{ 'a%sb' | format(n) }}{{ "
      "strftime_now('%Y-%m-%d') }}"
      "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}{{ 'x' if n >= 7 and "
      "not enable_thinking else 'y' }}",
      "{% filter upper %}a{% endfilter %}{% with a = 1 %}{{ a }}{% endwith %}{% raw %}{{ no }}{% "
      "endraw %}"
      "{% call(x) show_twice() %}{{ x }}{% endcall %}{{ raise_exception('no') }}",
      "{% generation %}{{ n ~ s }}{% endgeneration %}{{ [1, 2] + [3] }}{{ {'a': 1}.items() | list "
      "}}{{ 'abc'[1:] }}",
      // Truncated; cyclic, as calls and as values; huge.
      "{% for m in messages %}{{ m.role }}{% if",
      "{% macro m(x) %}{{ m(x + 1) }}{% endmacro %}{{ m(0) }}",
      "{% set ns = namespace(a=1) %}{% set ns.a = ns %}{{ ns }}{{ ns.a == ns }}{{ ns | tojson }}",
      "{% set ns = namespace(a=[]) %}{% set ns.a = [ns, ns] %}{{ ns.a }}", "{{ 'a' * 999999999 }}",
      "{% for i in range(999999999) %}{{ 'a' * i }}{% endfor %}"};
}

std::vector<std::string> Tokens() {
  return {"{{",
          "}}",
          "{%",
          "%}",
          "{%-",
          "-%}",
          "{#",
          "#}",
          "{% endif %}",
          "{% endfor %}",
          "{% raw %}",
          "{% for x in range(99) %}",
          "{% set a = a ~ a %}",
          "{% macro m() %}{{ m() }}{% endmacro %}",
          "| join",
          "| tojson",
          "| replace('a','aa')",
          "| sort",
          "| batch(2)",
          "| indent(9)",
          "| groupby('role')",
          "is defined",
          "is not none",
          "not ",
          " in ",
          " * ",
          "**",
          "//",
          "~",
          "[::-1]",
          "range(",
          "namespace(",
          "loop.index",
          "messages",
          "(",
          ")",
          "[",
          "]",
          ".",
          "'",
          "\"",
          "\\",
          "\xc3",
          "9223372036854775807",
          "-9223372036854775808",
          "1e308",
          "| center(99)",
          "| round(2)",
          "| int",
          "| slice(3)"};
}

const bool added = AddTarget({"chat_template", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::chat_template
