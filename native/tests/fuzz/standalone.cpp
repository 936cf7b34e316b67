// Mutates the files given and feeds them to the fuzz target: for compilers without libFuzzer.
// usage: trace_fuzzer -runs=N FILE...

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

void mutate(Bytes* bytes, std::mt19937_64* random) {
  static const char* const kTokens[] = {"\"", "{", "}", "[", "]", ",", ":", "\\", "\\u", "nan", "-",
                                        "1e999", "\"ph\":\"X\"", "\"args\":{", "\x1f\x8b", "\xff", "\n"};
  for (int edits = 1 + static_cast<int>((*random)() % 4); edits > 0 && !bytes->empty(); --edits) {
    const std::size_t at = (*random)() % bytes->size();
    const auto here = bytes->begin() + static_cast<std::ptrdiff_t>(at);
    switch ((*random)() % 5) {
      case 0: *here = static_cast<std::uint8_t>((*random)()); break;
      case 1: *here ^= static_cast<std::uint8_t>(1U << ((*random)() % 8)); break;
      case 2: {
        const char* token = kTokens[(*random)() % std::size(kTokens)];
        bytes->insert(here, token, token + std::strlen(token));
        break;
      }
      case 3: {
        const std::size_t length = 1 + (*random)() % std::min<std::size_t>(200, bytes->size() - at);
        bytes->erase(here, here + static_cast<std::ptrdiff_t>(length));
        break;
      }
      default: bytes->resize(at); break;
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  long runs = 10000;
  std::vector<Bytes> corpus;
  for (int i = 1; i < count; ++i) {
    if (std::strncmp(arguments[i], "-runs=", 6) == 0) {
      runs = std::atol(arguments[i] + 6);
      continue;
    }
    std::ifstream file(arguments[i], std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) corpus.push_back(Bytes{'[', '{', '}', ']'});
  std::mt19937_64 random(20240501);
  for (const Bytes& seed : corpus) LLVMFuzzerTestOneInput(seed.data(), seed.size());
  for (long run = 0; run < runs; ++run) {
    Bytes input = corpus[random() % corpus.size()];
    mutate(&input, &random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%ld mutations of %zu files: no crash\n", runs, corpus.size());
}
