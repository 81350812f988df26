// Renders the cases that render_huggingface.mjs wrote with our own engine: a line of JSON for each.
//
// usage: render_cases FILE >RESULTS

#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "local_engine/chat_template/chat_template.h"

namespace {

using Json = nlohmann::ordered_json;
using reenact::local_engine::ChatTemplate;
using reenact::local_engine::ChatTemplateInput;

std::string Dump(const Json& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() || found->is_null() ? "" : found->dump();
}

Json Render(const absl::StatusOr<ChatTemplate>& chat_template, Json variables) {
  if (!chat_template.ok()) return {{"error", chat_template.status().ToString()}};
  const std::string messages = Dump(variables, "messages"), tools = Dump(variables, "tools"),
                    documents = Dump(variables, "documents");
  ChatTemplateInput input{
      .messages_json = messages, .tools_json = tools, .documents_json = documents};
  input.add_generation_prompt = variables.value("add_generation_prompt", false);
  input.now = absl::CivilSecond(2026, 7, 26, 9, 5, 3);
  for (const char* known : {"messages", "tools", "documents", "add_generation_prompt"})
    variables.erase(known);
  const std::string more = variables.dump();
  input.variables_json = more;
  const absl::StatusOr<std::string> text = chat_template->Render(input);
  if (!text.ok()) return {{"error", text.status().ToString()}};
  return {{"text", *text}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream cases(argv[1]);
  absl::StatusOr<ChatTemplate> chat_template = absl::UnknownError("no template was given");
  for (std::string line; std::getline(cases, line);) {
    Json one = Json::parse(line);
    if (one.contains("source"))
      chat_template = ChatTemplate::Parse(one["source"].get<std::string>());
    if (one.contains("variables"))
      std::cout << Render(chat_template, one["variables"]).dump() << "\n";
  }
  return cases.eof() ? 0 : 1;
}
