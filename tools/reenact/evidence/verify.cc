#include "store/reader/verify.h"

#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/reenact/evidence/key_file.h"
#include "tools/reenact/evidence/signature_file.h"
#include "tools/reenact/evidence/verified_store.h"
#include "tools/reenact/evidence/verify_text.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct VerifyOptions {
  std::string path;
  std::string public_key;
  std::string signature_file;
};

int Verify(const VerifyOptions& options, const Context& context) {
  const absl::StatusOr<StorePlace> place = PlaceToVerify(options.path, context);
  if (!place.ok()) return Fail(context, place.status());
  const std::string& path = place->path;
  std::optional<evidence::PublicKey> key;
  if (!options.public_key.empty()) {
    auto read = ReadPublicKey(options.public_key);
    if (!read.ok()) return Fail(context, read.status());
    key = *std::move(read);
  }
  const absl::StatusOr<store::VerifyReport> report = VerifyPlace(*place, context);
  if (!report.ok()) return Fail(context, report.status());
  SignatureReport signatures;
  if (key) {
    const std::string& given = options.signature_file;
    auto checked = CheckSignatures(path, *key, given.empty() ? SignatureFileOf(path) : given);
    if (!checked.ok()) return Fail(context, checked.status());
    signatures = *std::move(checked);
  }
  const VerifyOutcome outcome{&*report, key ? &signatures : nullptr};
  if (context.json) {
    JsonWriter json = JsonWriter::Document("verify");
    json.TextField("path", path);
    WriteOutcome(outcome, &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(TextOf(outcome, context.style));
  }
  if (!report->findings.empty() || !signatures.findings.empty()) return kExitFinding;
  if (report->segments == 0 && report->tombstones.empty()) {
    Note(context, "there was nothing to verify in " + path);
    return kExitInconclusive;
  }
  return kExitOk;
}

}  // namespace

void AddVerifyVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "verify",
       .summary = "Is what was recorded what is there? Names the first record that does not fit",
       .example =
           "  reenact verify\n  reenact verify refund.reenact\n"
           "  reenact verify --public-key signing.key.pub --signature kept/elsewhere.intoto.jsonl\n"
           "\n"
           "Files are read as they lie, and nothing is written, on purpose: evidence is not\n"
           "changed by looking at it. What a dead process left in memory is not yet in a file,\n"
           "so not verified; `reenact doctor --recover`, or whoever opens the store next,\n"
           "writes it down.\n"
           "Without a signature, whoever holds a store's key can make another past for it, or\n"
           "put the whole store back to an earlier day: see `reenact sign`."},
      [options, context] { return Verify(*options, *context); });
  verb->add_option("PATH", options->path, "a store, a bundle or a segment; else the store");
  CLI::Option* key = verb->add_option("--public-key", options->public_key,
                                      "there must be signatures by this key, and they must fit");
  key->type_name("FILE");
  verb->add_option("--signature", options->signature_file,
                   "where the signatures are, instead of beside what they are of")
      ->type_name("FILE")
      ->needs(key);
}

}  // namespace reenact::tools
