#include "tools/reenact/verb.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

namespace reenact::tools {
namespace {

// CLI11's help, with `-- COMMAND` in the usage line of the verbs that take one, and the same text
// in all versions of CLI11.
class VerbFormatter : public CLI::Formatter {
 public:
  explicit VerbFormatter(bool takes_command) : takes_command_(takes_command) { column_width(28); }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    const size_t end = usage.find_last_not_of('\n');
    if (takes_command_ && end != std::string::npos) {
      usage.insert(end + 1, " -- COMMAND [ARG...]");
    }
    return usage;
  }

  // A default is `=50`, as up to CLI11 2.3; later ones write ` [50] `.
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string& value = option->get_default_str();
    const std::string bracketed = " [" + value + "] ";
    const size_t at = value.empty() ? std::string::npos : text.find(bracketed);
    if (at != std::string::npos) text.replace(at, bracketed.size(), "=" + value);
    return text;
  }

 private:
  bool takes_command_ = false;
};

std::string CodeName(const absl::Status& status) {
  return std::string(absl::StatusCodeToString(status.code()));
}

}  // namespace

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ? kExitInconclusive
                                                                         : kExitRefused;
}

namespace {

// An empty word is a shell variable that was not set, and would be read as if the option were not
// there.
void RefuseEmptyWords(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& word : option->results()) {
      if (word.empty()) throw CLI::ValidationError(option->get_name(), "is an empty word");
    }
  }
}

}  // namespace

CLI::App* AddVerb(CLI::App* parent, Context* context, const VerbText& text,
                  std::function<int()> action) {
  CLI::App* verb = parent->add_subcommand(text.name, text.summary);
  verb->formatter(std::make_shared<VerbFormatter>(text.takes_command));
  verb->footer(std::string("Example:\n") + text.example);
  if (text.takes_store) {
    verb->add_option("--store", context->store, "store folder or bundle file")
        ->type_name("DIR|FILE")
        ->group("Everywhere");
  }
  verb->add_flag("--json", context->json, "JSON on standard output")->group("Everywhere");
  std::string name = parent->get_parent() == nullptr ? "" : parent->get_name() + " ";
  name += text.name;
  const bool takes_command = text.takes_command;
  verb->callback([verb, context, name, takes_command, action = std::move(action)] {
    RefuseEmptyWords(*verb);
    context->verb = name;
    context->action = [context, name, takes_command, action] {
      if (context->has_command && !takes_command) {
        return Refuse(*context, "this verb takes no command after --; remove it");
      }
      return action();
    };
  });
  return verb;
}

// CLI11's own names the largest double, digit by digit.
CLI::Validator NonNegative() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.empty() || text[0] != '-' ? std::string() : text + " is negative";
      },
      "NONNEGATIVE");
}

CLI::Validator InRange(int64_t low, int64_t high) {
  const std::string least = std::to_string(low);
  const std::string most = std::to_string(high);
  return CLI::Validator(
      [=](const std::string& text) {
        int64_t value = 0;
        const bool fits = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
        return fits ? std::string() : "Value " + text + " not in range " + least + " to " + most;
      },
      "INT in [" + least + " - " + most + "]");
}

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Note(const Context& context, std::string_view text) {
  std::string line = "reenact";
  if (!context.verb.empty()) line += " " + context.verb;
  line += ": " + Printable(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int Fail(const Context& context, const absl::Status& status) {
  return FailWith(context, status, ExitCodeOf(status));
}

int FailWith(const Context& context, const absl::Status& status, int exit_code) {
  const std::string message(status.message());
  Note(context, message);
  if (context.json) {
    JsonWriter json = JsonWriter::Document(context.verb);
    json.Key("error");
    json.BeginObject();
    json.TextField("code", CodeName(status));
    json.TextField("message", message);
    json.IntField("exit_code", exit_code);
    json.EndObject();
    json.EndObject();
    Print(json.Take());
  }
  return exit_code;
}

absl::Status OrReplace(absl::Status status) {
  if (!absl::IsAlreadyExists(status)) return status;
  return absl::AlreadyExistsError(std::string(status.message()) + "; --replace writes over it");
}

int Refuse(const Context& context, std::string_view message) {
  return Fail(context,
              absl::InvalidArgumentError(absl::string_view(message.data(), message.size())));
}

}  // namespace reenact::tools
