// Classes of characters of the template language, which is ASCII outside of its texts.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_ASCII_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_ASCII_H_

namespace reenact::local_engine {

inline bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_ASCII_H_
