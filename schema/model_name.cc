// The order of evidence: what the provider's rules say about a name's form, then whether the name
// has dated siblings. What neither tells is undetermined: an undated name may be the only version
// there is, or move tomorrow. Forms are matched by hand, provider first: "2411" is a month at
// Mistral and would be a day at OpenAI, and "-4-5" is a version where "-20250929" is a date.

#include "schema/model_name.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "schema/internal/model_name_table.h"
#include "schema/internal/text_classes.h"

namespace reenact::schema {
namespace {

using internal::IsDigit;

using internal::kDatedSiblings;

ModelNameClass Pinned(std::string evidence) {
  return {Pinning::kPinned, std::move(evidence)};
}

ModelNameClass Floating(std::string evidence) {
  return {Pinning::kFloating, std::move(evidence)};
}

ModelNameClass Undetermined(std::string evidence) {
  return {Pinning::kUndetermined, std::move(evidence)};
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

bool IsLowerHex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); });
}

// Of at most nine digits.
int Number(std::string_view digits) {
  int value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

bool IsMonth(std::string_view text) {
  return text.size() == 2 && IsDigits(text) && Number(text) >= 1 && Number(text) <= 12;
}

bool IsDay(std::string_view text) {
  return text.size() == 2 && IsDigits(text) && Number(text) >= 1 && Number(text) <= 31;
}

bool IsYear(std::string_view text) {
  return text.size() == 4 && IsDigits(text) && text.starts_with("20");
}

// "20250929"
bool IsCompactDate(std::string_view text) {
  return text.size() == 8 && IsYear(text.substr(0, 4)) && IsMonth(text.substr(4, 2)) &&
         IsDay(text.substr(6));
}

// "0613"
bool IsMonthDay(std::string_view text) {
  return text.size() == 4 && IsMonth(text.substr(0, 2)) && IsDay(text.substr(2));
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "latest" as the last word of the name.
bool IsLatest(std::string_view name) {
  if (!name.ends_with("latest")) return false;
  name.remove_suffix(6);
  return name.empty() || Contains("-@:/", name.substr(name.size() - 1));
}

// "...-2024-08-06"
bool EndsInDate(std::string_view name) {
  const auto parts = Split(name, '-');
  const size_t count = parts.size();
  return count > 3 && IsYear(parts[count - 3]) && IsMonth(parts[count - 2]) &&
         IsDay(parts[count - 1]);
}

bool EndsInCompactDate(std::string_view name) {
  const auto parts = Split(name, '-');
  return parts.size() > 1 && IsCompactDate(parts.back());
}

// "gpt-4-0613", "gpt-4-1106-preview", "gpt-3.5-turbo-16k-0613".
bool IsOldOpenAiSnapshot(std::string_view name) {
  auto parts = Split(name, '-');
  if (parts.size() > 3 && parts.back() == "preview") parts.pop_back();
  if (parts.size() < 3 || parts[0] != "gpt") return false;
  return (parts[1] == "4" || parts[1] == "3.5") && IsMonthDay(parts.back());
}

ModelNameClass ClassifyOpenAi(std::string_view name) {
  if (name.starts_with("ft:")) {
    // "ft:base:organisation:suffix:id", and a checkpoint of it.
    const auto parts = Split(name, ':');
    const bool has_step =
        parts.size() == 6 && parts[5].starts_with("ckpt-step-") && IsDigits(parts[5].substr(10));
    if ((parts.size() == 5 || has_step) && !parts[1].empty() && !parts[4].empty()) {
      const bool base_is_pinned = ClassifyOpenAi(parts[1]).pinning == Pinning::kPinned;
      return Pinned(base_is_pinned ? "fine-tuned model id" : "fine-tuned model id, undated base");
    }
    return Undetermined("fine-tuned model without an id");
  }
  if (EndsInDate(name) || IsOldOpenAiSnapshot(name)) return Pinned("dated snapshot");
  if (IsLatest(name)) return Floating("named latest");
  if (std::binary_search(kDatedSiblings.begin(), kDatedSiblings.end(), name)) {
    return Floating("undated name with dated siblings");
  }
  return Undetermined("undated name without dated siblings");
}

struct Version {
  int major = 0;
  int minor = 0;
};

// "claude-sonnet-4-5", "claude-opus-5": family first, then one or two numbers of one or two digits.
std::optional<Version> DatelessClaudeVersion(std::string_view name) {
  const auto parts = Split(name, '-');
  if (parts.size() < 3 || parts.size() > 4 || parts[0] != "claude") return std::nullopt;
  const bool is_family =
      !parts[1].empty() &&
      std::all_of(parts[1].begin(), parts[1].end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (!is_family) return std::nullopt;
  for (size_t i = 2; i < parts.size(); ++i) {
    if (!IsDigits(parts[i]) || parts[i].size() > 2) return std::nullopt;
  }
  return Version{Number(parts[2]), parts.size() == 4 ? Number(parts[3]) : 0};
}

ModelNameClass ClassifyAnthropic(std::string_view name) {
  if (EndsInCompactDate(name)) return Pinned("dated snapshot");
  if (IsLatest(name)) return Floating("named latest");
  const std::optional<Version> version = DatelessClaudeVersion(name);
  if (!version) return Undetermined("name without a version or date");
  // From 4.6 on an id without a date is the model, not an alias of dated ones.
  if (version->major > 4 || (version->major == 4 && version->minor >= 6)) {
    return Pinned("dateless id of Claude 4.6 or later");
  }
  return Floating("dateless alias of a Claude before 4.6");
}

bool IsRegionPrefix(std::string_view word) {
  for (const std::string_view region : {"us-gov", "us", "eu", "apac", "jp", "au", "global"}) {
    if (word == region) return true;
  }
  return false;
}

// "us.anthropic.claude-3-5-sonnet-20241022-v2:0": region, vendor, model, version, revision.
ModelNameClass ClassifyBedrock(std::string_view name) {
  if (name.starts_with("arn:") || Contains(name, "inference-profile/") ||
      Contains(name, "provisioned-model/") || Contains(name, "prompt-router/")) {
    return Undetermined("an ARN that the control plane resolves");
  }
  if (const size_t dot = name.find('.'); IsRegionPrefix(name.substr(0, dot))) {
    name.remove_prefix(dot + 1);
  }
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return Undetermined("no Bedrock model id");
  const std::string_view vendor = name.substr(0, dot);
  const std::string_view with_revision = name.substr(dot + 1);
  const size_t colon = with_revision.find(':');
  std::string_view model = with_revision.substr(0, colon);
  const bool has_revision = colon != std::string_view::npos;
  bool has_version = false;
  if (const size_t v = model.rfind("-v");
      v != std::string_view::npos && IsDigits(model.substr(v + 2))) {
    has_version = true;
    model = model.substr(0, v);
  }
  if (EndsInCompactDate(model) || EndsInDate(model)) return Pinned("dated snapshot");
  if (vendor == "anthropic") {
    // "-v1" alone is part of the name of a dateless Claude.
    if (DatelessClaudeVersion(model)) return ClassifyAnthropic(model);
  }
  if (has_version && has_revision) return Pinned("version and revision");
  return Undetermined("Bedrock id without a date or revision");
}

// "gemini-2.0-flash-001"
bool EndsInGeminiRevision(std::string_view name) {
  const auto parts = Split(name, '-');
  return parts.size() > 2 && parts[0] == "gemini" && parts.back().size() == 3 &&
         IsDigits(parts.back());
}

// "-preview-05-20", "-preview-09-2025", "-exp-0827".
bool IsDatedGeminiPreview(std::string_view name) {
  const auto parts = Split(name, '-');
  const size_t count = parts.size();
  if (count > 2 && parts[count - 2] == "exp") {
    return parts.back().size() == 4 && IsDigits(parts.back());
  }
  return count > 3 && parts[count - 3] == "preview" && parts[count - 2].size() == 2 &&
         IsDigits(parts[count - 2]) && IsDigits(parts.back()) && parts.back().size() >= 2 &&
         parts.back().size() <= 4;
}

ModelNameClass ClassifyGemini(std::string_view name) {
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  if (EndsInGeminiRevision(name)) return Pinned("numbered stable version");
  if (IsDatedGeminiPreview(name)) return Pinned("dated preview");
  if (IsLatest(name)) return Floating("named latest");
  if (name.ends_with("-preview")) return Floating("undated preview");
  return Undetermined("name without a version number");
}

ModelNameClass ClassifyVertex(std::string_view name) {
  const size_t at = name.rfind('@');
  if (at == std::string_view::npos) {
    if (name.starts_with("claude-")) return ClassifyAnthropic(name);
    // Vertex moves the alias that has no number.
    const ModelNameClass gemini = ClassifyGemini(name);
    const bool undated = gemini.pinning == Pinning::kUndetermined && Contains(name, "gemini-");
    return undated ? Floating("auto-updated alias") : gemini;
  }
  const std::string_view version = name.substr(at + 1);
  if (IsCompactDate(version)) return Pinned("dated version");
  if (version == "default" || version == "latest") return Floating("named " + std::string(version));
  return Undetermined("version that is no date");
}

// "mistral-large-2411": year and month, 23 to 29.
ModelNameClass ClassifyMistral(std::string_view name) {
  const auto parts = Split(name, '-');
  const std::string_view last = parts.back();
  if (parts.size() > 1 && last.size() == 4 && IsDigits(last) && last[0] == '2' && last[1] >= '3' &&
      IsMonth(last.substr(2))) {
    return Pinned("dated snapshot");
  }
  if (IsLatest(name)) return Floating("named latest");
  return Undetermined("undated name");
}

ModelNameClass ClassifySelfHosted(std::string_view name) {
  constexpr size_t kCommitSize = 40;
  constexpr size_t kSha256Size = 64;
  if (const size_t at = name.rfind('@'); at != std::string_view::npos) {
    std::string_view digest = name.substr(at + 1);
    if (digest.starts_with("sha256:")) digest.remove_prefix(7);
    if (IsLowerHex(digest) && (digest.size() == kCommitSize || digest.size() == kSha256Size)) {
      return Pinned("content digest");
    }
  }
  if (IsLatest(name)) return Floating("tag latest");
  // Whoever runs the server chose this name, and may serve other weights under it.
  return Undetermined("name chosen by whoever runs the server");
}

// "llama3.2", "llama3.2:3b", "library/llama3.2:latest". Every tag can be pulled anew; the digest
// that /api/tags names is what stays.
ModelNameClass ClassifyOllama(std::string_view name) {
  const ModelNameClass hosted = ClassifySelfHosted(name);
  if (hosted.pinning != Pinning::kUndetermined) return hosted;
  const std::string_view last = name.substr(name.rfind('/') + 1);
  if (!Contains(last, ":")) return Floating("no tag, which means latest");
  return Undetermined("a tag that can be pulled anew");
}

ModelNameClass ClassifyByName(std::string_view name);

ModelNameClass ClassifyOpenRouter(std::string_view name) {
  if (name.starts_with('~') || IsLatest(name)) return Floating("named latest");
  if (name.ends_with(":nitro") || name.ends_with(":floor"))
    return Floating("routed by price or speed");
  if (name == "auto" || name == "openrouter/auto") return Floating("routed automatically");
  const size_t slash = name.find('/');
  const size_t colon = name.rfind(':');
  if (slash == std::string_view::npos) return Undetermined("no OpenRouter model id");
  std::string_view inner = name.substr(slash + 1);
  if (colon != std::string_view::npos && colon > slash)
    inner = name.substr(slash + 1, colon - slash - 1);
  const ModelNameClass by_inner = ClassifyByName(inner);
  if (by_inner.pinning == Pinning::kPinned) return by_inner;
  return Undetermined("routed to one of several providers");
}

bool IsOpenAiName(std::string_view name) {
  for (const std::string_view start : {"gpt-", "chatgpt-", "ft:", "codex-", "computer-use-"}) {
    if (name.starts_with(start)) return true;
  }
  // "o1", "o3-mini".
  return name.size() >= 2 && name[0] == 'o' && IsDigit(name[1]) &&
         (name.size() == 2 || name[2] == '-');
}

bool IsMistralName(std::string_view name) {
  constexpr std::string_view kFamilies[] = {"mistral-",  "ministral-", "magistral-", "codestral-",
                                            "devstral-", "pixtral-",   "voxtral-",   "open-mi"};
  return std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](std::string_view family) { return name.starts_with(family); });
}

bool IsBedrockName(std::string_view name) {
  if (name.starts_with("arn:")) return true;
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view first = name.substr(0, dot);
  if (IsRegionPrefix(first)) return true;
  for (const std::string_view vendor :
       {"anthropic", "amazon", "meta", "cohere", "mistral", "ai21", "deepseek", "openai", "qwen"}) {
    if (first == vendor) return true;
  }
  return false;
}

ModelNameClass ClassifyByName(std::string_view name) {
  if (IsBedrockName(name)) return ClassifyBedrock(name);
  if (Contains(name, "@")) {
    const ModelNameClass hosted = ClassifySelfHosted(name);
    return hosted.pinning == Pinning::kPinned ? hosted : ClassifyVertex(name);
  }
  if (IsOpenAiName(name)) return ClassifyOpenAi(name);
  if (name.starts_with("claude-")) return ClassifyAnthropic(name);
  if (name.starts_with("gemini-")) return ClassifyGemini(name);
  if (IsMistralName(name)) return ClassifyMistral(name);
  if (Contains(name, "/") && !IsLatest(name)) return ClassifySelfHosted(name);
  if (IsLatest(name)) return Floating("named latest");
  return Undetermined("nothing known about this name");
}

bool IsSelfHosted(std::string_view provider) {
  for (const std::string_view server : {"vllm", "sglang", "llama.cpp", "llamacpp", "llama-server",
                                        "ollama", "tgi", "lmstudio", "local"}) {
    if (provider == server) return true;
  }
  return false;
}

}  // namespace

std::string_view ToString(Pinning pinning) {
  switch (pinning) {
    case Pinning::kPinned:
      return "pinned";
    case Pinning::kFloating:
      return "floating";
    case Pinning::kUndetermined:
      break;
  }
  return "undetermined";
}

ModelNameClass ClassifyModelName(std::string_view provider, std::string_view model) {
  if (model.empty()) return Undetermined("no model name");
  const std::string who = internal::LowerCase(provider);
  const std::string name = internal::LowerCase(model);
  if (who == "openai") {
    // Compatible servers are called through clients that say "openai" too.
    const ModelNameClass by_form = ClassifyOpenAi(name);
    const bool settled = by_form.pinning != Pinning::kUndetermined || IsOpenAiName(name);
    return settled ? by_form : ClassifyByName(name);
  }
  if (who == "anthropic") return ClassifyAnthropic(name);
  if (who == "bedrock" || who == "aws") return ClassifyBedrock(name);
  if (who == "vertex" || who == "vertexai") return ClassifyVertex(name);
  if (who == "gemini" || who == "google") return ClassifyGemini(name);
  if (who == "mistral") return ClassifyMistral(name);
  if (who == "openrouter") return ClassifyOpenRouter(name);
  if (who == "azure" || who == "azure_openai") {
    // The deployment pins, or does not, in the control plane.
    return Undetermined("an Azure deployment name says nothing");
  }
  if (who == "ollama") return ClassifyOllama(name);
  if (IsSelfHosted(who)) return ClassifySelfHosted(name);
  return ClassifyByName(name);
}

}  // namespace reenact::schema
