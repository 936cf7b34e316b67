#include "python/eval_ranges.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "python/eval_cold.h"

namespace sonde::python {
namespace {

constexpr char kPrefix[] = "_PyEval_EvalFrameDefault.";

// A library file mapped for reading, gone at the end of the scope.
struct MappedFile {
  const unsigned char* data = nullptr;
  size_t size = 0;

  explicit MappedFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return;
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
      void* memory = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (memory != MAP_FAILED) {
        data = static_cast<const unsigned char*>(memory);
        size = static_cast<size_t>(status.st_size);
      }
    }
    close(fd);
  }
  ~MappedFile() {
    if (data) munmap(const_cast<unsigned char*>(data), size);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <class T>
  const T* at(uint64_t offset, uint64_t count) const {
    if (offset > size || count > (size - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data + offset);
  }
};

unsigned add_cold_parts(const MappedFile& file, uint64_t base, CodeRange* out, unsigned count, unsigned capacity) {
  const auto* header = file.at<Elf64_Ehdr>(0, 1);
  if (header == nullptr || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return count;
  const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return count;
  for (unsigned s = 0; s < header->e_shnum; ++s) {
    const Elf64_Shdr& table = sections[s];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header->e_shnum) continue;
    const Elf64_Shdr& strings = sections[table.sh_link];
    const auto* symbols = file.at<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym));
    const auto* text = file.at<char>(strings.sh_offset, strings.sh_size);
    if (symbols == nullptr || text == nullptr) continue;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym) && count < capacity; ++i) {
      const Elf64_Sym& symbol = symbols[i];
      if (symbol.st_size == 0 || symbol.st_name + sizeof kPrefix > strings.sh_size) continue;
      if (memcmp(text + symbol.st_name, kPrefix, sizeof kPrefix - 1) != 0) continue;
      out[count++] = {base + symbol.st_value, base + symbol.st_value + symbol.st_size};
    }
  }
  return count;
}

}  // namespace

unsigned find_eval_ranges(void* eval, CodeRange* out, unsigned capacity) {
  const auto begin = reinterpret_cast<uint64_t>(eval);
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  if (!dladdr1(eval, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT)) return 0;
  out[0] = {begin, begin + (symbol && symbol->st_size ? symbol->st_size : 1)};
  // dli_fname of the main program is argv[0], which need not be a path.
  link_map* map = nullptr;
  if (!dladdr1(eval, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || map == nullptr) return 1;
  const MappedFile file(map->l_name[0] ? map->l_name : "/proc/self/exe");
  const unsigned named = add_cold_parts(file, map->l_addr, out, 1, capacity);
  return find_cold_parts(out, named, capacity);
}

}  // namespace sonde::python
