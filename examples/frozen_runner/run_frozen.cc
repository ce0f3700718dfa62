// SPDX-License-Identifier: Apache-2.0
// Runs the file of a frozen function with a PJRT plugin, without Python.
//
//   g++ -std=c++17 -O2 run_frozen.cc -ldl -o run_frozen
//   ./run_frozen plugin.so model.frozen --input x.npy --output results
//
// Inputs are .npy files, in the order of the program or as NAME=FILE. Each result is written to a
// .npy file with its name. `--xla NAME=VALUE` sets an option of XLA for the compilation.

#include <sys/stat.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "frozen_file.h"
#include "pjrt.h"

namespace {

constexpr char kUsage[] =
    "usage: run_frozen PLUGIN FILE [--input [NAME=]FILE.npy]... [--output FOLDER] [--xla NAME=VALUE]...\n";

struct Options {
  std::string plugin, file, output;
  std::vector<std::string> inputs, xla;
};

std::optional<Options> ParseOptions(const std::vector<std::string>& words) {
  Options options;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].compare(0, 2, "--") != 0) {
      places.push_back(words[i]);
    } else if (i + 1 == words.size()) {
      return std::nullopt;
    } else if (words[i] == "--input") {
      options.inputs.push_back(words[++i]);
    } else if (words[i] == "--output") {
      options.output = words[++i];
    } else if (words[i] == "--xla") {
      options.xla.push_back(words[++i]);
    } else {
      return std::nullopt;
    }
  }
  if (places.size() != 2) return std::nullopt;
  options.plugin = places[0];
  options.file = places[1];
  return options;
}

// Returns the field of a protocol buffer that holds bytes.
std::string ProtoField(int number, const std::string& bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  for (std::size_t rest = bytes.size();; rest >>= 7) {
    field += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    if (rest <= 0x7f) return field + bytes;
  }
}

// Returns an option of XLA in the form of a CompileOptionsProto. Serialized messages that follow each
// other are merged, so this can be appended to other options.
std::string XlaOption(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw std::runtime_error("--xla takes NAME=VALUE, got " + text);
  const std::string value = ProtoField(1, text.substr(equals + 1));  // OptionOverrideProto.string_field
  return ProtoField(7, ProtoField(1, text.substr(0, equals)) + ProtoField(2, value));  // env_option_overrides
}

Array ReadInput(const Port& port, const std::string& path) {
  try {
    Array array = ParseNpy(ReadFile(path), *port.type);
    if (array.shape != port.shape) {
      throw std::runtime_error("its shape is " + ShapeText(array.shape) + ", and the program takes " +
                               ShapeText(port.shape));
    }
    return array;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("input " + port.name + ", " + path + ": " + error.what());
  }
}

// Returns the path of each input, by name.
std::map<std::string, std::string> InputPaths(const FrozenFile& frozen, const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const Port& port : frozen.operands) {
    if (!port.is_weight) names.push_back(port.name);
  }
  std::map<std::string, std::string> paths;
  std::vector<std::string> in_order;
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    const bool is_named = std::find(names.begin(), names.end(), text.substr(0, equals)) != names.end();
    if (equals != std::string::npos && is_named) {
      paths[text.substr(0, equals)] = text.substr(equals + 1);
    } else {
      in_order.push_back(text);
    }
  }
  std::size_t next = 0;
  for (const std::string& name : names) {
    if (paths.count(name) != 0) continue;
    if (next == in_order.size()) {
      throw std::runtime_error("the input " + name + " is missing: give --input " + name + "=FILE");
    }
    paths[name] = in_order[next++];
  }
  if (next != in_order.size()) throw std::runtime_error("there is no input for " + in_order[next]);
  return paths;
}

// Returns the operands of the program on the device.
std::vector<Buffer> PutOperands(const Client& client, const FrozenFile& frozen, const Options& options) {
  std::vector<Buffer> operands;
  const auto platform = std::find(frozen.platforms.begin(), frozen.platforms.end(), client.platform());
  if (platform == frozen.platforms.end()) {
    std::string names;
    for (const std::string& each : frozen.platforms) names += " " + each;
    throw std::runtime_error(frozen.name + " is frozen for" + names + ", and the plugin is for " + client.platform());
  }
  if (frozen.platforms.size() > 1) {  // the program's first operand is the number of the platform
    const std::int32_t index = static_cast<std::int32_t>(platform - frozen.platforms.begin());
    operands.push_back(client.Put(
        {&ElementTypeNamed("int32"), {}, std::string(reinterpret_cast<const char*>(&index), sizeof index)}));
  }
  const auto paths = InputPaths(frozen, options.inputs);
  for (std::size_t i = 0; i < frozen.operands.size(); ++i) {
    const Port& port = frozen.operands[i];
    if (port.is_weight) {
      const Array& weight = frozen.weights.at(port.name);
      if (weight.type != port.type || weight.shape != port.shape) {
        throw std::runtime_error("the weight " + port.name + " is of another type than the program's");
      }
      if (frozen.is_kept[i]) operands.push_back(client.Put(weight));
    } else {
      const Array input = ReadInput(port, paths.at(port.name));
      if (frozen.is_kept[i]) operands.push_back(client.Put(input));
    }
  }
  return operands;
}

void Run(const Options& options) {
  const FrozenFile frozen = ReadFrozenFile(options.file);
  const Client client{Plugin(options.plugin)};
  std::cout << frozen.name << " on " << client.platform() << ", PJRT " << client.plugin().version_text() << "\n";
  const std::vector<Buffer> operands = PutOperands(client, frozen, options);
  std::string compile_options = frozen.compile_options;
  for (const std::string& each : options.xla) compile_options += XlaOption(each);
  const Program program(client, frozen.module, compile_options);
  const std::vector<Buffer> results = program.Run(operands);
  if (results.size() != frozen.results.size()) throw std::runtime_error("the program has another number of results");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Array result = client.Get(results[i]);
    std::cout << frozen.results[i].name << ": " << result.type->name << ShapeText(result.shape) << "\n";
    if (options.output.empty()) continue;
    mkdir(options.output.c_str(), 0777);  // an existing folder stays
    std::string name = frozen.results[i].name;
    std::replace(name.begin(), name.end(), '/', '_');
    WriteNpy(options.output + "/" + name + ".npy", result);
  }
}

}  // namespace

int main(int count, char** words) {
  const auto options = ParseOptions({words + 1, words + count});
  if (!options) {
    std::cerr << kUsage;
    return 2;
  }
  try {
    Run(*options);
  } catch (const std::exception& error) {
    std::cerr << "run_frozen: " << error.what() << "\n";
    return 1;
  }
}
