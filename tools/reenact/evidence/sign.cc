#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "store/reader/verify.h"
#include "tools/reenact/evidence/key_file.h"
#include "tools/reenact/evidence/signature_file.h"
#include "tools/reenact/evidence/verified_store.h"
#include "tools/reenact/evidence/verify_text.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct SignOptions {
  std::string path;
  std::string key;
  std::string passphrase_file;
  std::string output;
};

int PrintSigned(const std::string& path, const std::string& file, const std::string& key_id,
                const VerifyOutcome& outcome, const Context& context) {
  if (context.json) {
    JsonWriter json = JsonWriter::Document("sign");
    json.TextField("path", path);
    json.TextField("signature", file);
    json.TextField("key_id", key_id);
    WriteOutcome(outcome, &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(TextOf(outcome, context.style) + "signed in " + Printable(file) + " by key " + key_id +
          "\n");
  }
  return kExitOk;
}

// What nobody checked is not signed: a signature over a damaged store would vouch for the damage.
int Sign(const SignOptions& options, const Context& context) {
  const absl::StatusOr<StorePlace> place = PlaceToVerify(options.path, context);
  if (!place.ok()) return Fail(context, place.status());
  const std::string& path = place->path;
  const auto passphrase = ReadPassphrase(options.passphrase_file);
  if (!passphrase.ok()) return Fail(context, passphrase.status());
  const auto key = ReadSigningKey(options.key, *passphrase);
  if (!key.ok()) return Fail(context, key.status());
  const absl::StatusOr<store::VerifyReport> report = VerifyPlace(*place, context);
  if (!report.ok()) return Fail(context, report.status());
  if (!report->findings.empty()) {
    const store::VerifyFinding& first = report->findings.front();
    const std::string what = first.segment + ": " + first.record + ": " + first.problem;
    return FailWith(
        context, absl::DataLossError("nothing is signed: " + what + "; `reenact verify` says more"),
        kExitFinding);
  }
  const std::string file = options.output.empty() ? SignatureFileOf(path) : options.output;
  if (absl::Status done = AddSignature(path, *key, file); !done.ok()) return Fail(context, done);
  return PrintSigned(path, file, key->Public().id(), {&*report, nullptr}, context);
}

}  // namespace

void AddSignVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<SignOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "sign",
       .summary = "Signs what a store or a bundle holds, for `verify --public-key`",
       .example = "  reenact sign --key ~/.config/reenact/signing.key\n"
                  "  reenact sign refund.reenact --key signing.key\n"
                  "  reenact sign --key signing.key --output /mnt/worm/store.intoto.jsonl\n"
                  "\n"
                  "Verifies first, and signs nothing that does not fit. Of a store all that is\n"
                  "sealed is signed; it may grow, and be pruned and redacted with tombstones. A\n"
                  "signature is a line of DSSE with an in-toto statement, added to those that\n"
                  "are in the file. Keep a copy where nobody who can write the store can write:\n"
                  "it is what shows that the whole store was put back to an earlier day."},
      [options, context] { return Sign(*options, *context); });
  verb->add_option("PATH", options->path, "a store or a bundle; else the store");
  verb->add_option("--key", options->key, "a private Ed25519 key: see `reenact keygen`")
      ->type_name("FILE")
      ->required();
  verb->add_option("--passphrase-file", options->passphrase_file, "its first line decrypts the key")
      ->type_name("FILE");
  verb->add_option("--output", options->output,
                   "where the signature goes, instead of beside what it is of")
      ->type_name("FILE");
}

}  // namespace reenact::tools
