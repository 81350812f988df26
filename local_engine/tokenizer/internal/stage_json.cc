#include "local_engine/tokenizer/internal/stage_json.h"

#include <functional>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace reenact::local_engine {

namespace {

using Json = nlohmann::json;

// Sequences in sequences.
constexpr int kMaxStageDepth = 8;

// One stage, read field by field. The first error is kept, and the fields after it do not matter.
class Fields {
 public:
  Fields(const Json& stage, std::string_view role) : stage_(stage), role_(role) {
    if (!stage.is_object()) Fail("is not an object");
  }

  const absl::Status& status() const { return status_; }

  std::string Type() { return Text("type"); }

  std::string Text(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr || !field->is_string()) {
      Fail(std::string("needs a string \"") + name + "\"");
      return {};
    }
    return field->get<std::string>();
  }

  bool Flag(const char* name, bool when_absent) {
    const Json* field = Find(name);
    if (field == nullptr || field->is_null()) return when_absent;
    if (!field->is_boolean()) Fail(std::string("\"") + name + "\" is neither true nor false");
    return field->is_boolean() && field->get<bool>();
  }

  uint32_t Number(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr || !field->is_number_unsigned() ||
        field->get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
      Fail(std::string("needs a number \"") + name + "\"");
      return 0;
    }
    return field->get<uint32_t>();
  }

  // {"String": "…"} or {"Regex": "…"}.
  TextPattern Pattern() {
    const Json* field = Find("pattern");
    if (field != nullptr && field->is_object() && field->size() == 1 &&
        field->begin()->is_string()) {
      const std::string kind = field->begin().key();
      if (kind == "String" || kind == "Regex") {
        return {field->begin()->get<std::string>(), kind == "Regex"};
      }
    }
    Fail("needs a \"pattern\" that is a String or a Regex");
    return {};
  }

  PrependScheme Scheme() {
    const bool adds = Flag("add_prefix_space", true);
    const Json* field = Find("prepend_scheme");
    if (field == nullptr || field->is_null()) {
      return adds ? PrependScheme::kAlways : PrependScheme::kNever;
    }
    const std::string scheme = Text("prepend_scheme");
    if (scheme == "never") return PrependScheme::kNever;
    if (!adds) Fail("\"add_prefix_space\" contradicts \"prepend_scheme\"");
    if (scheme == "first") return PrependScheme::kFirst;
    if (scheme != "always") Fail("does not know the prepend_scheme \"" + scheme + "\"");
    return PrependScheme::kAlways;
  }

  const Json* Find(const char* name) const {
    if (!stage_.is_object()) return nullptr;
    const auto field = stage_.find(name);
    return field == stage_.end() ? nullptr : &*field;
  }

  void Fail(const std::string& what) {
    if (!status_.ok()) return;
    const Json* type = Find("type");
    const std::string name = type != nullptr && type->is_string() ? type->get<std::string>() : "";
    status_ = absl::InvalidArgumentError(role_ + (name.empty() ? "" : " " + name) + " " + what);
  }

  void Refuse(const std::string& what) {
    if (status_.ok()) status_ = absl::UnimplementedError(role_ + " " + what + " is not supported");
  }

 private:
  const Json& stage_;
  const std::string role_;
  absl::Status status_;
};

// Calls `read` for every stage of a member, in order, through its sequences.
class StageWalk {
 public:
  StageWalk(std::string role, const char* sequence_field, std::function<void(Fields*)> read)
      : role_(std::move(role)), sequence_field_(sequence_field), read_(std::move(read)) {}

  absl::Status Walk(const std::string& text) const {
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_null()) return absl::OkStatus();
    return Visit(json, 0);
  }

 private:
  absl::Status Visit(const Json& stage, int depth) const {
    Fields fields(stage, role_);
    const std::string type = fields.Type();
    if (type != "Sequence" || !fields.status().ok()) {
      if (fields.status().ok()) read_(&fields);
      return fields.status();
    }
    const Json* inner = fields.Find(sequence_field_);
    if (inner == nullptr || !inner->is_array()) {
      fields.Fail(std::string("needs an array \"") + sequence_field_ + "\"");
    } else if (depth == kMaxStageDepth) {
      fields.Fail("is nested too deeply");
    }
    if (!fields.status().ok()) return fields.status();
    for (const Json& next : *inner) {
      absl::Status status = Visit(next, depth + 1);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const std::string role_;
  const char* sequence_field_;
  const std::function<void(Fields*)> read_;
};

NormalizerStage ReadNormalizer(Fields* fields) {
  using Kind = NormalizerStage::Kind;
  static constexpr std::pair<std::string_view, Kind> kPlain[] = {{"NFC", Kind::kNfc},
                                                                 {"NFD", Kind::kNfd},
                                                                 {"NFKC", Kind::kNfkc},
                                                                 {"NFKD", Kind::kNfkd},
                                                                 {"Lowercase", Kind::kLowercase}};
  NormalizerStage stage;
  const std::string type = fields->Type();
  for (const auto& [name, kind] : kPlain) {
    if (type != name) continue;
    stage.kind = kind;
    return stage;
  }
  if (type == "Prepend") {
    stage.kind = Kind::kPrepend;
    stage.content = fields->Text("prepend");
  } else if (type == "Replace") {
    stage.kind = Kind::kReplace;
    stage.pattern = fields->Pattern();
    stage.content = fields->Text("content");
  } else if (type == "Strip") {
    stage.kind = Kind::kStrip;
    stage.strip_left = fields->Flag("strip_left", false);
    stage.strip_right = fields->Flag("strip_right", false);
  } else {
    fields->Refuse(type);
  }
  return stage;
}

SplitBehavior ReadBehavior(Fields* fields) {
  static constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  const std::string name = fields->Text("behavior");
  for (const auto& [known, behavior] : kBehaviors) {
    if (name == known) return behavior;
  }
  fields->Fail("does not know the behavior \"" + name + "\"");
  return SplitBehavior::kIsolated;
}

PreTokenizerStage ReadPreTokenizer(Fields* fields) {
  using Kind = PreTokenizerStage::Kind;
  PreTokenizerStage stage;
  const std::string type = fields->Type();
  if (type == "Split") {
    stage.kind = Kind::kSplit;
    stage.pattern = fields->Pattern();
    stage.behavior = ReadBehavior(fields);
    stage.invert = fields->Flag("invert", false);
  } else if (type == "Digits") {
    stage.kind = Kind::kSplit;
    stage.pattern = {"\\p{N}", true};
    stage.behavior = fields->Flag("individual_digits", false) ? SplitBehavior::kIsolated
                                                              : SplitBehavior::kContiguous;
  } else if (type == "ByteLevel") {
    stage.kind = Kind::kByteLevel;
    stage.add_prefix_space = fields->Flag("add_prefix_space", true);
    stage.use_regex = fields->Flag("use_regex", true);
  } else if (type == "Metaspace") {
    stage.kind = Kind::kMetaspace;
    stage.replacement = fields->Text("replacement");
    stage.prepend_scheme = fields->Scheme();
    stage.split = fields->Flag("split", true);
  } else {
    fields->Refuse(type);
  }
  return stage;
}

DecoderStage ReadDecoder(Fields* fields) {
  using Kind = DecoderStage::Kind;
  DecoderStage stage;
  const std::string type = fields->Type();
  if (type == "ByteLevel") {
    stage.kind = Kind::kByteLevel;
  } else if (type == "ByteFallback") {
    stage.kind = Kind::kByteFallback;
  } else if (type == "Fuse") {
    stage.kind = Kind::kFuse;
  } else if (type == "Metaspace") {
    stage.kind = Kind::kMetaspace;
    stage.content = fields->Text("replacement");
    stage.prepend_scheme = fields->Scheme();
  } else if (type == "Replace") {
    stage.kind = Kind::kReplace;
    const TextPattern pattern = fields->Pattern();
    if (pattern.is_regex) fields->Refuse("Replace with a Regex");
    stage.pattern = pattern.text;
    stage.content = fields->Text("content");
  } else if (type == "Strip") {
    stage.kind = Kind::kStrip;
    stage.content = fields->Text("content");
    stage.start = fields->Number("start");
    stage.stop = fields->Number("stop");
  } else {
    fields->Refuse(type);
  }
  return stage;
}

// The ids of the special token that a template names.
void AppendTemplateIds(Fields* fields, const Json& piece, std::vector<uint32_t>* ids) {
  const Json* tokens = fields->Find("special_tokens");
  const Json name = piece.is_object() && piece.contains("id") ? piece["id"] : Json();
  if (tokens != nullptr && tokens->is_object() && name.is_string()) {
    const auto token = tokens->find(name.get<std::string>());
    if (token != tokens->end() && token->is_object() && token->contains("ids") &&
        (*token)["ids"].is_array()) {
      for (const Json& id : (*token)["ids"]) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() > std::numeric_limits<int32_t>::max()) {
          return fields->Fail("has a special token whose ids are no ids");
        }
        ids->push_back(id.get<uint32_t>());
      }
      return;
    }
  }
  fields->Fail("names a special token that it does not define");
}

void ReadTemplate(Fields* fields, std::vector<uint32_t>* prefix_ids,
                  std::vector<uint32_t>* suffix_ids) {
  const Json* single = fields->Find("single");
  if (single == nullptr || !single->is_array()) return fields->Fail("needs an array \"single\"");
  std::vector<uint32_t> before;
  std::vector<uint32_t> after;
  int text_count = 0;
  for (const Json& piece : *single) {
    if (piece.is_object() && piece.contains("SpecialToken")) {
      AppendTemplateIds(fields, piece["SpecialToken"], text_count == 0 ? &before : &after);
    } else if (piece.is_object() && piece.contains("Sequence") && piece["Sequence"].is_object() &&
               piece["Sequence"].value("id", Json()) == "A") {
      ++text_count;
    } else {
      fields->Fail("has a template for one text that is more than that");
    }
  }
  if (text_count != 1) fields->Fail("has a template without the text, or with it twice");
  *prefix_ids = std::move(before);
  *suffix_ids = std::move(after);
}

}  // namespace

absl::Status ReadNormalizers(const std::string& json, std::vector<NormalizerStage>* stages) {
  return StageWalk("normalizer", "normalizers",
                   [stages](Fields* fields) { stages->push_back(ReadNormalizer(fields)); })
      .Walk(json);
}

absl::Status ReadPreTokenizers(const std::string& json, std::vector<PreTokenizerStage>* stages) {
  return StageWalk("pre-tokenizer", "pretokenizers",
                   [stages](Fields* fields) { stages->push_back(ReadPreTokenizer(fields)); })
      .Walk(json);
}

absl::Status ReadPostProcessor(const std::string& json, std::vector<uint32_t>* prefix_ids,
                               std::vector<uint32_t>* suffix_ids) {
  bool has_template = false;
  const auto read = [&](Fields* fields) {
    const std::string type = fields->Type();
    if (type == "TemplateProcessing" && !has_template) {
      has_template = true;
      ReadTemplate(fields, prefix_ids, suffix_ids);
    } else if (type == "TemplateProcessing") {
      fields->Refuse("a template around a template");
    } else if (type != "ByteLevel") {  // That one trims offsets, which are not kept here.
      fields->Refuse(type);
    }
  };
  return StageWalk("post-processor", "processors", read).Walk(json);
}

absl::Status ReadDecoders(const std::string& json,
                          std::optional<std::vector<DecoderStage>>* stages) {
  if (json == "null") return absl::OkStatus();
  stages->emplace();
  return StageWalk("decoder", "decoders",
                   [stages](Fields* fields) { (*stages)->push_back(ReadDecoder(fields)); })
      .Walk(json);
}

}  // namespace reenact::local_engine
