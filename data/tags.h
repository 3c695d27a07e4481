// data/tags.h: tags: tokens in front of a sentence that carry what its text does not, such as a language or a domain.
//
// A tag is a control piece of the tokenizer's SentencePiece model, such as <2de>, >>deu<< or deu_Latn. No text is ever
// encoded as one, even with the same characters, and decoding leaves tags out. So they cost nothing where they are
// not used, and text that is compared contains none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "tensor/error.h"

namespace weft {

inline constexpr const char* kSeparator = "<sep>";  // a tag between the sentences of a document

// Returns the names in "<2de>,<2fr>". Throws a usage Error that names `option` for a name that occurs twice or cannot
// be a tag. A tag needs a letter and a punctuation mark, so that no piece of text is the same, and must not contain
// white space, commas or quotes.
std::vector<std::string> tag_names(const std::string& list, const char* option);

std::vector<std::string> tags_of(const Tokenizer& tokenizer);  // all tags, in the order of their ids

// Returns the names in "<2de> <web>", which white space separates; "": none.
std::vector<std::string> split_tags(std::string_view tags);

// Returns their ids. Throws a usage Error for a name that is not a tag of the tokenizer.
std::vector<int32_t> tag_ids(std::string_view tags, const Tokenizer& tokenizer);

// Throws the same Error, of a kind that the caller chooses, with `where` in front.
void check_tags(std::string_view tags, const Tokenizer& tokenizer, const std::string& where,
                ErrorKind kind = ErrorKind::usage);

std::vector<int32_t> encode_with_tags(std::string_view tags, std::string_view text, const Tokenizer& tokenizer);

size_t num_leading_tags(const std::vector<int32_t>& ids, const Tokenizer& tokenizer);

// Like decode(), but shows tags by their names.
std::string decode_with_tags(const std::vector<int32_t>& ids, const Tokenizer& tokenizer);

// Returns the same tags around the encoded texts that `change` makes from the texts between them.
std::vector<int32_t> with_changed_text(const std::vector<int32_t>& ids, const Tokenizer& tokenizer,
                                       const std::function<std::string(const std::string&)>& change);

// Says in one line why `tag` is not among the tags `known`.
std::string no_such_tag(const std::string& tag, const std::vector<std::string>& known);

}  // namespace weft
