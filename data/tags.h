// data/tags.h: handles tags: tokens in front of a sentence that state, for example, its target language or its domain.
//
// A tag is a control piece of the tokenizer's SentencePiece model, such as <2de>, >>deu<< or deu_Latn. Text is never
// encoded as a tag, even if it contains the same characters, and decoding omits tags.
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

// Returns the names in a list such as "<2de>,<2fr>". Throws a usage Error that names `option` if a name occurs twice or
// cannot be a tag. A tag needs a letter and a punctuation mark, so that it cannot equal a piece of text, and it must
// not contain white space, commas or quotes.
std::vector<std::string> tag_names(const std::string& list, const char* option);

std::vector<std::string> tags_of(const Tokenizer& tokenizer);  // all tags, in the order of their ids

// Returns the names in a list separated by white space, such as "<2de> <web>".
std::vector<std::string> split_tags(std::string_view tags);

// Returns the ids of the tags in a list separated by white space. Throws a usage Error if a name is not a tag.
std::vector<int32_t> tag_ids(std::string_view tags, const Tokenizer& tokenizer);

// Throws the Error that tag_ids() would throw, but with the given kind, and with `where` in front of its message.
void check_tags(std::string_view tags, const Tokenizer& tokenizer, const std::string& where,
                ErrorKind kind = ErrorKind::usage);

std::vector<int32_t> encode_with_tags(std::string_view tags, std::string_view text, const Tokenizer& tokenizer);

size_t num_leading_tags(const std::vector<int32_t>& ids, const Tokenizer& tokenizer);

// Decodes like Tokenizer::decode(), but also writes the names of tags.
std::string decode_with_tags(const std::vector<int32_t>& ids, const Tokenizer& tokenizer);

// Keeps the tags. Decodes the text between them, applies `change` to it, and encodes the result.
std::vector<int32_t> with_changed_text(const std::vector<int32_t>& ids, const Tokenizer& tokenizer,
                                       const std::function<std::string(const std::string&)>& change);

// Returns the message for a `tag` that is not among the `known` tags.
std::string no_such_tag(const std::string& tag, const std::vector<std::string>& known);

}  // namespace weft
