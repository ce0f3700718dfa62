// SPDX-License-Identifier: Apache-2.0
// Files of frozen functions, which olympus.freeze(...).save(path) writes.
//
// Such a file is a safetensors file: the length of a header in 8 bytes, the header as JSON, and the
// bytes of all arrays. Metadata of the header are the operands and results of the program.

#ifndef FROZEN_RUNNER_FROZEN_FILE_H_
#define FROZEN_RUNNER_FROZEN_FILE_H_

#include <map>
#include <string>
#include <vector>

#include "arrays.h"
#include "json.h"

// Operand or result of the program.
struct Port {
  std::string name;
  const ElementType* type;
  std::vector<std::int64_t> shape;
  bool is_weight;
};

struct FrozenFile {
  std::string name;
  std::vector<std::string> platforms;
  std::vector<Port> operands;  // weights first
  std::vector<bool> is_kept;  // by operand: whether the program takes it
  std::vector<Port> results;
  std::map<std::string, Array> weights;
  std::string module;  // a portable artifact of StableHLO
  std::string compile_options;  // XLA's CompileOptionsProto
};

struct Safetensors {
  std::map<std::string, Array> arrays;
  Json metadata;
};

inline Safetensors ReadSafetensors(const std::string& path) {
  const std::string contents = ReadFile(path);
  std::uint64_t length = 0;
  for (int i = 7; i >= 0 && contents.size() >= 8; --i) {
    length = length << 8 | static_cast<unsigned char>(contents[static_cast<std::size_t>(i)]);
  }
  if (contents.size() < 8 || length > contents.size() - 8) {
    throw std::runtime_error(path + " is no safetensors file");
  }
  const std::size_t start = 8 + length, size = contents.size() - start;
  Safetensors found;
  const Json header = Json::Parse(contents.substr(8, length));
  for (const auto& [name, entry] : header.object()) {
    if (name == "__metadata__") {
      found.metadata = entry;
      continue;
    }
    Array array{&ElementTypeWhere(&ElementType::safetensors, entry["dtype"].string()), {}, {}};
    for (const Json& each : entry["shape"].array()) array.shape.push_back(each.integer());
    const auto& offsets = entry["data_offsets"].array();
    if (offsets.size() != 2) throw std::runtime_error(path + ": the place of " + name + " is damaged");
    const auto begin = static_cast<std::size_t>(offsets[0].integer());
    const auto end = static_cast<std::size_t>(offsets[1].integer());
    if (begin > end || end > size || end - begin != ByteSize(*array.type, array.shape)) {
      throw std::runtime_error(path + ": the place of " + name + " is damaged");
    }
    array.data = contents.substr(start + begin, end - begin);
    found.arrays.emplace(name, std::move(array));
  }
  return found;
}

inline std::vector<Port> ParsePorts(const std::string& text) {
  std::vector<Port> ports;
  const Json described = Json::Parse(text);
  for (const Json& each : described.array()) {
    Port port{each["name"].string(), &ElementTypeNamed(each["dtype"].string()), {}, each["is_weight"].boolean()};
    for (const Json& size : each["shape"].array()) {
      if (size.kind() == Json::Kind::kString) {
        throw std::runtime_error(port.name + " has the symbolic size " + size.string() +
                                 ": PJRT compiles fixed sizes; freeze a function for each size");
      }
      port.shape.push_back(size.integer());
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

inline FrozenFile ReadFrozenFile(const std::string& path) {
  Safetensors file = ReadSafetensors(path);
  const Json& metadata = file.metadata;
  if (metadata.kind() != Json::Kind::kObject || !metadata.has("format") ||
      metadata["format"].string() != "olympus-frozen" || metadata["version"].string() != "1") {
    throw std::runtime_error(path + " is no frozen function of version 1");
  }
  const Json signature = Json::Parse(metadata["signature"].string());
  if (signature["nr_devices"].integer() != 1) {
    throw std::runtime_error(path + " is for several devices; this program runs one");
  }
  FrozenFile found;
  found.name = signature["fun_name"].string();
  for (const Json& each : signature["platforms"].array()) found.platforms.push_back(each.string());
  found.operands = ParsePorts(metadata["operands"].string());
  found.results = ParsePorts(metadata["results"].string());
  found.is_kept.assign(found.operands.size(), false);
  for (const Json& each : signature["module_kept_var_idx"].array()) {
    found.is_kept.at(static_cast<std::size_t>(each.integer())) = true;
  }
  found.module = std::move(file.arrays.at("olympus.module").data);
  found.compile_options = std::move(file.arrays.at("olympus.compile_options").data);
  if (metadata.has("weights_file")) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    const std::string& name = metadata["weights_file"].string();
    if (name.find('/') != std::string::npos) throw std::runtime_error(path + " names weights in another folder");
    found.weights = ReadSafetensors(folder + name).arrays;
  } else {
    found.weights = std::move(file.arrays);
  }
  return found;
}

#endif  // FROZEN_RUNNER_FROZEN_FILE_H_
