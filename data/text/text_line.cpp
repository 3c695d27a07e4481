// data/text/text_line.cpp: checks a line of text.
#include "data/text/text_line.h"

#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {

void require_text(std::string_view line, const std::string& name, int64_t number) {
  const auto refuse = [&](const std::string& what) {
    throw BadLine(ErrorKind::data, fmt::format("{}, line {}: {}", name, number, what));
  };
  const size_t nul = line.find('\0'), invalid = find_invalid_utf8(line);
  if (nul != std::string_view::npos)
    refuse(
        fmt::format("byte {} is NUL, which text must not contain; convert UTF-16 with iconv -f UTF-16 -t UTF-8, or "
                    "remove NUL bytes with tr -d '\\000'",
                    nul + 1));
  if (invalid != std::string_view::npos)
    refuse(fmt::format("byte {} (0x{:02X}) is not valid UTF-8; use for example iconv -f LATIN1 -t UTF-8", invalid + 1,
                       static_cast<unsigned char>(line[invalid])));
}

}  // namespace weft
