// A small knowledge base: passages ranked by shared words, rare words counting more (TF-IDF).

#ifndef REENACT_TOOLS_DEMO_KNOWLEDGE_BASE_H_
#define REENACT_TOOLS_DEMO_KNOWLEDGE_BASE_H_

#include <string>
#include <string_view>
#include <vector>

namespace demo {

struct Passage {
  std::string title;
  std::string text;
};

class KnowledgeBase {
 public:
  explicit KnowledgeBase(std::vector<Passage> passages);

  // The best `count` passages for `query`, best first, as a JSON array of {title, text}. Passages
  // that share no word with it are left out.
  std::string Search(std::string_view query, size_t count) const;

  // What this index holds, as JSON: the content of its version.
  std::string Describe() const;

 private:
  double Score(const std::vector<std::string>& query_words, size_t passage) const;

  std::vector<Passage> passages_;
  std::vector<std::vector<std::string>> words_;  // Of each passage, lower case.
};

// The refund rules of the demo's shop.
KnowledgeBase ShopPolicies();
inline constexpr std::string_view kShopPoliciesVersion = "2026-02";

}  // namespace demo

#endif  // REENACT_TOOLS_DEMO_KNOWLEDGE_BASE_H_
