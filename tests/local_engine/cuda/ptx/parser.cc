#include "tests/local_engine/cuda/ptx/parser.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/kernel_builder.h"
#include "tests/local_engine/cuda/ptx/scanner.h"

namespace reenact::ptx {
namespace {

class ModuleReader {
 public:
  explicit ModuleReader(std::string_view text) : scanner_(text) {}

  Module Read() {
    while (!scanner_.AtEnd()) ReadDirective();
    return std::move(module_);
  }

 private:
  void ReadDirective() {
    if (scanner_.Skip(".version") || scanner_.Skip(".address_size")) {
      scanner_.Word();
    } else if (scanner_.Skip(".target")) {
      module_.target = scanner_.Word();
    } else if (scanner_.Skip(".visible") || scanner_.Skip(".weak")) {
      return;
    } else if (scanner_.Skip(".entry")) {
      ReadKernel();
    } else if (scanner_.Skip(".extern")) {
      ReadExtern();
    } else if (scanner_.Skip(".const")) {
      ReadVariable(true);
    } else if (scanner_.Skip(".global")) {
      ReadVariable(false);
    } else if (scanner_.Skip(".shared")) {
      shared_of_module_.emplace_back(scanner_.Statement());
    } else {
      throw Fault("an unknown directive: " + std::string(scanner_.Word()));
    }
  }

  void ReadExtern() {
    if (!scanner_.Skip(".shared")) throw Fault("an unknown directive after .extern");
    dynamic_shared_.insert(ParseDeclaration(scanner_.Statement()).name);
  }

  // ".align 4 .b8 name[8] = {1, 2, 3}" with bytes, or elements of the declared type.
  void ReadVariable(bool constant) {
    const std::string_view text = scanner_.Statement();
    const size_t equals = text.find('=');
    const Declaration declaration = ParseDeclaration(text.substr(0, equals));
    Variable variable;
    variable.size_bytes = declaration.size_bytes;
    variable.constant = constant;
    variable.bytes = std::make_unique<std::byte[]>(declaration.size_bytes);
    if (equals != std::string_view::npos) {
      std::string_view values = Trimmed(text.substr(equals + 1));
      if (values.front() == '{') values = values.substr(1, values.size() - 2);
      const std::vector<std::string> parts = SplitOperands(values);
      if (parts.empty()) throw Fault("a variable without values: " + std::string(text));
      const size_t element = ElementBytes(text);
      for (size_t i = 0; i < parts.size() && (i + 1) * element <= variable.size_bytes; ++i) {
        const bool is_float = parts[i].size() > 2 && (parts[i][1] == 'f' || parts[i][1] == 'F');
        const uint64_t value = is_float ? std::strtoull(parts[i].c_str() + 2, nullptr, 16)
                                        : std::strtoull(parts[i].c_str(), nullptr, 0);
        std::memcpy(variable.bytes.get() + i * element, &value, element);
      }
    }
    module_.variables[declaration.name] = std::move(variable);
  }

  static size_t ElementBytes(std::string_view text) {
    Scanner words(text);
    for (std::string_view word = words.Word(); !word.empty(); word = words.Word()) {
      const Type type = TypeNamed(word.substr(1));
      if (word.front() == '.' && type != Type::kNone) return static_cast<size_t>(SizeBytes(type));
    }
    throw Fault("a variable without a type: " + std::string(text));
  }

  void ReadKernel() {
    KernelBuilder builder(std::string(scanner_.Word()), module_, dynamic_shared_);
    for (const std::string& parameter : SplitOperands(scanner_.Balanced())) {
      builder.AddParameter(
          ParseDeclaration(std::string_view(parameter).substr(std::strlen(".param"))));
    }
    for (const std::string& variable : shared_of_module_) {
      builder.DeclareShared(ParseDeclaration(variable));
    }
    while (scanner_.Peek() != '{') ReadTuning(&builder);
    ReadBody(scanner_.Balanced(), &builder);
    Kernel kernel = builder.Finish();
    const std::string name = kernel.name;
    module_.kernels.emplace(name, std::move(kernel));
  }

  // ".maxntid 256, 1, 1", for sm_120 ".maxntid 256": the rest tunes registers and occupancy, which
  // change no value.
  void ReadTuning(KernelBuilder* builder) {
    const std::string word(scanner_.Word());
    if (word == ".maxntid" || word == ".reqntid") {
      uint32_t threads = 1;
      while (scanner_.Peek() >= '0' && scanner_.Peek() <= '9') {
        threads *=
            static_cast<uint32_t>(std::strtoul(std::string(scanner_.Word()).c_str(), nullptr, 10));
      }
      builder->SetMaxThreads(threads);
    } else if (word == ".minnctapersm" || word == ".maxnreg") {
      scanner_.Word();
    } else {
      throw Fault("an unknown directive of a kernel: " + word);
    }
  }

  static void ReadBody(std::string_view text, KernelBuilder* builder) {
    Scanner body(text);
    while (!body.AtEnd()) {
      if (body.Skip("{") || body.Skip("}")) continue;
      const std::string_view label = body.Label();
      if (!label.empty()) {
        builder->AddLabel(label);
        continue;
      }
      std::string_view statement = Trimmed(body.Statement());
      if (statement.empty()) continue;
      if (statement.front() != '.') {
        builder->AddInstruction(statement);
      } else {
        ReadDeclaration(statement, builder);
      }
    }
  }

  static void ReadDeclaration(std::string_view statement, KernelBuilder* builder) {
    Scanner words(statement);
    const std::string kind(words.Word());
    const std::string_view rest = statement.substr(kind.size());
    if (kind == ".reg") {
      builder->DeclareRegisters(rest);
    } else if (kind == ".shared") {
      builder->DeclareShared(ParseDeclaration(rest));
    } else if (kind == ".local") {
      builder->DeclareLocal(ParseDeclaration(rest));
    } else if (kind != ".pragma") {
      throw Fault("an unknown directive: " + std::string(statement));
    }
  }

  Scanner scanner_;
  Module module_;
  std::set<std::string> dynamic_shared_;
  std::vector<std::string> shared_of_module_;
};

}  // namespace

absl::StatusOr<Module> ParseModule(std::string_view text) {
  try {
    return ModuleReader(WithoutComments(text)).Read();
  } catch (const Fault& fault) {
    return absl::InvalidArgumentError(fault.what());
  }
}

}  // namespace reenact::ptx
