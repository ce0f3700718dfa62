// SPDX-License-Identifier: Apache-2.0
// Arrays in host memory, their types, and files in NumPy's format.

#ifndef FROZEN_RUNNER_ARRAYS_H_
#define FROZEN_RUNNER_ARRAYS_H_

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "pjrt_api.h"

// An element type: its names in NumPy, in safetensors files and in .npy files, and PJRT's number.
struct ElementType {
  const char* name;
  const char* safetensors;
  const char* npy;
  PJRT_Buffer_Type pjrt;
  std::size_t size;
};

// NumPy writes the types that are not its own as bytes without a type ("V").
inline constexpr ElementType kElementTypes[] = {
    {"bool", "BOOL", "|b1", PJRT_Buffer_Type_PRED, 1},
    {"int8", "I8", "|i1", PJRT_Buffer_Type_S8, 1},
    {"int16", "I16", "<i2", PJRT_Buffer_Type_S16, 2},
    {"int32", "I32", "<i4", PJRT_Buffer_Type_S32, 4},
    {"int64", "I64", "<i8", PJRT_Buffer_Type_S64, 8},
    {"uint8", "U8", "|u1", PJRT_Buffer_Type_U8, 1},
    {"uint16", "U16", "<u2", PJRT_Buffer_Type_U16, 2},
    {"uint32", "U32", "<u4", PJRT_Buffer_Type_U32, 4},
    {"uint64", "U64", "<u8", PJRT_Buffer_Type_U64, 8},
    {"float16", "F16", "<f2", PJRT_Buffer_Type_F16, 2},
    {"float32", "F32", "<f4", PJRT_Buffer_Type_F32, 4},
    {"float64", "F64", "<f8", PJRT_Buffer_Type_F64, 8},
    {"bfloat16", "BF16", "<V2", PJRT_Buffer_Type_BF16, 2},
    {"complex64", "C64", "<c8", PJRT_Buffer_Type_C64, 8},
    {"complex128", "", "<c16", PJRT_Buffer_Type_C128, 16},
    {"float8_e5m2", "F8_E5M2", "<f1", PJRT_Buffer_Type_F8E5M2, 1},
    {"float8_e4m3fn", "F8_E4M3", "<V1", PJRT_Buffer_Type_F8E4M3FN, 1},
};

template <typename Member, typename Value>
const ElementType& ElementTypeWhere(Member member, const Value& value) {
  for (const ElementType& type : kElementTypes) {
    if (value == type.*member) return type;
  }
  std::ostringstream text;
  text << "this program has no arrays of the element type " << value;
  throw std::runtime_error(text.str());
}

inline const ElementType& ElementTypeNamed(const std::string& name) {
  return ElementTypeWhere(&ElementType::name, name);
}

struct Array {
  const ElementType* type;
  std::vector<std::int64_t> shape;
  std::string data;  // row-major
};

inline std::size_t ByteSize(const ElementType& type, const std::vector<std::int64_t>& shape) {
  std::size_t size = type.size;
  for (std::int64_t each : shape) {
    std::size_t next;
    if (each < 0 || __builtin_mul_overflow(size, static_cast<std::size_t>(each), &next)) {
      throw std::runtime_error("an array has an impossible shape");
    }
    size = next;
  }
  return size;
}

inline std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::int64_t each : shape) text += std::to_string(each) + ", ";
  if (shape.size() == 1) text.pop_back();  // (3,) like Python
  if (shape.size() > 1) text.resize(text.size() - 2);
  return text + ")";
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream contents;
  contents << file.rdbuf();
  return std::move(contents).str();
}

// Returns the text after `key` in the header of a .npy file, a dictionary that Python writes.
inline std::string NpyEntry(const std::string& header, const std::string& key) {
  const std::size_t start = header.find("'" + key + "':");
  if (start == std::string::npos) throw std::runtime_error("the header has no " + key);
  const std::size_t value = header.find_first_not_of(' ', start + key.size() + 3);
  return header.substr(std::min(value, header.size()));
}

// Reads a .npy file (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
inline Array ParseNpy(const std::string& contents, const ElementType& expected) {
  if (contents.size() < 12 || contents.compare(0, 6, "\x93NUMPY") != 0) {
    throw std::runtime_error("not a .npy file");
  }
  const auto byte = [&](std::size_t at) { return std::size_t{static_cast<unsigned char>(contents[at])}; };
  const bool is_first = contents[6] == 1;
  const std::size_t start = is_first ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8;
  if (!is_first) length |= byte(10) << 16 | byte(11) << 24;
  if (length > contents.size() - start) throw std::runtime_error("the header is cut off");
  const std::string header = contents.substr(start, length);

  const std::string descr = NpyEntry(header, "descr");
  const std::string found = descr.substr(1, descr.find('\'', 1) - 1);
  // one byte has no order of bytes
  if (found.substr(1) != std::string(expected.npy).substr(1) || (found[0] == '>' && expected.size > 1)) {
    throw std::runtime_error("its elements are " + found + ", and the program takes " + expected.name);
  }
  if (NpyEntry(header, "fortran_order").compare(0, 5, "False") != 0) {
    throw std::runtime_error("it is in Fortran's order: save numpy.ascontiguousarray(x)");
  }
  Array array{&expected, {}, contents.substr(start + length)};
  std::istringstream sizes(NpyEntry(header, "shape").substr(1));
  std::int64_t size;
  while (sizes >> size) {
    array.shape.push_back(size);
    sizes.ignore(1, ',');
  }
  if (array.data.size() != ByteSize(expected, array.shape)) {
    throw std::runtime_error("it has " + std::to_string(array.data.size()) + " bytes of data for the shape " +
                             ShapeText(array.shape));
  }
  return array;
}

inline void WriteNpy(const std::string& path, const Array& array) {
  std::string header = std::string("{'descr': '") + array.type->npy + "', 'fortran_order': False, 'shape': " +
                       ShapeText(array.shape) + ", }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const char length[] = {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\1' << '\0';
  file.write(length, 2);
  file << header << array.data;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

#endif  // FROZEN_RUNNER_ARRAYS_H_
