#include "local_engine/engine/output_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "local_engine/engine/planted_fault.h"
#include "local_engine/tokenizer/tokenizer.h"

namespace reenact::local_engine {
namespace {

// Bytes at the end of `text` that begin `stop` without being all of it. A stop text begins with the
// first byte of a character, so the cut lies between characters.
size_t BeginningHeld(std::string_view text, std::string_view stop) {
  for (size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size) {
    if (text.ends_with(stop.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

OutputText::OutputText(const Tokenizer* tokenizer, std::span<const int32_t> prompt,
                       const std::vector<std::string>& stop_texts)
    : stop_texts_(stop_texts) {
  if (tokenizer == nullptr) return;
  stream_.emplace(tokenizer->NewStream(/*skip_special_tokens=*/true));
  for (int32_t token : prompt) stream_->Push(static_cast<uint32_t>(token));
}

OutputText::Piece OutputText::Push(int32_t token, bool may_stop) {
  if (!stream_.has_value()) return {};
  held_ += stream_->Push(static_cast<uint32_t>(token));
  return Release(may_stop, false);
}

OutputText::Piece OutputText::Finish(bool may_stop) {
  if (!stream_.has_value()) return {};
  held_ += stream_->Finish();
  return Release(may_stop, true);
}

OutputText::Piece OutputText::Release(bool may_stop, bool is_last) {
  Piece piece;
  size_t end = held_.size();
  size_t hold = 0;
  for (const std::string& stop : stop_texts_) {
    if (!may_stop) break;
    // The earliest one counts; of two at one place, the one that was named first.
    if (const size_t at = held_.find(stop); at < end) {
      end = at;
      piece.stop_text = stop;
    }
    if (!is_last) hold = std::max(hold, BeginningHeld(held_, stop));
  }
  if (Planted(EngineFault::kStopTextLeaks)) hold = 0;
  if (piece.stop_text.empty()) end = held_.size() - hold;
  piece.text = held_.substr(0, end);
  held_.erase(0, end);
  return piece;
}

}  // namespace reenact::local_engine
