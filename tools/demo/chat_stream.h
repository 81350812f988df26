// Puts a streamed chat completion together again while it arrives. What any client library of a
// provider does; here so that the demo has no further dependency.

#ifndef REENACT_TOOLS_DEMO_CHAT_STREAM_H_
#define REENACT_TOOLS_DEMO_CHAT_STREAM_H_

#include <map>
#include <string>
#include <string_view>

namespace demo {

struct RequestedTool {
  std::string id;
  std::string name;
  std::string arguments;
};

class ChatStream {
 public:
  // Takes the next bytes, cut anywhere.
  void Append(std::string_view bytes);

  const std::string& content() const { return content_; }

  const std::map<int, RequestedTool>& tools() const { return tools_; }

  bool ended() const { return ended_; }  // [DONE] was seen.

 private:
  void Record(std::string_view data);

  std::string pending_;
  std::string content_;
  std::map<int, RequestedTool> tools_;
  bool ended_ = false;
};

}  // namespace demo

#endif  // REENACT_TOOLS_DEMO_CHAT_STREAM_H_
