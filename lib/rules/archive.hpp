// Structs as bytes and back: what the build writes down once, every start of the program reads.
// Writer and reader are the same sources on the same machine, so numbers stand as they lie in
// memory and nothing is checked. A struct takes part by a function `each_field(archive, value)`
// beside it, which serves both directions.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace culprit::rules {

// Meaning or const Meaning: each_field() is called with either.
template <class T, class Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

class Saver {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void size(std::size_t n) { put(static_cast<std::uint32_t>(n)); }
  void put(std::string_view text) {
    size(text.size());
    bytes_ += text;
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    size(values.size());
    for (const T& value : values) put(value);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& value) {
    put(value.first);
    put(value.second);
  }
  template <class K, class V, class Less>
  void put(const std::map<K, V, Less>& values) {
    size(values.size());
    for (const auto& [key, value] : values) {
      put(key);
      put(value);
    }
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>)
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    else if constexpr (std::same_as<T, double>)
      put(std::bit_cast<std::uint64_t>(value));
    else
      each_field(*this, value);
  }

  std::string bytes_;
};

class Loader {
 public:
  // `bytes` must live as long as the string_views that are read.
  explicit Loader(std::string_view bytes) : at_(bytes.data()) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }

 private:
  std::size_t size() {
    std::uint32_t n;
    get(n);
    return n;
  }
  void get(std::string_view& text) {
    const std::size_t n = size();
    text = {at_, n};
    at_ += n;
  }
  void get(std::string& text) {
    std::string_view bytes;
    get(bytes);
    text.assign(bytes);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there;
    get(there);
    value.reset();
    if (there) get(value.emplace());
  }
  template <class T>
  void get(std::vector<T>& values) {
    values.resize(size());
    if constexpr (std::same_as<T, std::uint32_t>) {
      if (values.empty()) return;
      std::memcpy(values.data(), at_, values.size() * sizeof(T));
      at_ += values.size() * sizeof(T);
    } else {
      for (T& value : values) get(value);
    }
  }
  template <class A, class B>
  void get(std::pair<A, B>& value) {
    get(value.first);
    get(value.second);
  }
  template <class K, class V, class Less>
  void get(std::map<K, V, Less>& values) {
    for (std::size_t n = size(); n > 0; --n) {
      K key{};
      get(key);
      get(values.try_emplace(values.end(), std::move(key))->second);
    }
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>) {
      std::memcpy(&value, at_, sizeof value);
      at_ += sizeof value;
    } else if constexpr (std::same_as<T, double>) {
      std::uint64_t bits;
      get(bits);
      value = std::bit_cast<double>(bits);
    } else {
      each_field(*this, value);
    }
  }

  const char* at_;
};

}  // namespace culprit::rules
