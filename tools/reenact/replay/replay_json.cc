#include <sys/wait.h>

#include "tools/reenact/replay/replay_command.h"
#include "tools/reenact/replay/replay_text.h"
#include "tools/reenact/runs/run_diff_text.h"

namespace reenact::tools {
namespace {

void WriteDivergence(const replayer::Divergence& divergence, JsonWriter* json) {
  json->BeginObject();
  json->TextField("kind", replayer::ToString(divergence.kind));
  json->TextField("scope", divergence.scope);
  // The kinds that are of no call or reading have neither.
  json->TextField("boundary", divergence.name.empty() ? "" : schema::ToString(divergence.boundary));
  json->TextField("name", divergence.name);
  json->IntField("ordinal", divergence.ordinal);
  json->TextField("key", divergence.key);
  json->OptionalIntField("closest_event", divergence.closest);
  WritePaths(divergence.differences, json);
  json->Key("candidate_events");
  json->BeginArray();
  for (const size_t candidate : divergence.candidates) json->Uint(candidate);
  json->EndArray();
  json->TextField("message", replayer::MessageOf(divergence));
  json->EndObject();
}

void WriteNetwork(const replayer::GuardReport& network, JsonWriter* json) {
  json->Key("network");
  json->BeginObject();
  json->BoolField("guarded", network.guarded);
  json->TextField("why_not", network.why_not);
  json->IntField("refused", network.refused);
  json->IntField("loopback", network.loopback);
  json->Key("attempts");
  json->BeginArray();
  for (const replayer::NetworkAttempt& attempt : network.attempts) {
    json->BeginObject();
    json->IntField("pid", attempt.pid);
    json->TextField("call", attempt.call);
    json->TextField("address", attempt.address);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

void WriteProgram(const replayer::RunnerResult& result, JsonWriter* json) {
  json->Key("program");
  json->BeginObject();
  if (WIFSIGNALED(result.exit_status)) {
    json->NullField("exit_status");
    json->IntField("signal", WTERMSIG(result.exit_status));
  } else {
    json->IntField("exit_status", WEXITSTATUS(result.exit_status));
    json->NullField("signal");
  }
  json->IntField("elapsed_ns", result.elapsed_ns);
  json->EndObject();
}

}  // namespace

void WriteReplay(const schema::RecordedRun& tape, const replayer::RunnerResult& result,
                 JsonWriter* json) {
  const replayer::ReplayReport& report = result.report;
  json->BeginObject();
  json->TextField("run", schema::ToString(tape.run.id));
  json->TextField("verdict", VerdictText(result));
  json->TextField("inconclusive_because", InconclusiveReason(result));
  json->TextField("level", LevelText(report));
  json->TextsField("relaxed_by", report.relaxed_by);
  json->BoolField("bound", report.bound);
  json->BoolField("finished", report.finished);
  json->IntField("calls_on_tape", report.calls_on_tape);
  json->IntField("calls_served", report.calls_served);
  json->IntField("readings_on_tape", report.readings_on_tape);
  json->IntField("readings_served", report.readings_served);
  json->IntField("interchangeable", report.interchangeable);
  json->IntField("attempts_on_tape", report.attempts_on_tape);
  json->IntField("refused_runs", report.refused_runs);
  json->BoolField("output_equal", report.output_equal);
  json->TextField("fingerprint", report.fingerprint);
  const schema::Ulid& derived = report.derived.run.id;
  json->GivenTextField("derived_run", derived.IsZero() ? "" : schema::ToString(derived));
  WriteNetwork(result.network, json);
  WriteProgram(result, json);
  json->TextsField("notes", report.notes);
  json->Key("divergences");
  json->BeginArray();
  for (const replayer::Divergence& divergence : report.divergences) {
    WriteDivergence(divergence, json);
  }
  json->EndArray();
  json->EndObject();
}

}  // namespace reenact::tools
