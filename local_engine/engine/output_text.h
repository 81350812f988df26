// The text of one sample as its tokens come: whole characters only, up to the first stop text.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_OUTPUT_TEXT_H_
#define REENACT_LOCAL_ENGINE_ENGINE_OUTPUT_TEXT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "local_engine/tokenizer/tokenizer.h"

namespace reenact::local_engine {

class OutputText {
 public:
  // What follows `prompt`: a space between the two is there, and a character that the prompt began
  // is completed. Null `tokenizer`: there is no text. It and `stop_texts` outlive the object; stop
  // texts are not empty and valid UTF-8.
  OutputText(const Tokenizer* tokenizer, std::span<const int32_t> prompt,
             const std::vector<std::string>& stop_texts);

  struct Piece {
    std::string text;       // That is certain now. What could begin a stop text is held back.
    std::string stop_text;  // Not empty: found, and the text ends before it.
  };

  // `may_stop`: whether a stop text that this token completes counts.
  Piece Push(int32_t token, bool may_stop);

  // The rest. To be called once, last, where no stop text was found.
  Piece Finish(bool may_stop);

 private:
  Piece Release(bool may_stop, bool is_last);

  std::optional<DecodeStream> stream_;
  const std::vector<std::string>& stop_texts_;
  std::string held_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_OUTPUT_TEXT_H_
