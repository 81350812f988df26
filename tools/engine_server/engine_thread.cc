#include "tools/engine_server/engine_thread.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace reenact::engine_server {

using local_engine::Answer;
using local_engine::Delta;
using local_engine::Engine;
using local_engine::RequestId;

bool Job::Next(std::chrono::milliseconds patience, std::vector<TokenEvent>* events) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return ended_ || !events_.empty(); });
  for (TokenEvent& event : events_) events->push_back(std::move(event));
  events_.clear();
  return !ended_;
}

void Job::Add(const Delta& delta) {
  TokenEvent event{.sample_index = delta.sample_index,
                   .text = std::string(delta.text),
                   .token = delta.token,
                   .score = std::nullopt,
                   .finish = delta.finish};
  if (delta.score != nullptr) event.score = *delta.score;
  const std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back(std::move(event));
  changed_.notify_all();
}

void Job::End(absl::StatusOr<Answer> answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!admitted_.has_value()) admitted_ = answer.status();
  answer_ = std::move(answer);
  ended_ = true;
  changed_.notify_all();
}

EngineThread::EngineThread(std::unique_ptr<Engine> engine, size_t most_jobs)
    : engine_(std::move(engine)), most_jobs_(most_jobs), thread_([this] { Run(); }) {}

EngineThread::~EngineThread() {
  Stop();
}

absl::StatusOr<std::shared_ptr<Job>> EngineThread::Submit(local_engine::Request request) {
  auto job = std::make_shared<Job>();
  job->request_ = std::move(request);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return absl::UnavailableError("the server is shutting down");
    if (jobs_ >= most_jobs_) {
      return absl::ResourceExhaustedError("the server has " + std::to_string(jobs_) +
                                          " requests on their way, and takes no more");
    }
    ++jobs_;
    incoming_.push_back(job);
    changed_.notify_all();
  }
  std::unique_lock<std::mutex> lock(job->mutex_);
  job->changed_.wait(lock, [&job] { return job->admitted_.has_value(); });
  if (!job->admitted_->ok()) return *job->admitted_;
  return job;
}

void EngineThread::Cancel(Job* job) {
  job->cancelled_ = true;
  const std::lock_guard<std::mutex> lock(mutex_);
  any_cancelled_ = true;
  changed_.notify_all();
}

void EngineThread::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void EngineThread::Run() {
  for (;;) {
    std::deque<std::shared_ptr<Job>> incoming;
    bool stopping = false;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] {
        return stopping_ || any_cancelled_ || !incoming_.empty() || !running_.empty();
      });
      incoming.swap(incoming_);
      stopping = stopping_;
      any_cancelled_ = false;
    }
    for (const std::shared_ptr<Job>& job : incoming) Admit(job);
    for (const std::shared_ptr<Job>& job : running_) {
      if (job->cancelled_ && !engine_->IsFinished(job->id_)) (void)engine_->Cancel(job->id_);
    }
    if (stopping) {
      EndAll(absl::CancelledError("the server was shut down"));
      return;
    }
    StepOnce();
  }
}

void EngineThread::Admit(const std::shared_ptr<Job>& job) {
  local_engine::Request request = std::move(job->request_);
  request.on_delta = [raw = job.get()](const Delta& delta) { raw->Add(delta); };
  const absl::StatusOr<RequestId> id = engine_->Submit(std::move(request));
  if (!id.ok()) {
    // Its place is free before anybody hears of the end, and asks again.
    GiveBackPlace();
    job->End(id.status());
    return;
  }
  job->id_ = *id;
  running_.push_back(job);
  const std::lock_guard<std::mutex> lock(job->mutex_);
  job->admitted_ = absl::OkStatus();
  job->changed_.notify_all();
}

void EngineThread::GiveBackPlace() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --jobs_;
}

void EngineThread::StepOnce() {
  if (running_.empty()) return;
  if (absl::StatusOr<bool> more = engine_->Step(); !more.ok()) return EndAll(more.status());
  size_t kept = 0;
  for (std::shared_ptr<Job>& job : running_) {
    if (!engine_->IsFinished(job->id_)) {
      running_[kept++] = std::move(job);
      continue;
    }
    GiveBackPlace();
    job->End(engine_->Take(job->id_));
  }
  running_.resize(kept);
}

void EngineThread::EndAll(const absl::Status& status) {
  for (const std::shared_ptr<Job>& job : running_) {
    if (!engine_->IsFinished(job->id_)) (void)engine_->Cancel(job->id_);
    (void)engine_->Take(job->id_);
    GiveBackPlace();
    job->End(status);
  }
  running_.clear();
}

}  // namespace reenact::engine_server
