#include "recorder/proxy/client_answer.h"

#include <algorithm>
#include <cstdio>

#include <boost/beast/http/status.hpp>

#include "recorder/proxy/own_answer.h"

namespace reenact::proxy {
namespace {

std::string StatusLine(const AnswerHead& head) {
  std::string reason = head.reason;
  if (reason.empty() && !head.has_version_1) {
    const auto status = boost::beast::http::int_to_status(static_cast<unsigned>(head.status));
    reason = std::string(boost::beast::http::obsolete_reason(status));
  }
  return "HTTP/1.1 " + std::to_string(head.status) + " " + reason + "\r\n";
}

void AppendHeader(std::string_view name, std::string_view value, std::string* out) {
  out->append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

void ClientAnswer::Continue() {
  if (continued_ || begun_ || !request_->awaits_continue()) return;
  continued_ = true;
  client_->Write("HTTP/1.1 100 Continue\r\n\r\n");
}

void ClientAnswer::Interim(const AnswerHead& head) {
  if (!request_->is_version_1_1) return;
  std::string out = StatusLine(head);
  for (const auto& [name, value] : head.headers) AppendHeader(name, value, &out);
  client_->Write(out + "\r\n");
}

ClientAnswer::Framing ClientAnswer::ChooseFraming(const AnswerHead& head) const {
  if (request_->method == "HEAD" || head.status == 204 || head.status == 304) return Framing::kNone;
  if (head.content_length) return Framing::kLength;
  const bool has_own_end = head.chunked || !head.has_version_1;
  return has_own_end && request_->is_version_1_1 ? Framing::kChunked : Framing::kUntilClose;
}

void ClientAnswer::Head(const AnswerHead& head) {
  begun_ = true;
  framing_ = ChooseFraming(head);
  if (framing_ == Framing::kLength) length_left_ = *head.content_length;
  std::string out = StatusLine(head);
  for (const auto& [name, value] : EndToEndHeaders(head.headers)) AppendHeader(name, value, &out);
  if (framing_ == Framing::kChunked) AppendHeader("Transfer-Encoding", "chunked", &out);
  const bool closes = !leaves_open();
  if (closes && request_->is_version_1_1) AppendHeader("Connection", "close", &out);
  if (!closes && !request_->is_version_1_1) AppendHeader("Connection", "keep-alive", &out);
  client_->Write(out + "\r\n");
}

void ClientAnswer::Bytes(std::string_view bytes) {
  if (framing_ == Framing::kChunked) {
    char size[20];
    const int length = std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
    std::string chunk;
    chunk.reserve(bytes.size() + sizeof(size) + 2);
    chunk.append(size, static_cast<size_t>(length)).append(bytes).append("\r\n");
    client_->Write(chunk);
  } else if (framing_ != Framing::kNone) {
    client_->Write(bytes);
  }
  length_left_ -= std::min<uint64_t>(length_left_, bytes.size());
}

void ClientAnswer::Trailer(const std::pair<std::string, std::string>& trailer) {
  AppendHeader(trailer.first, trailer.second, &trailers_);
}

void ClientAnswer::End() {
  if (framing_ == Framing::kChunked) client_->Write("0\r\n" + trailers_ + "\r\n");
}

void ClientAnswer::Instead(const OwnAnswer& answer, bool keep_alive) {
  begun_ = true;
  client_->Write(answer.Serialize(request_->method, keep_alive));
}

}  // namespace reenact::proxy
