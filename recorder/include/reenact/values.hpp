// What the calls of the SDK take: plain values that own their text.

#ifndef REENACT_VALUES_HPP_
#define REENACT_VALUES_HPP_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reenact/reenact.h"

namespace reenact {

enum class Mode : int32_t {
  kAuto = REENACT_MODE_AUTO,  // $REENACT_MODE where it is set, else record.
  kOff = REENACT_MODE_OFF,
  kRecord = REENACT_MODE_RECORD,
  kReplay = REENACT_MODE_REPLAY,
};

enum class EndState : int32_t {
  kComplete = REENACT_END_COMPLETE,
  kTruncated = REENACT_END_TRUNCATED,  // The peer ended the body before its own end mark.
  kReset = REENACT_END_RESET,          // The transport failed.
  kAbandonedByCaller = REENACT_END_ABANDONED_BY_CALLER,
  kProviderError = REENACT_END_PROVIDER_ERROR,
  kError = REENACT_END_ERROR,  // The host's own code failed.
  kTruncatedByLimit = REENACT_END_TRUNCATED_BY_LIMIT,
  kIncomplete = REENACT_END_INCOMPLETE,  // The recording process died first.
};

// Name and value, in order, duplicates kept.
using Headers = std::vector<std::pair<std::string, std::string>>;
using Tags = std::vector<std::pair<std::string, std::string>>;

// A versioned thing that shaped the answer. Its content is stored, not only its version.
struct Component {
  std::string kind;
  std::string name;
  std::string version;
  std::string content;
};

inline Component PromptTemplate(std::string name, std::string version, std::string content) {
  return {"prompt_template", std::move(name), std::move(version), std::move(content)};
}

// `content`: what tells one state of the index from another (a digest, a snapshot id, its list).
inline Component RetrievalIndex(std::string name, std::string version, std::string content = {}) {
  return {"retrieval_index", std::move(name), std::move(version), std::move(content)};
}

inline Component ToolSchema(std::string name, std::string version, std::string content) {
  return {"tool_schema", std::move(name), std::move(version), std::move(content)};
}

inline Component Guardrail(std::string name, std::string version, std::string content) {
  return {"guardrail", std::move(name), std::move(version), std::move(content)};
}

inline Component EvalData(std::string name, std::string version, std::string content = {}) {
  return {"eval_data", std::move(name), std::move(version), std::move(content)};
}

// `alias` is what the code asks for, `resolved` what it stood for when this was written down.
inline Component ModelAlias(std::string alias, std::string resolved, std::string content = {}) {
  return {"model_alias", std::move(alias), std::move(resolved), std::move(content)};
}

inline Component Application(std::string name, std::string version, std::string content = {}) {
  return {"application", std::move(name), std::move(version), std::move(content)};
}

struct RunInfo {
  std::string entry;     // What starts it again: "POST /refund".
  std::string input;     // What started it.
  std::string trace_id;  // 32 hex digits, or a whole W3C traceparent.
  std::vector<Component> components;
  Tags tags;
};

struct ModelCall {
  std::string name = "chat";
  std::string provider;  // "openai"
  std::string endpoint;  // URL
  std::string request;   // The body, exactly as sent.
  Headers headers;  // Of the request, in order. Credentials among them are learned, not stored.
  uint32_t attempt = 0;  // The host's own retry number of an equal request.
};

struct IncidentInfo {
  std::string title;
  int32_t severity = 0;  // 1 worst to 4; 0 unstated.
  std::string notes;
};

}  // namespace reenact

#endif  // REENACT_VALUES_HPP_
