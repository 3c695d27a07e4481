#!/usr/bin/env python3
"""Writes data/text/unicode_tables.h, Python's own lower-casing as small range tables; with the argument "upper"
data/text/unicode_upper.h, its upper-casing and title-casing; with "categories" data/text/unicode_categories.h, the numbers, punctuation
and symbols of its package regex; with "scripts" data/text/unicode_scripts.h, its letters by script; and with "invisible"
data/text/unicode_invisible.h, the characters that a reader cannot see and those that need them.

sacreBLEU lower-cases with Python and tokenises ("intl") with regex; the two have different versions of Unicode.

Usage: tests/reference/unicode_tables.py lower > data/text/unicode_tables.h
       tests/reference/unicode_tables.py upper > data/text/unicode_upper.h
       pip install regex; tests/reference/unicode_tables.py categories > data/text/unicode_categories.h
       tests/reference/unicode_tables.py scripts > data/text/unicode_scripts.h
       tests/reference/unicode_tables.py invisible > data/text/unicode_invisible.h
"""
import importlib.metadata
import re
import sys
import textwrap
import unicodedata

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
SCRIPTS = """Arabic Armenian Balinese Bengali Bopomofo Canadian_Aboriginal Cherokee Coptic Cyrillic Devanagari Ethiopic
Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana Javanese Kannada Katakana Khmer Lao Latin Malayalam
Meetei_Mayek Mongolian Myanmar Nko Ol_Chiki Oriya Sinhala Sundanese Syriac Tamil Telugu Thaana Thai Tibetan Tifinagh
Yi""".split()
# Scripts whose letters take a joiner (Unicode, 9.2 Arabic, 12 South Asian scripts, 13.5 Mongolian).
JOINING_SCRIPTS = """Arabic Balinese Bengali Chakma Devanagari Gujarati Gurmukhi Javanese Kannada Khmer Lepcha Malayalam
Mandaic Meetei_Mayek Mongolian Myanmar Nko Oriya Phags_Pa Sinhala Sundanese Syriac Tamil Telugu Tibetan""".split()
SIGMA = "\u03a3"


def case_ranges(convert):
    """(first, last, step, delta) of every one-to-one mapping; of lower case, U+0130 (two characters) and sigma are left
    to the code."""
    pairs = [(c, ord(convert(chr(c))) - c) for c in CODE_POINTS
             if len(convert(chr(c))) == 1 and convert(chr(c)) != chr(c)]
    ranges = []
    for c, delta in pairs:
        if ranges and ranges[-1][3] == delta:
            first, last, step, _ = ranges[-1]
            if (first == last and c - last in (1, 2)) or c - last == step:
                ranges[-1] = (first, c, c - last, delta)
                continue
        ranges.append((c, c, 1, delta))
    return ranges


def runs(code_points):
    out = []
    for c in code_points:
        if out and out[-1][1] == c - 1:
            out[-1] = (out[-1][0], c)
        else:
            out.append((c, c))
    return out


def is_cased(c):  # stops the look-ahead after a sigma, and is a letter with case
    return ("A" + SIGMA + chr(c)).lower()[1] == "\u03c3"


def is_case_ignorable(c):  # the look-ahead continues past it
    return not is_cased(c) and ("A" + SIGMA + chr(c) + "A").lower()[1] == "\u03c3"


def table(kind, name, comment, rows):
    print(f"\n// {comment}\ninline constexpr {kind} {name}[] = {{")
    line = "   "
    for row in rows:
        cell = " {" + ", ".join(row) + "},"
        if len(line) + len(cell) > 118:
            print(line)
            line = "   "
        line += cell
    print(line + "\n};")


def head(text):
    print(text + "\n// clang-format off\n#pragma once\n")


def hexa(c):
    return f"0x{c:x}"


def hexa_runs(code_points):
    return [(hexa(f), hexa(l)) for f, l in runs(code_points)]


def print_lower():
    several = [c for c in CODE_POINTS if len(chr(c).lower()) > 1]
    assert several == [0x130], several
    head("// data/text/unicode_tables.h: lower case of Unicode " + unicodedata.unidata_version +
         " as ranges; made by tests/reference/unicode_tables.py.")
    print("namespace weft::unicode_tables {\n\n"
          "struct LowerRange { char32_t first, last; int step, delta; };\n"
          "struct Range { char32_t first, last; };")
    table("LowerRange", "kLower", "Every step-th character from first to last maps to itself + delta.",
          [(hexa(f), hexa(l), str(s), str(d)) for f, l, s, d in case_ranges(str.lower)])
    table("Range", "kCased", "Letters with case that are not ignorable (for the final sigma).",
          hexa_runs([c for c in CODE_POINTS if is_cased(c)]))
    table("Range", "kCaseIgnorable", "Marks and signs that do not end a word (for the final sigma).",
          hexa_runs([c for c in CODE_POINTS if is_case_ignorable(c)]))


def print_upper():
    several = [(c, chr(c).upper()) for c in CODE_POINTS if len(chr(c).upper()) > 1]
    title = [(c, chr(c).title()) for c in CODE_POINTS if chr(c).title() != chr(c).upper()]
    head("// data/text/unicode_upper.h: upper and title case of Unicode " + unicodedata.unidata_version +
         " as ranges; made by tests/reference/unicode_tables.py.")
    print("namespace weft::unicode_tables {\n\n"
          "struct UpperRange { char32_t first, last; int step, delta; };\n"
          "struct CaseMapping { char32_t character, to[3]; };")
    table("UpperRange", "kUpper", "Every step-th character from first to last maps to itself + delta.",
          [(hexa(f), hexa(l), str(s), str(d)) for f, l, s, d in case_ranges(str.upper)])
    for name, comment, mappings in [
            ("kUpperSeveral", "Characters that become two or three; 0 where there is none.", several),
            ("kTitle", "Characters whose title case differs from their upper case.", title)]:
        table("CaseMapping", name, comment,
              [(hexa(c), "{" + ", ".join(hexa(ord(x)) for x in (to + "\0\0")[:3]) + "}") for c, to in mappings])


def regex_head(file, what):
    package = importlib.metadata.metadata("regex")
    unicode_version = re.search(r"supports Unicode ([0-9.]+[0-9])", package.get_payload() or package["Description"]).group(1)
    head(f"// data/text/{file}: {what} of Unicode {unicode_version} as ranges.\n//\n// Made by "
         f"tests/reference/unicode_tables.py from Python's package regex {package['Version']}.")


def print_categories():
    import regex
    regex_head("unicode_categories.h", "numbers, punctuation and symbols")
    print('#include "data/text/unicode_tables.h"\n\nnamespace weft::unicode_tables {')
    for name, letter, comment in [("kNumber", "N", "Category N"), ("kPunctuation", "P", "Category P"),
                                  ("kSymbol", "S", "Category S")]:
        category = regex.compile(r"\p{%s}" % letter)
        table("Range", name, comment + ".", hexa_runs([c for c in CODE_POINTS if category.match(chr(c))]))


def print_scripts():
    import regex
    regex_head("unicode_scripts.h", "letters, by script,")
    letter, shared = regex.compile(r"\p{L}"), regex.compile(r"[\p{Script=Common}\p{Script=Inherited}]")
    scripts = [regex.compile(r"\p{Script=%s}" % name) for name in SCRIPTS]
    ranges = []
    for c in CODE_POINTS:
        if not letter.match(chr(c)) or shared.match(chr(c)):
            continue
        script = next((i for i, pattern in enumerate(scripts) if pattern.match(chr(c))), len(SCRIPTS))
        if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == script:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, script])
    print("namespace weft::unicode_tables {\n\n// Scripts of today's languages; a letter of another one has the number after "
          "the last of these.\ninline constexpr const char* kScriptNames[] = {")
    print(textwrap.fill(", ".join(f'"{name}"' for name in SCRIPTS), 112, initial_indent="    ", subsequent_indent="    ") + "\n};")
    print("\nstruct ScriptRange { char32_t first, last; int script; };")
    table("ScriptRange", "kScripts", "Category L without the letters that scripts share (Common, Inherited).",
          [(hexa(f), hexa(l), str(s)) for f, l, s in ranges])


def print_invisible():
    import regex
    regex_head("unicode_invisible.h", "invisible characters, and those that need them,")
    print('#include "data/text/unicode_tables.h"\n\nnamespace weft::unicode_tables {')
    joining = "".join(r"\p{Script=%s}" % name for name in JOINING_SCRIPTS)
    unassigned = regex.compile(r"\p{Cn}")
    for name, pattern, comment in [
            ("kInvisible", r"[\p{Default_Ignorable_Code_Point}\u2800]",
             "Default_Ignorable_Code_Point, and the empty Braille pattern."),
            ("kJoining", rf"[{joining}](?<=[\p{{L}}\p{{M}}])(?<!\p{{Default_Ignorable_Code_Point}})",
             "Letters and marks of scripts with joiners."),
            ("kEmoji", r"[\p{Emoji}\p{Extended_Pictographic}](?<![0-9#*])",
             "Emoji and Extended_Pictographic without digits, # and *.")]:
        wanted = regex.compile(pattern)
        merged = []
        for first, last in runs([c for c in CODE_POINTS if wanted.match(chr(c))]):
            if merged and all(unassigned.match(chr(c)) for c in range(merged[-1][1] + 1, first)):
                merged[-1] = (merged[-1][0], last)
            else:
                merged.append((first, last))
        table("Range", name, comment, [(hexa(f), hexa(l)) for f, l in merged])


def main():
    {"lower": print_lower, "upper": print_upper, "categories": print_categories, "scripts": print_scripts,
     "invisible": print_invisible}[sys.argv[1]]()
    print("\n}  // namespace weft::unicode_tables")


if __name__ == "__main__":
    sys.exit(main())
