#include "schema/recorded_command.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "schema/internal/credential_names.h"
#include "schema/json_view.h"
#include "schema/redaction.h"

namespace reenact::schema {
namespace {

constexpr std::string_view kEntryPrefix = "exec ";
// The member that says what this is, and in which form.
constexpr std::string_view kFormMember = "reenact_command";
constexpr uint64_t kForm = 1;

// --- writing ---

void AppendText(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (byte < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
      *out += escape.data();
    } else {
      *out += c;
    }
  }
  *out += '"';
}

// Members of an object, one after the other.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string* out) : out_(*out) { out_ += '{'; }

  void Text(std::string_view key, std::string_view text) {
    Key(key);
    AppendText(text, &out_);
  }

  void Number(std::string_view key, int64_t number) {
    Key(key);
    out_ += std::to_string(number);
  }

  void Flag(std::string_view key, bool flag) {
    Key(key);
    out_ += flag ? "true" : "false";
  }

  void Texts(std::string_view key, const std::vector<std::string>& texts) {
    Key(key);
    out_ += '[';
    for (size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) out_ += ',';
      AppendText(texts[i], &out_);
    }
    out_ += ']';
  }

  // As an object: names of variables are unique, and redaction finds credentials by their key.
  void Pairs(std::string_view key, const Tags& pairs) {
    Key(key);
    ObjectWriter object(&out_);
    for (const auto& [name, value] : pairs) object.Text(name, value);
    object.End();
  }

  void Key(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    AppendText(key, &out_);
    out_ += ':';
  }

  void End() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

void AppendRoutes(const std::vector<CommandRoute>& routes, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < routes.size(); ++i) {
    if (i > 0) *out += ',';
    ObjectWriter route(out);
    route.Text("name", routes[i].name);
    route.Text("prefix", routes[i].prefix);
    route.Text("upstream", routes[i].upstream);
    if (!routes[i].implied_path.empty()) route.Text("implied_path", routes[i].implied_path);
    route.End();
  }
  *out += ']';
}

// --- reading ---

std::vector<std::string> ReadTexts(JsonValue array) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < array.size(); ++i) texts.push_back(array[i].AsString());
  return texts;
}

Tags ReadPairs(JsonValue object) {
  Tags pairs;
  for (size_t i = 0; i < object.size(); ++i) {
    pairs.emplace_back(object.KeyAt(i), object[i].AsString());
  }
  return pairs;
}

std::vector<CommandRoute> ReadRoutes(JsonValue array) {
  std::vector<CommandRoute> routes;
  for (size_t i = 0; i < array.size(); ++i) {
    routes.push_back({array[i]["name"].AsString(), array[i]["prefix"].AsString(),
                      array[i]["upstream"].AsString(), array[i]["implied_path"].AsString()});
  }
  return routes;
}

std::optional<std::string> ReadOptionalText(JsonValue value) {
  if (!value.is_string()) return std::nullopt;
  return value.AsString();
}

int32_t ReadSmallNumber(JsonValue value) {
  return static_cast<int32_t>(value.AsInt64().value_or(0) & INT32_MAX);
}

// --- names ---

std::string_view WithoutFolders(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// "TOKEN" alone means nothing as a key of a body; as the last word of a variable it is a
// credential.
bool EndsInCredentialWord(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  });
  constexpr std::array<std::string_view, 10> kWords = {"KEY",    "TOKEN",      "SECRET", "PASSWORD",
                                                       "PASSWD", "PASSPHRASE", "PWD",    "PAT",
                                                       "COOKIE", "CREDENTIALS"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    if (!upper.ends_with(word)) return false;
    if (upper.size() == word.size()) return true;
    const char before = upper[upper.size() - word.size() - 1];
    return before == '_' || before == '-' || word.size() > 3;
  });
}

bool IsCredentialVariable(std::string_view name) {
  if (name == "PWD" || name == "OLDPWD") return false;  // Of a shell: a working directory.
  return internal::IsCredentialKey(name) || EndsInCredentialWord(name);
}

// Unlike a variable, "--sort-key" is no credential, and the program needs it.
bool IsCredentialOption(std::string_view name) {
  const auto ends_in = [name](std::string_view word) {
    return name.ends_with(word) && !internal::IsCredentialKey(name);
  };
  return IsCredentialVariable(name) && !ends_in("key") && !ends_in("pat");
}

// "-c" of shells and Python, "-e" of Node, Perl and Ruby; with others before it, as in "-lc".
bool TakesCode(std::string_view option) {
  if (option == "--eval" || option == "--print") return true;
  return option.size() > 1 && option.size() <= 4 && option[0] == '-' && option[1] != '-' &&
         (option.back() == 'c' || option.back() == 'e');
}

}  // namespace

std::string EntryOf(const RecordedCommand& command) {
  std::string entry(kEntryPrefix);
  if (command.argv.empty()) return entry;
  entry += WithoutFolders(command.argv[0]);
  // An interpreter says little: the first word after it that is no option says more, unless it is
  // the code itself, as after "sh -c".
  for (size_t i = 1; i < command.argv.size(); ++i) {
    const std::string& word = command.argv[i];
    if (TakesCode(word)) break;
    if (word.starts_with('-')) continue;
    if (word.find_first_of("./") == std::string::npos) break;
    return entry + ' ' + std::string(WithoutFolders(word));
  }
  return entry;
}

std::string EncodeCommand(const RecordedCommand& command) {
  std::string out;
  ObjectWriter object(&out);
  object.Number(kFormMember, kForm);
  object.Texts("argv", command.argv);
  object.Text("directory", command.directory);
  object.Pairs("environment", command.environment);
  object.Pairs("proxy_environment", command.proxy_environment);
  object.Key("routes");
  AppendRoutes(command.routes, &out);
  object.Text("git_commit", command.git_commit);
  object.Flag("git_dirty", command.git_dirty);
  object.Flag("clock_frozen", command.clock_frozen);
  object.Flag("random_frozen", command.random_frozen);
  object.Flag("stdout_captured", command.stdout_captured);
  object.Flag("stderr_captured", command.stderr_captured);
  object.End();
  return out;
}

std::string EncodeCommandEnd(const CommandEnd& end) {
  std::string out;
  ObjectWriter object(&out);
  object.Number("exit_status", end.exit_status);
  object.Number("signal", end.signal);
  if (end.standard_output) object.Text("stdout", *end.standard_output);
  if (end.standard_error) object.Text("stderr", *end.standard_error);
  object.End();
  return out;
}

std::optional<RecordedCommand> CommandOf(const Run& run) {
  if (run.input.cut || !run.entry.starts_with(kEntryPrefix)) return std::nullopt;
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(run.input.bytes);
  if (document == nullptr) return std::nullopt;
  const JsonValue root = document->root();
  if (root[kFormMember].AsUint64() != kForm || root["argv"].size() == 0) return std::nullopt;
  RecordedCommand command;
  command.argv = ReadTexts(root["argv"]);
  command.directory = root["directory"].AsString();
  command.environment = ReadPairs(root["environment"]);
  command.proxy_environment = ReadPairs(root["proxy_environment"]);
  command.routes = ReadRoutes(root["routes"]);
  command.git_commit = root["git_commit"].AsString();
  command.git_dirty = root["git_dirty"].AsBool();
  command.clock_frozen = root["clock_frozen"].AsBool();
  command.random_frozen = root["random_frozen"].AsBool();
  command.stdout_captured = root["stdout_captured"].AsBool();
  command.stderr_captured = root["stderr_captured"].AsBool();
  return command;
}

std::optional<CommandEnd> DecodeCommandEnd(std::string_view output) {
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(output);
  if (document == nullptr || !document->root()["exit_status"].is_number()) return std::nullopt;
  const JsonValue root = document->root();
  CommandEnd end;
  end.exit_status = ReadSmallNumber(root["exit_status"]);
  end.signal = ReadSmallNumber(root["signal"]);
  end.standard_output = ReadOptionalText(root["stdout"]);
  end.standard_error = ReadOptionalText(root["stderr"]);
  return end;
}

std::pair<EndState, std::string> EndStateOf(const CommandEnd& end) {
  if (end.signal != 0) return {EndState::kError, "signal " + std::to_string(end.signal)};
  if (end.exit_status == 0) return {EndState::kComplete, ""};
  return {EndState::kError, "exit status " + std::to_string(end.exit_status)};
}

std::pair<std::string, std::string> CommandVariable(std::string_view name, std::string_view value) {
  const bool hidden = !value.empty() && IsCredentialVariable(name);
  return {std::string(name), std::string(hidden ? kRedactedMark : value)};
}

std::vector<std::string> CommandArguments(const std::vector<std::string>& argv) {
  std::vector<std::string> kept;
  bool is_value = false;  // Of the option before.
  for (const std::string& argument : argv) {
    const size_t name = std::min(argument.find_first_not_of('-'), argument.size());
    const size_t equals = std::min(argument.find('=', name), argument.size());
    const bool counts =
        !kept.empty() && IsCredentialOption(std::string_view(argument).substr(name, equals - name));
    if (is_value && name == 0) {
      kept.emplace_back(kRedactedMark);
    } else if (counts && equals + 1 < argument.size()) {
      kept.push_back(argument.substr(0, equals + 1) + std::string(kRedactedMark));
    } else {
      kept.push_back(argument);
    }
    is_value = counts && name == 2 && equals == argument.size();
  }
  return kept;
}

}  // namespace reenact::schema
