// Findings about one body, in the order found, each once, and bounded: a hostile stream of a
// million broken records yields a few lines, and the count of the rest.

#ifndef REENACT_SCHEMA_INTERNAL_ANOMALY_LIST_H_
#define REENACT_SCHEMA_INTERNAL_ANOMALY_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reenact::schema::internal {

class AnomalyList {
 public:
  static constexpr int64_t kMaxPlaces = 32;    // Of one kind.
  static constexpr size_t kMaxFindings = 256;  // Of all kinds.

  // "crlf". Once, however often it is noted.
  void Note(std::string_view name);
  void NoteAll(const std::vector<std::string>& names);
  // "json_error:event=3". The first kMaxPlaces of a name; then they are counted.
  void NoteAt(std::string_view name, std::string_view unit, int64_t index);

  // Empties the list. Where places were left out there is "json_error:more=17" at the end.
  std::vector<std::string> Take();

 private:
  struct Kind {
    std::string name;
    int64_t count = 0;
  };

  std::vector<std::string> findings_;
  std::vector<Kind> kinds_;
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_ANOMALY_LIST_H_
