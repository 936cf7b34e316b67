#include "process/secrets.h"

#include <cstring>
#include <initializer_list>

namespace sonde {
namespace {

constexpr size_t kMinKey = 16, kMinRandom = 20, kMinRandomLetters = 32;
constexpr const char* kExact[] = {"key", "pass", "pwd", "jwt", "cookie", "bearer", "authorization", "passphrase",
                                  "psk", "sas", "accesskey", "secretkey", "privatekey", "authkey", "apikey"};
constexpr const char* kEnds[] = {"token", "auth", "apikey"};
constexpr const char* kHolds[] = {"secret", "passw", "credential"};
constexpr const char* kWeak[] = {"token", "auth", "key"};
constexpr const char* kHarmless[] = {"true", "false", "none", "null", "yes", "no", "on", "off", "auto"};
constexpr const char* kPrefixes[] = {"sk-",  "sk_",  "rk_",         "pk_live", "hf_",  "ghp_", "gho_",  "ghu_",
                                     "ghs_", "ghr_", "github_pat_", "glpat-",  "AKIA", "ASIA", "AIza",  "xox",
                                     "eyJ",  "npm_", "pypi-",       "dop_v1_", "nvapi-", "gsk_", "r8_", "wandb_v1_"};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_part(char c) { return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '+'; }
bool is_run(char c) { return is_part(c) || c == '-'; }
bool is_name(char c) { return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '.' || c == '-'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_quote(char c) { return c == '"' || c == '\''; }
bool is_space(char c) { return is_blank(c) || (c >= '\n' && c <= '\r'); }
bool ends_value(char c) { return is_space(c) || is_quote(c) || (c && std::strchr("&;,})", c)); }
char lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }

struct Piece {
  const char* at;
  size_t size;
  char operator[](size_t i) const { return at[i]; }
  bool starts(const char* text) const {
    size_t length = std::strlen(text);
    return length <= size && !std::strncmp(at, text, length);
  }
  // In any case of letters, `text` being in lower case.
  bool has_at(size_t offset, const char* text) const {
    size_t i = 0;
    for (; text[i]; i++) {
      if (offset + i >= size || lower(at[offset + i]) != text[i]) return false;
    }
    return true;
  }
  bool is(const char* text) const { return std::strlen(text) == size && has_at(0, text); }
  bool ends(const char* text) const {
    size_t length = std::strlen(text);
    return length <= size && has_at(size - length, text);
  }
  bool holds(const char* text) const {
    for (size_t i = 0; i < size; i++) {
      if (has_at(i, text)) return true;
    }
    return false;
  }
};

// The next word of a name: letters of one case, or one capital and small ones. Size 0 at the end.
Piece next_segment(Piece name, size_t& offset) {
  while (offset < name.size && !is_lower(name[offset]) && !is_upper(name[offset])) offset++;
  size_t begin = offset;
  if (offset < name.size && is_upper(name[offset])) {
    offset++;
    if (offset >= name.size || !is_lower(name[offset])) {
      while (offset < name.size && is_upper(name[offset])) offset++;
      return {name.at + begin, offset - begin};
    }
  }
  while (offset < name.size && is_lower(name[offset])) offset++;
  return {name.at + begin, offset - begin};
}

// The segment that says so, size 0 when the name is no secret's.
Piece secret_segment(Piece name) {
  size_t offset = 0;
  for (;;) {
    Piece segment = next_segment(name, offset);
    if (!segment.size) return segment;
    for (const char* word : kExact) {
      if (segment.is(word)) return segment;
    }
    for (const char* word : kEnds) {
      if (segment.ends(word)) return segment;
    }
    for (const char* word : kHolds) {
      if (segment.holds(word)) return segment;
    }
  }
}

bool is_harmless(Piece segment, Piece value) {
  bool weak = false;
  for (const char* word : kWeak) weak = weak || segment.ends(word);
  if (!weak) return false;
  bool number = value.size <= 6;
  for (size_t i = 0; i < value.size; i++) number = number && is_digit(value[i]);
  for (const char* word : kHarmless) number = number || value.is(word);
  return number;
}

bool hides(Piece name, Piece value) {
  Piece segment = secret_segment(name);
  return segment.size && value.size && !is_harmless(segment, value);
}

bool is_key(Piece run) {
  bool known = false, upper = false, small = false, digit = false;
  for (const char* prefix : kPrefixes) known = known || run.starts(prefix);
  for (size_t i = 0; i < run.size; i++) {
    upper = upper || is_upper(run[i]);
    small = small || (i >= 3 && is_lower(run[i]));
    digit = digit || is_digit(run[i]);
  }
  return known && run.size >= kMinKey && (digit || (upper && small));
}

int kind(char c) { return is_digit(c) ? 1 : is_lower(c) ? 2 : is_upper(c) ? 3 : 0; }

bool is_random(Piece part) {
  size_t changes = 0;
  bool digit = false;
  for (size_t i = 0; i < part.size; i++) {
    digit = digit || is_digit(part[i]);
    if (i && kind(part[i]) && kind(part[i - 1]) && kind(part[i]) != kind(part[i - 1])) changes++;
  }
  return part.size >= (digit ? kMinRandom : kMinRandomLetters) && changes * 10 >= part.size * 3;
}

struct Output {
  char* at;
  size_t room, used = 0;
  void put(char c) {
    if (used < room) at[used++] = c;
  }
  void hidden() {
    for (int i = 0; i < 3; i++) put('*');
  }
};

// Where the value of a pair begins when `offset` is at its '=' or ':', 0 when it is none.
size_t value_of_pair(Piece word, size_t offset) {
  if (word[offset] != '=' && word[offset] != ':') return 0;
  if (offset + 2 < word.size && word[offset + 1] == '/' && word[offset + 2] == '/') return 0;
  size_t end = offset;
  while (end && is_blank(word[end - 1])) end--;
  if (end && is_quote(word[end - 1])) end--;
  size_t begin = end;
  while (begin && is_name(word[begin - 1])) begin--;
  size_t value = offset + 1;
  while (value < word.size && is_blank(word[value])) value++;
  for (const char* scheme : {"Bearer ", "Basic "}) {
    if (Piece{word.at + value, word.size - value}.starts(scheme)) value += std::strlen(scheme);
  }
  if (value < word.size && is_quote(word[value])) value++;
  size_t last = value;
  while (last < word.size && !ends_value(word[last])) last++;
  return hides({word.at + begin, end - begin}, {word.at + value, last - value}) ? value : 0;
}

// The '@' that ends an address' user part which begins at `offset`, 0 when there is none.
size_t end_of_user(Piece word, size_t offset) {
  size_t found = 0;
  for (size_t i = offset; i < word.size && !is_space(word[i]) && !std::strchr("/?#", word[i]); i++) {
    if (word[i] == '@') found = i;
  }
  return found;
}

void hide_text(Piece word, Output& out) {
  for (size_t i = 0; i < word.size;) {
    if (i >= 3 && !std::strncmp(word.at + i - 3, "://", 3)) {
      if (size_t at = end_of_user(word, i)) {
        out.hidden();
        out.put('@');
        i = at + 1;
        continue;
      }
    }
    bool begins_run = is_run(word[i]) && (!i || !is_run(word[i - 1]));
    size_t run = i, part = i;
    while (begins_run && run < word.size && is_run(word[run])) run++;
    bool begins_part = is_part(word[i]) && (!i || !is_part(word[i - 1]));
    while (begins_part && part < word.size && is_part(word[part])) part++;
    if ((begins_run && is_key({word.at + i, run - i})) || (begins_part && is_random({word.at + i, part - i}))) {
      out.hidden();
      i = is_key({word.at + i, run - i}) ? run : part;
      continue;
    }
    size_t value = value_of_pair(word, i);
    if (!value) {
      out.put(word[i++]);
      continue;
    }
    while (i < value) out.put(word[i++]);
    out.hidden();
    while (i < word.size && !ends_value(word[i])) i++;
  }
}

// `--token=all of this`: the value goes to the end of the argument.
size_t whole_value(Piece word) {
  size_t i = 0;
  while (i < word.size && (is_name(word[i]) || word[i] == '+' || word[i] == '/')) i++;
  return i && i < word.size && word[i] == '=' && secret_segment({word.at, i}).size ? i + 1 : 0;
}

}  // namespace

size_t hide_secrets(const char* command, size_t size, char* shown, size_t room) {
  Output out{shown, room};
  Piece option{nullptr, 0};  // the one before, when its value is a secret
  for (size_t begin = 0; begin <= size;) {
    size_t end = begin;
    while (end < size && command[end]) end++;
    Piece word{command + begin, end - begin};
    if (begin) out.put('\0');
    bool is_option = word.size && word[0] == '-';
    if (option.size && !is_option && (!word.size || hides(option, word))) {
      out.hidden();
      option = {nullptr, 0};
    } else if (size_t value = whole_value(word)) {
      bool hide = hides({word.at, value - 1}, {word.at + value, word.size - value});
      for (size_t i = 0; i < (hide ? value : word.size); i++) out.put(word[i]);
      if (hide) out.hidden();
      option = {nullptr, 0};
    } else {
      hide_text(word, out);
      bool plain = is_option && !std::memchr(word.at, '=', word.size) && secret_segment(word).size;
      option = plain ? word : Piece{nullptr, 0};
    }
    begin = end + 1;
  }
  return out.used;
}

}  // namespace sonde
