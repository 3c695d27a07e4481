// trainer/metrics/mecab.cpp: finds MeCab's library and dictionary, and calls its C interface.
#include "trainer/metrics/mecab.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <cstdlib>
#include <mutex>

#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {
namespace {

struct MecabDictionaryInfo {  // mecab_dictionary_info_t
  const char *file, *charset;
  unsigned num_words;
};

constexpr const char* kPackageFolders = "/lib{,64}/python3*/{site,dist}-packages/";

std::string first_match(const std::vector<std::string>& prefixes, const char* pattern) {
  for (const std::string& prefix : prefixes) {
    glob_t found{};
    const bool any = glob((prefix + kPackageFolders + pattern).c_str(), GLOB_BRACE, nullptr, &found) == 0;
    const std::string path = any ? found.gl_pathv[0] : "";
    globfree(&found);
    if (any) return path;
  }
  return "";
}

[[noreturn]] void refuse_packages(const MecabPackages& packages, const std::string& reason) {
  fail(ErrorKind::usage,
       fmt::format("BLEU's tokenizer {} needs sacreBLEU's Python packages, but {}: install them with pip install "
                   "'sacrebleu[{}]', and activate their virtual environment",
                   packages.tokenizer, reason, packages.extra));
}

}  // namespace

struct Mecab::Library {
  template <typename Function>
  Function* function(const char* name) const {
    const auto found = reinterpret_cast<Function*>(dlsym(handle, name));
    if (found == nullptr) fail(ErrorKind::usage, fmt::format("{} is not MeCab: {}", file, dlerror()));
    return found;
  }
  ~Library() {
    if (tagger != nullptr) function<void(void*)>("mecab_destroy")(tagger);
  }

  std::string file;
  void* handle = nullptr;  // stays open until the program ends
  void* tagger = nullptr;
  const char* (*split)(void*, const char*, size_t) = nullptr;
  std::mutex mutex;  // a tagger has one buffer for its results
};

std::vector<std::string> python_prefixes() {
  std::vector<std::string> prefixes;
  for (const auto& [variable, folder] : {std::pair{"VIRTUAL_ENV", ""}, {"CONDA_PREFIX", ""}, {"HOME", "/.local"}})
    if (const char* const value = std::getenv(variable); value != nullptr && *value != '\0')
      prefixes.push_back(std::string(value) + folder);
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  return prefixes;
}

Mecab::Mecab(const MecabPackages& packages, const std::vector<std::string>& prefixes)
    : library_(std::make_unique<Library>()) {
  Library& l = *library_;
  l.file = first_match(prefixes, packages.library);
  const std::string dictionary = first_match(prefixes, packages.dictionary);
  if (l.file.empty() || dictionary.empty())
    refuse_packages(packages,
                    fmt::format("there is no {} below {}", l.file.empty() ? packages.library : packages.dictionary,
                                fmt::join(prefixes, ", ")));
  l.handle = dlopen(l.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (l.handle == nullptr) refuse_packages(packages, dlerror());
  l.split = l.function<const char*(void*, const char*, size_t)>("mecab_sparse_tostr2");
  // Without /dev/null, MeCab would read the user's .mecabrc, which may add dictionaries.
  const char* arguments[] = {"weft", "-r", "/dev/null", "-d", dictionary.c_str(), "-O", "wakati"};
  l.tagger = l.function<void*(int, const char**)>("mecab_new")(std::size(arguments), arguments);
  if (l.tagger == nullptr) refuse_packages(packages, fmt::format("MeCab cannot open {}", dictionary));
  const auto* const info = l.function<const MecabDictionaryInfo*(void*)>("mecab_dictionary_info")(l.tagger);
  if (info == nullptr || info->num_words != packages.num_words)
    refuse_packages(packages, fmt::format("{} has {} words instead of {}", dictionary,
                                          info == nullptr ? 0 : info->num_words, packages.num_words));
  signature_ = fmt::format("{}-{}-{}", packages.tokenizer, l.function<const char*()>("mecab_version")(),
                           packages.dictionary_name);
}

Mecab::~Mecab() = default;

std::string Mecab::words(std::string_view line) const {
  line = trim(line);
  const std::lock_guard lock(library_->mutex);
  const char* const words = library_->split(library_->tagger, line.data(), line.size());
  require(words != nullptr, ErrorKind::internal, "MeCab cannot split a line");
  return join_words(split_words(words));
}

}  // namespace weft
