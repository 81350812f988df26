#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/reenact/evidence/key_file.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct KeygenOptions {
  std::string file;
  std::string passphrase_file;
};

int Keygen(const KeygenOptions& options, const Context& context) {
  const auto passphrase = ReadPassphrase(options.passphrase_file);
  if (!passphrase.ok()) return Fail(context, passphrase.status());
  const auto key = evidence::SigningKey::Generate();
  if (!key.ok()) return Fail(context, key.status());
  if (absl::Status written = WriteKeyPair(*key, *passphrase, options.file); !written.ok())
    return Fail(context, written);
  const std::string id = key->Public().id();
  if (context.json) {
    JsonWriter json = JsonWriter::Document("keygen");
    json.TextField("private_key", options.file);
    json.TextField("public_key", options.file + ".pub");
    json.TextField("key_id", id);
    json.EndObject();
    Print(json.Take());
  } else {
    Print("signs:    " + Printable(options.file) + "\nverifies: " + Printable(options.file) +
          ".pub\nkey id:   " + id + "\n");
  }
  return kExitOk;
}

}  // namespace

void AddKeygenVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<KeygenOptions>();
  CLI::App* verb =
      AddVerb(app, context,
              {.name = "keygen",
               .summary = "Makes a key that signs evidence, and the public key that verifies it",
               .example = "  reenact keygen ~/.config/reenact/signing.key\n"
                          "\n"
                          "Both are PEM files, as `openssl genpkey -algorithm ed25519` makes\n"
                          "them. Keep the key away from the machines that record: who can write\n"
                          "a store and read this key can sign what never happened.",
               .takes_store = false},
              [options, context] { return Keygen(*options, *context); });
  verb->add_option("FILE", options->file, "the private key; the public one is FILE.pub")
      ->required();
  verb->add_option("--passphrase-file", options->passphrase_file,
                   "encrypt the key under the first line of this file")
      ->type_name("FILE");
}

}  // namespace reenact::tools
