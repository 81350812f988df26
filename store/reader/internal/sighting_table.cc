#include "store/reader/internal/sighting_table.h"

#include <optional>
#include <string_view>
#include <unordered_map>

#include "schema/varint.h"

namespace reenact::store::internal {
namespace {

using sqlite::Connection;
using sqlite::Failure;
using sqlite::Statement;

enum FactKind : int64_t { kCallFact = 1, kComponentFact = 2, kTraitFact = 3 };

int64_t KindOf(const CallIdentity*) {
  return kCallFact;
}

int64_t KindOf(const ComponentIdentity*) {
  return kComponentFact;
}

int64_t KindOf(const TraitIdentity*) {
  return kTraitFact;
}

std::string Pack(const CallIdentity& call) {
  std::string out;
  for (const std::string* text :
       {&call.service, &call.provider, &call.endpoint, &call.asked_model, &call.served_model,
        &call.fingerprint, &call.service_tier, &call.region})
    schema::PutString(&out, *text);
  schema::PutVarint(&out, static_cast<uint64_t>(call.fingerprint_presence));
  return out;
}

bool Unpack(std::string_view bytes, CallIdentity* call) {
  schema::Reader in(bytes);
  for (std::string* text :
       {&call->service, &call->provider, &call->endpoint, &call->asked_model, &call->served_model,
        &call->fingerprint, &call->service_tier, &call->region})
    *text = in.String();
  const uint64_t presence = in.Varint();
  call->fingerprint_presence = static_cast<schema::Presence>(presence);
  return in.ok() && in.AtEnd() && presence <= static_cast<uint64_t>(schema::Presence::kValue);
}

std::string Pack(const ComponentIdentity& component) {
  std::string out;
  for (const std::string* text :
       {&component.service, &component.kind, &component.name, &component.version})
    schema::PutString(&out, *text);
  schema::PutVarint(&out, component.content);
  schema::PutVarint(&out, component.snapshot ? 1 : 0);
  return out;
}

bool Unpack(std::string_view bytes, ComponentIdentity* component) {
  schema::Reader in(bytes);
  for (std::string* text :
       {&component->service, &component->kind, &component->name, &component->version})
    *text = in.String();
  component->content = in.Varint();
  component->snapshot = in.Varint() != 0;
  return in.ok() && in.AtEnd();
}

std::string Pack(const TraitIdentity& trait) {
  std::string out;
  for (const std::string* text :
       {&trait.service, &trait.provider, &trait.endpoint, &trait.asked_model, &trait.subject})
    schema::PutString(&out, *text);
  schema::PutVarint(&out, static_cast<uint64_t>(trait.trait));
  return out;
}

bool Unpack(std::string_view bytes, TraitIdentity* trait) {
  schema::Reader in(bytes);
  for (std::string* text :
       {&trait->service, &trait->provider, &trait->endpoint, &trait->asked_model, &trait->subject})
    *text = in.String();
  const uint64_t value = in.Varint();
  trait->trait = static_cast<Trait>(value);
  return in.ok() && in.AtEnd() && value <= static_cast<uint64_t>(Trait::kBitwiseExpectation);
}

// The statements of one AddSightings.
class Adding {
 public:
  Failure Prepare(Connection* connection) {
    Failure failure = connection->Prepare(
        "INSERT INTO fact(kind, fields) VALUES(?1, ?2)"
        " ON CONFLICT(kind, fields) DO UPDATE SET kind = kind RETURNING id",
        &fact_);
    if (failure != Failure::kNone) return failure;
    return connection->Prepare(
        "INSERT INTO sighting(fact, hour, segment, count, first_wall_ns, first_run, first_sequence,"
        " last_wall_ns, last_run, last_sequence)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        " ON CONFLICT(fact, hour, segment) DO UPDATE SET count = count + ?4,"
        " first_run = iif(?5 < first_wall_ns, ?6, first_run),"
        " first_sequence = iif(?5 < first_wall_ns, ?7, first_sequence),"
        " first_wall_ns = min(first_wall_ns, ?5),"
        " last_run = iif(?8 >= last_wall_ns, ?9, last_run),"
        " last_sequence = iif(?8 >= last_wall_ns, ?10, last_sequence),"
        " last_wall_ns = max(last_wall_ns, ?8)",
        &sighting_);
  }

  template <typename Identity>
  Failure Add(const SightingMap<Identity>& map, int64_t segment) {
    const Identity* last = nullptr;
    int64_t fact = 0;
    for (const auto& [key, cell] : map) {
      if (last == nullptr || *last != key.first) {
        if (const Failure failure = FactOf(key.first, &fact); failure != Failure::kNone)
          return failure;
        last = &key.first;
      }
      const int64_t numbers[] = {fact, key.second, segment, cell.count};
      for (int i = 0; i < 4; ++i) sighting_.BindInteger(i + 1, numbers[i]);
      BindSighting(cell.first, 5);
      BindSighting(cell.last, 8);
      if (const Failure failure = sighting_.Run(); failure != Failure::kNone) return failure;
    }
    return Failure::kNone;
  }

 private:
  template <typename Identity>
  Failure FactOf(const Identity& identity, int64_t* id) {
    const std::string fields = Pack(identity);
    fact_.BindInteger(1, KindOf(&identity));
    fact_.BindBlob(2, fields);
    if (fact_.Step()) *id = fact_.Integer(0);
    return fact_.Run();
  }

  void BindSighting(const Sighting& sighting, int parameter) {
    sighting_.BindInteger(parameter, sighting.at_wall_ns);
    sighting_.BindBlob(parameter + 1, sighting.run.AsBytes());
    sighting_.BindInteger(parameter + 2, static_cast<int64_t>(sighting.sequence));
  }

  Statement fact_;
  Statement sighting_;
};

Sighting SightingAt(const Statement& row, int column) {
  return {.at_wall_ns = row.Integer(column),
          .run = schema::UlidFromBytes(row.Bytes(column + 1)).value_or(schema::Ulid{}),
          .sequence = static_cast<uint64_t>(row.Integer(column + 2))};
}

template <typename Identity>
Failure Read(Connection* connection, std::vector<Seen<Identity>>* list, bool* damaged) {
  const int64_t kind = KindOf(static_cast<const Identity*>(nullptr));
  Statement facts;
  Failure failure = connection->Prepare("SELECT id, fields FROM fact WHERE kind = ?1", &facts);
  if (failure != Failure::kNone) return failure;
  facts.BindInteger(1, kind);
  std::unordered_map<int64_t, Identity> known;
  while (facts.Step()) {
    if (!Unpack(facts.Bytes(1), &known[facts.Integer(0)])) *damaged = true;
  }
  if (facts.failure() != Failure::kNone) return facts.failure();
  Statement rows;
  failure = connection->Prepare(
      "SELECT fact, hour, count, first_wall_ns, first_run, first_sequence, last_wall_ns, last_run,"
      " last_sequence FROM sighting WHERE fact IN (SELECT id FROM fact WHERE kind = ?1)"
      " ORDER BY fact, hour",
      &rows);
  if (failure != Failure::kNone) return failure;
  rows.BindInteger(1, kind);
  int64_t last_fact = 0;
  while (rows.Step()) {
    const int64_t fact = rows.Integer(0);
    const int64_t hour = rows.Integer(1);
    SightingCell cell{rows.Integer(2), SightingAt(rows, 3), SightingAt(rows, 6)};
    if (fact == last_fact && list->back().hour == hour) {  // The same hour of another segment.
      Seen<Identity>& there = list->back();
      there.count += cell.count;
      if (cell.first.at_wall_ns < there.first.at_wall_ns) there.first = cell.first;
      if (cell.last.at_wall_ns >= there.last.at_wall_ns) there.last = cell.last;
      continue;
    }
    list->push_back({known[fact], hour, cell.count, cell.first, cell.last});
    last_fact = fact;
  }
  return rows.failure();
}

}  // namespace

void SightingCell::Add(const Sighting& sighting) {
  if (count == 0 || sighting.at_wall_ns < first.at_wall_ns) first = sighting;
  if (count == 0 || sighting.at_wall_ns >= last.at_wall_ns) last = sighting;
  ++count;
}

Failure AddSightings(const SightingMaps& maps, int64_t segment, Connection* connection) {
  Adding adding;
  Failure failure = adding.Prepare(connection);
  if (failure == Failure::kNone) failure = adding.Add(maps.calls, segment);
  if (failure == Failure::kNone) failure = adding.Add(maps.components, segment);
  if (failure == Failure::kNone) failure = adding.Add(maps.traits, segment);
  return failure;
}

Failure ReadSightings(const SightingFilter& filter, Connection* connection, Sightings* sightings,
                      bool* damaged) {
  Failure failure = Failure::kNone;
  if (filter.calls) failure = Read(connection, &sightings->calls, damaged);
  if (failure == Failure::kNone && filter.components)
    failure = Read(connection, &sightings->components, damaged);
  if (failure == Failure::kNone && filter.traits)
    failure = Read(connection, &sightings->traits, damaged);
  return failure;
}

}  // namespace reenact::store::internal
