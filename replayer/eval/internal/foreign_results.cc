#include "replayer/eval/internal/foreign_results.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "nlohmann/json.hpp"

namespace reenact::eval::internal {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::map<std::string, std::string>;  // Keys in lower case.

absl::Status Invalid(std::string text) {
  return absl::InvalidArgumentError(std::move(text));
}

const std::string* FieldOf(const Fields& fields, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = fields.find(name);
    if (found != fields.end() && !found->second.empty()) return &found->second;
  }
  return nullptr;
}

std::optional<bool> Truth(std::string text) {
  absl::AsciiStrToLower(&text);
  for (const char* yes : {"true", "pass", "passed", "yes", "1", "1.0"})
    if (text == yes) return true;
  for (const char* no : {"false", "fail", "failed", "no", "0", "0.0"})
    if (text == no) return false;
  return std::nullopt;
}

// A row of a table, whatever it was written as.
absl::StatusOr<SampleResult> FromFields(const Fields& fields, const std::string& place) {
  SampleResult sample;
  const std::string* id = FieldOf(fields, {"case", "case_id", "id", "test", "name"});
  if (id == nullptr)
    return Invalid(absl::StrCat(place, " has no case: name it \"case\" or \"id\""));
  sample.case_id = *id;
  sample.repeat = -1;
  if (const std::string* repeat = FieldOf(fields, {"repeat", "run", "trial", "epoch"})) {
    if (!absl::SimpleAtoi(*repeat, &sample.repeat))
      return Invalid(absl::StrCat(place, ": repeat \"", *repeat, "\" is no number"));
  }
  if (const std::string* error = FieldOf(fields, {"error"})) {
    sample.status = "error";
    sample.why = *error;
    return sample;
  }
  const std::string* pass = FieldOf(fields, {"pass", "passed", "success", "verdict"});
  const std::string* score = FieldOf(fields, {"score", "value"});
  std::optional<bool> truth = pass != nullptr ? Truth(*pass) : std::nullopt;
  if (pass != nullptr && !truth)
    return Invalid(absl::StrCat(place, ": \"", *pass, "\" is neither pass nor fail"));
  if (score != nullptr) {
    double number = 0;
    if (!absl::SimpleAtod(*score, &number) || !(number > -1e308 && number < 1e308))
      return Invalid(absl::StrCat(place, ": score \"", *score, "\" is no number"));
    sample.score = number;
  } else if (truth) {
    sample.score = *truth ? 1.0 : 0.0;
  } else {
    return Invalid(absl::StrCat(place, " has neither a score nor a pass"));
  }
  sample.pass = truth.value_or(*sample.score >= 1);
  if (const std::string* answer = FieldOf(fields, {"answer", "output", "response"}))
    sample.answer = *answer;
  return sample;
}

Fields FieldsOf(const Json& object) {
  Fields fields;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || value.is_structured()) continue;
    fields[absl::AsciiStrToLower(key)] =
        value.is_string() ? value.get<std::string>() : value.dump();
  }
  return fields;
}

// Where nobody numbered the repeats of a case, their order does.
void NumberRepeats(std::vector<SampleResult>* samples) {
  std::map<std::string, int64_t> next;
  for (SampleResult& sample : *samples) {
    if (sample.repeat < 0) sample.repeat = next[sample.case_id];
    next[sample.case_id] = std::max(next[sample.case_id], sample.repeat + 1);
  }
}

absl::StatusOr<EvalResults> ReadJsonLines(std::string_view text) {
  EvalResults results;
  results.header.source = "jsonl";
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (absl::StripAsciiWhitespace(absl::string_view(line.data(), line.size())).empty()) continue;
    const Json json = Json::parse(line, nullptr, false);
    const std::string place = absl::StrCat("line ", number);
    if (!json.is_object()) return Invalid(absl::StrCat(place, " is no JSON object"));
    auto sample = FromFields(FieldsOf(json), place);
    if (!sample.ok()) return sample.status();
    results.samples.push_back(*std::move(sample));
  }
  return results;
}

// RFC 4180: quoted fields may hold commas, quotes (doubled) and line breaks.
absl::StatusOr<std::vector<std::vector<std::string>>> ReadCsvRows(std::string_view text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& field = rows.back().back();
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\n') {
      rows.push_back({""});
    } else if (c != '\r') {
      field += c;
    }
  }
  if (quoted) return Invalid("a quoted field does not end");
  std::erase_if(rows, [](const auto& row) { return row.size() == 1 && row[0].empty(); });
  return rows;
}

absl::StatusOr<EvalResults> ReadCsv(std::string_view text) {
  const auto rows = ReadCsvRows(text);
  if (!rows.ok()) return rows.status();
  EvalResults results;
  results.header.source = "csv";
  if (rows->empty()) return results;
  const std::vector<std::string>& titles = rows->front();
  for (size_t i = 1; i < rows->size(); ++i) {
    const std::string place = absl::StrCat("row ", i + 1);
    if ((*rows)[i].size() != titles.size())
      return Invalid(absl::StrCat(place, " has ", (*rows)[i].size(), " fields where the first has ",
                                  titles.size()));
    Fields fields;
    for (size_t column = 0; column < titles.size(); ++column)
      fields[absl::AsciiStrToLower(titles[column])] = (*rows)[i][column];
    auto sample = FromFields(fields, place);
    if (!sample.ok()) return sample.status();
    results.samples.push_back(*std::move(sample));
  }
  return results;
}

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// A case is a test, by its description, else by its variables, else by its position.
std::string PromptfooCase(const Json& result) {
  if (result.contains("testCase") && result["testCase"].is_object()) {
    if (std::string text = TextOf(result["testCase"], "description"); !text.empty()) return text;
  }
  if (std::string text = TextOf(result, "description"); !text.empty()) return text;
  if (result.contains("vars") && !result["vars"].empty())
    return result["vars"].dump(-1, ' ', false, Json::error_handler_t::replace);
  if (result.contains("testIdx")) return absl::StrCat("test ", result["testIdx"].dump());
  return "";
}

std::string PromptfooSystem(const Json& result) {
  std::string provider = TextOf(result, "provider");
  if (result.contains("provider") && result["provider"].is_object())
    provider = TextOf(result["provider"], "id");
  return absl::StrCat(provider, ", prompt ",
                      result.contains("promptIdx") ? result["promptIdx"].dump() : "0");
}

absl::StatusOr<EvalResults> ReadPromptfoo(const Json& list) {
  EvalResults results;
  results.header.source = "promptfoo";
  std::set<std::string> systems;
  for (size_t i = 0; i < list.size(); ++i) {
    const Json& result = list[i];
    const std::string place = absl::StrCat("result ", i);
    if (!result.is_object()) return Invalid(absl::StrCat(place, " is no object"));
    systems.insert(PromptfooSystem(result));
    Fields fields = FieldsOf(result);
    fields.erase("id");  // Of the result, not of its case.
    fields["case"] = PromptfooCase(result);
    if (result.contains("response") && result["response"].is_object())
      fields["answer"] = TextOf(result["response"], "output");
    // An assertion that failed is told as an error as well, with failureReason 1; 2 is a real one.
    if (result.value("failureReason", Json()) == 1) fields.erase("error");
    auto sample = FromFields(fields, place);
    if (!sample.ok()) return sample.status();
    results.samples.push_back(*std::move(sample));
  }
  if (systems.size() > 1) {
    return Invalid(absl::StrCat("it holds results of ", systems.size(), " systems, among them ",
                                *systems.begin(), " and ", *systems.rbegin(),
                                ": write one file for each"));
  }
  if (!systems.empty()) results.header.target = *systems.begin();
  return results;
}

}  // namespace

absl::StatusOr<EvalResults> ReadForeignResults(std::string_view text) {
  absl::StatusOr<EvalResults> results;
  const size_t begin = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin == std::string_view::npos) return Invalid("the file is empty");
  text.remove_prefix(begin);
  if (text.front() == '{') {
    const Json whole = Json::parse(text, nullptr, false);
    const Json* list = nullptr;
    if (whole.is_object() && whole.contains("results")) {
      list = &whole["results"];
      if (list->is_object() && list->contains("results")) list = &(*list)["results"];
    }
    results = list != nullptr && list->is_array() ? ReadPromptfoo(*list) : ReadJsonLines(text);
  } else {
    results = ReadCsv(text);
  }
  if (results.ok()) NumberRepeats(&results->samples);
  return results;
}

}  // namespace reenact::eval::internal
