// data/tags.h: tags, tokens in front of a sentence that say what its text does not: a language, a domain.
//
// A tag is a control piece of the tokenizer's SentencePiece model, such as <2de>, >>deu<< or deu_Latn. No text is ever
// encoded as one, even if it has the same characters, and decoding leaves tags out. So they cost nothing where they
// are not used, and text that is compared has none.
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

// The names in "<2de>,<2fr>". A usage Error names `option` for one that cannot be a tag: it needs a letter and a mark,
// so that no piece of text is the same, and has no white space, comma or quote; or for one that is there twice.
std::vector<std::string> tag_names(const std::string& list, const char* option);

std::vector<std::string> tags_of(const Tokenizer& tokenizer);  // all, in the order of their ids

// The names in "<2de> <web>", with white space between them; "": none.
std::vector<std::string> split_tags(std::string_view tags);

// Their ids. A usage Error for a name that is no tag of the tokenizer.
std::vector<int32_t> tag_ids(std::string_view tags, const Tokenizer& tokenizer);

// The same Error, of a kind that the caller chooses, with `where` in front.
void check_tags(std::string_view tags, const Tokenizer& tokenizer, const std::string& where,
                ErrorKind kind = ErrorKind::usage);

std::vector<int32_t> encode_with_tags(std::string_view tags, std::string_view text, const Tokenizer& tokenizer);

size_t num_leading_tags(const std::vector<int32_t>& ids, const Tokenizer& tokenizer);

// As decode(), but with tags by their names, for people.
std::string decode_with_tags(const std::vector<int32_t>& ids, const Tokenizer& tokenizer);

// The same tags around the encoded texts that `change` makes of the texts between them.
std::vector<int32_t> with_changed_text(const std::vector<int32_t>& ids, const Tokenizer& tokenizer,
                                       const std::function<std::string(const std::string&)>& change);

// Why `tag` is none of the tags `known`, in one line.
std::string no_such_tag(const std::string& tag, const std::vector<std::string>& known);

}  // namespace weft
