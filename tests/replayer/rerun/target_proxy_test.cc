// A target behind a proxy of the environment. cases/reports.md 34: NO_PROXY was ignored once a
// proxy was set.

#include <cstdlib>
#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "replayer/rerun/http_target.h"
#include "tests/replayer/rerun/scripted_server.h"

namespace reenact::rerun {
namespace {

constexpr char kCredentials[] = "u:pw";
constexpr char kBasic[] = "dTpwdw==";  // Of these.

class TargetProxyTest : public ::testing::Test {
 protected:
  TargetProxyTest()
      : between_([](int, const std::string& head, const std::string&) {
          return Http("200 OK", "Content-Type: application/json\r\n",
                      ChatBody({.tokens = {{"through"}}}, BasicIn(head)));
        }) {
    const std::string proxy = between_.url();  // With "/v1", which says nothing here.
    setenv("http_proxy", ("http://" + std::string(kCredentials) + "@" + proxy.substr(7)).c_str(),
           1);
    setenv("no_proxy", "10.9.8.7,.straight.invalid", 1);
  }

  ~TargetProxyTest() override {
    unsetenv("http_proxy");
    unsetenv("no_proxy");
  }

  // "Basic dTpwdw==" of a head.
  static std::string BasicIn(const std::string& head) {
    const size_t begin = head.find("Basic ");
    return begin == std::string::npos ? "none"
                                      : head.substr(begin, head.find("\r\n", begin) - begin);
  }

  Sample AskAt(const std::string& url) {
    HttpTargetOptions options;
    options.base_url = url;
    options.max_attempts = 1;
    auto target = MakeHttpTarget(options, &ledger_);
    EXPECT_TRUE(target.ok()) << target.status();
    return (*target)->Ask(QuestionOf(RecordedChat(kRequest, ""), {}));
  }

  static std::string Fact(const Sample& sample) {
    for (const auto& [name, value] : sample.event.meta) {
      if (name == "upstream_proxy") return value;
    }
    return "";
  }

  Ledger ledger_;
  ScriptedServer between_;
};

TEST_F(TargetProxyTest, OtherHostsAreAskedThroughItAndTheWayIsOnRecord) {
  const Sample sample = AskAt("http://models.invalid/v1");
  ASSERT_EQ(sample.status, SampleStatus::kAnswered) << sample.detail;
  EXPECT_EQ(sample.view.choices.at(0).content, "through");
  ASSERT_EQ(between_.heads().size(), 1u);
  EXPECT_TRUE(
      between_.heads()[0].starts_with("POST http://models.invalid/v1/chat/completions HTTP/1.1"));
  EXPECT_EQ(BasicIn(between_.heads()[0]), "Basic " + std::string(kBasic));
  EXPECT_EQ("http://" + Fact(sample) + "/v1", between_.url());
  // The answer echoed them.
  for (const std::string& text :
       {sample.event.response.bytes, sample.event.endpoint, sample.detail}) {
    EXPECT_EQ(text.find(kBasic), std::string::npos) << text;
    EXPECT_EQ(text.find(kCredentials), std::string::npos) << text;
  }
  EXPECT_NE(sample.event.response.bytes.find("Basic [redacted]"), std::string::npos);
}

TEST_F(TargetProxyTest, ThisMachineAndNamesOfNoProxyAreAskedStraight) {
  ScriptedServer server(ChatAnswer{.tokens = {{"straight"}}});
  const Sample own = AskAt(server.url());
  ASSERT_EQ(own.status, SampleStatus::kAnswered) << own.detail;
  EXPECT_EQ(own.view.choices.at(0).content, "straight");
  EXPECT_EQ(Fact(own), "");
  // A name that nobody knows: the proxy would have answered for it.
  EXPECT_EQ(AskAt("http://a.straight.invalid/v1").status, SampleStatus::kUnreachable);
  EXPECT_TRUE(between_.heads().empty());
}

TEST_F(TargetProxyTest, AProxyThatCannotBeReachedIsNotNamedWithItsCredentials) {
  setenv("http_proxy", "http://u:pw@no-such-proxy.invalid:1", 1);
  const Sample sample = AskAt("http://models.invalid/v1");
  EXPECT_EQ(sample.status, SampleStatus::kUnreachable);
  EXPECT_NE(sample.detail.find("no-such-proxy.invalid"), std::string::npos) << sample.detail;
  EXPECT_EQ(sample.detail.find(kCredentials), std::string::npos) << sample.detail;
}

}  // namespace
}  // namespace reenact::rerun
