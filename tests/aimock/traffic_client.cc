// Sends the chat completion requests of a file to a provider, through the SDK, and writes down
// what it saw: status, every read of bytes, how each call ended. Two journals are equal exactly
// when the host saw the same thing.
//
//   traffic_client --base URL --requests FILE --journal FILE [--store DIR] [--clock-offset-hours N]
//
// FILE has one request body a line. The whole file is the input of one run, each line one call;
// HTTP 429 is tried again after the Retry-After it names, and 5xx and resets once more.

#include <curl/curl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <reenact/reenact_curl.hpp>

namespace {

constexpr int kMaxAttempts = 3;

struct Flags {
  std::string base = "http://127.0.0.1:9/v1";
  std::string requests;
  std::string journal;
  std::string store;
  long clock_offset_hours = 0;
};

bool ParseFlags(int argc, char** argv, Flags* flags) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--base") {
      flags->base = argv[i + 1];
    } else if (name == "--requests") {
      flags->requests = argv[i + 1];
    } else if (name == "--journal") {
      flags->journal = argv[i + 1];
    } else if (name == "--store") {
      flags->store = argv[i + 1];
    } else if (name == "--clock-offset-hours") {
      flags->clock_offset_hours = std::atol(argv[i + 1]);
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && !flags->requests.empty() && !flags->journal.empty();
}

// What one call showed to its host.
struct Seen {
  std::ostringstream text;
  long retry_after_s = 0;
};

std::string Escaped(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    char piece[8];
    std::snprintf(piece, sizeof piece, c >= ' ' && c < 127 && c != '\\' ? "%c" : "\\x%02x",
                  static_cast<unsigned char>(c));
    out += piece;
  }
  return out;
}

size_t OnBytes(char* data, size_t size, size_t count, void* user) {
  static_cast<Seen*>(user)->text << "  read " << Escaped({data, size * count}) << "\n";
  return size * count;
}

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  const std::string_view line(data, size * count);
  auto* seen = static_cast<Seen*>(user);
  constexpr std::string_view kRetryAfter = "retry-after: ";
  if (line.size() > kRetryAfter.size() &&
      curl_strnequal(data, kRetryAfter.data(), kRetryAfter.size()) != 0) {
    seen->retry_after_s = std::atol(data + kRetryAfter.size());
    seen->text << "  retry-after " << seen->retry_after_s << "\n";
  }
  return size * count;
}

class Traffic {
 public:
  Traffic(reenact::Run* run, const Flags& flags)
      : run_(run), url_(flags.base + "/chat/completions") {
    headers_ = curl_slist_append(headers_, "content-type: application/json");
    headers_ =
        curl_slist_append(headers_, "authorization: Bearer sk-traffic-000000000000000000000");
  }

  ~Traffic() { curl_slist_free_all(headers_); }

  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  std::string Send(const std::string& request) {
    CURL* easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.data());
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    Seen seen;
    reenact::ModelCall call;
    call.provider = "openai";
    call.endpoint = url_;
    call.request = request;
    call.headers = reenact::HeadersOf(headers_);
    const reenact::CurlAnswer answer =
        reenact::PerformCurl(*run_, call, easy, {OnBytes, &seen, OnHeader, &seen},
                             [&](const reenact::CurlAnswer& failed, int attempt) {
                               return Retry(failed, attempt, &seen);
                             });
    curl_easy_cleanup(easy);
    seen.text << "  end status=" << answer.status << " code=" << answer.code
              << " state=" << static_cast<int>(answer.end_state)
              << (answer.diverged ? " DIVERGED " + answer.error : "") << "\n";
    return seen.text.str();
  }

 private:
  bool Retry(const reenact::CurlAnswer& failed, int attempt, Seen* seen) {
    const bool worth_it = failed.status == 429 || failed.status >= 500 ||
                          failed.end_state == reenact::EndState::kReset;
    if (!worth_it || failed.diverged || attempt + 1 == kMaxAttempts) return false;
    const auto before = run_->Now("before back-off");
    run_->Sleep(std::chrono::seconds(seen->retry_after_s));
    seen->text << "  attempt " << attempt << " failed status=" << failed.status
               << " code=" << failed.code << " at " << before.time_since_epoch().count() << "\n";
    return true;
  }

  reenact::Run* run_;
  std::string url_;
  curl_slist* headers_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  if (!ParseFlags(argc, argv, &flags)) {
    std::fprintf(stderr,
                 "usage: traffic_client --base URL --requests FILE --journal FILE [--store DIR]\n");
    return 2;
  }
  std::ostringstream input;
  input << std::ifstream(flags.requests).rdbuf();

  reenact::Options options;
  options.store = flags.store;
  options.service = "traffic-client";
  options.close_deadline_ms = 10000;
  if (flags.clock_offset_hours != 0) {
    options.wall_clock = [hours = flags.clock_offset_hours] {
      const auto now = std::chrono::system_clock::now() + std::chrono::hours(hours);
      return std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    };
  }
  reenact::Recorder recorder(options);
  if (recorder.code() != REENACT_OK) {
    std::fprintf(stderr, "traffic_client: %s\n", recorder.error().c_str());
    return 2;
  }
  reenact::RunInfo info;
  info.entry = "main";
  info.input = input.str();
  reenact::Run run = recorder.StartRun(info);
  std::ofstream journal(flags.journal);
  Traffic traffic(&run, flags);
  std::istringstream lines(info.input);
  std::string line;
  for (int number = 0; std::getline(lines, line); ++number) {
    journal << "call " << number << "\n" << traffic.Send(line);
  }
  const std::string run_id = run.run_id();
  run.Finish();
  if (recorder.Close(10000) != REENACT_OK) return 1;
  std::printf("%s\n", run_id.c_str());
  return journal.flush() ? 0 : 1;
}
