// Words as the exec family of system calls takes them.

#ifndef REENACT_SCHEMA_EXEC_VECTOR_H_
#define REENACT_SCHEMA_EXEC_VECTOR_H_

#include <string>
#include <vector>

namespace reenact::schema {

// Points into `words`, which must outlive it; the last one is null.
inline std::vector<char*> ExecVector(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  pointers.reserve(words->size() + 1);
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_EXEC_VECTOR_H_
