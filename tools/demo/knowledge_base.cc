#include "knowledge_base.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace demo {
namespace {

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

nlohmann::json ToJson(const Passage& passage) {
  return {{"title", passage.title}, {"text", passage.text}};
}

}  // namespace

KnowledgeBase::KnowledgeBase(std::vector<Passage> passages) : passages_(std::move(passages)) {
  for (const Passage& passage : passages_) {
    words_.push_back(Words(passage.title + " " + passage.text));
  }
}

double KnowledgeBase::Score(const std::vector<std::string>& query_words, size_t passage) const {
  double score = 0;
  for (const std::string& word : query_words) {
    const auto count = std::count(words_[passage].begin(), words_[passage].end(), word);
    if (count == 0) continue;
    const auto holders = std::count_if(words_.begin(), words_.end(), [&](const auto& words) {
      return std::find(words.begin(), words.end(), word) != words.end();
    });
    const double rarity =
        std::log1p(static_cast<double>(words_.size()) / static_cast<double>(holders));
    score += static_cast<double>(count) * rarity / static_cast<double>(words_[passage].size());
  }
  return score;
}

std::string KnowledgeBase::Search(std::string_view query, size_t count) const {
  const std::vector<std::string> query_words = Words(query);
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t i = 0; i < passages_.size(); ++i) {
    const double score = Score(query_words, i);
    if (score > 0) ranked.emplace_back(-score, i);
  }
  std::sort(ranked.begin(), ranked.end());
  nlohmann::json found = nlohmann::json::array();
  for (size_t i = 0; i < ranked.size() && i < count; ++i) {
    found.push_back(ToJson(passages_[ranked[i].second]));
  }
  return found.dump();
}

std::string KnowledgeBase::Describe() const {
  nlohmann::json all = nlohmann::json::array();
  for (const Passage& passage : passages_) all.push_back(ToJson(passage));
  return all.dump();
}

KnowledgeBase ShopPolicies() {
  return KnowledgeBase({
      {"Refund window", "Within 30 days of delivery."},
      {"Refund amount", "The order total, never more."},
      {"Damaged goods", "Refunded in full."},
      {"Shipping costs", "Refunded when everything is sent back."},
      {"Gift cards", "Not refunded."},
      {"Opening hours", "Working days from nine to five."},
  });
}

}  // namespace demo
