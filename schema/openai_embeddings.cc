#include "schema/openai_embeddings.h"

#include <string>
#include <string_view>

#include "schema/internal/chat_fields.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;

// {"object":"list","data":[{"index":0,"embedding":[..] or base64}],"model":..,"usage":..}. There
// are no streams of them.
class EmbeddingsReader final : public internal::AnswerReader {
 public:
  using AnswerReader::AnswerReader;

  void ReadDocument(JsonValue document) override { AddRecord(document, {}); }

  void AddRecord(JsonValue record, std::string_view /*event*/) override {
    internal::ReadIdentity(record, view(), anomalies());
    internal::ReadUsage(record["usage"], &view()->usage);
    internal::ReadTopLevelError(record, view());
    const JsonValue data = record["data"];
    const bool failed = !view()->error_kind.empty() || view()->http_status >= 300;
    if (!data.is_array()) {
      if (!failed) anomalies()->Note("no_embeddings");
      return;
    }
    view()->facts.emplace_back("embeddings", std::to_string(data.size()));
    const JsonValue first = data[0]["embedding"];
    if (first.is_array()) {
      view()->facts.emplace_back("dimensions", std::to_string(first.size()));
    }
  }

  bool FinishStream() override { return false; }

  std::string_view end_mark_name() const override { return {}; }
};

}  // namespace

int64_t ReadEmbeddingsRequest(JsonValue request, ModelView* view, AnomalyList* /*anomalies*/) {
  view->asked_model = request["model"].AsString();
  internal::ReadInputs(request["input"], "input", view);
  return 0;
}

std::unique_ptr<internal::AnswerReader> MakeEmbeddingsReader(int64_t /*choices_asked*/,
                                                             ModelView* view,
                                                             AnomalyList* anomalies) {
  return std::make_unique<EmbeddingsReader>(view, anomalies);
}

}  // namespace reenact::schema
