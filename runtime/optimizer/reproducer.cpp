#include "runtime/optimizer/reproducer.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "ir/error.h"
#include "jit/file_size_signal.h"
#include "runtime/version.h"

namespace axrun::runtime {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_folders = 32;
constexpr const char* request_file = "request";
constexpr const char* question_file = "question";

void write(const fs::path& file, const std::string& content) {
  std::ofstream stream(file, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) throw Error(Fault::user, "cannot write " + file.string());
}

std::string content_of(const fs::path& file) {
  std::error_code error;
  const uintmax_t length = fs::file_size(file, error);
  if (error) throw Error(Fault::user, fmt::format("cannot read '{}': {}", file.string(), error.message()));
  if (length > longest_request) throw Error(Fault::user, fmt::format("'{}' is too long", file.string()));
  std::string content(length, '\0');
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(content.data(), static_cast<std::streamsize>(length)))
    throw Error(Fault::user, fmt::format("cannot read '{}'", file.string()));
  return content;
}

std::string about(const WorkerRequest& request, const std::string& what, const std::string& why) {
  std::string text = fmt::format("axrun {}: {}\n{}\n\nat sizes", version(), what, why);
  for (const auto& sizes : request.sizes) {
    text += " |";
    for (const auto& [name, size] : sizes) text += fmt::format(" {}={}", name, size);
  }
  return text + fmt::format(
                    "\nseed {}, target {}\n\nexpression   what the kernel is to compute\n"
                    "program      its loops; empty: lowering gives them\nrequest      all of it, as `axrun "
                    "reproduce` reads it\nquestion     where something else is searched: about what\n",
                    request.seed, request.target.name);
}

}  // namespace

std::string write_reproducer(const std::string& directory, const WorkerRequest& request,
                             const std::string& what, const std::string& why) noexcept try {
  if (directory.empty()) return "";
  const jit::FileSizeSignal signal;
  const std::string text = to_text(request);
  std::string name = what;
  for (char& letter : name) letter = letter == ' ' || letter == '/' ? '-' : letter;
  const fs::path folder =
      fs::path(directory) / fmt::format("{}-{:016x}", name,
                                        hash_of_code(text.data(), text.size()) ^
                                            hash_of_code(request.question.data(), request.question.size()));
  fs::create_directories(directory);
  chmod(directory.c_str(), S_IRWXU);
  const auto present = std::distance(fs::directory_iterator(directory), fs::directory_iterator());
  if (fs::exists(folder) || static_cast<size_t>(present) >= most_folders) return "";
  // Other processes see it whole, or not at all.
  std::string pattern = (fs::path(directory) / ".new-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return "";
  const fs::path fresh = pattern;
  std::error_code ignored;
  try {
    write(fresh / request_file, text);
    write(fresh / "expression", request.expression);
    write(fresh / "program", request.program);
    if (request.search) write(fresh / question_file, request.question);
    write(fresh / "README", about(request, what, why));
    fs::rename(fresh, folder);
  } catch (...) {
    fs::remove_all(fresh, ignored);
    return "";
  }
  return folder.string();
} catch (...) {
  return "";
}

WorkerRequest read_reproducer(const std::string& folder) {
  WorkerRequest request = request_from(content_of(fs::path(folder) / request_file));
  if (request.search) request.question = content_of(fs::path(folder) / question_file);
  return request;
}

}  // namespace axrun::runtime
