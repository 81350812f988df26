#include "tools/reenact/monitor/results_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "tools/reenact/io/write_file.h"

namespace reenact::tools {

absl::StatusOr<ResultsFile> ResultsFile::Open(const std::string& path,
                                              const eval::ResultHeader& header) {
  ResultsFile file;
  file.path_ = path;
  if (!std::filesystem::exists(path)) {
    file.out_.open(path, std::ios::binary);
    file.out_ << eval::HeaderLine(header) << std::flush;
  } else {
    const auto text = ReadFile(path);
    if (!text.ok()) return text.status();
    auto earlier = eval::ParseResults(*text);
    if (!earlier.ok() || !(earlier->header == header)) {
      return absl::AlreadyExistsError(absl::StrCat(
          path, " holds something else than the beginning of this eval: give another --out"));
    }
    file.samples_ = std::move(earlier->samples);
    // A line that was cut off must not run into the next one.
    std::error_code error;
    std::filesystem::resize_file(path, text->rfind('\n') + 1, error);
    file.out_.open(path, std::ios::app | std::ios::binary);
  }
  if (!file.out_) return absl::PermissionDeniedError(absl::StrCat(path, " cannot be written"));
  return file;
}

void ResultsFile::Keep(const eval::SampleResult& sample) {
  out_ << eval::SampleLine(sample) << std::flush;
}

absl::StatusOr<eval::EvalResults> ResultsFile::Finish() {
  out_.close();
  if (!out_) return absl::ResourceExhaustedError(absl::StrCat(path_, " was not written"));
  const auto text = ReadFile(path_);
  if (!text.ok()) return text.status();
  return eval::ParseResults(*text);
}

}  // namespace reenact::tools
