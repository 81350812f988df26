// How what `verify` found is told.

#ifndef REENACT_TOOLS_REENACT_EVIDENCE_VERIFY_TEXT_H_
#define REENACT_TOOLS_REENACT_EVIDENCE_VERIFY_TEXT_H_

#include <string>

#include "store/reader/verify.h"
#include "tools/reenact/evidence/signature_file.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// `signatures` null: none were asked for.
struct VerifyOutcome {
  const store::VerifyReport* report = nullptr;
  const SignatureReport* signatures = nullptr;
};

// Lines: findings first, then what is accounted for, what nothing vouches for, what was checked.
std::string TextOf(const VerifyOutcome& outcome, const Style& style);
// The members of an object that is open.
void WriteOutcome(const VerifyOutcome& outcome, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_EVIDENCE_VERIFY_TEXT_H_
