#include "schema/internal/request_target.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "schema/internal/canonical_reading.h"
#include "schema/internal/credential_names.h"
#include "schema/internal/url_parts.h"

namespace reenact::schema::internal {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

// Those of the names that count; all where `names` is empty.
Parameters MeaningfulQuery(std::string_view endpoint, const std::vector<std::string_view>& names) {
  Parameters query = QueryParameters(endpoint);
  std::erase_if(query, [&](const auto& parameter) {
    if (IsCredentialParameter(parameter.first)) return true;
    return !names.empty() && std::find(names.begin(), names.end(), parameter.first) == names.end();
  });
  std::stable_sort(query.begin(), query.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return query;
}

// The path from its last `marker` on; empty where it has none.
std::string_view From(std::string_view path, std::string_view marker) {
  const size_t at = path.rfind(marker);
  return at == std::string_view::npos ? std::string_view() : path.substr(at + 1);
}

// The deployment alone: what is asked of it is the dialect's business.
std::string_view DeploymentOf(std::string_view path) {
  const std::string_view rest = From(path, "/deployments/");
  const size_t name = rest.find('/') + 1;
  return rest.substr(0, rest.find('/', name));
}

std::map<std::string, std::string> ByName(const Parameters& query) {
  std::map<std::string, std::string> by_name;
  for (const auto& [name, value] : query) {
    const auto [place, added] = by_name.emplace(name, value);
    if (!added) place->second += "&" + value;
  }
  return by_name;
}

}  // namespace

RequestTarget TargetOf(std::string_view provider, ModelDialect dialect, std::string_view endpoint) {
  const std::string_view path = PathOf(endpoint);
  if (provider == kPlainHttp) return {std::string(path), MeaningfulQuery(endpoint, {})};
  if (provider == kMcp) return {std::string(path), {}};
  switch (dialect) {
    case ModelDialect::kGemini:
      return {std::string(From(path, "/models/")), MeaningfulQuery(endpoint, {"alt"})};
    case ModelDialect::kOpenAiResponses:
      if (const std::string_view stored = From(path, "/responses/"); !stored.empty()) {
        return {std::string(stored), MeaningfulQuery(endpoint, {"stream", "starting_after"})};
      }
      return {};
    case ModelDialect::kOpenAiChat:
    case ModelDialect::kOpenAiCompletions:
    case ModelDialect::kOpenAiEmbeddings:
      return {std::string(DeploymentOf(path)), {}};
    case ModelDialect::kUnknown:
    case ModelDialect::kAnthropicMessages: {
      // Bedrock's and Vertex's.
      const std::string_view bedrock = From(path, "/model/");
      return {std::string(bedrock.empty() ? From(path, "/models/") : bedrock), {}};
    }
    case ModelDialect::kOllama:
      break;
  }
  return {};
}

EndpointFacts FactsOfEndpoint(std::string_view endpoint) {
  const std::string_view path = PathOf(endpoint);
  EndpointFacts facts;
  for (const std::string_view marker : {"/deployments/", "/models/", "/model/"}) {
    const size_t at = path.rfind(marker);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = path.substr(at + marker.size());
    const size_t end = rest.find_first_of(marker == "/models/" ? ":" : "/");
    if (end == std::string_view::npos) continue;  // A list of models, or one of its entries.
    facts.model = rest.substr(0, end);
    const std::string_view action = rest.substr(end + 1);
    facts.streams = action.starts_with("stream") || action.ends_with("-stream");
    break;
  }
  return facts;
}

std::string CanonicalTarget(const RequestTarget& target) {
  std::string text;
  const auto append = [&text](std::string_view part) {
    text.append(std::to_string(part.size())).append(":").append(part);
  };
  append(target.path);
  for (const auto& [name, value] : target.query) {
    append(name);
    append(value);
  }
  return text;
}

std::vector<JsonDifference> DiffTargets(const RequestTarget& expected, const RequestTarget& actual,
                                        size_t limit) {
  std::vector<JsonDifference> differences;
  const auto add = [&](std::string path, const std::string* a, const std::string* b) {
    if (differences.size() >= limit) return;
    JsonDifference difference;
    difference.path = std::move(path);
    difference.expected_present = a != nullptr;
    difference.actual_present = b != nullptr;
    ShowDifference(a != nullptr ? *a : "", b != nullptr ? *b : "", &difference);
    differences.push_back(std::move(difference));
  };
  if (expected.path != actual.path) add("(path)", &expected.path, &actual.path);
  const auto ours = ByName(expected.query);
  const auto theirs = ByName(actual.query);
  for (const auto& [name, value] : ours) {
    const auto other = theirs.find(name);
    if (other == theirs.end()) {
      add("(query)." + name, &value, nullptr);
    } else if (other->second != value) {
      add("(query)." + name, &value, &other->second);
    }
  }
  for (const auto& [name, value] : theirs) {
    if (!ours.contains(name)) add("(query)." + name, nullptr, &value);
  }
  return differences;
}

}  // namespace reenact::schema::internal
