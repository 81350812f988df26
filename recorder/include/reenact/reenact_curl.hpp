// reenact_curl.hpp: records a libcurl transfer that the host sets up and owns, and replays it into
// the host's own callbacks. Header-only, C++17; neither exceptions nor RTTI needed.
//
//   reenact::CurlCallbacks callbacks;
//   callbacks.write = OnBytes;  callbacks.write_data = &parser;
//   reenact::ModelCall call;
//   call.provider = "openai";  call.endpoint = url;  call.request = json;
//   call.headers = reenact::HeadersOf(header_list);
//   reenact::CurlAnswer answer = reenact::PerformCurl(run, call, easy, callbacks);
//   if (answer.code != CURLE_OK) ...
//
// The host sets every option of the handle but four, which libcurl cannot be asked for: the write
// and header functions and their data come in CurlCallbacks. They are called exactly as libcurl
// would, live and on replay, and are what the handle has when the call returns.
//
// Recorded: status and headers of the final answer (interim 1xx answers, followed redirects and
// proxy answers are not answers), each read as libcurl handed it out, how the transfer ended, and
// each attempt when the host retries. With CURLOPT_ACCEPT_ENCODING that is the decoded body.
//
// On replay nothing is transferred: curl_easy_getinfo knows nothing of the answer, take the status
// from CurlAnswer. The header function gets a status line and those headers that were stored.
// A write function that pauses is handed the same bytes again at once.

#ifndef REENACT_REENACT_CURL_HPP_
#define REENACT_REENACT_CURL_HPP_

#include <curl/curl.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reenact/internal/curl_codes.hpp"
#include "reenact/internal/curl_headers.hpp"
#include "reenact/reenact.hpp"

namespace reenact {

// The host's own callbacks. A null one discards, as does a null pair of function and data.
struct CurlCallbacks {
  curl_write_callback write = nullptr;
  void* write_data = nullptr;
  curl_write_callback header = nullptr;
  void* header_data = nullptr;
};

struct CurlAnswer {
  CURLcode code = CURLE_OK;  // As curl_easy_perform gave it; on replay the recorded one.
  long status = 0;           // HTTP status of the last attempt; 0: none came.
  EndState end_state = EndState::kComplete;
  std::string error;      // libcurl's words for `code`, or the divergence. Empty when complete.
  bool diverged = false;  // Replay: not on the tape. `code` is CURLE_ABORTED_BY_CALLBACK.
};

// Asked after an attempt: true makes another. `attempt` counts from 0. Also asked on replay, at the
// same places, so that a back-off inside it reads the clock and sleeps through the seam in both.
using CurlRetry = std::function<bool(const CurlAnswer& failed, int attempt)>;

// The list as it was given to CURLOPT_HTTPHEADER. Entries without a colon are left out.
inline Headers HeadersOf(const curl_slist* list) {
  Headers headers;
  for (; list != nullptr; list = list->next) {
    internal::AddHeaderLine(list->data, &headers);
  }
  return headers;
}

// One call through one easy handle. For the multi interface: when live(), Attach, hand the handle
// to the multi handle, and call Finish with the code that it reports; else call Replay. PerformCurl
// does this for the easy interface.
class CurlTee {
 public:
  CurlTee(Seam& seam, const ModelCall& call, const CurlCallbacks& callbacks)
      : callbacks_(callbacks) {
    const internal::ModelCallInfo c(call);
    disposition_ = reenact_call_begin(seam.handle(), &c.info(), &call_);
  }

  // A tee that was not finished ends as abandoned.
  ~CurlTee() {
    if (!ended_) End(EndState::kAbandonedByCaller, {});
  }

  CurlTee(const CurlTee&) = delete;
  CurlTee& operator=(const CurlTee&) = delete;

  bool live() const { return disposition_ == REENACT_LIVE; }

  // Puts the tee between the handle and the host's callbacks, for one attempt. The tee must stay
  // where it is until Detach.
  void Attach(CURL* easy) {
    block_ = internal::HeaderBlock();
    head_sent_ = false;
    answer_ = CurlAnswer();
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &CurlTee::OnWrite);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &CurlTee::OnHeader);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  }

  // The handle has the host's callbacks again.
  void Detach(CURL* easy) const {
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callbacks_.write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, callbacks_.write_data);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callbacks_.header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, callbacks_.header_data);
  }

  // Live: what the attempt came to, with the code of libcurl.
  CurlAnswer Judge(CURLcode code) {
    SendHead();
    answer_.code = code;
    answer_.end_state = internal::CurlEndState(code);
    if (code != CURLE_OK) answer_.error = curl_easy_strerror(code);
    return answer_;
  }

  // Live: the attempt that was judged last failed, and another is made. Its end state is kept as
  // "provider_error:http_429" or "reset:curl 56: ...".
  void AttemptFailed() {
    std::string detail;
    if (answer_.code == CURLE_OK) {
      detail = "provider_error:http_" + std::to_string(answer_.status);
    } else {
      detail = answer_.end_state == EndState::kTruncated ? "truncated:" : "reset:";
      detail += internal::CurlDetail(answer_.code);
    }
    reenact_call_attempt_failed(call_, internal::Bytes(detail));
  }

  // Live: ends the call with what was judged last.
  CurlAnswer Finish(CURLcode code) {
    Judge(code);
    return Finish();
  }

  CurlAnswer Finish() {
    End(answer_.end_state,
        answer_.code == CURLE_OK ? std::string() : internal::CurlDetail(answer_.code));
    return answer_;
  }

  // Not live: hands the recorded answer to the host's callbacks, and ends the call.
  CurlAnswer Replay(const CurlRetry& retry = nullptr) {
    auto item = internal::Sized<reenact_item>();
    reenact_code code = disposition_ == REENACT_ON_TAPE ? REENACT_OK : REENACT_DIVERGED_CODE;
    int attempt = 0;
    bool wanted = true;
    answer_ = CurlAnswer();
    while (wanted && code == REENACT_OK && (code = reenact_call_next(call_, &item)) == REENACT_OK) {
      wanted = Take(item, retry, &attempt);
    }
    if (code != REENACT_OK && code != REENACT_END) return Diverge();
    if (!wanted) {
      answer_.code = CURLE_WRITE_ERROR;
      answer_.end_state = EndState::kAbandonedByCaller;
      answer_.error = curl_easy_strerror(answer_.code);
      if (retry) retry(answer_, attempt);
    }
    End(answer_.end_state, {});
    return answer_;
  }

 private:
  static size_t OnWrite(char* data, size_t size, size_t count, void* user) {
    auto* tee = static_cast<CurlTee*>(user);
    const size_t total = size * count;
    tee->SendHead();
    const curl_write_callback write = tee->callbacks_.write;
    const size_t taken =
        write == nullptr ? total : write(data, size, count, tee->callbacks_.write_data);
    // Paused bytes come again, and are recorded then.
    if (taken != CURL_WRITEFUNC_PAUSE) reenact_call_chunk(tee->call_, {data, total});
    return taken;
  }

  static size_t OnHeader(char* data, size_t size, size_t count, void* user) {
    auto* tee = static_cast<CurlTee*>(user);
    // What comes after the first body byte is a trailer.
    if (!tee->head_sent_) tee->block_.TakeLine(std::string_view(data, size * count));
    const curl_write_callback header = tee->callbacks_.header;
    return header == nullptr ? size * count
                             : header(data, size, count, tee->callbacks_.header_data);
  }

  void SendHead() {
    if (head_sent_ || block_.status() < 200) return;
    head_sent_ = true;
    const std::vector<reenact_pair> pairs = internal::Pairs(block_.headers());
    reenact_call_head(call_, static_cast<int32_t>(block_.status()), pairs.data(), pairs.size());
    answer_.status = block_.status();
  }

  // One recorded item. False: the host wants no more.
  bool Take(const reenact_item& item, const CurlRetry& retry, int* attempt) {
    switch (item.kind) {
      case REENACT_ITEM_HEAD:
        answer_.status = item.status;
        return FeedHead(item);
      case REENACT_ITEM_BYTES:
        return FeedBytes(internal::View(item.bytes));
      case REENACT_ITEM_ATTEMPT_END: {
        const std::string detail(internal::View(item.bytes));
        const bool answered = detail.compare(0, 15, "provider_error:") == 0;
        answer_.code =
            internal::CurlCode(answered ? EndState::kComplete : EndState::kReset, detail);
        answer_.end_state = internal::CurlEndState(answer_.code);
        answer_.error = answer_.code == CURLE_OK ? "" : curl_easy_strerror(answer_.code);
        const bool again = !retry || retry(answer_, (*attempt)++);
        answer_ = CurlAnswer();
        return again;
      }
      case REENACT_ITEM_CALL_END: {
        const std::string detail(internal::View(item.bytes));
        answer_.end_state = static_cast<EndState>(item.end_state);
        answer_.code = internal::CurlCode(answer_.end_state, detail);
        answer_.error = answer_.code == CURLE_OK ? "" : curl_easy_strerror(answer_.code);
        if (retry) retry(answer_, *attempt);
        return true;
      }
      default:
        return true;
    }
  }

  bool FeedHead(const reenact_item& item) {
    if (callbacks_.header == nullptr || item.status == 0) return true;
    bool taken = FeedHeaderLine("HTTP/1.1 " + std::to_string(item.status) + "\r\n");
    for (size_t i = 0; taken && i < item.header_count; ++i) {
      std::string line(internal::View(item.headers[i].name));
      line.append(": ").append(internal::View(item.headers[i].value)).append("\r\n");
      taken = FeedHeaderLine(std::move(line));
    }
    return taken && FeedHeaderLine("\r\n");
  }

  bool FeedHeaderLine(std::string line) {
    return callbacks_.header(line.data(), 1, line.size(), callbacks_.header_data) == line.size();
  }

  bool FeedBytes(std::string_view bytes) {
    if (callbacks_.write == nullptr) return true;
    constexpr int kMaxPauses = 1000;
    std::string copy(bytes);  // The callback may write into its buffer, as it may into libcurl's.
    for (int pauses = 0; pauses < kMaxPauses; ++pauses) {
      const size_t taken = callbacks_.write(copy.data(), 1, copy.size(), callbacks_.write_data);
      if (taken != CURL_WRITEFUNC_PAUSE) return taken == copy.size();
    }
    return false;
  }

  CurlAnswer Diverge() {
    answer_ = CurlAnswer();
    answer_.diverged = true;
    answer_.code = CURLE_ABORTED_BY_CALLBACK;
    answer_.end_state = EndState::kError;
    answer_.error = internal::ErrorText(&reenact_call_error, call_);
    End(EndState::kError, {});
    return answer_;
  }

  void End(EndState state, const std::string& detail) {
    if (ended_) return;
    ended_ = true;
    auto meta = internal::Sized<reenact_call_meta>();
    meta.detail = internal::Bytes(detail);
    reenact_call_end(call_, static_cast<int32_t>(state), &meta);
  }

  CurlCallbacks callbacks_;
  reenact_call* call_ = nullptr;
  reenact_disposition disposition_ = REENACT_LIVE;
  bool ended_ = false;
  CurlAnswer answer_;
  internal::HeaderBlock block_;
  bool head_sent_ = false;
};

// curl_easy_perform, recorded; on replay, served. Blocks as it does. `retry` may be empty: one
// attempt. All attempts are one call of the run.
inline CurlAnswer PerformCurl(Seam& seam, const ModelCall& call, CURL* easy,
                              const CurlCallbacks& callbacks, const CurlRetry& retry = nullptr) {
  CurlTee tee(seam, call, callbacks);
  if (!tee.live()) return tee.Replay(retry);
  for (int attempt = 0;; ++attempt) {
    tee.Attach(easy);
    const CURLcode code = curl_easy_perform(easy);
    tee.Detach(easy);
    const CurlAnswer answer = tee.Judge(code);
    if (!retry || !retry(answer, attempt)) return tee.Finish();
    tee.AttemptFailed();
  }
}

}  // namespace reenact

#endif  // REENACT_REENACT_CURL_HPP_
