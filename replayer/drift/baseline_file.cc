#include "replayer/drift/baseline_file.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "nlohmann/json.hpp"

namespace reenact::drift {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kForm[] = "reenact.drift";
constexpr int kVersion = 1;

std::string Line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// [token, logprob]; a token that is no text is a list of one, its bytes in hex.
Json TopEntry(const std::string& token, double logprob) {
  Json text(token);
  try {
    (void)text.dump();
  } catch (const Json::exception&) {
    text = Json::array({absl::BytesToHexString(token)});
  }
  return Json::array({std::move(text), logprob});
}

Json ToJson(const Probe& probe) {
  Json top = Json::array();
  for (const auto& [token, logprob] : probe.top) {
    if (std::isfinite(logprob)) top.push_back(TopEntry(token, logprob));
  }
  return {{"prompt", probe.prompt},
          {"fingerprint", probe.fingerprint},
          {"served_model", probe.served_model},
          {"prompt_tokens", probe.prompt_tokens},
          {"top_count", probe.top_count},
          {"temperature", probe.temperature},
          {"scaled", probe.scaled},
          {"top", std::move(top)}};
}

// Throws Json::exception for a field that is missing or of another type.
Probe ReadProbe(const Json& json) {
  Probe probe;
  probe.prompt = json.at("prompt");
  probe.fingerprint = json.at("fingerprint");
  probe.served_model = json.at("served_model");
  probe.prompt_tokens = json.at("prompt_tokens");
  probe.top_count = json.at("top_count");
  probe.temperature = json.at("temperature");
  probe.scaled = json.at("scaled");
  for (const Json& entry : json.at("top")) {
    const Json& token = entry.at(0);
    const std::string text = token.is_array()
                                 ? absl::HexStringToBytes(token.at(0).get<std::string>())
                                 : token.get<std::string>();
    probe.top[text] = entry.at(1);
  }
  return probe;
}

BaselineFile ReadHeader(const Json& json) {
  BaselineFile file;
  file.target = json.at("target");
  file.local_model = json.at("local_model");
  file.service = json.at("service");
  file.window_ns = json.at("window_ns");
  file.plan.model = json.at("model");
  for (const Json& prompt : json.at("prompts")) file.plan.prompts.push_back(prompt.dump());
  file.plan.probes_per_prompt = json.at("probes_per_prompt");
  file.plan.top_count = json.at("top_count");
  file.plan.temperature = json.at("temperature");
  file.plan.scaled = json.at("scaled");
  file.baseline.name = json.at("name");
  file.baseline.target = json.at("asked");
  file.baseline.model = file.plan.model;
  return file;
}

Window ReadWindow(const Json& json) {
  Window window;
  window.at_wall_ns = json.at("at_wall_ns");
  window.failed = json.at("failed");
  for (const Json& probe : json.at("probes")) window.probes.push_back(ReadProbe(probe));
  return window;
}

absl::Status ReadLine(std::string_view line, bool first, BaselineFile* file) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return absl::InvalidArgumentError("is no JSON object");
  if (first && json.value("form", Json()) != kForm)
    return absl::InvalidArgumentError("is not the head of a baseline");
  if (first && json.value("version", Json()) != kVersion)
    return absl::FailedPreconditionError("is of a newer version of reenact");
  try {
    if (first)
      *file = ReadHeader(json);
    else
      file->baseline.windows.push_back(ReadWindow(json));
  } catch (const Json::exception&) {
    return absl::InvalidArgumentError("lacks a field, or has one of another type");
  }
  return absl::OkStatus();
}

}  // namespace

std::string BaselineText(const BaselineFile& file) {
  Json prompts = Json::array();
  for (const std::string& prompt : file.plan.prompts)
    prompts.push_back(Json::parse(prompt, nullptr, false));
  std::string text = Line({{"form", kForm},
                           {"version", kVersion},
                           {"name", file.baseline.name},
                           {"target", file.target},
                           {"asked", file.baseline.target},
                           {"local_model", file.local_model},
                           {"service", file.service},
                           {"window_ns", file.window_ns},
                           {"model", file.plan.model},
                           {"prompts", std::move(prompts)},
                           {"probes_per_prompt", file.plan.probes_per_prompt},
                           {"top_count", file.plan.top_count},
                           {"temperature", file.plan.temperature},
                           {"scaled", file.plan.scaled}});
  for (const Window& window : file.baseline.windows) {
    Json probes = Json::array();
    for (const Probe& probe : window.probes) probes.push_back(ToJson(probe));
    text += Line({{"at_wall_ns", window.at_wall_ns},
                  {"failed", window.failed},
                  {"probes", std::move(probes)}});
  }
  return text;
}

absl::StatusOr<BaselineFile> ParseBaseline(std::string_view text) {
  BaselineFile file;
  if (text.empty()) return absl::InvalidArgumentError("there is nothing in it");
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    const absl::Status read = ReadLine(line, number == 1, &file);
    if (!read.ok())
      return absl::Status(read.code(), absl::StrCat("line ", number, " ", read.message()));
  }
  return file;
}

}  // namespace reenact::drift
