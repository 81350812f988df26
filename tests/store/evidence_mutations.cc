#include "tests/store/evidence_mutations.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <utility>

#include "store/format/chain.h"
#include "tests/store/file_bytes.h"

namespace reenact::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kBundle[] = "work.reenact";
constexpr char kManifest[] = "manifest.jsonl";
constexpr char kIncidents[] = "incidents.db";
constexpr char kKey[] = "store.key";

void WriteBytes(const std::string& path, const std::string& bytes) {
  const auto mode = fs::status(path).permissions();
  fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  fs::permissions(path, mode);
}

// One connection to a file, its mode kept.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : path_(path), mode_(fs::status(path).permissions()) {
    fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
    EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK);
  }

  ~OpenFile() {
    sqlite3_close(handle_);
    fs::permissions(path_, mode_);
  }

  // Rows that it changed; -1 where SQLite refuses.
  int Run(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return -1;
    return sqlite3_changes(handle_);
  }

  // The first column of all rows.
  std::vector<std::string> Column(const std::string& sql) {
    std::vector<std::string> values;
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr);
    while (statement != nullptr && sqlite3_step(statement) == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      values.emplace_back(text != nullptr ? text : "");
    }
    sqlite3_finalize(statement);
    return values;
  }

 private:
  std::string path_;
  fs::perms mode_;
  sqlite3* handle_ = nullptr;
};

// Makes every link of a segment anew, as whoever knows the format can.
void MakeChainAnew(const std::string& path) {
  using namespace store;  // NOLINT: the test is about the format.
  const auto mode = fs::status(path).permissions();
  fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
  {
    sqlite::Connection connection;
    ASSERT_EQ(connection.Open(path, sqlite::OpenMode::kReadWrite), sqlite::Failure::kNone);
    std::vector<std::pair<int64_t, const ChainedTable*>> order;
    for (const ChainedTable* table : kChainedTables) {
      sqlite::Statement rows;
      ASSERT_EQ(connection.Prepare(std::string(table->select), &rows), sqlite::Failure::kNone);
      while (rows.Step()) order.emplace_back(rows.Integer(0), table);
    }
    std::sort(order.begin(), order.end());
    const auto id = schema::ParseUlid(fs::path(path).stem().string());
    schema::Digest head = FirstLink(id.value_or(schema::Ulid{}));
    Link link;
    for (const auto& [ordinal, table] : order) {
      sqlite::Statement row;
      sqlite::Statement update;
      ASSERT_EQ(connection.Prepare(std::string(table->select) + kOfOrdinal, &row),
                sqlite::Failure::kNone);
      row.BindInteger(1, ordinal);
      ASSERT_TRUE(row.Step());
      head = LinkOfRow(&link, head, *table, row);
      row.Reset();
      ASSERT_EQ(
          connection.Prepare(
              "UPDATE " + std::string(table->name) + " SET chain = ?1 WHERE ordinal = ?2", &update),
          sqlite::Failure::kNone);
      update.BindBlob(1, schema::AsBytes(head));
      update.BindInteger(2, ordinal);
      ASSERT_EQ(update.Run(), sqlite::Failure::kNone);
    }
  }
  fs::permissions(path, mode);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::vector<std::string> SegmentsOf(const std::string& store) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(store + "/segments"))
    if (entry.path().extension() == ".db") names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Mutator {
 public:
  Mutator(const MutationPlaces& places, uint64_t seed) : places_(places), random_(seed) {
    for (const std::string& name : SegmentsOf(places.work)) {
      const auto mode = fs::status(PathOf(name)).permissions();
      const bool sealed = (mode & fs::perms::owner_write) == fs::perms::none;
      (sealed ? segments_ : unsealed_).push_back(name);
    }
  }

  // Absent: the draw came to nothing; draw again.
  std::optional<Mutation> Draw() {
    switch (Below(16)) {
      case 0:
      case 1:
      case 2:
        return FlipBits();
      case 3:
        return CutOrGrow();
      case 4:
        return RemoveRow();
      case 5:
        return PutInRow();
      case 6:
        return SwapRows();
      case 7:
        return EditColumn();
      case 8:
        return RemoveRun();
      case 9:
        return MoveSegments();
      case 10:
        return TakeSegment();
      case 11:
        return ChangeManifestLines();
      case 12:
        return RollBack();
      case 13:
        return ChangeIncidents();
      case 14:
        return OverwritePart();
      default:
        return RemoveFile();
    }
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }

  std::string OneOf(const std::vector<std::string>& values) { return values[Below(values.size())]; }

  std::string PathOf(const std::string& file) const {
    const bool below = file == kManifest || file.ends_with(".db");
    return places_.work + (below && file != kIncidents ? "/segments/" : "/") + file;
  }

  // A file that carries evidence; segments more often than others.
  std::string AnyFile() {
    const std::vector<std::string> others = {kManifest, kIncidents, kBundle, kKey};
    return Below(2) == 0 ? OneOf(segments_) : OneOf(others);
  }

  // A file of rows of records.
  std::string AnyRecords() { return Below(5) == 0 ? kBundle : OneOf(segments_); }

  // What a damaged key or manifest makes of all others is a matter of the manifest.
  Mutation Of(std::string kind, const std::string& file, std::string detail) {
    return {std::move(kind), file == kKey ? kManifest : file, std::move(detail), true};
  }

  // Now and then the forger goes on to make the chain fit.
  void MaybeForgeChain(const std::string& file, Mutation* mutation) {
    if (file == kBundle || Below(3) != 0) return;
    MakeChainAnew(PathOf(file));
    mutation->kind += ", chain made anew";
  }

  std::optional<Mutation> FlipBits();
  std::optional<Mutation> OverwritePart();
  std::optional<Mutation> CutOrGrow();
  std::optional<Mutation> RemoveFile();
  std::optional<Mutation> RemoveRow();
  std::optional<Mutation> PutInRow();
  std::optional<Mutation> SwapRows();
  std::optional<Mutation> EditColumn();
  std::optional<Mutation> RemoveRun();
  std::optional<Mutation> MoveSegments();
  std::optional<Mutation> TakeSegment();
  std::optional<Mutation> ChangeManifestLines();
  std::optional<Mutation> RollBack();
  std::optional<Mutation> ChangeIncidents();

  const MutationPlaces& places_;
  std::mt19937_64 random_;
  std::vector<std::string> segments_;  // Sealed.
  std::vector<std::string> unsealed_;
};

// --- bytes ---

std::optional<Mutation> Mutator::FlipBits() {
  const std::string file = AnyFile();
  std::string bytes = FileBytes(PathOf(file));
  const size_t at = Below(bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
  WriteBytes(PathOf(file), bytes);
  return Of("a bit flipped", file, "byte " + std::to_string(at));
}

std::optional<Mutation> Mutator::OverwritePart() {
  const std::string file = AnyFile();
  std::string bytes = FileBytes(PathOf(file));
  const std::string before = bytes;
  const size_t at = Below(bytes.size());
  const size_t size = std::min<size_t>(1 + Below(600), bytes.size() - at);
  for (size_t i = at; i < at + size; ++i)
    bytes[i] = static_cast<char>(Below(3) == 0 ? random_() : 0);
  if (bytes == before) return std::nullopt;
  WriteBytes(PathOf(file), bytes);
  return Of("bytes written over", file, std::to_string(size) + " at " + std::to_string(at));
}

std::optional<Mutation> Mutator::CutOrGrow() {
  const std::string file = AnyFile();
  std::string bytes = FileBytes(PathOf(file));
  if (Below(2) == 0) {
    bytes.resize(Below(bytes.size()));
    WriteBytes(PathOf(file), bytes);
    return Of("a file cut", file, "to " + std::to_string(bytes.size()));
  }
  const size_t more = 1 + Below(5000);
  bytes.append(more, Below(2) == 0 ? '\0' : 'x');
  WriteBytes(PathOf(file), bytes);
  return Of("a file made longer", file, "by " + std::to_string(more));
}

std::optional<Mutation> Mutator::RemoveFile() {
  const std::string file = Below(6) == 0 ? OneOf(unsealed_) : AnyFile();
  if (file == kBundle) return std::nullopt;
  fs::remove(PathOf(file));
  // Without a manifest every segment is one that nobody knows.
  Mutation mutation = Of("a file removed", file, "");
  mutation.names_file = file != kManifest;
  return mutation;
}

// --- rows of records ---

const char* const kTables[] = {"meta",      "body",  "run", "run_end", "run_tag",
                               "component", "event", "gap", "mark"};

std::optional<Mutation> Mutator::RemoveRow() {
  const std::string file = AnyRecords();
  const std::string table = kTables[Below(std::size(kTables))];
  OpenFile open(PathOf(file));
  const auto ordinals = open.Column("SELECT ordinal FROM " + table);
  if (ordinals.empty()) return std::nullopt;
  const std::string ordinal = ordinals[Below(ordinals.size())];
  if (open.Run("DELETE FROM " + table + " WHERE ordinal = " + ordinal) != 1) return std::nullopt;
  return Of("a row removed", file, table + " " + ordinal);
}

std::optional<Mutation> Mutator::PutInRow() {
  struct Copy {
    const char* table;
    const char* change;  // So that it may stand beside the row that it was copied from.
  };

  static constexpr Copy kCopies[] = {
      {"meta", "key = key || '.'"},
      {"body", "flags = flags"},
      {"run", "id = randomblob(16)"},
      {"run_tag", "value = value"},
      {"component", "version = 'v99'"},
      {"event", "sequence = sequence + 1000000, end_sequence = end_sequence + 1000000"},
      {"gap", "count = count + 1"},
      {"mark", "title = 'put in'"},
      {"open_call", ""}};
  const std::string file = AnyRecords();
  const Copy& copy = kCopies[Below(std::size(kCopies))];
  const std::string table = copy.table;
  Mutation mutation = Of("a row put in", file, table);
  {
    OpenFile open(PathOf(file));
    if (table == "open_call") {
      if (open.Run("INSERT INTO open_call SELECT sequence + 1000000, run, scope, boundary, name, "
                   "provider, endpoint, request_headers, request_body, started_wall_ns, "
                   "started_monotonic_ns, attempt, in_flight, meta FROM event LIMIT 1") != 1)
        return std::nullopt;
      return mutation;
    }
    const auto ordinals = open.Column("SELECT ordinal FROM " + table);
    if (ordinals.empty()) return std::nullopt;
    // Behind all others.
    const std::string ordinal = open.Column(
        "SELECT max(m) + 1 FROM (SELECT max(ordinal) AS m FROM meta UNION ALL SELECT max(ordinal) "
        "FROM event UNION ALL SELECT max(ordinal) FROM run_end)")[0];
    const bool done = open.Run("CREATE TEMP TABLE copied AS SELECT * FROM " + table +
                               " WHERE ordinal = " + OneOf(ordinals) +
                               "; UPDATE copied SET ordinal = " + ordinal + ", " + copy.change +
                               "; INSERT INTO " + table + " SELECT * FROM copied") == 1;
    if (!done) return std::nullopt;
  }
  MaybeForgeChain(file, &mutation);
  return mutation;
}

std::optional<Mutation> Mutator::SwapRows() {
  const std::string file = AnyRecords();
  const std::string table = kTables[Below(std::size(kTables))];
  Mutation mutation = Of("two rows swapped", file, table);
  {
    OpenFile open(PathOf(file));
    auto ordinals = open.Column("SELECT ordinal FROM " + table);
    if (ordinals.size() < 2) return std::nullopt;
    std::shuffle(ordinals.begin(), ordinals.end(), random_);
    open.Run("BEGIN");
    const auto move = [&](const std::string& from, const std::string& to) {
      return open.Run("UPDATE " + table + " SET ordinal = " + to + " WHERE ordinal = " + from) == 1;
    };
    if (!move(ordinals[0], "-1") || !move(ordinals[1], ordinals[0]) || !move("-1", ordinals[1]))
      return std::nullopt;  // Closing rolls back.
    open.Run("COMMIT");
    mutation.detail += " " + ordinals[0] + " and " + ordinals[1];
  }
  MaybeForgeChain(file, &mutation);
  return mutation;
}

std::optional<Mutation> Mutator::EditColumn() {
  const std::string file = AnyRecords();
  const std::string table = kTables[Below(std::size(kTables))];
  Mutation mutation = Of("a column edited", file, table);
  {
    OpenFile open(PathOf(file));
    const auto columns = open.Column("SELECT name FROM pragma_table_info('" + table + "')");
    const std::string column = columns[Below(columns.size())];
    const std::string kind = open.Column("SELECT type FROM pragma_table_info('" + table +
                                         "') WHERE name = '" + column + "'")[0];
    const auto ordinals = open.Column("SELECT ordinal FROM " + table);
    if (ordinals.empty() || column == "ordinal") return std::nullopt;
    const std::string ordinal = ordinals[Below(ordinals.size())];
    const std::string value = kind == "INTEGER" ? "coalesce(" + column + ", 0) + 1"
                              : kind == "TEXT"
                                  ? column + " || 'x'"
                                  : "CAST(coalesce(" + column + ", '') || 'x' AS BLOB)";
    if (open.Run("UPDATE " + table + " SET " + column + " = " + value +
                 " WHERE ordinal = " + ordinal) != 1)
      return std::nullopt;
    mutation.detail += " " + ordinal + " " + column;
  }
  MaybeForgeChain(file, &mutation);
  return mutation;
}

std::optional<Mutation> Mutator::RemoveRun() {
  const std::string file = AnyRecords();
  OpenFile open(PathOf(file));
  const auto runs = open.Column("SELECT ordinal FROM run");
  const std::string run = runs[Below(runs.size())];
  int removed = 0;
  for (const char* table : {"event", "component", "run_tag", "run_end"})
    removed += open.Run("DELETE FROM " + std::string(table) + " WHERE run = " + run);
  removed += open.Run("DELETE FROM run WHERE ordinal = " + run);
  return Of("a run removed", file, std::to_string(removed) + " rows of run " + run);
}

// --- segments ---

std::optional<Mutation> Mutator::MoveSegments() {
  const std::string first = OneOf(segments_);
  const std::string second = OneOf(segments_);
  if (first == second) return std::nullopt;
  const std::string aside = places_.work + "/aside";
  Mutation mutation{"two segments swapped", first, second, false};
  fs::rename(PathOf(first), aside);
  if (Below(2) == 0) {
    fs::rename(PathOf(second), PathOf(first));
  } else {
    mutation.kind = "a segment put in the place of another";
    fs::copy(PathOf(second), PathOf(first));
  }
  fs::rename(aside, fs::exists(PathOf(second)) ? places_.work + "/aside2" : PathOf(second));
  return mutation;
}

std::optional<Mutation> Mutator::TakeSegment() {
  const std::string from =
      Below(3) == 0 ? PathOf(OneOf(SegmentsOf(places_.work)))
                    : places_.foreign + "/segments/" + OneOf(SegmentsOf(places_.foreign));
  std::string name = fs::path(from).filename().string();
  Mutation mutation{"a segment put in", name, from, true};
  if (Below(2) == 0) {
    mutation.kind = "a segment put in under another name";
    name[10] = name[10] == '0' ? '1' : '0';
    mutation.file = name;
  } else if (fs::exists(PathOf(name))) {
    return std::nullopt;
  }
  fs::copy_file(from, PathOf(name));
  if (fs::exists(from + "-wal")) fs::copy_file(from + "-wal", PathOf(name) + "-wal");
  if (Below(2) == 0) fs::permissions(PathOf(name), fs::perms::owner_write, fs::perm_options::add);
  return mutation;
}

// --- the manifest, and states of before ---

std::optional<Mutation> Mutator::ChangeManifestLines() {
  const std::string path = PathOf(kManifest);
  std::vector<std::string> lines = Lines(FileBytes(path));
  const std::vector<std::string> before = lines;
  const auto at = [&] { return lines.begin() + static_cast<ptrdiff_t>(Below(lines.size())); };
  Mutation mutation{"", kManifest, "", true};
  switch (Below(5)) {
    case 0:
      mutation.kind = "a manifest line removed";
      lines.erase(at());
      break;
    case 1:
      mutation.kind = "a manifest line repeated";
      lines.insert(at(), OneOf(before));
      break;
    case 2:
      mutation.kind = "two manifest lines swapped";
      std::iter_swap(at(), at());
      break;
    case 3:
      mutation.kind = "a line of another manifest put in";
      lines.insert(at(), OneOf(Lines(FileBytes(places_.foreign + "/segments/manifest.jsonl"))));
      break;
    default:
      mutation.kind = "manifest lines cut off the end";
      lines.resize(Below(lines.size()));
  }
  if (lines == before) return std::nullopt;
  // Off the end, what the lines spoke of is named.
  const bool is_prefix =
      std::equal(lines.begin(), lines.end(), before.begin(),
                 before.begin() + static_cast<ptrdiff_t>(std::min(lines.size(), before.size())));
  mutation.names_file = !is_prefix;
  WriteBytes(path, Joined(lines));
  return mutation;
}

std::optional<Mutation> Mutator::RollBack() {
  const std::string earlier = OneOf(places_.earlier);
  const std::string file = Below(2) == 0 ? kManifest : kIncidents;
  const std::string from = earlier + (file == kManifest ? "/segments/" : "/") + file;
  WriteBytes(PathOf(file), FileBytes(from));
  return Mutation{"a file as it was before", file, from, file == kIncidents};
}

// --- incidents ---

std::optional<Mutation> Mutator::ChangeIncidents() {
  static const char* const kChanges[] = {
      "DELETE FROM incident_note WHERE ordinal = 1",
      "UPDATE incident_note SET text = text || '.' WHERE ordinal = 2",
      "UPDATE incident SET severity = 9 WHERE title = 'first'",
      "UPDATE incident SET closed_wall_ns = 5",
      "DELETE FROM incident_run WHERE ordinal = 1",
      "INSERT INTO incident_note SELECT 77, incident, at_wall_ns, 'put in' FROM incident_note "
      "LIMIT 1",
      "DELETE FROM promoted WHERE run = (SELECT min(run) FROM promoted)",
      "UPDATE promoted SET bundle = (SELECT bundle FROM promoted ORDER BY run LIMIT 1)",
      "UPDATE promoted SET part = (SELECT part FROM promoted ORDER BY run LIMIT 1)",
      "DELETE FROM adopted_mark WHERE id = (SELECT min(id) FROM adopted_mark)",
      "INSERT INTO pin VALUES('01AAAAAAAAAAAAAAAAAAAAAAAA.db', randomblob(16))"};
  const char* change = kChanges[Below(std::size(kChanges))];
  OpenFile open(PathOf(kIncidents));
  if (open.Run(change) < 1) return std::nullopt;
  return Of("a row of incidents.db changed", kIncidents, change);
}

}  // namespace

Mutation Mutate(const MutationPlaces& places, uint64_t seed) {
  Mutator mutator(places, seed);
  for (;;) {
    if (auto mutation = mutator.Draw()) return *std::move(mutation);
  }
}

}  // namespace reenact::testing
