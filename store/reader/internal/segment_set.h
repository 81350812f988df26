// All the files that a reader looks into: the segments of a store folder as they are now, or one
// file. Sealed ones stay open; an unsealed one is opened for a visit and closed after it, since its
// writer waits for readers when it seals. What cannot be opened is noted, and hides nothing else.

#ifndef REENACT_STORE_READER_INTERNAL_SEGMENT_SET_H_
#define REENACT_STORE_READER_INTERNAL_SEGMENT_SET_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "store/reader/segment_reader.h"
#include "store/store_layout.h"

namespace reenact::store::internal {

// What tells a file from another that took its name, without reading either.
struct FileStamp {
  int64_t size_bytes = -1;  // -1: there is no file.
  int64_t modified_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

// What errno says of a path that cannot be read. Errors: PermissionDenied, else NotFound.
absl::Status CannotRead(const std::string& path);
// Whether the segments of a store can be listed. Errors: PermissionDenied; NotFound.
absl::Status CheckSegmentsFolder(const StoreLayout& layout);

class SegmentSet {
 public:
  // Errors: as StoreReader::Open.
  static absl::StatusOr<std::unique_ptr<SegmentSet>> Open(const std::string& path);

  bool is_folder() const { return is_folder_; }

  const StoreLayout& layout() const { return layout_; }

  // File names, oldest first, as they are now.
  std::vector<std::string> Names() const;

  // Visits one file, or each, oldest first; the visitor's first failure ends it. A file that cannot
  // be opened is a problem, not a failure; one that is gone or still empty is neither.
  absl::Status Visit(const std::string& name,
                     const std::function<absl::Status(SegmentReader&)>& visit);
  absl::Status VisitAll(const std::function<absl::Status(SegmentReader&)>& visit);

  FileStamp StampOf(const std::string& name) const;
  // The file of this name is another than before: the one that is open counts no more.
  void Reopen(const std::string& name);

  // Each sentence once.
  void AddProblem(std::string sentence);

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  // A redaction puts another file in the place of a sealed one: the stamp tells.
  struct Sealed {
    std::unique_ptr<SegmentReader> reader;
    FileStamp stamp;  // Of before it was opened.
  };

  std::string PathOf(const std::string& name) const;

  bool is_folder_ = false;
  StoreLayout layout_;        // Folders.
  std::string file_path_;     // Else.
  std::list<Sealed> sealed_;  // The last used first.
  std::vector<std::string> problems_;
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_SEGMENT_SET_H_
