#!/usr/bin/env python3
"""Prints sacrebleu_cases.json: sacreBLEU's results for unusual lines, for the tests of trainer/metrics.

Usage: pip install sacrebleu==2.6.0; tests/reference/sacrebleu_cases.py > tests/reference/sacrebleu_cases.json
"""
import json

import sacrebleu
from sacrebleu.metrics.bleu import _get_tokenizer
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

from sacrebleu_options import TER_OPTIONS, results

COUNT = " ".join(str(i) for i in range(110))

# name: (hypotheses, [references, further references ...])
CASES = {
    "three equal words": (["a b c"], [["a b c"]]),
    "empty hypothesis": ([""], [["a"]]),
    "empty reference": (["a"], [[""]]),
    "both empty": ([""], [[""]]),
    "the cat": (["the cat sat on the mat ."], [["the cat sat on a mat ."]]),
    "one word of four differs": (["a b c d"], [["a b x d"]]),
    "nothing in common": (["a b c d e"], [["x y"]]),
    "one word": (["Haus"], [["Haus"]]),
    "one other word": (["Haus"], [["Maus"]]),
    "one character": (["a"], [["a"]]),
    "only white space": (["  \t "], [["a b"]]),
    "identical sentence": (["Ein Mann fährt Rad."], [["Ein Mann fährt Rad."]]),
    "too short": (["Ein Mann fährt"], [["Ein Mann fährt heute mit dem Rad nach Hause."]]),
    "too long": (["Ein Mann fährt heute mit dem Rad ganz schnell nach Hause."], [["Ein Mann fährt nach Hause."]]),
    "repeated words are clipped": (["the the the the the the the"], [["the cat is on the mat"]]),
    "entities": (["&quot;A &amp; B&quot; &lt;b&gt; &amp;lt; &apos;x&apos;"], [["\"A & B\" <b> < 'x'"]]),
    "skipped mark": (["a <skipped> b c d"], [["a b c d"]]),
    "no-break space": (["zehn\u00a0Kilometer bis zum Ziel"], [["zehn Kilometer bis zum\u00a0Ziel"]]),
    "ideographic space": (["a\u3000b c d e"], [["a b c\u3000d e"]]),
    "zero width space": (["a\u200bb c d e f"], [["a b c d e f"]]),
    "line separator inside": (["a b\u2028c d e"], [["a b c d\u2029e"]]),
    "next line and information separators": (["a\u0085b c\u001cd\u001fe"], [["a b c d e"]]),
    "trailing white space": (["a b c d \t\u00a0"], [["a b c d"]]),
    "tabs": (["a\tb\tc d e"], [["a b c\td e"]]),
    "carriage return at the end": (["a b c d\r"], [["a b c d"]]),
    "carriage return inside": (["a b\rc d"], [["a b c d"]]),
    "numbers": (["It costs 1,000.50 or 3.14, not 2.", "v1.2.3, 10.000 and .5"],
                [["It costs 1,000.50 or 3.15, not 2 .", "v1.2.3 , 10,000 and 0.5"]]),
    "hyphens": (["5-3 = 2, 1990-2000 and e-mail a-b --", "A-1 2-B 3--4"], [["5 - 3 = 2, 1990 - 2000 and e-mail a-b --", "A-1 2 -B 3-4"]]),
    "points in a row": (["Und dann... ,,nein'' ..., 1.,2", "a,.b .,. 1,,2"], [["Und dann ... ,, nein '' ... , 1 . , 2", "a , . b 1,2"]]),
    "quotes": (["„Hallo“ – sagte er: \"ja\" ‚nein‘ «oui» 'si'"], [["\"Hallo\" - sagte er: „ja“ 'nein' »oui« 'si'"]]),
    "address": (["e-mail: a@b.com/x?y=1&amp;lt; #tag $5 50% [x] {y} ~ ^ _z_ `q` \\"], [["e-mail: a@b.com / x?y=1 < #tag $5 50 % [x] {y}"]]),
    "Cyrillic": (["Мама мыла раму."], [["Мама мыла белую раму."]]),
    "Greek": (["Ο ΟΔΥΣΣΕΥΣ ΕΙΝΑΙ ΕΔΩ. ΣΑΣ'Σ Σ ΑΣ.Β"], [["ο οδυσσευς ειναι εδω. σας'ς σ ας.β"]]),
    "Chinese": (["我喜欢吃苹果。"], [["我 喜欢 吃 苹果 。"]]),
    "Japanese": (["私は学生です。"], [["私は先生です。"]]),
    "Korean": (["나는 학생입니다."], [["나는 선생님입니다."]]),
    "Arabic": (["مرحبا بالعالم، كيف حالك؟"], [["مرحبا بالعالم ، كيف الحال؟"]]),
    "combining characters": (["cafe\u0301 nai\u0308ve tre\u0300s bien"], [["café naïve très bien"]]),
    "emoji": (["gut 👍🏽 sehr 👩‍👩‍👧 gut 🇩🇪!"], [["gut 👍 sehr 👩‍👩‍👧 gut 🇩🇪!"]]),
    "sharp s and dotted I": (["STRAẞE Straße İstanbul DİYARBAKIR ẞ"], [["straße STRASSE istanbul i̇stanbul diyarbakir ß"]]),
    "letters with case beyond ASCII": (["ÄÖÜ ÉÀÇ ŽŠČ ДЖ Ǆ ǅ Ⅷ Ⓐ Ａ 𐐀 Ა"], [["äöü éàç žšč дж ǆ ǆ ⅷ ⓐ ａ 𐐨 ა"]]),
    "byte order mark": (["\ufeffa b c d"], [["a b c d"]]),
    "brackets in words": (["(hi) [ho] hello! (a b) ... x. .x"], [["(hi) [ho] hello ! (a b) … x ."]]),
    "two references": (["Der Hund läuft schnell durch den Park ."], [["Der Hund rennt schnell durch den Park ."], ["Ein Hund läuft durch den Park ."]]),
    "two references, lengths tie": (["a b c d e"], [["a b c d e f"], ["a b c d"]]),
    "two references, one empty": (["a b c d"], [[""], ["a b c d"]]),
    "three references, two lines": (["a b c d", "the the cat"],
                                    [["a b c x", "the cat"], ["a b d c", "the the dog"], ["x", "a the b the c the"]]),
    "a word moved": (["heute fährt der Mann mit dem Rad"], [["der Mann fährt heute mit dem Rad"]]),
    "a phrase moved": (["on the table the red book lies"], [["the red book lies on the table"]]),
    "two phrases moved": (["d e f a b c x g h"], [["a b c d e f g x h"]]),
    "moved and changed": (["in the garden a dog big barks"], [["a big dog barked in the garden"]]),
    "reversed": (["a b c d e f g h"], [["h g f e d c b a"]]),
    "moved to the end": (["z a b c d e"], [["a b c d e z"]]),
    "moved to the front": (["a b c d e z"], [["z a b c d e"]]),
    "repeated words moved": (["a a b a b b a c"], [["b a a b c a b a"]]),
    "longer than a run may be": (["x " + " ".join("abcdefghijklm")], [[" ".join("abcdefghijklm") + " x"]]),
    "moved further than is looked": ([COUNT + " here"], [["here " + COUNT]]),
    "one word for many": (["7"], [[COUNT]]),
    "two words for many": (["7 99"], [[COUNT]]),
    "many words for one": ([COUNT], [["7"]]),
    "outside the beam": ([COUNT + " " + "a " * 40], [["b " * 40 + COUNT]]),
    "more shifts than are tried": (["a b c a c b " * 9 + "d e"], [["e c b a b c a d " * 7]]),
    "shifts run out in a later round": (["m n o p q r s t u v w x y z " * 4], [["x y z m n v w o p q r s t u " * 4]]),
    "Chinese signs and Latin words": (["我用€5买了“Weft 2.0”—很好！1,000."], [["我 花 € 5 买 “Weft 2.0” — 很 好 ! 1,000 ."]]),
    "kana and full width marks": (["カタカナ・ひらがな（テスト）、ＡＢＣ。"], [["カタカナ・ひらがな (テスト)、ABC．"]]),
    "possessive": (["the dog's bone, dogs' bones and John's"], [["the dog 's bone , dogs ' bones and John 's"]]),
    "signs new and old": (["cost 5\u20c1, 7₿ or 9€ ≈ 10$ ½ ² Ⅷ"], [["cost 5 \u20c1 , 7 ₿ or 9 € ≈ 10 $ ½² Ⅷ"]]),
    "a small corpus": (["Ein Hund läuft durch den Schnee.", "Zwei Männer stehen am Herd und kochen.", "", "Ja."],
                       [["Ein brauner Hund rennt durch den Schnee.", "Zwei Männer stehen am Herd und bereiten Essen zu.", "Nein.", "Ja."]]),
}

# Segments with fewer references than others: (hypotheses, [references with None for a missing one, ...]).
VARIABLE_REFERENCES = {
    "the second reference misses one": (["a b c d e", "x y z w"], [["a b c d f", "x y w w"], ["a b c d e f", None]]),
    "each reference misses one": (["Ein Hund bellt.", "Zwei Katzen schlafen hier."],
                                  [[None, "Zwei Katzen schlafen."], ["Ein Hund bellt laut.", None]]),
    "three, two, one": (["1 2 3 4", "2 3 4 1", "4 1 2"],
                        [["1 2 3 5", "1 2 3 4", "1 2 4"], ["1 2 3 4 5", "4 3 2 1 0", None], ["4 3 2 1 1 1 1", None, None]]),
}

# Lines for the tokenizers: every sentence above, and single ones.
LINES = [
    "Hello, world! It's 3.14 (or 1,000).", "e-mail: a@b.com/x?y=1&amp;lt;", "5-3 = 2 and a-b", "„Hallo“ – ok…", "1,000.",
    "end-\nof-line\nhere", "<skipped>", "&amp;amp;quot; &lt;&gt;", "1.", ".1", "1..2", "a.b,c", ",", "...", "1-", "-1", "9-9-9",
    "x\u00e9.\u00e9,\u00e9 1\u00e9.2", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "1!2\"3#4$5%6&7'8(9)0*1+2,3-4.5/6:7;8<9=0>1?2@3",
    "\u0661.\u0662 \u0661-\u0662", " a  b\t\tc ", "",
]


TOKENIZERS = {name: _get_tokenizer(name)() for name in ["13a", "intl", "char", "zh"]}
TOKENIZERS.update({name: TercomTokenizer(**TER_OPTIONS[name])
                   for name in ["TER", "TER normalized Asian", "TER Asian without punctuation"]})


def json_rows(rows):
    return ",\n".join(json.dumps(row) for row in rows)


def case(name, hypotheses, references):
    return {"name": name, "hypotheses": hypotheses, "references": references,
            "scores": results(hypotheses, references)[0]}


def main():
    lines = LINES + [line for hypotheses, references in CASES.values() for line in hypotheses if len(line) < 200]
    print('{"sacrebleu": "%s",' % sacrebleu.__version__)
    print('"signatures": %s,' % json.dumps(results(["a"], [["a"], ["b"]])[1]))
    print('"signatures_of_variable_references": %s,' % json.dumps(results(["a", "b"], [["a", "b"], ["b", None]])[1]))
    print('"lines": [\n%s],' % json_rows(lines))
    print('"tokens": {')
    print(",\n".join(json.dumps(name) + ": [\n" + json_rows(map(tokenize, lines)) + "]"
                     for name, tokenize in TOKENIZERS.items()))
    print('},\n"lower_case": [\n%s],' % json_rows([line, line.lower()] for line in lines if line.lower() != line))
    print('"variable_references": [\n%s],' % json_rows(case(name, *c) for name, c in VARIABLE_REFERENCES.items()))
    print('"cases": [\n%s]}' % json_rows(case(name, *c) for name, c in CASES.items()))


if __name__ == "__main__":
    main()
