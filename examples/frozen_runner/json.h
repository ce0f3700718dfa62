// SPDX-License-Identifier: Apache-2.0
// A reader of JSON (RFC 8259).

#ifndef FROZEN_RUNNER_JSON_H_
#define FROZEN_RUNNER_JSON_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

class Json {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  static Json Parse(const std::string& text) {
    const char* at = text.c_str();
    Json value = ParseValue(at, 0);
    SkipSpace(at);
    if (at != text.c_str() + text.size()) Fail("text after the value");
    return value;
  }

  Kind kind() const { return kind_; }
  bool boolean() const { return Checked(Kind::kBool).number_ != 0; }
  std::int64_t integer() const { return static_cast<std::int64_t>(Checked(Kind::kNumber).number_); }
  const std::string& string() const { return Checked(Kind::kString).string_; }
  const std::vector<Json>& array() const { return Checked(Kind::kArray).array_; }
  const std::map<std::string, Json>& object() const { return Checked(Kind::kObject).object_; }

  bool has(const std::string& key) const { return object().count(key) != 0; }

  const Json& operator[](const std::string& key) const {
    const auto found = object().find(key);
    if (found == object_.end()) Fail("no entry " + key);
    return found->second;
  }

 private:
  static constexpr int kDeepest = 200;

  [[noreturn]] static void Fail(const std::string& problem) {
    throw std::runtime_error("damaged JSON: " + problem);
  }

  const Json& Checked(Kind kind) const {
    if (kind_ != kind) Fail("a value is of another kind than expected");
    return *this;
  }

  static void SkipSpace(const char*& at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') ++at;
  }

  static bool Skip(const char*& at, const std::string& text) {
    SkipSpace(at);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (at[i] != text[i]) return false;
    }
    at += text.size();
    return true;
  }

  static Json ParseValue(const char*& at, int depth) {
    if (depth > kDeepest) Fail("too deep");
    Json value;
    SkipSpace(at);
    if (*at == '"') {
      value.kind_ = Kind::kString;
      value.string_ = ParseString(at);
    } else if (Skip(at, "{")) {
      value.kind_ = Kind::kObject;
      for (bool is_first = true; !Skip(at, "}"); is_first = false) {
        if (!is_first && !Skip(at, ",")) Fail("a comma is missing");
        SkipSpace(at);
        std::string key = ParseString(at);
        if (!Skip(at, ":")) Fail("a colon is missing");
        value.object_.emplace(std::move(key), ParseValue(at, depth + 1));
      }
    } else if (Skip(at, "[")) {
      value.kind_ = Kind::kArray;
      for (bool is_first = true; !Skip(at, "]"); is_first = false) {
        if (!is_first && !Skip(at, ",")) Fail("a comma is missing");
        value.array_.push_back(ParseValue(at, depth + 1));
      }
    } else if (Skip(at, "true") || Skip(at, "false")) {
      value.kind_ = Kind::kBool;
      value.number_ = at[-2] == 'u';
    } else if (!Skip(at, "null")) {
      value.kind_ = Kind::kNumber;
      char* end;
      value.number_ = std::strtod(at, &end);
      if (end == at) Fail("unknown text");
      at = end;
    }
    return value;
  }

  static std::string ParseString(const char*& at) {
    if (*at++ != '"') Fail("a string is missing");
    std::string text;
    while (*at != '"') {
      if (static_cast<unsigned char>(*at) < 0x20) Fail("a string does not end");
      if (*at != '\\') {
        text += *at++;
        continue;
      }
      const char escape = *++at;
      ++at;
      if (escape == 'u') {
        AppendUtf8(text, ParseCodePoint(at));
      } else {
        static const std::string kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
        const std::size_t index = kEscapes.find(escape);
        if (escape == 0 || index == std::string::npos) Fail("an unknown escape");
        text += kMeanings[index];
      }
    }
    ++at;
    return text;
  }

  static std::uint32_t ParseHex(const char*& at) {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at) {
      static const std::string kDigits = "0123456789abcdef";
      const std::size_t digit = *at == 0 ? std::string::npos : kDigits.find(static_cast<char>(*at | 0x20));
      if (digit == std::string::npos) Fail("an unknown escape");
      code = code << 4 | static_cast<std::uint32_t>(digit);
    }
    return code;
  }

  static std::uint32_t ParseCodePoint(const char*& at) {
    const std::uint32_t high = ParseHex(at);
    if (high < 0xd800 || high > 0xdbff || at[0] != '\\' || at[1] != 'u') return high;
    at += 2;
    return 0x10000 + ((high - 0xd800) << 10) + (ParseHex(at) - 0xdc00);
  }

  static void AppendUtf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
      text += static_cast<char>(code);
      return;
    }
    const int rest = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static constexpr int kFirst[] = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(kFirst[rest] | code >> (6 * rest));
    for (int i = rest - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
  }

  Kind kind_ = Kind::kNull;
  double number_ = 0;
  std::string string_;
  std::vector<Json> array_;
  std::map<std::string, Json> object_;
};

#endif  // FROZEN_RUNNER_JSON_H_
