// What operator calls are told apart by: name, shapes, types and whole-number inputs, each kind numbered and written once.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

namespace sonde {

constexpr uint32_t kMostSignatures = 1 << 16;  // beyond, calls keep their name only

// What a call is told apart by: two hashes of name and inputs, 128 bits in all, so that two signatures do not meet.
struct Key {
  uint64_t first = 0x9e3779b97f4a7c15u, second = 0xc2b2ae3d27d4eb4fu;

  void add(int64_t value) {
    uint64_t word = static_cast<uint64_t>(value);
    first = (first ^ word) * 0xff51afd7ed558ccdu;
    first ^= first >> 32;
    second = (second + word) * 0xc4ceb9fe1a85ec53u;
    second ^= second >> 29;
  }
  void add(const char* text) {
    size_t size = std::strlen(text);
    for (size_t i = 0; i < size; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text + i, std::min<size_t>(8, size - i));
      add(static_cast<int64_t>(word));
    }
    add(static_cast<int64_t>(size));
  }
  bool operator==(const Key& other) const { return first == other.first && second == other.second; }
};

struct HashOfKey {
  size_t operator()(const Key& key) const { return key.first; }
};

inline bool has_plain_sizes(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return tensor.defined() && !tensor.is_nested() && !impl->has_symbolic_sizes_strides();
}

inline void add_tensor(Key& key, const at::Tensor& tensor) {
  if (!tensor.defined()) return key.add(-2);
  key.add(static_cast<int64_t>(tensor.scalar_type()) << 32 | 1);
  if (!has_plain_sizes(tensor)) return key.add(-3);
  at::IntArrayRef sizes = tensor.sizes();
  key.add(static_cast<int64_t>(sizes.size()));
  for (int64_t size : sizes) key.add(size);
}

inline bool is_whole_list(const c10::IValue& value) { return value.isIntList() || value.isBoolList(); }

// Fractions are left out: they change from step to step and tell nothing of the work.
inline void add_value(Key& key, const c10::IValue& value) {
  if (value.isTensor()) return add_tensor(key, value.toTensor());
  if (value.isInt()) {
    key.add(2);
    return key.add(value.toInt());
  }
  if (value.isBool()) return key.add(value.toBool() ? 4 : 3);
  if (value.isTensorList() || is_whole_list(value)) {
    c10::ArrayRef<c10::IValue> items = value.toListRef();
    key.add(value.isIntList() ? 6 : value.isBoolList() ? 10 : 5);
    key.add(static_cast<int64_t>(items.size()));
    for (const c10::IValue& item : items) {
      if (item.isTensor()) {
        add_tensor(key, item.toTensor());
      } else {
        key.add(item.isInt() ? item.toInt() : item.isBool() ? item.toBool() : -1);
      }
    }
    return;
  }
  if (value.isScalar()) return key.add(7);
  key.add(value.isDoubleList() ? 8 : 9);
}

inline void quote(std::string& out, const char* text) {
  out += '"';
  for (; *text; text++) {
    unsigned char c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\') out += '\\';
    if (c >= 0x20) out += *text;
  }
  out += '"';
}

inline void add_sizes(std::string& out, const at::Tensor& tensor) {
  out += '[';
  if (has_plain_sizes(tensor)) {
    const char* between = "";
    for (int64_t size : tensor.sizes()) {
      out += between + std::to_string(size);
      between = ", ";
    }
  }
  out += ']';
}

inline std::string whole(const c10::IValue& value) {
  if (value.isInt()) return std::to_string(value.toInt());
  return value.isBool() ? value.toBool() ? "True" : "False" : "";
}

inline std::string whole_list(const c10::IValue& list) {
  std::string text = "[";
  for (const c10::IValue& item : list.toListRef()) text += (text.size() > 1 ? ", " : "") + whole(item);
  return text + "]";
}

// The texts are those that Kineto's trace has, so that everything after reads both alike.
struct Texts {
  std::string shapes = "[", dtypes = "[", inputs = "[";

  void add(const c10::IValue& value) {
    if (shapes.size() > 1) {
      shapes += ", ";
      dtypes += ", ";
      inputs += ", ";
    }
    std::string type, shape = "[]", input;
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      shape.clear();
      add_sizes(shape, tensor);
      if (tensor.defined()) type = std::string(tensor.dtype().name());
    } else if (value.isTensorList()) {
      type = "TensorList";
      shape = "[";
      for (const c10::IValue& item : value.toListRef()) {
        if (shape.size() > 1) shape += ", ";
        add_sizes(shape, item.toTensor());
      }
      shape += ']';
    } else if (value.isScalar()) {
      type = "Scalar";
      input = whole(value);
    } else if (is_whole_list(value) || value.isDoubleList()) {
      type = "ScalarList";
      if (is_whole_list(value)) input = whole_list(value);
    }
    shapes += shape;
    quote(dtypes, type.c_str());
    quote(inputs, input.c_str());
  }
};

// Numbers of signatures, for all threads. Writes the line of a new one before anyone can use its number.
class Signatures {
 public:
  bool open(const std::string& path) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    return fd_ >= 0;
  }

  uint32_t number(const Key& key, const at::RecordFunction& call) {
    std::lock_guard<std::mutex> guard(mutex_);
    auto [at, is_new] = known_.try_emplace(key, 0);
    if (!is_new) return at->second;
    if (known_.size() > kMostSignatures) {
      known_.erase(at);
      Key name;
      name.add(call.name());
      auto [named, is_first] = known_.try_emplace(name, 0);
      if (is_first) named->second = write(call, false);
      return named->second;
    }
    at->second = write(call, true);
    return at->second;
  }

 private:
  uint32_t write(const at::RecordFunction& call, bool with_inputs) {
    uint32_t number = ++last_;
    std::string line = "{\"signature\": " + std::to_string(number) + ", \"name\": ";
    quote(line, call.name());
    if (with_inputs) {
      Texts texts;
      for (const c10::IValue& value : call.inputs()) texts.add(value);
      // Each text is kept as the table has it: a string that holds JSON.
      line += ", \"shapes\": ";
      quote(line, (texts.shapes + "]").c_str());
      line += ", \"dtypes\": ";
      quote(line, (texts.dtypes + "]").c_str());
      line += ", \"inputs\": ";
      quote(line, (texts.inputs + "]").c_str());
    }
    line += "}\n";
    ssize_t written = ::write(fd_, line.data(), line.size());
    (void)written;  // a full disk: the reader counts calls whose signature has no line
    return number;
  }

  std::mutex mutex_;
  int fd_ = -1;
  uint32_t last_ = 0;
  std::unordered_map<Key, uint32_t, HashOfKey> known_;
};

}  // namespace sonde
