#include "onnx_import/external_data.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "ir/error.h"
#include "onnx_import/names.h"

namespace axrun::onnx_import {
namespace {

/// Absolute, without symbolic links; nullopt and errno when there is no such file.
std::optional<std::string> resolve(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return std::nullopt;
  std::string result = resolved;
  ::free(resolved);
  return result;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool lies_inside(const std::string& file, const std::string& folder) {
  if (folder == "/") return true;
  return file.size() > folder.size() + 1 && file.compare(0, folder.size(), folder) == 0 &&
         file[folder.size()] == '/';
}

}  // namespace

ExternalData::ExternalData(std::string directory, std::string second_directory)
    : directory_(std::move(directory)), second_directory_(std::move(second_directory)) {}

ExternalData ExternalData::beside(const std::string& path) {
  const auto target = resolve(path);
  return ExternalData(folder_of(path), target ? folder_of(*target) : std::string());
}

std::shared_ptr<const InputFile> ExternalData::find(std::string_view location, const Origin& what) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  const auto refuse = [&](std::string_view why) {
    throw Error(Fault::model, fmt::format("{}: external data {} {}", what.text(), in_quotes(location), why));
  };
  if (directory_.empty()) refuse("cannot be read: the model does not come from a folder");
  if (location.empty()) refuse("has no location");
  if (location.find('\0') != std::string_view::npos) refuse("is not a path");
  if (location.front() == '/') refuse("is outside of the model's folder");
  // ".." is refused as written, before any look at the disk: a model must not find out what exists elsewhere.
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    if (location.substr(begin, end - begin) == "..") refuse("is outside of the model's folder");
    begin = end + 1;
  }
  const auto folder = resolve(directory_);
  const auto file = folder ? resolve(*folder + "/" + std::string(location)) : std::nullopt;
  if (!file) {
    refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  const auto second = second_directory_.empty() ? std::nullopt : resolve(second_directory_);
  if (!lies_inside(*file, *folder) && !(second && lies_inside(*file, *second))) {
    refuse("is outside of the model's folder");
  }
  return files_.emplace(std::string(location), InputFile::open(*file)).first->second;
}

}  // namespace axrun::onnx_import
