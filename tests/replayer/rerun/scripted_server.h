// A chat server on loopback that answers as a test tells it to, and remembers what it was asked.

#ifndef REENACT_TESTS_REPLAYER_RERUN_SCRIPTED_SERVER_H_
#define REENACT_TESTS_REPLAYER_RERUN_SCRIPTED_SERVER_H_

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "replayer/rerun/question.h"
#include "schema/record.h"
#include "tests/recorder/proxy/loopback.h"

namespace reenact::rerun {

// One token with the alternatives beside it, as a chat's logprobs have them.
struct ChatToken {
  std::string text;
  double logprob = -0.5;
  std::string other = "";  // Empty: none.
  double other_logprob = -2;
};

struct ChatAnswer {
  std::vector<ChatToken> tokens;
  bool logprobs = true;
  std::string id = "";           // Empty: a new one each time.
  std::string fingerprint = "";  // Empty: none.
  std::string finish = "stop";
};

// A whole HTTP message with a body, or a body alone.
std::string Http(const std::string& status, const std::string& headers, const std::string& body);
std::string ChatBody(const ChatAnswer& answer, const std::string& id);

class ScriptedServer {
 public:
  // `answer` gives the message for request `index`, counted from 0, with its head and body.
  explicit ScriptedServer(
      std::function<std::string(int index, const std::string& head, const std::string& body)>
          answer);
  // Answers like this each time.
  explicit ScriptedServer(const ChatAnswer& answer);

  std::string url() const { return upstream_.url() + "/v1"; }

  std::vector<std::string> heads() const;
  std::vector<std::string> bodies() const;

 private:
  void Serve(testing::Socket& socket);

  const std::function<std::string(int, const std::string&, const std::string&)> answer_;
  mutable std::mutex mutex_;
  std::vector<std::string> heads_;
  std::vector<std::string> bodies_;
  testing::Upstream upstream_;  // The last: its threads use the rest.
};

// A recorded chat call.
schema::Event RecordedChat(const std::string& request, const std::string& response);
inline constexpr const char* kRequest =
    R"({"model":"m-1","messages":[{"role":"user","content":"Hello"}],"temperature":0})";

}  // namespace reenact::rerun

#endif  // REENACT_TESTS_REPLAYER_RERUN_SCRIPTED_SERVER_H_
