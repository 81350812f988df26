// One exchange of the proxy as an event of a run. Everything here is the C interface of the
// recorder: what cannot be kept is dropped and counted there, and the exchange goes on.

#ifndef REENACT_RECORDER_PROXY_CALL_RECORDING_H_
#define REENACT_RECORDER_PROXY_CALL_RECORDING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "recorder/proxy/http_head.h"
#include "recorder/proxy/recorded_run.h"
#include "reenact/values.hpp"
#include "schema/content_decoder.h"
#include "schema/dialect.h"

namespace reenact::proxy {

struct RequestToRecord {
  std::string_view method;
  std::string_view url;  // Of the upstream. Credentials in its query are learned, not stored.
  const Headers* headers = nullptr;  // All of them, credentials as well.
  std::string_view body;             // Without content encoding, where that could be undone.
};

class CallRecording {
 public:
  CallRecording() = default;
  ~CallRecording();  // A call that was not ended ends as incomplete.
  CallRecording(const CallRecording&) = delete;
  CallRecording& operator=(const CallRecording&) = delete;

  void Begin(std::shared_ptr<RecordedRun> run, const RequestToRecord& request,
             const schema::CallKind& kind);
  void Head(int status, const Headers& headers);
  void Bytes(std::string_view bytes);
  void AddFact(std::string name, std::string value);
  void End(EndState state, std::string_view detail);

  bool begun() const { return begun_; }

 private:
  void Keep(std::string_view bytes);

  std::shared_ptr<RecordedRun> run_;
  reenact_call* call_ = nullptr;
  bool begun_ = false;
  uint64_t fingerprint_ = 0;  // Of the request, for the attempts that may follow.
  int status_ = 0;
  std::unique_ptr<schema::ContentDecoder> decoder_;
  uint64_t wire_bytes_ = 0;
  Tags facts_;
};

using schema::DecodedBody;

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_CALL_RECORDING_H_
